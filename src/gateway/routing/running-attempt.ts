/**
 * One attempt at a candidate: takes its share of limits when it begins, records its outcome in the health, and releases
 * everything exactly once, however it ends.
 */
import type { AttemptOutcome } from '../../domain/completion.ts'
import { ProviderError } from '../../protocols/protocol.ts'
import type { CallEnd } from '../upstream/call.ts'
import { describeFailure, failureWord } from '../upstream/failure.ts'
import { closeOnFirstEvent, countFailure, endTrial, type Role, refill, resetFailures } from './breaker.ts'
import { cooldownOf, endCooldowns, isAboutCredential, startCooldown } from './credentials.ts'
import type { Candidate, ChoiceReason, Health, KeyedTarget, Route } from './health.ts'
import { record } from './measurements.ts'

interface AttemptInput {
  readonly candidate: Candidate
  readonly target: KeyedTarget
  readonly role: Role
  readonly why: ChoiceReason
  /** The number of calls, which the provider's limiter has counted. */
  readonly calls: number
}

export interface RunningAttempt extends AttemptInput {
  readonly epoch: number
  /** Monotonic milliseconds. */
  readonly startedAt: number
  /** Calls that have not ended. */
  openCalls: number
  /** Ended calls whose answer was complete. */
  complete: number
  /** Monotonic milliseconds from the start to the first event, or to the failure. */
  durationMs: number | undefined
  /** The outcome in `x-turnpike-route`. */
  outcome: string
  /** An attempt counts as at most one failure. */
  failureCounted: boolean
  /** Whether the selection's `routeHeader` contains this attempt. */
  inRouteHeader: boolean
}

export function beginAttempt(health: Health, { candidate, target, role, why, calls }: AttemptInput): RunningAttempt {
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
    openCalls: 0,
    complete: 0,
    durationMs: undefined,
    outcome: 'pending',
    failureCounted: false,
    inRouteHeader: false,
  }
}

interface Begun {
  readonly stream: boolean
  readonly route: Route
  readonly health: Health
}

/** Records that every choice has begun. */
export function recordFirstEvent(
  running: RunningAttempt,
  { stream, route: { prefix, candidates, stickyKey }, health }: Begun,
): void {
  const { candidate, target } = running
  const { deployment } = candidate
  const now = health.clock()
  running.durationMs = now - running.startedAt
  running.outcome = 'answered'
  const { measurements } = deployment
  if (stream) {
    deployment.firstEventMs = smoothed(deployment.firstEventMs, running.durationMs)
    record(measurements.firstEvent, running.durationMs, now)
  } else {
    deployment.wholeAnswerMs = smoothed(deployment.wholeAnswerMs, running.durationMs)
    record(measurements.wholeAnswer, running.durationMs, now)
  }
  closeOnFirstEvent(deployment.breaker, running, now)
  endCooldowns(target.health, candidate.model, running.startedAt)
  if (stickyKey !== undefined) health.stickyModels.set(stickyKey, candidate.of.id)
  if (prefix !== undefined && candidate.of === candidates[0]?.of)
    health.affinity.remember(prefix, { deployment, credential: target.health })
}

/** Records that the attempt failed before its first event. @param error Undefined if it was abandoned. */
export function recordAttemptFailure(running: RunningAttempt, error: unknown, now: number): void {
  running.durationMs ??= now - running.startedAt
  running.outcome = error === undefined ? 'abandoned' : outcomeWord(error)
}

/**
 * Records the end of one of the calls. @returns whether it broke off an answer that had begun.
 */
export function recordCallEnd(running: RunningAttempt, health: Health, { complete, failure }: CallEnd): boolean {
  const { candidate } = running
  running.openCalls -= 1
  if (complete) running.complete += 1
  const isCut = failure !== undefined && !running.failureCounted && countAttemptFailure(running, health, failure)
  if (running.openCalls > 0) return isCut
  if (running.complete > 0 && !running.failureCounted) {
    resetFailures(candidate.deployment.breaker, running)
    refill(candidate.provider.budget)
  }
  endAttempt(running)
  return isCut
}

/** Releases the attempt's share of limits once all its calls have ended, or if none began. */
export function endAttempt(running: RunningAttempt): void {
  const { candidate, target, calls } = running
  endTrial(candidate.deployment.breaker, running)
  candidate.deployment.inFlight -= calls
  target.health.inFlight -= calls
  candidate.provider.limiter.release(calls)
}

/** Counts a failure for the provider and the credential. @returns whether it broke off an answer that had begun. */
function countAttemptFailure(running: RunningAttempt, health: Health, error: Error): boolean {
  running.failureCounted = true
  const { candidate, target } = running
  const { deployment, scripted, model } = candidate
  running.durationMs ??= health.clock() - running.startedAt
  const isCut = running.outcome === 'answered'
  if (isCut) running.outcome = 'cut'
  if (!(error instanceof ProviderError)) return isCut
  const { failure } = error
  const now = health.clock()
  const isCredential = isAboutCredential(failure.kind)
  if (isCredential && !scripted) startCooldown(target.health, { model, failure, now, random: health.random })
  if (!isCredential && failure.kind !== 'failed' && failure.kind !== 'overloaded') return isCut
  if (isCredential && target.ownCredential !== undefined) return isCut // says nothing about other accounts
  deployment.failedCalls += 1
  deployment.lastFailure = { at: health.now(), message: describeFailure(failure) }
  const isUsable = isCredential && candidate.targets.some((one) => cooldownOf(one.health, model, now) === undefined)
  if (!scripted && !isUsable) countFailure(deployment.breaker, running, now, health.settings().breaker)
  return isCut
}

/** Returns the outcome of a failure for the attempt log of the record. */
export function outcomeOf(error: unknown): AttemptOutcome {
  if (!(error instanceof ProviderError)) return 'failed'
  const { kind } = error.failure
  return kind === 'context_length' || kind === 'content_filter' ? 'rejected' : kind
}

export function statusOf(error: unknown): number {
  return error instanceof ProviderError ? error.failure.status : 0
}

function outcomeWord(error: unknown): string {
  if (isAboutContent(error)) return error.failure.kind
  const status = statusOf(error)
  if (status > 0) return `status_${status}`
  return error instanceof ProviderError ? failureWord(error) : 'failed'
}

/** Returns whether the failure is about the content, which another model may accept. */
function isAboutContent(error: unknown): error is ProviderError {
  if (!(error instanceof ProviderError)) return false
  return error.failure.kind === 'context_length' || error.failure.kind === 'content_filter'
}

/** The weight of a new measurement in the smoothed value. */
const SMOOTHING = 0.2

function smoothed(old: number | undefined, milliseconds: number): number {
  return old === undefined ? milliseconds : old + SMOOTHING * (milliseconds - old)
}
