/** Token counts, read by response and stream alike, so that the two cannot disagree. */
import type { Usage } from '../../domain/chat.ts'
import { isRecord } from '../../lib/json.ts'

/** The provider's own counts, which are totals of the call so far. Cached tokens are beside `input`, not within it. */
export interface Counts {
  readonly input?: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly output?: number
  readonly thinking?: number
}

/** Counts that are absent, null, negative or no whole numbers are left out, never zero. */
export function readCounts(value: unknown): Counts {
  if (!isRecord(value)) return {}
  const details = isRecord(value['output_tokens_details']) ? value['output_tokens_details'] : {}
  return withoutUndefined({
    input: count(value['input_tokens']),
    cacheRead: count(value['cache_read_input_tokens']),
    cacheWrite: count(value['cache_creation_input_tokens']),
    output: count(value['output_tokens']),
    thinking: count(details['thinking_tokens']),
  })
}

/** @returns undefined when nothing was counted. */
export function usageOf({ input, cacheRead, cacheWrite, output, thinking }: Counts): Usage | undefined {
  const usage: Usage = withoutUndefined({
    promptTokens: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
    completionTokens: output,
    cachedTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: thinking,
  })
  return Object.keys(usage).length === 0 ? undefined : usage
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

function withoutUndefined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>
}
