/** Token counts of every host of this format, read by response and stream alike, so that the two cannot disagree. */
import type { TokenField, Usage } from '../../domain/chat.ts'
import { isRecord, type Json } from '../../lib/json.ts'

/**
 * A snapshot: counts that are absent, negative or no whole numbers are left out, never zero.
 * @returns undefined when nothing was counted.
 */
export function parseUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const prompt = details(value.prompt_tokens_details)
  const reasoning = count(details(value.completion_tokens_details).reasoning_tokens)
  const usage: { -readonly [Key in keyof Usage]: Usage[Key] } = {}
  put(usage, 'promptTokens', count(value.prompt_tokens))
  put(usage, 'completionTokens', completionTokens(value, reasoning))
  put(usage, 'cachedTokens', cachedTokens(value, prompt))
  put(usage, 'cacheWriteTokens', count(prompt.cache_write_tokens))
  put(usage, 'reasoningTokens', reasoning)
  return Object.keys(usage).length === 0 ? undefined : usage
}

/** Some hosts count reasoning beside the completion instead of within it; their total shows it. */
function completionTokens(usage: Json, reasoning: number | undefined): number | undefined {
  const completion = count(usage.completion_tokens)
  const prompt = count(usage.prompt_tokens)
  if (completion === undefined || prompt === undefined || reasoning === undefined) return completion
  const isBeside = reasoning > 0 && count(usage.total_tokens) === prompt + completion + reasoning
  return isBeside ? completion + reasoning : completion
}

function cachedTokens(usage: Json, prompt: Json): number | undefined {
  return (
    count(prompt.cached_tokens) ??
    count(usage.prompt_cache_hit_tokens) ??
    count(usage.cached_tokens) ??
    count(usage.num_cached_tokens)
  )
}

function details(value: unknown): Json {
  return isRecord(value) ? value : {}
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

function put(usage: { -readonly [Key in keyof Usage]: Usage[Key] }, key: TokenField, value: number | undefined): void {
  if (value !== undefined) usage[key] = value
}
