/**
 * What a provider's figures are held against (TM15): nobody is charged for fewer tokens than were delivered, nor for more
 * than the request can have used. Figures outside are charged at the nearest bound.
 */
import type { Usage } from '../domain/chat.ts'

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
  /** The most that all prompts together can be. */
  readonly promptLimit: number
  /** The model's window, for every choice: what the results of a provider's own tools can grow the prompts to. */
  readonly windowTokens: number
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

/** Whether figures are so low that what was delivered and asked has to be looked at. Of nearly all answers they are not. */
export function isTooLow({ promptTokens, completionTokens }: CountedUsage, delivered: number, bounds: Bounds): boolean {
  const asked = bounds.promptTokens - bounds.mediaTokens - SUSPICIOUS_PROMPT_RATIO
  return completionTokens * SUSPICIOUS_CHARACTERS_A_TOKEN < delivered || promptTokens * SUSPICIOUS_PROMPT_RATIO < asked
}

/** The least tokens that text can be: by the longest token there is, and by our own count. */
export function leastTokens({ bytes, counted }: { readonly bytes: number; readonly counted: number }): number {
  return Math.max(Math.ceil(bytes / LONGEST_TOKEN_BYTES), Math.ceil(counted / OWN_COUNT_RATIO))
}

/** The most tokens that an answer can be charged for, of which so many bytes were delivered: a token is at least one. */
export function mostCompletionTokens({ outputTokens }: Bounds, deliveredBytes: number): number {
  return Math.max(outputTokens, Math.min(deliveredBytes, 2 * outputTokens + BEYOND_LIMIT_TOKENS))
}

export interface Range {
  readonly least: number
  readonly most: number
}

/**
 * Both totals within their range, and the parts of what was cut within them. The very same object where both are inside:
 * hosts that report more cached than read are taken at their word, since a price charges no token twice.
 */
export function clampUsage(usage: CountedUsage, prompt: Range, completion: Range): CountedUsage {
  const promptTokens = clamp(usage.promptTokens, prompt)
  const completionTokens = clamp(usage.completionTokens, completion)
  const isInside = promptTokens === usage.promptTokens && completionTokens === usage.completionTokens
  return isInside ? usage : withinTotals({ ...usage, promptTokens, completionTokens })
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
