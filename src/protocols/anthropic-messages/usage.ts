/** Token counts, read by response and stream alike, so that the two cannot disagree. */
import type { Usage } from '../../domain/chat.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import { count, type MutableUsage, putSome, putToolUses, serviceTierOf } from '../usage-fields.ts'

/** The provider's own counts, which are totals of the call so far. Cached tokens are beside `input`, not within it. */
export interface Counts {
  readonly input?: number
  readonly cacheRead?: number
  /** All lifetimes together. */
  readonly cacheWrite?: number
  readonly cacheWrite1h?: number
  readonly output?: number
  readonly thinking?: number
  /** Uses by the wire's names: `web_search_requests`, … */
  readonly toolUses?: Json
  /** Undefined: the standard one. */
  readonly serviceTier?: string
}

/** Counts that are absent, null, negative or no whole numbers are left out, never zero. */
export function readCounts(value: unknown): Counts {
  if (!isRecord(value)) return {}
  const details = isRecord(value['output_tokens_details']) ? value['output_tokens_details'] : {}
  const lifetimes = isRecord(value['cache_creation']) ? value['cache_creation'] : {}
  const toolUses = value['server_tool_use']
  return withoutUndefined({
    input: count(value['input_tokens']),
    cacheRead: count(value['cache_read_input_tokens']),
    cacheWrite: count(value['cache_creation_input_tokens']),
    output: count(value['output_tokens']),
    thinking: count(details['thinking_tokens']),
    cacheWrite1h: count(lifetimes['ephemeral_1h_input_tokens']),
    toolUses: isRecord(toolUses) ? toolUses : undefined,
    // Fast mode is a speed of its own, at prices of its own.
    serviceTier: value['speed'] === 'fast' ? 'fast' : serviceTierOf(value['service_tier']),
  })
}

/** @returns undefined when nothing was counted. */
export function usageOf(counts: Counts): Usage | undefined {
  const { input, cacheRead, cacheWrite, output, thinking } = counts
  const usage: MutableUsage = withoutUndefined({
    promptTokens: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
    completionTokens: output,
    cachedTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: thinking,
  })
  if (Object.keys(usage).length === 0) return undefined
  putSome(usage, 'cacheWrite1hTokens', counts.cacheWrite1h)
  putToolUses(usage, counts.toolUses, (name) => name.replace(/_requests$/, ''))
  if (counts.serviceTier !== undefined) usage.serviceTier = counts.serviceTier
  return usage
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

function withoutUndefined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>
}
