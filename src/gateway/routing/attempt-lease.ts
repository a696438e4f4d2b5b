/**
 * One attempt at a candidate: what it takes of limits and counts when it begins, what is learnt from its outcome, and that
 * everything is released exactly once however it ends.
 */
import type { AttemptOutcome } from '../../domain/completion.ts'
import { ProviderError } from '../../protocols/protocol.ts'
import type { CallEnd } from '../upstream/call.ts'
import { describeFailure, failureWord } from '../upstream/failure.ts'
import {
  cool,
  endTrial,
  isAboutCredential,
  noteBeginning,
  noteEnd,
  noteFailure,
  type Role,
  refill,
  warm,
} from './breaker.ts'
import type { Candidate, Health, KeyedTarget, Route, Why } from './health.ts'

interface LeaseInput {
  readonly candidate: Candidate
  readonly target: KeyedTarget
  readonly role: Role
  readonly why: Why
  /** Counted by the provider's limiter already. */
  readonly calls: number
}

export interface AttemptLease extends LeaseInput {
  readonly epoch: number
  /** Monotonic milliseconds. */
  readonly startedAt: number
  /** Calls that have not ended. */
  open: number
  /** Of those that have, the ones whose answer was complete. */
  complete: number
  /** Monotonic milliseconds from its start to its first event, or to its failure. */
  durationMs: number | undefined
  /** Its part of `x-turnpike-route`. */
  outcome: string
  /** Its failure is counted. */
  judged: boolean
  /** The selection's `routeHeader` has it. */
  listed: boolean
}

export function beginLease(health: Health, { candidate, target, role, why, calls }: LeaseInput): AttemptLease {
  const { deployment } = candidate
  const { breaker } = deployment
  if (role === 'probe') breaker.probing = true
  deployment.calls += 1
  deployment.inFlight += calls
  target.health.inFlight += calls
  return {
    candidate,
    target,
    role,
    why,
    calls,
    epoch: breaker.epoch,
    startedAt: health.clock(),
    open: 0,
    complete: 0,
    durationMs: undefined,
    outcome: 'pending',
    judged: false,
    listed: false,
  }
}

interface Begun {
  readonly stream: boolean
  readonly route: Route
  readonly health: Health
}

/** Every choice has begun. */
export function noteBegun(lease: AttemptLease, { stream, route: { prefix }, health }: Begun): void {
  const { candidate, target } = lease
  const { deployment } = candidate
  const now = health.clock()
  lease.durationMs = now - lease.startedAt
  lease.outcome = 'answered'
  if (stream) deployment.firstEventMs = smoothed(deployment.firstEventMs, lease.durationMs)
  else deployment.wholeAnswerMs = smoothed(deployment.wholeAnswerMs, lease.durationMs)
  noteBeginning(deployment.breaker, lease, now)
  warm(target.health, candidate.model, lease.startedAt)
  if (prefix !== undefined) health.affinity.remember(prefix, { deployment, credential: target.health })
}

/** The attempt failed before its first event. @param error Undefined: it was abandoned. */
export function noteFailed(lease: AttemptLease, error: unknown, now: number): void {
  lease.durationMs ??= now - lease.startedAt
  lease.outcome = error === undefined ? 'abandoned' : outcomeWord(error)
}

/**
 * One of its calls has ended. @returns whether the answer was cut by that: it broke off after it had begun.
 */
export function noteCallEnd(lease: AttemptLease, health: Health, { complete, failure }: CallEnd): boolean {
  const { candidate } = lease
  lease.open -= 1
  if (complete) lease.complete += 1
  const isCut = failure !== undefined && !lease.judged && judge(lease, health, failure)
  if (lease.open > 0) return isCut
  if (lease.complete > 0 && !lease.judged) {
    noteEnd(candidate.deployment.breaker, lease)
    refill(candidate.provider.budget)
  }
  releaseLease(lease)
  return isCut
}

/** Releases what the attempt took, once all its calls have ended or where none began. */
export function releaseLease(lease: AttemptLease): void {
  const { candidate, target, calls } = lease
  endTrial(candidate.deployment.breaker, lease)
  candidate.deployment.inFlight -= calls
  target.health.inFlight -= calls
  candidate.provider.limiter.release(calls)
}

/** Counts a failure for the provider and the credential. @returns whether it cut an answer that had begun. */
function judge(lease: AttemptLease, health: Health, error: Error): boolean {
  lease.judged = true
  const { candidate, target } = lease
  const { deployment, scripted, model } = candidate
  lease.durationMs ??= health.clock() - lease.startedAt
  const isCut = lease.outcome === 'answered'
  if (isCut) lease.outcome = 'cut'
  if (!(error instanceof ProviderError)) return isCut
  const { failure } = error
  if (isAboutCredential(failure.kind)) {
    if (!scripted) cool(target.health, { model, failure, now: health.clock(), random: health.random })
    return isCut
  }
  if (failure.kind !== 'failed' && failure.kind !== 'overloaded') return isCut
  deployment.failedCalls += 1
  deployment.lastFailure = { at: health.now(), message: describeFailure(failure) }
  if (!scripted) noteFailure(deployment.breaker, lease, health.clock(), health.settings().breaker)
  return isCut
}

/** What the attempt log of the record says of a failure. */
export function outcomeOf(error: unknown): AttemptOutcome {
  if (!(error instanceof ProviderError)) return 'failed'
  const { kind } = error.failure
  return kind === 'context_length' || kind === 'content_filter' ? 'rejected' : kind
}

export function statusOf(error: unknown): number {
  return error instanceof ProviderError ? error.failure.status : 0
}

function outcomeWord(error: unknown): string {
  const status = statusOf(error)
  if (status > 0) return `status_${status}`
  return error instanceof ProviderError ? failureWord(error) : 'failed'
}

/** Weight of a new measurement. */
const SMOOTHING = 0.2

function smoothed(old: number | undefined, milliseconds: number): number {
  return old === undefined ? milliseconds : old + SMOOTHING * (milliseconds - old)
}
