import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type LimitState, type LimitStates, limitHeaders } from '../../domain/limits.ts'
import { countRequest, type GcraResult } from '../../lib/gcra.ts'

/** Accounts and keys whose state is kept; beyond it those longest unseen are forgotten, and so rested. */
export const MAX_LIMITED = 100_000

const WINDOW_MS = 60_000

export interface Limiter {
  /**
   * Counts a request against the account's and the key's limit, or against neither, and takes one of the account's
   * places for requests under way until `release`. Throws when a limit is reached or no place is free.
   */
  admit(caller: Caller): LimitStates & { release(): void }
}

export interface LimiterInput {
  /** Requests a minute of a plan; undefined: without limit. */
  readonly requestsPerMinute: (plan: string) => number | undefined
  /** Requests of one account under way at once. */
  readonly maxInFlight: (plan: string) => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

/** Rate limits of this process. */
export function createLimiter({ requestsPerMinute, maxInFlight, clock }: LimiterInput): Limiter {
  const states = new Map<string, number>()
  const places = createPlaces()
  return {
    admit(caller) {
      const now = clock()
      const account = count(states, { id: caller.accountId, limit: requestsPerMinute(caller.plan), now })
      const key = count(states, { id: caller.keyId, limit: caller.requestsPerMinute, now })
      const refused = [account, key].find((counted) => counted?.result.allowed === false)
      if (refused !== undefined) throw tooMany(refused)
      const release = places.take(caller.accountId, maxInFlight(caller.plan))
      for (const counted of [account, key]) if (counted !== undefined) remember(states, counted)
      return { requests: tighter(account, key), tokens: undefined, release }
    },
  }
}

/** Places for requests under way, by account; an account without any is not remembered. */
function createPlaces() {
  const taken = new Map<string, number>()
  return {
    /** @returns gives the place back; only the first call counts. */
    take(accountId: string, limit: number): () => void {
      const count = taken.get(accountId) ?? 0
      if (count >= limit) throw tooManyAtOnce(limit)
      taken.set(accountId, count + 1)
      let held = true
      return () => {
        if (!held) return
        held = false
        const left = (taken.get(accountId) ?? 1) - 1
        if (left === 0) taken.delete(accountId)
        else taken.set(accountId, left)
      }
    },
  }
}

function tooManyAtOnce(limit: number): GatewayError {
  const message = `${limit} requests of this account are under way, which is its limit; try again in 1 s.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfterMs: 1_000 })
}

interface Counted {
  readonly id: string
  readonly limit: number
  readonly result: GcraResult
}

function count(
  states: ReadonlyMap<string, number>,
  { id, limit, now }: { id: string; limit: number | undefined; now: number },
): Counted | undefined {
  if (limit === undefined) return undefined
  return { id, limit, result: countRequest({ limit, windowMs: WINDOW_MS }, states.get(id), now) }
}

/** Re-inserted, so that the map is in order of last use. */
function remember(states: Map<string, number>, { id, result }: Counted): void {
  states.delete(id)
  states.set(id, result.restedAt)
  if (states.size <= MAX_LIMITED) return
  const [oldest] = states.keys()
  if (oldest !== undefined) states.delete(oldest)
}

function tighter(account: Counted | undefined, key: Counted | undefined): LimitState | undefined {
  const [first, second] = [account, key].filter((counted) => counted !== undefined)
  if (first === undefined) return undefined
  return stateOf(second !== undefined && second.result.remaining < first.result.remaining ? second : first)
}

function stateOf({ limit, result }: Counted): LimitState {
  return { limit, remaining: result.remaining, resetMs: result.resetMs }
}

function tooMany(refused: Counted): GatewayError {
  const { limit, result } = refused
  const seconds = Math.min(60, Math.max(1, Math.ceil(result.retryAfterMs / 1000)))
  const message = `The limit of ${limit} requests a minute is reached; try again in ${seconds} s.`
  return new GatewayError('rate_limit_exceeded', message, {
    retryAfterMs: result.retryAfterMs,
    headers: limitHeaders({ requests: stateOf(refused), tokens: undefined }),
  })
}
