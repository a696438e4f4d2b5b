/** Rate limits of this process: requests and tokens a minute, requests in flight. It knows nothing of a request but its size. */
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import {
  correct,
  type GcraLimit,
  type GcraResult,
  type LimitState,
  type LimitStates,
  limitHeaders,
  type RequestEntry,
  type RequestGate,
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

// Rate limits before the body is read: requests a minute of the account and key, and requests that were rejected for their
// content. It never refuses what the limiter would admit: that counts again when the size of the request is known, and
// alone decides across processes.

/** Rejected requests a minute of a key: at least this, and a tenth of its request limit. */
const LEAST_REJECTED = 60
const REJECTED_SHARE = 0.1
/** Of a key without a request limit. */
const UNLIMITED_REJECTED = 600
/** The limit of an account, as a multiple of that of a key. */
const KEYS_OF_ACCOUNT = 2
/** Accounts and keys with counts; beyond it those with full buckets are evicted. */
const MAX_REMEMBERED = 100_000

export interface RequestGateInput {
  readonly limitsOf: (plan: string) => PlanLimits
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

/** Of an account or a key. Times are when its buckets are full again. */
interface Counts {
  requestsRestedAt: number
  rejectedRestedAt: number
  /** Chat completions whose body is being read. */
  open: number
}

export function createRequestGate({ limitsOf, clock }: RequestGateInput): RequestGate {
  const all = new Map<string, Counts>()
  const countsOf = (id: AccountId | KeyId): Counts => {
    const known = all.get(id)
    if (known !== undefined) return known
    if (all.size >= MAX_REMEMBERED) evictRested(all, clock())
    const counts = { requestsRestedAt: 0, rejectedRestedAt: 0, open: 0 }
    all.set(id, counts)
    return counts
  }
  return {
    enter(caller, isMetered) {
      const limits = limitsOf(caller.plan)
      const account = countsOf(caller.accountId)
      const key = countsOf(caller.rateKeyId ?? caller.keyId)
      const rejected = rejectedLimits(caller, limits)
      const now = clock()
      checkRejected(key, rejected.key, now)
      checkRejected(account, rejected.account, now)
      const charge = isMetered ? enterMetered({ caller, limits, account, key }, now) : FREE
      return entry(
        charge,
        (at) => {
          chargeRejected(key, rejected.key, at)
          chargeRejected(account, rejected.account, at)
        },
        clock,
      )
    },
  }
}

interface RejectedLimits {
  readonly key: number
  readonly account: number
}

function rejectedLimits({ requestsPerMinute }: Caller, limits: PlanLimits): RejectedLimits {
  const perMinute = requestsPerMinute ?? limits.requestsPerMinute
  const key = perMinute === undefined ? UNLIMITED_REJECTED : Math.max(LEAST_REJECTED, perMinute * REJECTED_SHARE)
  const ofPlan = limits.requestsPerMinute
  const plan = ofPlan === undefined ? UNLIMITED_REJECTED : Math.max(LEAST_REJECTED, ofPlan * REJECTED_SHARE)
  return { key, account: plan * KEYS_OF_ACCOUNT }
}

function checkRejected(counts: Counts, limit: number, now: number): void {
  const { allowed, retryAfterMs } = spend({ limit, windowMs: WINDOW_MS, cost: 1 }, counts.rejectedRestedAt, now)
  if (allowed) return
  const message = `More than ${Math.floor(limit)} requests a minute were rejected for their content.`
  throw new GatewayError('rate_limit_exceeded', message, { retryAfterMs })
}

/** Counts a rejection, beyond the limit as well: requests may be concurrent. */
function chargeRejected(counts: Counts, limit: number, now: number): void {
  counts.rejectedRestedAt = Math.max(counts.rejectedRestedAt, now) + WINDOW_MS / limit
}

interface Charge {
  /** The body was read. */
  read(): void
  refund(): void
}

const FREE: Charge = { read: () => {}, refund: () => {} }

interface Entering {
  readonly caller: Caller
  readonly limits: PlanLimits
  readonly account: Counts
  readonly key: Counts
}

function enterMetered({ caller, limits, account, key }: Entering, now: number): Charge {
  const { requestsPerMinute: ofAccount, maxInFlight } = limits
  const { requestsPerMinute: ofKey } = caller
  if (account.open >= maxInFlight) throw tooManyAtOnce(maxInFlight)
  const spentKey = spendRequest(key, ofKey, now)
  const spentAccount = spendRequest(account, ofAccount, now)
  const isKeyLonger = (spentKey?.retryAfterMs ?? 0) > (spentAccount?.retryAfterMs ?? 0)
  const longest = isKeyLonger ? spentKey : spentAccount
  if (longest?.allowed === false) throw tooMany(requestRefusalOf(longest, (isKeyLonger ? ofKey : ofAccount) ?? 0))
  if (spentKey !== undefined) key.requestsRestedAt = spentKey.restedAt
  if (spentAccount !== undefined) account.requestsRestedAt = spentAccount.restedAt
  account.open += 1
  return {
    read() {
      account.open -= 1
    },
    refund() {
      refundRequest(key, ofKey)
      refundRequest(account, ofAccount)
    },
  }
}

function spendRequest(counts: Counts, limit: number | undefined, now: number): GcraResult | undefined {
  return limit === undefined ? undefined : spend({ limit, windowMs: WINDOW_MS, cost: 1 }, counts.requestsRestedAt, now)
}

function requestRefusalOf({ remaining, resetMs, retryAfterMs }: GcraResult, limit: number): Refusal {
  return { unit: 'requests', state: { limit, remaining, resetMs }, retryAfterMs }
}

function refundRequest(counts: Counts, limit: number | undefined): void {
  if (limit === undefined) return
  counts.requestsRestedAt = correct({ limit, windowMs: WINDOW_MS }, counts.requestsRestedAt, 1)
}

function entry(charge: Charge, reject: (now: number) => void, clock: () => number): RequestEntry {
  let isRead = false
  let isEnded = false
  const read = (): void => {
    if (isRead) return
    isRead = true
    charge.read()
  }
  return {
    read,
    failed(isRejected) {
      read()
      if (isEnded) return
      isEnded = true
      charge.refund()
      if (isRejected) reject(clock())
    },
  }
}

function evictRested(all: Map<string, Counts>, now: number): void {
  for (const [id, { requestsRestedAt, rejectedRestedAt, open }] of all) {
    if (open === 0 && Math.max(requestsRestedAt, rejectedRestedAt) <= now) all.delete(id)
  }
  for (const [id, { open }] of all) {
    if (all.size < MAX_REMEMBERED) return
    if (open === 0) all.delete(id)
  }
}
