/**
 * Leaves a deployment alone that fails time after time (UP-4). What clients cause never gets here. It knows no provider
 * and no clock: whoever asks says what time it is, in monotonic milliseconds.
 */
import type { BreakerState } from '../../domain/provider-status.ts'

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
  /** The one call that tries a half-open one is under way. */
  probing: boolean
  /** Counts openings: a call that began before one says nothing about what is tried after it. */
  epoch: number
  /** Openings lately. */
  openings: number
  openForMs: number
  closedAt: number
}

/** `probe`: it tries a half-open one for all others. `last`: open, but there was no other route. */
export type Role = 'normal' | 'probe' | 'last'

/** A call, as far as a breaker needs to know it. */
export interface Trial {
  readonly role: Role
  readonly epoch: number
}

export const MAX_OPEN_MS = 300_000
/** After so long without an opening the next one counts as the first. */
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

/** What a call would be that began now; undefined: it is to be left alone. */
export function roleNow(breaker: Breaker, now: number): 'normal' | 'probe' | undefined {
  if (breaker.openUntil === undefined) return 'normal'
  return now < breaker.openUntil || breaker.probing ? undefined : 'probe'
}

/** An answer has begun: where it was left alone, that is over. */
export function noteBeginning(breaker: Breaker, { epoch }: Trial, now: number): void {
  if (breaker.openUntil === undefined || epoch !== breaker.epoch) return
  breaker.openUntil = undefined
  breaker.probing = false
  breaker.failures = 0
  breaker.closedAt = now
}

/** An answer has come to its end. */
export function noteEnd(breaker: Breaker, { epoch }: Trial): void {
  if (breaker.openUntil === undefined && epoch === breaker.epoch) breaker.failures = 0
}

export function noteFailure(breaker: Breaker, trial: Trial, now: number, settings: BreakerSettings): void {
  if (trial.epoch !== breaker.epoch) return
  breaker.failures += 1
  if (breaker.openUntil !== undefined) {
    // As long as before, not longer: a provider's recovery is to be noticed soon however long it was away.
    if (trial.role === 'probe') breaker.openUntil = now + breaker.openForMs
    return
  }
  if (breaker.failures < settings.failures) return
  breaker.openings = now - breaker.closedAt > FORGET_MS ? 1 : breaker.openings + 1
  breaker.openForMs = Math.min(MAX_OPEN_MS, settings.openMs * breaker.openings)
  breaker.openUntil = now + breaker.openForMs
  breaker.epoch += 1
}

/** A call is over, however it ended: another one may try. */
export function endTrial(breaker: Breaker, { role, epoch }: Trial): void {
  if (role === 'probe' && epoch === breaker.epoch) breaker.probing = false
}
