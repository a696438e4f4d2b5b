/** Rate limits of this process: requests and tokens a minute, requests in flight. It knows nothing of a request but its size. */

import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import {
  correct,
  type GcraLimit,
  type GcraResult,
  type LimitState,
  type LimitStates,
  limitHeaders,
  spend,
} from '../../domain/limits.ts'
import { invariant } from '../../lib/crash-point.ts'

const WINDOW_MS = 60_000
/** Accounts and keys with a bucket; beyond it full buckets are evicted, then the oldest. */
export const MAX_LIMITED = 100_000

/** Limits of a plan; undefined: none. */
export interface PlanLimits {
  readonly requestsPerMinute: number | undefined
  readonly tokensPerMinute: number | undefined
  readonly maxInFlight: number
}

export interface Admission extends LimitStates {
  /** Ends the request in flight; only the first call counts. */
  release(): void
  /** Corrects the reservation to the tokens that were used; only the first call counts. */
  settle(tokens: number): void
}

export interface Limiter {
  /**
   * Counts a request against all limits of its account and key, or against none; it is in flight until `release`.
   * Throws `rate_limit_exceeded` when a limit is reached.
   * @param maxTokens The most that the request can use; called only where tokens are limited.
   */
  admit(caller: Caller, maxTokens: () => number): Admission
}

/** Share of limits that several processes divide equally. */
export interface LimitShare {
  readonly processes: number
  /** How much of a limit counts as spent for callers that were not counted here yet, from 0 to 1, and since when. */
  readonly spent: number
  readonly since: number
}

export interface LimiterInput {
  readonly limitsOf: (plan: string) => PlanLimits
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Undefined: the whole limits. */
  readonly share?: (() => LimitShare) | undefined
}

export function createLimiter({ limitsOf, clock, share }: LimiterInput): Limiter {
  const buckets = createBuckets(clock)
  return {
    admit(caller, maxTokens) {
      const now = clock()
      const limits = limitsOf(caller.plan)
      const part = share?.()
      const own = buckets.of(caller.accountId)
      const account = countRequest(own, { limit: limits.requestsPerMinute, now, part })
      const { requestsPerMinute } = caller
      const ofKey = { limit: requestsPerMinute, now, part }
      const { rateKeyId = caller.keyId } = caller
      const key = requestsPerMinute === undefined ? undefined : countRequest(buckets.of(rateKeyId), ofKey)
      const team = countTeam(buckets, caller, { now, part })
      const tokens = reserveTokens(own, { limit: limits.tokensPerMinute, maxTokens, now, part })
      const refused = longestWait(longestWait(longestWait(account, key), team), tokens)
      if (refused?.result.allowed === false) throw tooMany(refusalOf(refused))
      const maxInFlight = part === undefined ? limits.maxInFlight : wholeShare(limits.maxInFlight, part)
      if (own.inFlight >= maxInFlight) throw tooManyAtOnce(maxInFlight)
      own.inFlight += 1
      for (const counted of [account, key, team]) if (counted !== undefined) chargeRequest(counted)
      if (tokens !== undefined) own.tokensRestedAt = tokens.result.restedAt
      return {
        requests: tighter(tighter(stateOf(account), stateOf(key)), stateOf(team)),
        tokens: stateOf(tokens),
        release: once(() => {
          own.inFlight -= 1
          invariant(own.inFlight >= 0, 'More requests were released than admitted.')
        }),
        settle: settlement(tokens),
      }
    },
  }
}

/** State of an account or a key, changed in place: a map that is written with every request is slow to collect. */
interface Bucket {
  /** When the request bucket is full again, in monotonic milliseconds; undefined: never counted. */
  requestsRestedAt: number | undefined
  /** The same of the token bucket. */
  tokensRestedAt: number | undefined
  /** Requests in flight. */
  inFlight: number
}

interface Buckets {
  /** Of an account or a key, by its id. */
  of(id: string): Bucket
}

export function createBuckets(clock: () => number): Buckets {
  const buckets = new Map<string, Bucket>()
  return {
    of(id) {
      const known = buckets.get(id)
      if (known !== undefined) return known
      if (buckets.size >= MAX_LIMITED) evict(buckets, clock())
      const bucket = { requestsRestedAt: undefined, tokensRestedAt: undefined, inFlight: 0 }
      buckets.set(id, bucket)
      return bucket
    },
  }
}

function evict(buckets: Map<string, Bucket>, now: number): void {
  for (const [id, { requestsRestedAt = 0, tokensRestedAt = 0, inFlight }] of buckets) {
    if (inFlight === 0 && Math.max(requestsRestedAt, tokensRestedAt) <= now) buckets.delete(id)
  }
  for (const [id, { inFlight }] of buckets) {
    if (buckets.size < MAX_LIMITED) return
    if (inFlight === 0) buckets.delete(id)
  }
}

interface Counted {
  readonly bucket: Bucket
  readonly unit: 'requests' | 'tokens'
  readonly rate: GcraLimit
  readonly cost: number
  readonly result: GcraResult
}

interface Demand {
  readonly limit: number | undefined
  readonly now: number
  readonly part: LimitShare | undefined
}

function countRequest(bucket: Bucket, { limit, now, part }: Demand): Counted | undefined {
  if (limit === undefined) return undefined
  const rate = rateOf(limit, part)
  const restedAt = bucket.requestsRestedAt ?? firstRestedAt(rate, part)
  return { bucket, unit: 'requests', rate, cost: 1, result: spend({ ...rate, cost: 1 }, restedAt, now) }
}

function countTeam(
  buckets: Buckets,
  { teamId, teamRequestsPerMinute: limit }: Caller,
  { now, part }: Omit<Demand, 'limit'>,
): Counted | undefined {
  if (teamId === undefined || limit === undefined) return undefined
  return countRequest(buckets.of(teamId), { limit, now, part })
}

interface Reservation extends Demand {
  readonly maxTokens: () => number
}

function reserveTokens(bucket: Bucket, { limit, maxTokens, now, part }: Reservation): Counted | undefined {
  if (limit === undefined) return undefined
  const rate = rateOf(limit, part)
  const cost = Math.min(maxTokens(), rate.limit)
  const restedAt = bucket.tokensRestedAt ?? firstRestedAt(rate, part)
  return { bucket, unit: 'tokens', rate, cost, result: spend({ ...rate, cost }, restedAt, now) }
}

/** A share of less than one a minute is one in a longer time. */
function rateOf(limit: number, part: LimitShare | undefined): GcraLimit {
  if (part === undefined) return { limit, windowMs: WINDOW_MS }
  const share = limit / Math.max(1, part.processes)
  return { limit: Math.max(1, share), windowMs: WINDOW_MS * Math.max(1, 1 / share) }
}

function firstRestedAt({ windowMs }: GcraLimit, part: LimitShare | undefined): number | undefined {
  return part === undefined ? undefined : part.since + part.spent * windowMs
}

function wholeShare(limit: number, { processes }: LimitShare): number {
  return Math.max(1, Math.floor(limit / Math.max(1, processes)))
}

/** Returns the refusal that ends last: after it, no other is left. */
function longestWait(first: Counted | undefined, second: Counted | undefined): Counted | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return second.result.retryAfterMs > first.result.retryAfterMs ? second : first
}

function chargeRequest({ bucket, result }: Counted): void {
  bucket.requestsRestedAt = result.restedAt
}

/** Corrects the bucket by the difference between the reservation and the tokens used. */
function settlement(tokens: Counted | undefined): (used: number) => void {
  let settled = tokens === undefined
  return (used) => {
    if (settled || tokens === undefined) return
    settled = true
    const { bucket, rate, cost } = tokens
    bucket.tokensRestedAt = correct(rate, bucket.tokensRestedAt ?? 0, cost - used)
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
  const { rate, result } = counted
  return { limit: Math.floor(rate.limit), remaining: result.remaining, resetMs: result.resetMs }
}

function refusalOf(refused: Counted): Refusal {
  return { unit: refused.unit, state: stateOf(refused), retryAfterMs: refused.result.retryAfterMs }
}

export interface Refusal {
  readonly unit: 'requests' | 'tokens'
  readonly state: LimitState
  readonly retryAfterMs: number
}

export function tooMany({ unit, state, retryAfterMs }: Refusal): GatewayError {
  const seconds = Math.min(60, Math.max(1, Math.ceil(retryAfterMs / 1000)))
  const message = `The limit of ${state.limit} ${unit} a minute is reached; try again in ${seconds} s.`
  return new GatewayError('rate_limit_exceeded', message, {
    retryAfterMs,
    headers: limitHeaders({ requests: undefined, tokens: undefined, [unit]: state }),
  })
}

export function tooManyAtOnce(limit: number): GatewayError {
  const message = `${limit} requests of this account are under way, which is its limit; try again in 1 s.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfterMs: 1_000 })
}

/** Of the limits of account and key, the one with less left. */
export function tighter(account: LimitState | undefined, key: LimitState | undefined): LimitState | undefined {
  if (account === undefined || key === undefined) return account ?? key
  return key.remaining < account.remaining ? key : account
}
