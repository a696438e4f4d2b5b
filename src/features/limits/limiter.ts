/** Rate limits of this process: requests and tokens a minute, requests under way. It knows no request but its size. */
import type { Caller } from '../../domain/caller.ts'
import type { LimitState, LimitStates } from '../../domain/limits.ts'
import { correct, type GcraResult, spend } from '../../lib/gcra.ts'
import { invariant } from '../../lib/invariant.ts'
import { type Refusal, tighter, tooMany, tooManyAtOnce } from './answer.ts'
import { createStandings, type Standing } from './standings.ts'

const WINDOW_MS = 60_000

/** What an account may do; absent: without limit. */
export interface PlanLimits {
  readonly requestsPerMinute: number | undefined
  readonly tokensPerMinute: number | undefined
  readonly maxInFlight: number
}

export interface Admission extends LimitStates {
  /** Gives the place of a request under way back; only the first call counts. */
  release(): void
  /** Says what the request really used, in tokens; only the first call counts. */
  settle(tokens: number): void
}

export interface Limiter {
  /**
   * Counts a request against all limits of its account and key, or against none, and takes a place until `release`.
   * Throws `rate_limit_exceeded` when a limit is reached or no place is free.
   * @param worstTokens What the request may use at most; asked only where tokens are limited.
   */
  admit(caller: Caller, worstTokens: () => number): Admission
}

export interface LimiterInput {
  readonly limitsOf: (plan: string) => PlanLimits
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

export function createLimiter({ limitsOf, clock }: LimiterInput): Limiter {
  const standings = createStandings(clock)
  return {
    admit(caller, worstTokens) {
      const now = clock()
      const limits = limitsOf(caller.plan)
      const own = standings.of(caller.accountId)
      const account = countRequest(own, limits.requestsPerMinute, now)
      const { requestsPerMinute } = caller
      const key =
        requestsPerMinute === undefined ? undefined : countRequest(standings.of(caller.keyId), requestsPerMinute, now)
      const tokens = reserveTokens(own, { limit: limits.tokensPerMinute, worstTokens, now })
      const refused = longestWait(longestWait(account, key), tokens)
      if (refused?.result.allowed === false) throw tooMany(refusalOf(refused))
      if (own.inFlight >= limits.maxInFlight) throw tooManyAtOnce(limits.maxInFlight)
      own.inFlight += 1
      for (const counted of [account, key]) if (counted !== undefined) keepRequest(counted)
      if (tokens !== undefined) own.tokensRestedAt = tokens.result.restedAt
      return {
        requests: tighter(stateOf(account), stateOf(key)),
        tokens: stateOf(tokens),
        release: once(() => {
          own.inFlight -= 1
          invariant(own.inFlight >= 0, 'More places were given back than were taken.')
        }),
        settle: settlement(tokens),
      }
    },
  }
}

interface Counted {
  readonly standing: Standing
  readonly unit: 'requests' | 'tokens'
  readonly limit: number
  readonly cost: number
  readonly result: GcraResult
}

function countRequest(standing: Standing, limit: number | undefined, now: number): Counted | undefined {
  if (limit === undefined) return undefined
  const result = spend({ limit, windowMs: WINDOW_MS, cost: 1 }, standing.requestsRestedAt, now)
  return { standing, unit: 'requests', limit, cost: 1, result }
}

interface Reservation {
  readonly limit: number | undefined
  readonly worstTokens: () => number
  readonly now: number
}

function reserveTokens(standing: Standing, { limit, worstTokens, now }: Reservation): Counted | undefined {
  if (limit === undefined) return undefined
  const cost = Math.min(worstTokens(), limit)
  const result = spend({ limit, windowMs: WINDOW_MS, cost }, standing.tokensRestedAt, now)
  return { standing, unit: 'tokens', limit, cost, result }
}

/** Of several refusals the one that ends last is told: whoever waits for it meets no other. */
function longestWait(first: Counted | undefined, second: Counted | undefined): Counted | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return second.result.retryAfterMs > first.result.retryAfterMs ? second : first
}

function keepRequest({ standing, result }: Counted): void {
  standing.requestsRestedAt = result.restedAt
}

/** What was reserved and not used is given back, what was used beyond it is taken. */
function settlement(tokens: Counted | undefined): (used: number) => void {
  let settled = tokens === undefined
  return (used) => {
    if (settled || tokens === undefined) return
    settled = true
    const { standing, limit, cost } = tokens
    const restedAt = standing.tokensRestedAt ?? 0
    standing.tokensRestedAt = correct({ limit, windowMs: WINDOW_MS }, restedAt, cost - used)
  }
}

function once(act: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    act()
  }
}

function stateOf(counted: Counted): LimitState
function stateOf(counted: Counted | undefined): LimitState | undefined
function stateOf(counted: Counted | undefined): LimitState | undefined {
  if (counted === undefined) return undefined
  const { limit, result } = counted
  return { limit, remaining: result.remaining, resetMs: result.resetMs }
}

function refusalOf(refused: Counted): Refusal {
  return { unit: refused.unit, state: stateOf(refused), retryAfterMs: refused.result.retryAfterMs }
}
