/** Prices and usage as the database keeps them: common fields in columns, the others as JSON. */
import { canonicalJson } from '../../lib/json.ts'
import type { ChargeableUsage, Price } from './tariff.ts'

/** The columns of `price_version`. */
export interface StoredPrice {
  readonly input_micro_usd: number
  readonly output_micro_usd: number
  readonly cached_input_micro_usd: number | null
  readonly cache_write_micro_usd: number | null
  /** The other fields of `Price`, as canonical JSON; null: it has none. */
  readonly tariff: string | null
}

export function storePrice(price: Price): StoredPrice {
  return {
    input_micro_usd: price.inputMicroUsd,
    output_micro_usd: price.outputMicroUsd,
    cached_input_micro_usd: price.cachedInputMicroUsd ?? null,
    cache_write_micro_usd: price.cacheWriteMicroUsd ?? null,
    tariff: tariffText(price) ?? null,
  }
}

/** The price that `storePrice` was given. */
export function readStoredPrice(stored: StoredPrice): Price {
  // Only `storePrice` writes the column.
  const more = stored.tariff === null ? {} : (JSON.parse(stored.tariff) as Partial<Price>)
  return {
    ...more,
    inputMicroUsd: stored.input_micro_usd,
    outputMicroUsd: stored.output_micro_usd,
    cachedInputMicroUsd: stored.cached_input_micro_usd ?? undefined,
    cacheWriteMicroUsd: stored.cache_write_micro_usd ?? undefined,
  }
}

/** What a price has beyond the four rates that have columns of their own, as canonical JSON; undefined: nothing. */
export function tariffText(price: Price): string | undefined {
  const four = {
    inputMicroUsd: undefined,
    outputMicroUsd: undefined,
    cachedInputMicroUsd: undefined,
    cacheWriteMicroUsd: undefined,
  }
  const text = canonicalJson({ ...price, ...four })
  return text === '{}' ? undefined : text
}

/** The column `usage_detail`: classes of usage that few completions have. */
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
interface StoredUsage {
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
