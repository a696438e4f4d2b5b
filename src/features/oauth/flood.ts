/**
 * Limits of routes that anybody may call, by address and over all, in this process's memory. They stand before everything
 * else: what is beyond them costs neither a body nor a query.
 */
import { addressGroup } from '../../lib/address-ranges.ts'
import { spend } from '../../lib/gcra.ts'
import { createLruCache } from '../../lib/lru-cache.ts'
import { OAuthError } from './oauth-error.ts'

const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

export interface FloodLimit {
  readonly perAddress: number
  readonly overAll: number
}

/** @returns throws `temporarily_unavailable` with status 429 for a request beyond the limits. @param clock Monotonic ms. */
export function createFloodGate(limit: FloodLimit, clock: () => number): (address: string) => void {
  const rested = createLruCache<number>(MAX_ADDRESSES)
  let allRestedAt: number | undefined
  return (address) => {
    const now = clock()
    const group = addressGroup(address)
    const own = spend({ limit: limit.perAddress, windowMs: WINDOW_MS, cost: 1 }, rested.get(group), now)
    if (!own.allowed) throw tooMany(own.retryAfterMs)
    const all = spend({ limit: limit.overAll, windowMs: WINDOW_MS, cost: 1 }, allRestedAt, now)
    if (!all.allowed) throw tooMany(all.retryAfterMs)
    rested.set(group, own.restedAt)
    allRestedAt = all.restedAt
  }
}

function tooMany(retryAfterMs: number): OAuthError {
  const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1_000))
  const message = `Too many requests; try again in ${retryAfterSeconds} s.`
  return new OAuthError('temporarily_unavailable', message, { status: 429, retryAfterSeconds })
}
