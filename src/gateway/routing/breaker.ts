/**
 * The circuit breaker of a deployment that fails repeatedly (UP-4). Failures that clients cause do not count. It knows
 * no clock: callers pass the time, in monotonic milliseconds.
 */
import type { BreakerState } from '../../domain/provider-status.ts'

export interface BreakerSettings {
  /** The consecutive failures that open the breaker. */
  readonly failures: number
  /** How long the first opening lasts; the n-th recent opening lasts n times as long. */
  readonly openMs: number
}

export interface Breaker {
  /** Consecutive failures. */
  failures: number
  /** Undefined while the breaker is closed. */
  openUntil: number | undefined
  /** The only call of a half-open breaker is in flight. */
  probing: boolean
  /** The number of openings. The outcome of a call that began before the last one does not count. */
  epoch: number
  /** The number of recent openings. */
  openings: number
  openForMs: number
  closedAt: number
}

/** `probe`: tests a half-open breaker. `last`: uses an open breaker because there is no other candidate. */
export type Role = 'normal' | 'probe' | 'last'

/** The part of a call that a breaker needs. */
export interface Trial {
  readonly role: Role
  readonly epoch: number
}

export const MAX_OPEN_MS = 300_000
/** After this time without an opening, the next one counts as the first. */
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

/** Returns the role of a call that would begin now. Undefined if the breaker is open. */
export function roleNow(breaker: Breaker, now: number): 'normal' | 'probe' | undefined {
  if (breaker.openUntil === undefined) return 'normal'
  return now < breaker.openUntil || breaker.probing ? undefined : 'probe'
}

/** Closes the breaker, because an answer has begun. */
export function closeOnFirstEvent(breaker: Breaker, { epoch }: Trial, now: number): void {
  if (breaker.openUntil === undefined || epoch !== breaker.epoch) return
  breaker.openUntil = undefined
  breaker.probing = false
  breaker.failures = 0
  breaker.closedAt = now
}

/** Resets the count of failures after a complete answer. */
export function resetFailures(breaker: Breaker, { epoch }: Trial): void {
  if (breaker.openUntil === undefined && epoch === breaker.epoch) breaker.failures = 0
}

/**
 * Counts a failure. `settings.failures` consecutive failures open a closed breaker; a failed probe keeps it open. Calls
 * that began before the breaker last opened do not count.
 */
export function countFailure(breaker: Breaker, trial: Trial, now: number, settings: BreakerSettings): void {
  if (trial.epoch !== breaker.epoch) return
  breaker.failures += 1
  if (breaker.openUntil !== undefined) {
    // The time does not grow: the gateway notices a provider's recovery soon, however long the outage was.
    if (trial.role === 'probe') breaker.openUntil = now + breaker.openForMs
    return
  }
  if (breaker.failures < settings.failures) return
  breaker.openings = now - breaker.closedAt > FORGET_MS ? 1 : breaker.openings + 1
  breaker.openForMs = Math.min(MAX_OPEN_MS, settings.openMs * breaker.openings)
  breaker.openUntil = now + breaker.openForMs
  breaker.epoch += 1
}

/** Ends a call, whatever its outcome, so that another one may probe. */
export function endTrial(breaker: Breaker, { role, epoch }: Trial): void {
  if (role === 'probe' && epoch === breaker.epoch) breaker.probing = false
}
