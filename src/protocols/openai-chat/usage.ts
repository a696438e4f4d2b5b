/** Token counts of every host of this format, read by response and stream alike, so that the two cannot disagree. */
import type { Usage } from '../../domain/chat.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import { count, type MutableUsage, put, putSome, putToolUses, serviceTierOf } from '../usage-fields.ts'

/**
 * A snapshot of an answer or a chunk, whose service tier is beside its usage: counts that are absent, negative or no whole numbers are left out, never zero.
 * @returns undefined when nothing was counted.
 */
export function parseUsage(value: unknown, serviceTier?: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const prompt = details(value.prompt_tokens_details)
  const completion = details(value.completion_tokens_details)
  const reasoning = count(completion.reasoning_tokens)
  const usage: MutableUsage = {}
  put(usage, 'promptTokens', count(value.prompt_tokens))
  put(usage, 'completionTokens', completionTokens(value, reasoning))
  put(usage, 'cachedTokens', cachedTokens(value, prompt))
  put(usage, 'cacheWriteTokens', cacheWriteTokens(value, prompt))
  put(usage, 'reasoningTokens', reasoning)
  if (Object.keys(usage).length === 0) return undefined
  putSome(usage, 'cacheWrite1hTokens', count(lifetimes(value, prompt).ephemeral_1h_input_tokens))
  putSome(usage, 'audioInputTokens', count(prompt.audio_tokens))
  putSome(usage, 'cachedAudioTokens', count(details(prompt.cached_tokens_details).audio_tokens))
  putSome(usage, 'audioOutputTokens', count(completion.audio_tokens))
  putSome(usage, 'imageOutputTokens', count(completion.image_tokens))
  putUses(usage, value)
  const tier = serviceTierOf(serviceTier ?? value.service_tier)
  if (tier !== undefined) usage.serviceTier = tier
  return usage
}

/** OpenRouter, Alibaba and proxies of Anthropic's models. */
function cacheWriteTokens(usage: Json, prompt: Json): number | undefined {
  return (
    count(prompt.cache_write_tokens) ??
    count(prompt.cache_creation_tokens) ??
    count(prompt.cache_creation_input_tokens) ??
    count(usage.cache_creation_input_tokens)
  )
}

/** Cache writes by lifetime, as Anthropic splits them. */
function lifetimes(usage: Json, prompt: Json): Json {
  return details(prompt.cache_creation ?? usage.cache_creation)
}

/** OpenRouter's and xAI's tools, Perplexity's searches, and the sources of xAI's older live search. */
function putUses(usage: MutableUsage, wire: Json): void {
  const { server_tool_use: requests, server_side_tool_usage_details: calls } = wire
  if (requests !== undefined) putToolUses(usage, requests, (name) => name.replace(/_requests$/, ''))
  if (calls !== undefined) putToolUses(usage, calls, (name) => name.replace(/_calls$/, ''))
  const { num_search_queries: web_search, num_sources_used: live_search } = wire
  if (web_search || live_search) putToolUses(usage, { web_search, live_search }, (name) => name)
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
