/**
 * The tokens that an answer is charged for: the provider's figures within what can be, and our own count where they are
 * missing, made the provider's own by an `OutputScale`.
 */
import type { ChatMessage, ChatRequest, TokenField, Usage } from '../../domain/chat.ts'
import type { UsageSource } from '../../domain/completion.ts'
import { bytesOf, bytesOfAll, type CallUsage, guessTokens, lengthOf } from './meter.ts'

/** Figures on the way that cover more characters a token than this are no running count. */
const CHARACTERS_PER_REPORTED_TOKEN = 16

export interface Measured {
  readonly usage: CountedUsage
  readonly source: UsageSource
  /** What the provider reported, where that is outside the bounds. */
  readonly reported?: CountedUsage | undefined
}

export interface MeasureInput {
  readonly usages: readonly CallUsage[]
  readonly request: ChatRequest
  readonly bounds: Bounds
  /** Counts the tokens of text off the event loop. */
  readonly countTokens: (text: string) => Promise<number>
  /** Called where the provider's figures are missing. */
  readonly scale?: () => OutputScale
}

/** What makes our own count of an answer that of its provider. */
export interface OutputScale {
  /** Tokens of the provider for one that we count. */
  readonly text: number
  /** Tokens of reasoning for one that the bytes of its text suggest, where that is a summary; undefined: it is shown. */
  readonly summary: number | undefined
  /**
   * Tokens that the provider generated until the first that was shown, by the time it took, or until now where nothing was;
   * 0 where all reasoning is shown.
   */
  readonly generated: (call: CallUsage) => number
}

const PLAIN: OutputScale = { text: 1, summary: undefined, generated: () => 0 }

/** The tokens to charge: the provider's figures within their bounds where they arrived, our own count for the rest. */
export function measure(input: MeasureInput): Measured | Promise<Measured> {
  const { usages, bounds } = input
  if (!usages.every(({ usage, finishes }) => finishes.size > 0 && isCounted(usage))) return estimate(input)
  const usage = sum(usages.map((call) => call.usage))
  if (isTooLow(usage, lengthOf(usages), bounds)) return raised(input, usage)
  return bounded(input, usage, NO_LEAST)
}

/** What it comes to so far without asking a tokenizer: the provider's figures, else what bytes suggest. */
export function measureRoughly(usages: readonly CallUsage[], bounds: Bounds, scale = PLAIN): CountedUsage {
  let promptTokens = 0
  let completionTokens = 0
  let isUnreported = usages.length === 0
  for (const call of usages) {
    const { usage } = call
    isUnreported ||= !isFigure(usage.promptTokens)
    promptTokens += isFigure(usage.promptTokens) ? usage.promptTokens : 0
    completionTokens += outputOf(call, { counted: guessTokens(call), bounds, scale }).tokens
  }
  return {
    promptTokens: isUnreported ? bounds.promptTokens : Math.min(promptTokens, bounds.promptLimit),
    completionTokens,
  }
}

/** Tokens of all that was generated so far; the provider's figures where they say more than our count. */
export async function countGenerated({ usages, bounds, countTokens }: Omit<MeasureInput, 'request'>): Promise<number> {
  const counts = usages.map((call) => countCall(call, { bounds, countTokens }))
  return (await Promise.all(counts)).reduce((total, { tokens }) => total + tokens, 0)
}

/** What the provider reported of a call in flight, within the bounds. */
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

/** Figures that are too low for the text are compared with our own count of it, which may show them possible. */
async function raised(input: MeasureInput, reported: CountedUsage): Promise<Measured> {
  const { usages, request, countTokens } = input
  const text = promptText(request)
  const counts = Promise.all([countTokens(text), ...usages.map((call) => countText(call, countTokens))])
  const [countedPrompt = 0, ...counted] = await counts.catch(() => []) // without a tokenizer bytes have to do
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
    // A snapshot that came before the end says nothing final about the completion.
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

/** Text by the tokenizer, everything else as it was estimated for the hold. */
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

/** What one call generated, in tokens of the provider. */
interface Output {
  readonly tokens: number
  /** Part of them. */
  readonly reasoning: number
}

interface Seen {
  /** Tokens of its text, by our own count. */
  readonly counted: number
  readonly bounds: Bounds
  readonly scale: OutputScale
}

/**
 * Of an answer that has not come to its end, by what is known of it: the provider's figures on the way and what came
 * after them; else what was shown, reasoning by what its text stands for; else, before anything was shown, the time it
 * took. At least what the provider had reported.
 */
function outputOf(call: CallUsage, { counted, bounds, scale }: Seen): Output {
  const { length, reasoningLength, usageLength, usage, begunAt } = call
  const share = length === 0 ? 0 : reasoningLength / length
  const { summary } = scale
  const shown = share * (summary === undefined ? counted * scale.text : guessTokens(call) * summary)
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

/** Everything of the request that a model reads as text. */
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
 * What a provider's figures are held against (TM15): nobody is charged for fewer tokens than were delivered, nor for more
 * than the request can have used. Figures outside are charged at the nearest bound.
 */

/** Usage with both totals, from the provider or by our own count. */
export interface CountedUsage extends Usage {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** What can have been used, known from the request. Tokens. */
export interface Bounds {
  /** Of the prompts of all calls, estimated: text and media. */
  readonly promptTokens: number
  /** The part of it that is no text: images, audio, files. */
  readonly mediaTokens: number
  /** The most that all prompts together can be: the window where tools of the provider add what they find. */
  readonly promptLimit: number
  /** The most uses of each tool that the provider runs, by name in prices; of others none. Undefined: any, there is no fee. */
  readonly toolUses?: Readonly<Record<string, number>> | undefined
  /** Of all choices: the limit that the provider was sent. */
  readonly outputTokens: number
}

/** The provider's figures are compared with our own count only where they are lower than this suggests. */
const SUSPICIOUS_CHARACTERS_A_TOKEN = 16
/** Prompts are estimated high: up to one token a byte. */
const SUSPICIOUS_PROMPT_RATIO = 64
/** The longest token of the vocabularies in use (o200k, cl100k, Llama 3, Qwen): a run of spaces. */
const LONGEST_TOKEN_BYTES = 128
/** Real answers were recorded with a fifth of the tokens of the tokenizer that counts here (o200k); this leaves room. */
const OWN_COUNT_RATIO = 16
/** Text that was delivered beyond the limit counts, up to as much again and so many tokens. */
const BEYOND_LIMIT_TOKENS = 1024

/** Whether figures are so low that the text must be counted; nearly never. */
function isTooLow({ promptTokens, completionTokens }: CountedUsage, delivered: number, bounds: Bounds): boolean {
  const asked = bounds.promptTokens - bounds.mediaTokens - SUSPICIOUS_PROMPT_RATIO
  return completionTokens * SUSPICIOUS_CHARACTERS_A_TOKEN < delivered || promptTokens * SUSPICIOUS_PROMPT_RATIO < asked
}

/** The least tokens that text can be: by the longest token there is, and by our own count. */
function leastTokens({ bytes, counted }: { readonly bytes: number; readonly counted: number }): number {
  return Math.max(Math.ceil(bytes / LONGEST_TOKEN_BYTES), Math.ceil(counted / OWN_COUNT_RATIO))
}

/** The most tokens that an answer can be charged for, of which so many bytes were delivered: a token is at least one. */
function mostCompletionTokens({ outputTokens }: Bounds, deliveredBytes: number): number {
  return Math.max(outputTokens, Math.min(deliveredBytes, 2 * outputTokens + BEYOND_LIMIT_TOKENS))
}

interface Range {
  readonly least: number
  readonly most: number
}

/**
 * Both totals within their range, and the parts of what was cut within them. The very same object where both are inside:
 * hosts that report more cached than read are taken at their word, since a price charges no token twice.
 */
function clampUsage(usage: CountedUsage, prompt: Range, completion: Range): CountedUsage {
  const promptTokens = clamp(usage.promptTokens, prompt)
  const completionTokens = clamp(usage.completionTokens, completion)
  const isInside = promptTokens === usage.promptTokens && completionTokens === usage.completionTokens
  return isInside ? usage : withinTotals({ ...usage, promptTokens, completionTokens })
}

/** The very same object where no tool was used more often than it can have been. */
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

/** No part is more than its total: what was read from a cache comes before what was written to it. */
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
