/**
 * One attempt's way to a provider: what it takes of places and counts when it begins, what is learnt from how it goes,
 * and that everything is given back exactly once however it ends.
 */
import type { AttemptNote, AttemptOutcome } from '../../domain/completion.ts'
import { ProviderError } from '../../protocols/protocol.ts'
import type { CallEnd } from '../call.ts'
import { failureWord } from '../call-failure.ts'
import type { Completion } from '../completion.ts'
import { describeFailure } from '../failure.ts'
import { endTrial, noteBeginning, noteEnd, noteFailure, type Role } from './breaker.ts'
import type { Candidate, Lane } from './candidate.ts'
import { cool, isAboutCredential, warm } from './credential.ts'
import type { Health } from './health.ts'
import { refill } from './retry-budget.ts'
import { calledText, type Why, withMember } from './trail.ts'

export interface Passage {
  readonly candidate: Candidate
  readonly lane: Lane
  readonly role: Role
  readonly why: Why
  readonly epoch: number
  /** Monotonic milliseconds. */
  readonly startedAt: number
  /** Places taken. */
  readonly size: number
  /** Calls that are not over. */
  open: number
  /** Of them, those whose answer came to its end. */
  complete: number
  /** Monotonic milliseconds from its start to its first event, or to its failure. */
  durationMs: number | undefined
  /** Its part of `x-turnpike-route`. */
  outcome: string
  /** What it came to is known and counted. */
  judged: boolean
}

export interface PassageInput {
  readonly candidate: Candidate
  readonly lane: Lane
  readonly role: Role
  readonly why: Why
  readonly size: number
}

/** The place itself is taken already. */
export function enterPassage(health: Health, { candidate, lane, role, why, size }: PassageInput): Passage {
  const { deployment } = candidate
  const { breaker } = deployment
  if (role === 'probe') breaker.probing = true
  deployment.calls += 1
  deployment.inFlight += size
  lane.health.inFlight += size
  const startedAt = health.clock()
  return {
    candidate,
    lane,
    role,
    why,
    epoch: breaker.epoch,
    startedAt,
    size,
    open: 0,
    complete: 0,
    durationMs: undefined,
    outcome: 'pending',
    judged: false,
  }
}

/** Every choice has begun. */
export function notePassageBegun(completion: Completion, passage: Passage, health: Health): void {
  const { candidate, lane } = passage
  const { deployment } = candidate
  const now = health.clock()
  passage.durationMs = now - passage.startedAt
  passage.outcome = 'answered'
  if (completion.request.stream) deployment.firstEventMs = smoothed(deployment.firstEventMs, passage.durationMs)
  else deployment.wholeAnswerMs = smoothed(deployment.wholeAnswerMs, passage.durationMs)
  noteBeginning(deployment.breaker, passage, now)
  warm(lane.health, candidate.model, passage.startedAt)
  const { head } = completion.route
  if (head !== undefined) health.affinity.remember(head, { deployment, credential: lane.health })
  if (completion.attemptLog.length > 0) addNote(completion, noteOf(completion, passage, 'answered'))
}

/** The attempt ended before its first event. @param outcome What the log says of it. */
export function notePassageFailed(completion: Completion, passage: Passage, { error, over, now }: Failing): void {
  const { candidate, why, startedAt } = passage
  passage.durationMs ??= now - startedAt
  passage.outcome = over ? 'abandoned' : outcomeWord(error)
  addNote(completion, noteOf(completion, passage, over ? 'abandoned' : outcomeOf(error), statusOf(error)))
  completion.trail = withMember(completion.trail, calledText(candidate.label, why, passage.outcome))
  completion.passage = undefined
}

interface Failing {
  readonly error: unknown
  /** The client left, or the gateway ended the request, and the provider did not refuse it before. */
  readonly over: boolean
  /** Monotonic milliseconds. */
  readonly now: number
}

/** One of its calls is over. @param failure Undefined: it was complete, or was given up. */
export function noteCallOver(
  completion: Completion,
  { passage, health }: { readonly passage: Passage; readonly health: Health },
  { complete, failure }: CallEnd,
): void {
  const { candidate, lane, size } = passage
  const { breaker } = candidate.deployment
  passage.open -= 1
  if (complete) passage.complete += 1
  if (failure !== undefined && !passage.judged) judge(completion, { passage, health }, failure)
  if (passage.open > 0) return
  if (passage.complete > 0 && !passage.judged) {
    noteEnd(breaker, passage)
    refill(candidate.provider.budget)
  }
  endTrial(breaker, passage)
  candidate.deployment.inFlight -= size
  lane.health.inFlight -= size
  candidate.provider.places.giveBack(size)
}

/** Gives back a passage none of whose calls began. */
export function abandonPassage(passage: Passage): void {
  const { candidate, lane, size } = passage
  endTrial(candidate.deployment.breaker, passage)
  candidate.deployment.inFlight -= size
  lane.health.inFlight -= size
  candidate.provider.places.giveBack(size)
}

/** What a failure says of the provider, and of the credential. */
function judge(
  completion: Completion,
  { passage, health }: { readonly passage: Passage; readonly health: Health },
  error: Error,
): void {
  passage.judged = true
  const { candidate, lane } = passage
  const { deployment, scripted, model } = candidate
  passage.durationMs ??= health.clock() - passage.startedAt
  if (passage.outcome === 'answered') noteCut(completion, passage)
  if (!(error instanceof ProviderError)) return
  const { failure } = error
  if (isAboutCredential(failure.kind)) {
    if (!scripted) cool(lane.health, { model, failure, now: health.clock(), random: health.random })
    return
  }
  if (failure.kind !== 'failed' && failure.kind !== 'overloaded') return
  deployment.failedCalls += 1
  deployment.lastFailure = { at: health.now(), message: describeFailure(failure) }
  if (!scripted) noteFailure(deployment.breaker, passage, health.clock(), health.settings().breaker)
}

/** An answer broke off after it had begun. */
function noteCut(completion: Completion, passage: Passage): void {
  passage.outcome = 'cut'
  const { attemptLog } = completion
  if (attemptLog.at(-1)?.outcome === 'answered') completion.attemptLog = attemptLog.slice(0, -1)
  addNote(completion, noteOf(completion, passage, 'cut'))
}

function addNote(completion: Completion, note: AttemptNote): void {
  completion.attemptLog = [...completion.attemptLog, note]
}

function noteOf(completion: Completion, passage: Passage, outcome: AttemptOutcome, status = 200): AttemptNote {
  const { candidate, startedAt, durationMs = 0 } = passage
  return {
    provider: candidate.upstream.name,
    model: candidate.model,
    outcome,
    status,
    startedMs: Math.round(startedAt - completion.receivedAt),
    durationMs: Math.round(durationMs),
  }
}

function outcomeOf(error: unknown): AttemptOutcome {
  if (!(error instanceof ProviderError)) return 'failed'
  const { kind } = error.failure
  return kind === 'context_length' || kind === 'content_filter' ? 'rejected' : kind
}

function statusOf(error: unknown): number {
  return error instanceof ProviderError ? error.failure.status : 0
}

function outcomeWord(error: unknown): string {
  const status = statusOf(error)
  if (status > 0) return `status_${status}`
  return error instanceof ProviderError ? failureWord(error) : 'failed'
}

/** Of what is new. */
const SMOOTHING = 0.2

function smoothed(old: number | undefined, milliseconds: number): number {
  return old === undefined ? milliseconds : old + SMOOTHING * (milliseconds - old)
}
