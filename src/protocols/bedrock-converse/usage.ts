/** Token counts, read by response and stream alike, so that the two cannot disagree. */
import type { Usage } from '../../domain/chat.ts'
import { isRecord } from '../../lib/json.ts'
import { count, type MutableUsage, putSome, serviceTierOf } from '../usage-fields.ts'

/**
 * Counts that are absent, negative or no whole numbers are left out, never zero. Tokens read from and written to the
 * cache are beside `inputTokens`, not within it.
 *
 * Source: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
 * @param serviceTier The answer's own, which is beside its usage.
 * @returns undefined when nothing was counted.
 */
export function parseUsage(value: unknown, serviceTier?: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const input = count(value['inputTokens'])
  const output = count(value['outputTokens'])
  const read = count(value['cacheReadInputTokens'])
  const written = count(value['cacheWriteInputTokens'])
  const usage: MutableUsage = {}
  if (input !== undefined) usage.promptTokens = input + (read ?? 0) + (written ?? 0)
  if (output !== undefined) usage.completionTokens = output
  if (read !== undefined) usage.cachedTokens = read
  if (written !== undefined) usage.cacheWriteTokens = written
  if (Object.keys(usage).length === 0) return undefined
  putSome(usage, 'cacheWrite1hTokens', writtenFor(value['cacheDetails'], '1h'))
  putSome(usage, 'cacheWrite12hTokens', writtenFor(value['cacheDetails'], '12h'))
  const tier = serviceTierOf(isRecord(serviceTier) ? serviceTier['type'] : serviceTier)
  if (tier !== undefined) usage.serviceTier = tier
  return usage
}

/** Tokens written with one lifetime, in a list such as `[{"ttl": "1h", "inputTokens": 12}]`. */
function writtenFor(details: unknown, ttl: string): number {
  let total = 0
  if (!Array.isArray(details)) return total
  for (const each of details) if (isRecord(each) && each['ttl'] === ttl) total += count(each['inputTokens']) ?? 0
  return total
}
