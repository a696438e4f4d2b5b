/**
 * One meter for whole and streamed answers: what the provider reported, and enough of what was generated to count it
 * ourselves where the provider did not.
 */
import type { ChatEvent, ChatMessage, ChatRequest, FinishReason, Usage } from '../domain/chat.ts'
import type { UsageSource } from '../domain/completion.ts'

/** Generated text kept for an estimate, per call in UTF-16 units; what comes beyond is counted in proportion. */
export const MAX_KEPT_TEXT = 256 * 1024

/** What one call of a completion generated. */
export interface Branch {
  usage: Usage
  /** By choice. */
  readonly finishes: Map<number, FinishReason>
  /** Choices that produced anything. */
  readonly text: string[]
  keptLength: number
  length: number
}

export function createBranch(): Branch {
  return { usage: {}, finishes: new Map(), text: [], keptLength: 0, length: 0 }
}

export function tally(branch: Branch, event: ChatEvent): void {
  switch (event.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      keep(branch, event.text)
      break
    case 'tool-call':
      if (event.name !== undefined) keep(branch, event.name)
      keep(branch, event.arguments)
      break
    case 'usage':
      branch.usage = { ...branch.usage, ...event.usage }
      break
    case 'finish':
      branch.finishes.set(event.index, event.reason)
      break
    case 'extension':
      break
  }
}

export interface Measured {
  readonly usage: Usage & { readonly promptTokens: number; readonly completionTokens: number }
  readonly source: UsageSource
}

export interface MeasureInput {
  readonly branches: readonly Branch[]
  readonly request: ChatRequest
  /** Counts the tokens of text off the event loop. */
  readonly countTokens: (text: string) => Promise<number>
}

/** The tokens to charge: the provider's figures where they arrived, our own count for the rest. */
export function measure(input: MeasureInput): Measured | Promise<Measured> {
  return input.branches.every(isReported) ? sum(input.branches.map(({ usage }) => usage)) : estimate(input)
}

/** Whether anything that costs was generated. */
export function generatedAnything(branches: readonly Branch[]): boolean {
  return branches.some(({ length, usage }) => length > 0 || (usage.completionTokens ?? 0) > 0)
}

function keep(branch: Branch, text: string): void {
  branch.length += text.length
  if (branch.keptLength >= MAX_KEPT_TEXT) return
  branch.text.push(text)
  branch.keptLength += text.length
}

/** A snapshot that came before the end says nothing final about the completion. */
function isReported({ usage, finishes }: Branch): boolean {
  return finishes.size > 0 && usage.promptTokens !== undefined && usage.completionTokens !== undefined
}

async function estimate({ branches, request, countTokens }: MeasureInput): Promise<Measured> {
  let prompt: Promise<number> | undefined
  const measured = branches.map(async (branch): Promise<Usage> => {
    if (isReported(branch)) return branch.usage
    prompt ??= branch.usage.promptTokens === undefined ? countTokens(promptText(request)) : undefined
    const [own, asked] = await Promise.all([countTokens(branch.text.join('')), prompt])
    const scaled = branch.keptLength === 0 ? 0 : Math.ceil((own * branch.length) / branch.keptLength)
    return {
      ...branch.usage,
      promptTokens: branch.usage.promptTokens ?? asked ?? 0,
      completionTokens: Math.max(scaled, branch.usage.completionTokens ?? 0),
    }
  })
  return { ...sum(await Promise.all(measured)), source: 'estimated' }
}

function sum(usages: readonly Usage[]): Measured {
  const [only] = usages
  if (usages.length === 1 && only !== undefined) return measured(only)
  const total: Record<keyof Usage, number | undefined> = {
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: undefined,
    cacheWriteTokens: undefined,
    reasoningTokens: undefined,
  }
  for (const usage of usages) {
    for (const [name, value] of Object.entries(usage)) {
      if (value !== undefined) total[name as keyof Usage] = (total[name as keyof Usage] ?? 0) + value
    }
  }
  return measured(Object.fromEntries(Object.entries(total).filter(([, value]) => value !== undefined)))
}

function measured(usage: Usage): Measured {
  const { promptTokens = 0, completionTokens = 0 } = usage
  return { usage: { ...usage, promptTokens, completionTokens }, source: 'provider' }
}

/** Everything of the request that a model reads as text. */
function promptText({ messages, tools }: ChatRequest): string {
  const parts = messages.flatMap((message) => [message.role, ...messageText(message)])
  if (tools !== undefined) parts.push(JSON.stringify(tools))
  return parts.join('\n')
}

function messageText({ content, tool_calls: calls }: ChatMessage): string[] {
  const texts: string[] = []
  if (typeof content === 'string') texts.push(content)
  else for (const part of content ?? []) if (part.type === 'text') texts.push(part.text)
  for (const call of calls ?? []) texts.push(call.function.name, call.function.arguments)
  return texts
}
