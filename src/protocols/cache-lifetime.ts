/** Cache breakpoints on parts of messages, and the lifetimes that clients ask for in them. */
import type { Price } from '../domain/price.ts'
import { isRecord, type Json } from '../lib/json.ts'
import { isCacheLifetimePriced } from './cost-fields.ts'

/** The name of a lifetime in `x-turnpike-warnings`. */
export const LIFETIME = 'messages[].content[].cache_control.ttl'
const WISHES = ['prompt_cache_breakpoint', 'cache_control'] as const

/** A part may say that the prompt up to it is to be cached: `prompt_cache_breakpoint`, or `cache_control`. */
export function cacheWish(part: object): Json | undefined {
  const fields: Readonly<Record<string, unknown>> = { ...part }
  const wish = WISHES.map((name) => fields[name]).find((value) => value !== undefined && value !== null)
  return isRecord(wish) ? wish : undefined
}

/** Whether the price says what caching this part for as long as it asks costs. */
export function isCachingPriced(part: unknown, price: Price | undefined): boolean {
  if (!isRecord(part)) return true
  return WISHES.every((name) => isCacheLifetimePriced(part[name], price))
}

/** The same part, to be cached for the provider's ordinary lifetime. */
export function withoutLifetime(part: Json): Json {
  const kept: Record<string, unknown> = { ...part }
  for (const name of WISHES) {
    const wish = kept[name]
    if (!isRecord(wish)) continue
    const { ttl: _, ...rest } = wish
    kept[name] = rest
  }
  return kept
}
