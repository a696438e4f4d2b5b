/** A price as the table `price_version` keeps it: four rates in columns, and the rest of the tariff as JSON. */
import { canonicalJson } from '../lib/canonical-json.ts'
import type { Price } from './price.ts'

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
