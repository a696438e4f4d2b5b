/** Token counts, read by response and stream alike, so that the two cannot disagree. */
import type { Usage } from '../../domain/chat.ts'
import { isRecord } from '../../lib/json.ts'

/**
 * Counts that are absent, negative or no whole numbers are left out, never zero. Tokens read from and written to the
 * cache are beside `inputTokens`, not within it.
 *
 * Source: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
 * @returns undefined when nothing was counted.
 */
export function parseUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const input = count(value['inputTokens'])
  const output = count(value['outputTokens'])
  const read = count(value['cacheReadInputTokens'])
  const written = count(value['cacheWriteInputTokens'])
  const usage: { -readonly [Key in keyof Usage]: Usage[Key] } = {}
  if (input !== undefined) usage.promptTokens = input + (read ?? 0) + (written ?? 0)
  if (output !== undefined) usage.completionTokens = output
  if (read !== undefined) usage.cachedTokens = read
  if (written !== undefined) usage.cacheWriteTokens = written
  return Object.keys(usage).length === 0 ? undefined : usage
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
