/**
 * The tokens that an answer is charged for: the provider's figures within plausible bounds, and the gateway's own count if
 * they are missing, converted to the provider's tokens by an `OutputScale`.
 */
import type { ChatMessage, ChatRequest, TokenField, Usage } from '../../domain/chat.ts'
import type { UsageSource } from '../../domain/completion.ts'
import { bytesOf, bytesOfAll, type CallUsage, estimateTokens, lengthOf } from './meter.ts'

/** Intermediate figures with more characters a token than this are no running count. */
const CHARACTERS_PER_REPORTED_TOKEN = 16

export interface Measured {
  readonly usage: CountedUsage
  readonly source: UsageSource
  /** The provider's figures, if they are outside the bounds. */
  readonly reported?: CountedUsage | undefined
}

export interface MeasureInput {
  readonly usages: readonly CallUsage[]
  readonly request: ChatRequest
  readonly bounds: Bounds
  /** Counts the tokens of text off the event loop. */
  readonly countTokens: (text: string) => Promise<number>
  /** Called if the provider's figures are missing. */
  readonly scale?: () => OutputScale
}

/** Converts the gateway's own count of an answer to the provider's tokens. */
export interface OutputScale {
  /** The provider's tokens for each token that the gateway counts. */
  readonly text: number
  /** Reasoning tokens for each token of a reasoning summary; undefined if reasoning is shown in full. */
  readonly summary: number | undefined
  /**
   * Estimated tokens before the first visible one, by the elapsed time, or until now without any;
   * 0 if all reasoning is shown.
   */
  readonly generated: (call: CallUsage) => number
}

const PLAIN: OutputScale = { text: 1, summary: undefined, generated: () => 0 }

/** Returns the tokens to charge: the provider's figures within their bounds, and the own count for those that are missing. */
export function measure(input: MeasureInput): Measured | Promise<Measured> {
  const { usages, bounds } = input
  if (!usages.every(({ usage, finishes }) => finishes.size > 0 && isCounted(usage))) return estimate(input)
  const usage = sum(usages.map((call) => call.usage))
  if (isTooLow(usage, lengthOf(usages), bounds)) return raised(input, usage)
  return bounded(input, usage, NO_LEAST)
}

/** Estimates the usage so far without a tokenizer: the provider's figures, else from the number of bytes. */
export function measureRoughly(usages: readonly CallUsage[], bounds: Bounds, scale = PLAIN): CountedUsage {
  let promptTokens = 0
  let completionTokens = 0
  let isUnreported = usages.length === 0
  for (const call of usages) {
    const { usage } = call
    isUnreported ||= !isFigure(usage.promptTokens)
    promptTokens += isFigure(usage.promptTokens) ? usage.promptTokens : 0
    completionTokens += outputOf(call, { counted: estimateTokens(call), bounds, scale }).tokens
  }
  return {
    promptTokens: isUnreported ? bounds.promptTokens : Math.min(promptTokens, bounds.promptLimit),
    completionTokens,
  }
}

/** Returns the tokens generated so far: the larger of the provider's figures and the own count. */
export async function countGenerated({ usages, bounds, countTokens }: Omit<MeasureInput, 'request'>): Promise<number> {
  const counts = usages.map((call) => countCall(call, { bounds, countTokens }))
  return (await Promise.all(counts)).reduce((total, { tokens }) => total + tokens, 0)
}

/** Returns the provider's figures of a call in flight, within the bounds. */
function believedCompletion(call: CallUsage, bounds: Bounds): number {
  const { completionTokens } = call.usage
  if (!isFigure(completionTokens)) return 0
  return completionTokens <= bounds.outputTokens
    ? completionTokens
    : Math.min(completionTokens, mostCompletionTokens(bounds, bytesOf(call)))
}

function isFigure(tokens: number | undefined): tokens is number {
  return tokens !== undefined && Number.isFinite(tokens)
}

function isCounted(usage: Usage): usage is CountedUsage {
  return isFigure(usage.promptTokens) && isFigure(usage.completionTokens)
}

/** Compares figures that seem too low for the text with the own count, which may confirm them. */
async function raised(input: MeasureInput, reported: CountedUsage): Promise<Measured> {
  const { usages, request, countTokens } = input
  const text = promptText(request)
  const counts = Promise.all([countTokens(text), ...usages.map((call) => countText(call, countTokens))])
  const [countedPrompt = 0, ...counted] = await counts.catch(() => []) // without a tokenizer, bytes are counted
  const completion = leastTokens({
    bytes: bytesOfAll(usages),
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

function bounded({ usages, bounds }: MeasureInput, reported: CountedUsage, least: Least): Measured {
  const prompt = { least: least.prompt, most: bounds.promptLimit }
  const isWithin = Math.max(reported.completionTokens, least.completion) <= bounds.outputTokens
  const most = isWithin ? bounds.outputTokens : mostCompletionTokens(bounds, bytesOfAll(usages))
  const completion = { least: least.completion, most }
  const usage = clampToolUses(clampUsage(reported, prompt, completion), bounds)
  return usage === reported ? { usage, source: 'provider' } : { usage, source: 'bounded', reported }
}

async function estimate(input: MeasureInput): Promise<Measured> {
  const { usages, request, bounds, countTokens } = input
  const scale = input.scale?.()
  let prompt: Promise<number> | undefined
  const measured = usages.map(async (call): Promise<Usage> => {
    const { usage } = call
    // A snapshot before the end is not final.
    if (call.finishes.size > 0 && isCounted(usage)) return usage
    prompt ??= isFigure(usage.promptTokens) ? undefined : countPrompt({ request, bounds, countTokens }, scale)
    const [output, promptTokens] = await Promise.all([countCall(call, { bounds, countTokens, scale }), prompt])
    return {
      ...usage,
      promptTokens: isFigure(usage.promptTokens) ? usage.promptTokens : (promptTokens ?? 0),
      completionTokens: output.tokens,
      ...(output.reasoning > 0 && { reasoningTokens: output.reasoning }),
    }
  })
  const found = sum(await Promise.all(measured))
  const { usage, reported } = bounded(input, found, NO_LEAST)
  return reported === undefined ? { usage, source: 'estimated' } : { usage, source: 'estimated', reported }
}

/** Counts text with the tokenizer, and everything else as estimated for the hold. */
async function countPrompt(
  { request, bounds, countTokens }: Omit<MeasureInput, 'usages' | 'scale'>,
  { text } = PLAIN,
): Promise<number> {
  return Math.ceil((await countTokens(promptText(request))) * text) + bounds.mediaTokens
}

interface Counting extends Pick<MeasureInput, 'bounds' | 'countTokens'> {
  readonly scale?: OutputScale | undefined
}

async function countCall(call: CallUsage, { bounds, countTokens, scale = PLAIN }: Counting): Promise<Output> {
  return outputOf(call, { counted: await countText(call, countTokens), bounds, scale })
}

/** The output of one call, in tokens of the provider. */
interface Output {
  readonly tokens: number
  /** The reasoning tokens among them. */
  readonly reasoning: number
}

interface Seen {
  /** The tokens of its text by our own count. */
  readonly counted: number
  readonly bounds: Bounds
  readonly scale: OutputScale
}

/**
 * Estimates the output of an incomplete answer: the provider's intermediate figures and the text
 * after them; else the visible text, with the reasoning that its summary stands for; else, before any text, the elapsed
 * time. Never less than the provider has reported.
 */
function outputOf(call: CallUsage, { counted, bounds, scale }: Seen): Output {
  const { length, reasoningLength, usageLength, usage, begunAt } = call
  const share = length === 0 ? 0 : reasoningLength / length
  const { summary } = scale
  const shown = share * (summary === undefined ? counted * scale.text : estimateTokens(call) * summary)
  const text = counted * (1 - share) * scale.text
  const reported = believedCompletion(call, bounds)
  const reasoned = usage.reasoningTokens ?? 0
  if (reported > 0 && (usageLength > 0 || reasoned > 0) && reported * CHARACTERS_PER_REPORTED_TOKEN >= usageLength) {
    const later = length === 0 ? 0 : ((text + shown) * (length - usageLength)) / length
    return { tokens: Math.ceil(reported + later), reasoning: Math.min(reasoned, reported) }
  }
  const generated = reasoningLength > 0 ? 0 : scale.generated(call)
  const hidden = begunAt === undefined ? Math.max(0, generated - text) : generated
  const tokens = Math.max(Math.ceil(text + shown + hidden), reported)
  return { tokens, reasoning: Math.min(tokens, Math.max(Math.ceil(shown + hidden), reasoned)) }
}

async function countText(
  { text, length, keptLength }: CallUsage,
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

/** Returns all parts of the request that a model reads as text. */
function promptText({ messages, tools, task }: ChatRequest): string {
  // Texts of a task have no roles, and a space belongs to the token behind it.
  if (task !== undefined) return messages.flatMap(messageText).join(' ')
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

/*
 * Bounds of a provider's figures (TM15): the charge is never for fewer tokens than were delivered, nor for more
 * than the request can have used. Figures outside are charged at the nearest bound.
 */

/** Usage with both totals, from the provider or the own count. */
export interface CountedUsage extends Usage {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** The possible usage of a request, in tokens. */
export interface Bounds {
  /** The estimated tokens of the prompts of all calls: text and media. */
  readonly promptTokens: number
  /** The part that is not text: images, audio, files. */
  readonly mediaTokens: number
  /** The maximum of all prompts: the context window if the provider's tools add content. */
  readonly promptLimit: number
  /** The most uses of each server tool, by its name in prices, none of others. Undefined: unlimited, without fee. */
  readonly toolUses?: Readonly<Record<string, number>> | undefined
  /** The output limit of all choices that the provider was sent. */
  readonly outputTokens: number
}

/** The own count verifies figures only if they are lower than this share. */
const SUSPICIOUS_CHARACTERS_A_TOKEN = 16
/** Prompt estimates are high: up to one token a byte. */
const SUSPICIOUS_PROMPT_RATIO = 64
/** The longest token of the vocabularies in use (o200k, cl100k, Llama 3, Qwen): a run of spaces. */
const LONGEST_TOKEN_BYTES = 128
/** Real answers were recorded with a fifth of the tokens of the tokenizer that counts here (o200k); this leaves room. */
const OWN_COUNT_RATIO = 16
/** Text delivered beyond the limit counts, up to twice the limit plus this many tokens. */
const BEYOND_LIMIT_TOKENS = 1024

/** Returns whether figures are so low that the text must be counted, which is rare. */
function isTooLow({ promptTokens, completionTokens }: CountedUsage, delivered: number, bounds: Bounds): boolean {
  const asked = bounds.promptTokens - bounds.mediaTokens - SUSPICIOUS_PROMPT_RATIO
  return completionTokens * SUSPICIOUS_CHARACTERS_A_TOKEN < delivered || promptTokens * SUSPICIOUS_PROMPT_RATIO < asked
}

/** Returns the fewest tokens of a text: by the longest token that exists, and by the own count. */
function leastTokens({ bytes, counted }: { readonly bytes: number; readonly counted: number }): number {
  return Math.max(Math.ceil(bytes / LONGEST_TOKEN_BYTES), Math.ceil(counted / OWN_COUNT_RATIO))
}

/** Returns the most tokens that an answer of this many bytes can be charged for: a token is at least one byte. */
function mostCompletionTokens({ outputTokens }: Bounds, deliveredBytes: number): number {
  return Math.max(outputTokens, Math.min(deliveredBytes, 2 * outputTokens + BEYOND_LIMIT_TOKENS))
}

interface Range {
  readonly least: number
  readonly most: number
}

/**
 * Clamps both totals to their range, and their parts to the totals. Returns the same object if both are inside:
 * a host that reports more cached than prompt tokens is accepted, since a price charges no token twice.
 */
function clampUsage(usage: CountedUsage, prompt: Range, completion: Range): CountedUsage {
  const promptTokens = clamp(usage.promptTokens, prompt)
  const completionTokens = clamp(usage.completionTokens, completion)
  const isInside = promptTokens === usage.promptTokens && completionTokens === usage.completionTokens
  return isInside ? usage : withinTotals({ ...usage, promptTokens, completionTokens })
}

/** Clamps the uses of server tools. Returns the same object if none exceeds its maximum. */
function clampToolUses(usage: CountedUsage, { toolUses: most }: Bounds): CountedUsage {
  const { serverToolUses: reported } = usage
  if (reported === undefined || most === undefined) return usage
  const mostOf = (name: string): number => (Object.hasOwn(most, name) ? (most[name] ?? 0) : 0)
  if (Object.entries(reported).every(([name, uses]) => uses <= mostOf(name))) return usage
  const believed = Object.entries(reported).map(([name, uses]) => [name, Math.min(uses, mostOf(name))] as const)
  return { ...usage, serverToolUses: Object.fromEntries(believed.filter(([, uses]) => uses > 0)) }
}

function clamp(value: number, { least, most }: Range): number {
  return Math.min(Math.max(value, Math.min(least, most)), most)
}

/** Clamps parts to their total: cache reads first, then cache writes. */
function withinTotals(usage: CountedUsage): CountedUsage {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage
  const cached = Math.min(cachedTokens, promptTokens)
  const written = Math.min(cacheWriteTokens, promptTokens - cached)
  const reasoning = Math.min(reasoningTokens, completionTokens)
  if (cached === cachedTokens && written === cacheWriteTokens && reasoning === reasoningTokens) return usage
  return {
    ...usage,
    ...(usage.cachedTokens === undefined ? {} : { cachedTokens: cached }),
    ...(usage.cacheWriteTokens === undefined ? {} : { cacheWriteTokens: written }),
    ...(usage.reasoningTokens === undefined ? {} : { reasoningTokens: reasoning }),
  }
}
