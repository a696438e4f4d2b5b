/**
 * How often an account may have something sent by hand, in this process's memory: endpoints are other people's machines as
 * well, and one request goes to all of an account's.
 */
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { spend } from '../../lib/gcra.ts'
import { createLruCache } from '../../lib/lru-cache.ts'

const PER_MINUTE = { limit: 600, windowMs: 60_000, cost: 1 }
const MAX_ACCOUNTS = 10_000

/** @returns throws 429 for a request beyond the limit. @param clock Monotonic or Unix milliseconds. */
export function createPace(clock: () => number): (accountId: AccountId) => void {
  const rested = createLruCache<number>(MAX_ACCOUNTS)
  return (accountId) => {
    const { allowed, restedAt, retryAfterMs } = spend(PER_MINUTE, rested.get(accountId), clock())
    rested.set(accountId, restedAt)
    if (allowed) return
    const message = `At most ${PER_MINUTE.limit} events a minute are sent by hand; try again in ${Math.ceil(retryAfterMs / 1_000)} s.`
    throw new GatewayError('rate_limit_exceeded', message, { retryAfterMs })
  }
}
