/**
 * One meter for whole and streamed answers: what the provider reported, and enough of what was generated to count it
 * ourselves where the provider did not, or said what cannot be.
 */
import type { ChatEvent, ChatMessage, ChatRequest, FinishReason, TokenField, Usage } from '../domain/chat.ts'
import type { UsageSource } from '../domain/completion.ts'

/** Generated text kept for an estimate, per call in UTF-16 units; what comes beyond is counted in proportion. */
export const MAX_KEPT_TEXT = 256 * 1024
/** Reported tokens that are more than plausible, before a figure is not believed. */
const MARGIN_TOKENS = 256

/** In most languages, however they are written. */
const BYTES_A_TOKEN = 4

/** What one call of a completion generated. */
export interface Branch {
  usage: Usage
  /** By choice. */
  readonly finishes: Map<number, FinishReason>
  /** Choices that produced anything. */
  readonly text: string[]
  keptLength: number
  length: number
  /** UTF-8 bytes of the first pieces of `text`, and how many pieces that are: each is looked at once. */
  sizedBytes: number
  sizedPieces: number
}

export function createBranch(): Branch {
  return { usage: NO_USAGE, finishes: new Map(), text: [], keptLength: 0, length: 0, sizedBytes: 0, sizedPieces: 0 }
}

const NO_USAGE: Usage = {}

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
      branch.usage = branch.usage === NO_USAGE ? event.usage : { ...branch.usage, ...event.usage }
      break
    case 'finish':
      branch.finishes.set(event.index, event.reason)
      break
    case 'extension':
      break
  }
}

/** Usage with both totals, from the provider or by our own count. */
export interface CountedUsage extends Usage {
  readonly promptTokens: number
  readonly completionTokens: number
}

export interface Measured {
  readonly usage: CountedUsage
  readonly source: UsageSource
}

/** What a provider's figures are held against (TM15). */
export interface Bounds {
  /** Estimated from the request. */
  readonly promptTokens: number
  /** Of all choices at most, as the request was sent. */
  readonly outputTokens: number
  /** The model's window, for every choice. */
  readonly windowTokens: number
}

export interface MeasureInput {
  readonly branches: readonly Branch[]
  readonly request: ChatRequest
  readonly bounds: Bounds
  /** Counts the tokens of text off the event loop. */
  readonly countTokens: (text: string) => Promise<number>
}

/** The tokens to charge: the provider's figures where they arrived and can be, our own count for the rest. */
export function measure(input: MeasureInput): Measured | Promise<Measured> {
  const { branches, bounds } = input
  const [only] = branches
  if (branches.length === 1 && only !== undefined) {
    const usage = believed(only, bounds)
    if (only.finishes.size > 0 && isCounted(usage)) return { usage, source: 'provider' }
    return estimate(input)
  }
  const reported = branches.map((branch) => (branch.finishes.size > 0 ? believed(branch, bounds) : NO_USAGE))
  return reported.every(isCounted) ? { usage: sum(reported), source: 'provider' } : estimate(input)
}

/** Whether anything that costs was generated. */
export function generatedAnything(branches: readonly Branch[]): boolean {
  return branches.some(({ length, usage }) => length > 0 || (usage.completionTokens ?? 0) > 0)
}

/** What it comes to so far without asking a tokenizer: the provider's figures, else what bytes suggest. */
export function measureRoughly(branches: readonly Branch[], bounds: Bounds): CountedUsage {
  let promptTokens = 0
  let completionTokens = 0
  let unsaid = branches.length === 0
  for (const branch of branches) {
    const usage = believed(branch, bounds)
    unsaid ||= usage.promptTokens === undefined
    promptTokens += usage.promptTokens ?? 0
    completionTokens += Math.max(guess(branch), usage.completionTokens ?? 0)
  }
  return { promptTokens: unsaid ? bounds.promptTokens : promptTokens, completionTokens }
}

/** Tokens of all that was generated so far; the provider's figures where they say more than our count. */
export async function countGenerated({
  branches,
  bounds,
  countTokens,
}: Omit<MeasureInput, 'request'>): Promise<number> {
  const counts = branches.map((branch) => countBranch(branch, believed(branch, bounds), countTokens))
  return (await Promise.all(counts)).reduce((total, tokens) => total + tokens, 0)
}

function guess(branch: Branch): number {
  const { text, length, keptLength } = branch
  if (keptLength === 0) return 0
  for (; branch.sizedPieces < text.length; branch.sizedPieces++) {
    branch.sizedBytes += Buffer.byteLength(text[branch.sizedPieces] ?? '')
  }
  return Math.ceil((branch.sizedBytes * length) / (keptLength * BYTES_A_TOKEN))
}

function keep(branch: Branch, text: string): void {
  branch.length += text.length
  if (branch.keptLength >= MAX_KEPT_TEXT) return
  branch.text.push(text)
  branch.keptLength += text.length
}

/**
 * The provider's figures without those that cannot be: more tokens than twice the characters that came and the length
 * that was asked for, or a prompt of more than twice the model's window. Reasoning may be hidden: it is believed as far
 * as the window goes.
 */
function believed({ usage, length }: Branch, { promptTokens, outputTokens, windowTokens }: Bounds): Usage {
  const hidden = Math.min(usage.reasoningTokens ?? 0, windowTokens)
  const canBeGenerated = (usage.completionTokens ?? 0) <= 2 * (length + outputTokens) + hidden + MARGIN_TOKENS
  const canBeRead = (usage.promptTokens ?? 0) <= 2 * (promptTokens + windowTokens) + MARGIN_TOKENS
  if (canBeGenerated && canBeRead) return usage
  const kept: { -readonly [Name in keyof Usage]: Usage[Name] } = { ...usage }
  if (!canBeRead) for (const name of PROMPT_FIELDS) delete kept[name]
  if (!canBeGenerated) for (const name of COMPLETION_FIELDS) delete kept[name]
  return kept
}

const PROMPT_FIELDS: readonly TokenField[] = [
  'promptTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
  'cacheWrite12hTokens',
  'audioInputTokens',
  'cachedAudioTokens',
]
const COMPLETION_FIELDS: readonly TokenField[] = [
  'completionTokens',
  'reasoningTokens',
  'audioOutputTokens',
  'imageOutputTokens',
]

function isCounted(usage: Usage): usage is CountedUsage {
  return usage.promptTokens !== undefined && usage.completionTokens !== undefined
}

async function estimate({ branches, request, bounds, countTokens }: MeasureInput): Promise<Measured> {
  let prompt: Promise<number> | undefined
  const measured = branches.map(async (branch): Promise<Usage> => {
    const usage = believed(branch, bounds)
    // A snapshot that came before the end says nothing final about the completion.
    if (branch.finishes.size > 0 && isCounted(usage)) return usage
    prompt ??= usage.promptTokens === undefined ? countTokens(promptText(request)) : undefined
    const [completionTokens, asked] = await Promise.all([countBranch(branch, usage, countTokens), prompt])
    return { ...usage, promptTokens: usage.promptTokens ?? asked ?? 0, completionTokens }
  })
  return { usage: sum(await Promise.all(measured)), source: 'estimated' }
}

/** What was generated is at least what the provider had reported before it broke off. */
async function countBranch(
  { text, length, keptLength }: Branch,
  usage: Usage,
  countTokens: MeasureInput['countTokens'],
): Promise<number> {
  const kept = await countTokens(text.join(''))
  const own = keptLength === 0 ? 0 : Math.ceil((kept * length) / keptLength)
  return Math.max(own, usage.completionTokens ?? 0)
}

function sum(usages: readonly Usage[]): CountedUsage {
  const [only] = usages
  if (usages.length === 1 && only !== undefined && isCounted(only)) return only
  const total: { -readonly [Name in keyof Usage]: Usage[Name] } = {}
  for (const { serverToolUses, serviceTier, ...tokens } of usages) {
    // (`Object.keys` forgets whose keys they are)
    for (const name of Object.keys(tokens) as TokenField[]) total[name] = (total[name] ?? 0) + (tokens[name] ?? 0)
    if (serverToolUses !== undefined) total.serverToolUses = sumByName(total.serverToolUses, serverToolUses)
    if (serviceTier !== undefined) total.serviceTier = serviceTier
  }
  const { promptTokens = 0, completionTokens = 0 } = total
  return { ...total, promptTokens, completionTokens }
}

function sumByName(some: Readonly<Record<string, number>> = {}, more: Readonly<Record<string, number>>) {
  const names = [...new Set([...Object.keys(some), ...Object.keys(more)])]
  return Object.fromEntries(names.map((name) => [name, (some[name] ?? 0) + (more[name] ?? 0)]))
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
