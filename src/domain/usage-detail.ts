/** The classes of usage that few completions have, as the column `usage_detail` keeps them beside the usual counts. */
import type { ChargeableUsage } from './price.ts'

export type UsageDetail = Omit<ChargeableUsage, 'prompt' | 'completion' | 'cached' | 'cacheWrite' | 'reasoning' | 'at'>

/** Undefined: there is nothing to keep. */
export function usageDetailOf(usage: ChargeableUsage): UsageDetail | undefined {
  const { serviceTier, calls, serverTools } = usage
  let detail: { -readonly [Name in keyof UsageDetail]: UsageDetail[Name] } | undefined
  for (const name of COUNTS) {
    const tokens = usage[name]
    if (tokens) detail = { ...detail, [name]: tokens }
  }
  if (serviceTier !== undefined) detail = { ...detail, serviceTier }
  if (serverTools !== undefined) detail = { ...detail, serverTools }
  if (calls !== undefined && calls > 1) detail = { ...detail, calls }
  return detail
}

const COUNTS = [
  'cacheWrite1h',
  'cacheWrite12h',
  'audioInput',
  'cachedAudio',
  'audioOutput',
  'imageOutput',
  'images',
] as const satisfies readonly (keyof UsageDetail)[]

/** As JSON; undefined: null in its column. */
export function usageDetailText(detail: UsageDetail | undefined): string | undefined {
  return detail === undefined ? undefined : JSON.stringify(detail)
}

/** The columns of a completion that its charge follows from. */
export interface StoredUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cached_tokens: number | null
  readonly cache_write_tokens: number | null
  readonly reasoning_tokens: number | null
  readonly usage_detail: string | null
  readonly created_at: number
}

/** What a completion was charged for. Its row was made at its admission. */
export function readStoredUsage(row: StoredUsage): ChargeableUsage {
  return {
    // Only `usageDetailText` writes the column.
    ...(row.usage_detail === null ? {} : (JSON.parse(row.usage_detail) as UsageDetail)),
    prompt: row.prompt_tokens,
    completion: row.completion_tokens,
    cached: row.cached_tokens ?? undefined,
    cacheWrite: row.cache_write_tokens ?? undefined,
    reasoning: row.reasoning_tokens ?? undefined,
    at: row.created_at,
  }
}
