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

/** What is kept of an account or a key, changed in place: a map that is written with every request is slow to collect. */
interface Standing {
  /** Of the rate limit; undefined: never counted. */
  restedAt: number | undefined
  /** Requests under way. */
  inFlight: number
}

/** Rate limits of this process. */
export function createLimiter({ requestsPerMinute, maxInFlight, clock }: LimiterInput): Limiter {
  const standings = createStandings(clock)
  return {
    admit(caller) {
      const now = clock()
      const own = standings.of(caller.accountId)
      const account = count(own, requestsPerMinute(caller.plan), now)
      const { requestsPerMinute: keyLimit } = caller
      const key = keyLimit === undefined ? undefined : count(standings.of(caller.keyId), keyLimit, now)
      if (account?.result.allowed === false) throw tooMany(account)
      if (key?.result.allowed === false) throw tooMany(key)
      const places = maxInFlight(caller.plan)
      if (own.inFlight >= places) throw tooManyAtOnce(places)
      own.inFlight += 1
      if (account !== undefined) account.standing.restedAt = account.result.restedAt
      if (key !== undefined) key.standing.restedAt = key.result.restedAt
      return { requests: tighter(account, key), tokens: undefined, release: releaseOnce(own) }
    },
  }
}

function createStandings(clock: () => number) {
  const standings = new Map<string, Standing>()
  /** Forgets those who are rested anyway; if all are busy, those seen first. */
  function forget(): void {
    const now = clock()
    for (const [id, { restedAt = 0, inFlight }] of standings) {
      if (inFlight === 0 && restedAt <= now) standings.delete(id)
    }
    for (const [id, { inFlight }] of standings) {
      if (standings.size < MAX_LIMITED) return
      if (inFlight === 0) standings.delete(id)
    }
  }
  return {
    of(id: string): Standing {
      const known = standings.get(id)
      if (known !== undefined) return known
      if (standings.size >= MAX_LIMITED) forget()
      const standing: Standing = { restedAt: undefined, inFlight: 0 }
      standings.set(id, standing)
      return standing
    },
  }
}

function releaseOnce(standing: Standing): () => void {
  let held = true
  return () => {
    if (!held) return
    held = false
    standing.inFlight -= 1
  }
}

function tooManyAtOnce(limit: number): GatewayError {
  const message = `${limit} requests of this account are under way, which is its limit; try again in 1 s.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfterMs: 1_000 })
}

interface Counted {
  readonly standing: Standing
  readonly limit: number
  readonly result: GcraResult
}

function count(standing: Standing, limit: number | undefined, now: number): Counted | undefined {
  if (limit === undefined) return undefined
  return { standing, limit, result: countRequest({ limit, windowMs: WINDOW_MS }, standing.restedAt, now) }
}

function tighter(account: Counted | undefined, key: Counted | undefined): LimitState | undefined {
  if (account === undefined || key === undefined) return stateOf(account ?? key)
  return stateOf(key.result.remaining < account.result.remaining ? key : account)
}

function stateOf(counted: Counted): LimitState
function stateOf(counted: Counted | undefined): LimitState | undefined
function stateOf(counted: Counted | undefined): LimitState | undefined {
  if (counted === undefined) return undefined
  const { limit, result } = counted
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
