/**
 * What failures mean for later calls: the circuit breaker of a deployment that fails repeatedly (UP-4), the retry budget of
 * a provider (UP-2), and the cooldown of a credential that is limited or refused. Failures that clients cause do not count.
 * It knows no clock: callers pass the time, in monotonic milliseconds.
 */
import type { BreakerState } from '../../domain/provider-status.ts'
import type { FailureKind, ProviderFailure } from '../../protocols/protocol.ts'

export interface BreakerSettings {
  /** Failures in a row that open it. */
  readonly failures: number
  /** How long it is open the first time; the n-th time lately n times as long. */
  readonly openMs: number
}

export interface Breaker {
  /** In a row. */
  failures: number
  /** Undefined: closed. */
  openUntil: number | undefined
  /** The one call that probes it while half-open is in flight. */
  probing: boolean
  /** Counts openings: a call that began before the last one does not count. */
  epoch: number
  /** Openings lately. */
  openings: number
  openForMs: number
  closedAt: number
}

/** `probe`: probes a half-open breaker. `last`: its breaker is open, but there was no other candidate. */
export type Role = 'normal' | 'probe' | 'last'

/** A call, as far as a breaker needs to know it. */
export interface Trial {
  readonly role: Role
  readonly epoch: number
}

export const MAX_OPEN_MS = 300_000
/** After this time without an opening the next one counts as the first. */
export const FORGET_MS = 600_000

export function createBreaker(): Breaker {
  return {
    failures: 0,
    openUntil: undefined,
    probing: false,
    epoch: 0,
    openings: 0,
    openForMs: 0,
    closedAt: Number.NEGATIVE_INFINITY,
  }
}

export function breakerState({ openUntil }: Breaker, now: number): BreakerState {
  if (openUntil === undefined) return 'closed'
  return now < openUntil ? 'open' : 'half_open'
}

/** The role of a call that began now; undefined: the breaker is open. */
export function roleNow(breaker: Breaker, now: number): 'normal' | 'probe' | undefined {
  if (breaker.openUntil === undefined) return 'normal'
  return now < breaker.openUntil || breaker.probing ? undefined : 'probe'
}

/** An answer has begun: closes the breaker. */
export function closeOnFirstEvent(breaker: Breaker, { epoch }: Trial, now: number): void {
  if (breaker.openUntil === undefined || epoch !== breaker.epoch) return
  breaker.openUntil = undefined
  breaker.probing = false
  breaker.failures = 0
  breaker.closedAt = now
}

/** An answer has ended well: resets the count of failures. */
export function resetFailures(breaker: Breaker, { epoch }: Trial): void {
  if (breaker.openUntil === undefined && epoch === breaker.epoch) breaker.failures = 0
}

/**
 * Counts a failure: `settings.failures` in a row open a closed breaker, and a failed probe keeps it open. Calls that began
 * before it last opened do not count.
 */
export function countFailure(breaker: Breaker, trial: Trial, now: number, settings: BreakerSettings): void {
  if (trial.epoch !== breaker.epoch) return
  breaker.failures += 1
  if (breaker.openUntil !== undefined) {
    // As long as before, not longer: a provider's recovery is noticed soon however long it was down.
    if (trial.role === 'probe') breaker.openUntil = now + breaker.openForMs
    return
  }
  if (breaker.failures < settings.failures) return
  breaker.openings = now - breaker.closedAt > FORGET_MS ? 1 : breaker.openings + 1
  breaker.openForMs = Math.min(MAX_OPEN_MS, settings.openMs * breaker.openings)
  breaker.openUntil = now + breaker.openForMs
  breaker.epoch += 1
}

/** A call has ended, however: another one may probe. */
export function endTrial(breaker: Breaker, { role, epoch }: Trial): void {
  if (role === 'probe' && epoch === breaker.epoch) breaker.probing = false
}

/*
 * How many repeats a provider gets beside the calls that are made there anyway (UP-2): a bucket that first calls fill by
 * a share and each repeat empties by one.
 */

export interface RetryBudget {
  tokens: number
}

/** Repeats that a provider always has, also with few calls. */
export const MIN_REPEATS = 3

export function createRetryBudget(): RetryBudget {
  return { tokens: MIN_REPEATS }
}

interface BudgetScale {
  /** Repeats for each first call; 0: none at all. */
  readonly share: number
  /** Calls in flight at the provider. */
  readonly inFlight: number
}

/** A request makes its first call at the provider. */
export function earn(budget: RetryBudget, { share, inFlight }: BudgetScale): void {
  const most = Math.max(MIN_REPEATS, share * inFlight)
  // The cap falls when fewer calls are in flight; tokens above it are kept.
  if (budget.tokens < most) budget.tokens = Math.min(most, budget.tokens + share)
}

/** An answer ended well there. */
export function refill(budget: RetryBudget): void {
  if (budget.tokens < MIN_REPEATS) budget.tokens = MIN_REPEATS
}

export function mayRepeat({ tokens }: RetryBudget, share: number): boolean {
  return share > 0 && tokens >= 1
}

export function spend(budget: RetryBudget): void {
  budget.tokens -= 1
}

/*
 * The cooldown of a credential.
 */

/** `limited`: too many requests, it says until when. `refused`: wrong or used up, it may never come back. */
type CoolingCause = 'limited' | 'refused'

/** All in monotonic milliseconds. */
export interface Cooling {
  readonly since: number
  readonly until: number
  readonly cause: CoolingCause
  /** When a request without another candidate tried it during the cooldown. */
  triedAt: number
}

export interface CredentialHealth {
  inFlight: number
  /** By the provider's name of a model; `*` for all. */
  readonly coolings: Map<string, Cooling>
  /** The latest end of all: from then on `coolings` need not be searched. */
  coolUntil: number
}

const ALL_MODELS = '*'
/** Of a credential that was refused, or whose money is used up. */
export const REFUSED_MS = 60_000
/** Upper bound of a `Retry-After`. */
export const MAX_COOLING_MS = 3_600_000
/** A limit often concerns one large request, and not the next: without another candidate, one request may try this often. */
export const TRY_EVERY_MS = 1_000
/** Cooldown without `Retry-After`: 0.5 to 1.5 times this. */
const DEFAULT_COOLING_MS = 1_000

export function createCredentialHealth(): CredentialHealth {
  return { inFlight: 0, coolings: new Map(), coolUntil: Number.NEGATIVE_INFINITY }
}

/** Why and until when it is cooling for this model; undefined: it can be used. */
export function coolingOf(credential: CredentialHealth, model: string, now: number): Cooling | undefined {
  if (now >= credential.coolUntil) return undefined
  const own = credential.coolings.get(model)
  if (own !== undefined && now < own.until) return own
  const forAll = credential.coolings.get(ALL_MODELS)
  return forAll !== undefined && now < forAll.until ? forAll : undefined
}

interface CoolingInput {
  readonly model: string
  readonly failure: ProviderFailure
  readonly now: number
  readonly random: () => number
}

/** Whether the failure is about the credential, so that another one may do better at once. */
export function isAboutCredential(kind: FailureKind): boolean {
  return kind === 'rate_limited' || kind === 'quota' || kind === 'credentials'
}

/** Begins a cooldown after a failure that is about the credential. */
export function cool(credential: CredentialHealth, { model, failure, now, random }: CoolingInput): void {
  const limited = failure.kind === 'rate_limited'
  const askedMs = failure.retryAfterMs ?? DEFAULT_COOLING_MS * (0.5 + random())
  const until = now + (limited ? Math.min(MAX_COOLING_MS, askedMs) : REFUSED_MS)
  const cause = limited ? 'limited' : 'refused'
  // 403 is most often about one model that the credential may not use.
  const scope = limited || failure.status === 403 ? model : ALL_MODELS
  const triedAt = credential.coolings.get(scope)?.triedAt ?? Number.NEGATIVE_INFINITY
  credential.coolings.set(scope, { since: now, until, cause, triedAt })
  if (until > credential.coolUntil) credential.coolUntil = until
}

/** A call that began at `startedAt` was accepted: ends earlier cooldowns. */
export function warm({ coolings }: CredentialHealth, model: string, startedAt: number): void {
  if (coolings.size === 0) return
  for (const scope of [ALL_MODELS, model]) {
    const cooling = coolings.get(scope)
    if (cooling !== undefined && cooling.since <= startedAt) coolings.delete(scope)
  }
}

/** Whether a request without another candidate may try it now. */
export function mayTry({ triedAt }: Cooling, now: number): boolean {
  return now - triedAt >= TRY_EVERY_MS
}
