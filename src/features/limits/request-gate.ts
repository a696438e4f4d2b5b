/**
 * Rate limits before the body is read: requests a minute of the account and key, and requests that were rejected for their
 * content. It never refuses what the limiter would admit: that counts again when the size of the request is known, and
 * alone decides across processes.
 */
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import type { RequestEntry, RequestGate } from '../../domain/limits.ts'
import { correct, type GcraResult, spend } from '../../domain/limits.ts'
import { type PlanLimits, type Refusal, tooMany, tooManyAtOnce } from './limiter.ts'

const WINDOW_MS = 60_000
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
  if (longest?.allowed === false) throw tooMany(refusalOf(longest, (isKeyLonger ? ofKey : ofAccount) ?? 0))
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

function refusalOf({ remaining, resetMs, retryAfterMs }: GcraResult, limit: number): Refusal {
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
