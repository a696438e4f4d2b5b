/**
 * One meter for whole and streamed answers: what the provider reported, and enough of what was generated to count it
 * ourselves where the provider did not, or reported what cannot be.
 */
import type { ChatEvent, ChatMessage, ChatRequest, FinishReason, TokenField, Usage } from '../domain/chat.ts'
import type { UsageSource } from '../domain/completion.ts'
import { isRecord } from '../lib/json.ts'
import type { UpstreamProtocol } from '../protocols/protocol.ts'
import {
  type Bounds,
  type CountedUsage,
  clampUsage,
  isTooLow,
  leastTokens,
  mostCompletionTokens,
} from './usage-bounds.ts'

/** Generated text kept for an estimate, per call in UTF-16 units; what comes beyond is counted in proportion. */
export const MAX_KEPT_TEXT = 256 * 1024

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
  /** A later figure replaces an earlier one, also a greater one. */
  readonly lastUsageCounts: boolean
}

export function createBranch({ lastUsageCounts = false }: Pick<UpstreamProtocol, 'lastUsageCounts'> = {}): Branch {
  const nothing = { keptLength: 0, length: 0, sizedBytes: 0, sizedPieces: 0 }
  return { usage: NO_USAGE, finishes: new Map(), text: [], ...nothing, lastUsageCounts }
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
      if (branch.usage === NO_USAGE) branch.usage = event.usage
      else if (branch.lastUsageCounts) branch.usage = { ...branch.usage, ...event.usage }
      else branch.usage = greaterOf(branch.usage, event.usage)
      break
    case 'finish':
      branch.finishes.set(event.index, event.reason)
      break
    case 'extension':
      break
  }
}

/** Field by field the greater figure: a later snapshot adds to an earlier one, and takes nothing back. */
function greaterOf(before: Usage, later: Usage): Usage {
  const merged: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(later)) {
    const known = merged[name]
    if (typeof value === 'number' && typeof known === 'number') merged[name] = value > known ? value : known
    else if (isRecord(value) && isRecord(known)) merged[name] = greaterOf(known, value)
    else merged[name] = value
  }
  return merged
}

export interface Measured {
  readonly usage: CountedUsage
  readonly source: UsageSource
  /** What the provider reported, where that is outside the bounds. */
  readonly reported?: CountedUsage | undefined
}

export interface MeasureInput {
  readonly branches: readonly Branch[]
  readonly request: ChatRequest
  readonly bounds: Bounds
  /** Counts the tokens of text off the event loop. */
  readonly countTokens: (text: string) => Promise<number>
}

/** The tokens to charge: the provider's figures within their bounds where they arrived, our own count for the rest. */
export function measure(input: MeasureInput): Measured | Promise<Measured> {
  const { branches, bounds } = input
  if (!branches.every(({ usage, finishes }) => finishes.size > 0 && isCounted(usage))) return estimate(input)
  const usage = sum(branches.map((branch) => branch.usage))
  if (isTooLow(usage, lengthOf(branches), bounds)) return raised(input, usage)
  return bounded(input, usage, NO_LEAST)
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
    const { usage } = branch
    unsaid ||= !isFigure(usage.promptTokens)
    promptTokens += isFigure(usage.promptTokens) ? usage.promptTokens : 0
    completionTokens += Math.max(guess(branch), believedCompletion(branch, bounds))
  }
  return { promptTokens: unsaid ? bounds.promptTokens : Math.min(promptTokens, bounds.promptLimit), completionTokens }
}

/** Tokens of all that was generated so far; the provider's figures where they say more than our count. */
export async function countGenerated({
  branches,
  bounds,
  countTokens,
}: Omit<MeasureInput, 'request'>): Promise<number> {
  const counts = branches.map((branch) => countBranch(branch, bounds, countTokens))
  return (await Promise.all(counts)).reduce((total, tokens) => total + tokens, 0)
}

function guess(branch: Branch): number {
  return Math.ceil(bytesOf(branch) / BYTES_A_TOKEN)
}

/** UTF-8 bytes that were generated; in proportion beyond the text that is kept. */
function bytesOf(branch: Branch): number {
  const { text, length, keptLength } = branch
  if (keptLength === 0) return 0
  for (; branch.sizedPieces < text.length; branch.sizedPieces++) {
    branch.sizedBytes += Buffer.byteLength(text[branch.sizedPieces] ?? '')
  }
  return (branch.sizedBytes * length) / keptLength
}

function bytesOfAll(branches: readonly Branch[]): number {
  let total = 0
  for (const branch of branches) total += bytesOf(branch)
  return Math.ceil(total)
}

function lengthOf(branches: readonly Branch[]): number {
  let total = 0
  for (const { length } of branches) total += length
  return total
}

function keep(branch: Branch, text: string): void {
  branch.length += text.length
  if (branch.keptLength >= MAX_KEPT_TEXT) return
  branch.text.push(text)
  branch.keptLength += text.length
}

/** What the provider reported of a call under way, as far as that can be. */
function believedCompletion(branch: Branch, bounds: Bounds): number {
  const { completionTokens } = branch.usage
  if (!isFigure(completionTokens)) return 0
  return completionTokens <= bounds.outputTokens
    ? completionTokens
    : Math.min(completionTokens, mostCompletionTokens(bounds, bytesOf(branch)))
}

function isFigure(tokens: number | undefined): tokens is number {
  return tokens !== undefined && Number.isFinite(tokens)
}

function isCounted(usage: Usage): usage is CountedUsage {
  return isFigure(usage.promptTokens) && isFigure(usage.completionTokens)
}

/** Figures that are too low for the text are compared with our own count of it, which may show them possible. */
async function raised(input: MeasureInput, reported: CountedUsage): Promise<Measured> {
  const { branches, request, countTokens } = input
  const text = promptText(request)
  const counts = Promise.all([countTokens(text), ...branches.map((branch) => countText(branch, countTokens))])
  const [countedPrompt = 0, ...counted] = await counts.catch(() => []) // without a tokenizer bytes have to do
  const completion = leastTokens({
    bytes: bytesOfAll(branches),
    counted: counted.reduce((total, tokens) => total + tokens, 0),
  })
  const prompt = leastTokens({ bytes: Buffer.byteLength(text), counted: countedPrompt })
  return bounded(input, reported, { prompt, completion })
}

interface Least {
  readonly prompt: number
  readonly completion: number
}

const NO_LEAST: Least = { prompt: 0, completion: 0 }

function bounded({ branches, bounds }: MeasureInput, reported: CountedUsage, least: Least): Measured {
  const usesTools = reported.serverToolUses !== undefined
  const promptMost = usesTools ? Math.max(bounds.promptLimit, bounds.windowTokens) : bounds.promptLimit
  const prompt = { least: least.prompt, most: promptMost }
  const isWithin = Math.max(reported.completionTokens, least.completion) <= bounds.outputTokens
  const most = isWithin ? bounds.outputTokens : mostCompletionTokens(bounds, bytesOfAll(branches))
  const completion = { least: least.completion, most }
  const usage = clampUsage(reported, prompt, completion)
  return usage === reported ? { usage, source: 'provider' } : { usage, source: 'bounded', reported }
}

async function estimate(input: MeasureInput): Promise<Measured> {
  const { branches, request, bounds, countTokens } = input
  let prompt: Promise<number> | undefined
  const measured = branches.map(async (branch): Promise<Usage> => {
    const { usage } = branch
    // A snapshot that came before the end says nothing final about the completion.
    if (branch.finishes.size > 0 && isCounted(usage)) return usage
    prompt ??= isFigure(usage.promptTokens) ? undefined : countPrompt({ request, bounds, countTokens })
    const [completionTokens, asked] = await Promise.all([countBranch(branch, bounds, countTokens), prompt])
    return {
      ...usage,
      promptTokens: isFigure(usage.promptTokens) ? usage.promptTokens : (asked ?? 0),
      completionTokens,
    }
  })
  const found = sum(await Promise.all(measured))
  const { usage, reported } = bounded(input, found, NO_LEAST)
  return reported === undefined ? { usage, source: 'estimated' } : { usage, source: 'estimated', reported }
}

/** Text by the tokenizer, everything else as it was estimated for the hold. */
async function countPrompt({ request, bounds, countTokens }: Omit<MeasureInput, 'branches'>): Promise<number> {
  return (await countTokens(promptText(request))) + bounds.mediaTokens
}

/** What was generated is at least what the provider had reported before it broke off. */
async function countBranch(branch: Branch, bounds: Bounds, countTokens: MeasureInput['countTokens']): Promise<number> {
  return Math.max(await countText(branch, countTokens), believedCompletion(branch, bounds))
}

async function countText(
  { text, length, keptLength }: Branch,
  countTokens: MeasureInput['countTokens'],
): Promise<number> {
  const kept = await countTokens(text.join(''))
  return keptLength === 0 ? 0 : Math.ceil((kept * length) / keptLength)
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
