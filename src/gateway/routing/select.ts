/**
 * Selects the candidate of the next attempt and considers earlier failures. Candidates are called in rounds: a round
 * has the candidates of the previous one that may succeed later, and begins after their longest `Retry-After` or a
 * backoff.
 */
import { GatewayError } from '../../domain/errors.ts'
import type { Model } from '../../domain/model.ts'
import { ProviderError } from '../../protocols/protocol.ts'
import { type Cancellation, isCancelled, pause, unlessCancelled } from '../cancellation.ts'
import { fallbackReason, isAboutRequest, isCredentialRefusal, mayBeTriedAgain } from '../upstream/failure.ts'
import { earn, mayRepeat, type Role, roleNow, spend } from './breaker.ts'
import { calledText, freeTarget, isCooling, skippedText, skipReason, spreads, withMember } from './candidates.ts'
import { type Cooldown, cooldownOf, isAboutCredential, mayTry, TRY_EVERY_MS } from './credentials.ts'
import type { Candidate, ChoiceReason, Health, KeyedTarget, Route, RoutingSettings, SkipReason } from './health.ts'
import { beginAttempt, type RunningAttempt } from './running-attempt.ts'

/** The part of a request that routing needs. */
interface RoutingContext {
  readonly accountId: string
  readonly route: Route
  /** The number of choices of the answer: a provider may need a call for each. */
  readonly choices: number
  /** Monotonic milliseconds. */
  readonly receivedAt: number
  readonly cancellation: Cancellation
  readonly health: Health
  /** Whether the candidates belong to several models. */
  readonly hasFallbacks?: boolean
}

export interface Selection {
  readonly context: RoutingContext
  /** The candidates of this round that were not called yet, best first. */
  left: readonly Candidate[]
  /** The candidates of the next round. */
  again: readonly Candidate[]
  /** The longest `Retry-After` among those of the next round, in milliseconds. */
  retryAfterMs: number | undefined
  round: number
  called: readonly Candidate[]
  /** A candidate with another credential that may succeed at once, which does not count as a retry. */
  switching: Candidate | undefined
  /** Milliseconds since the last call spent waiting for a credential. */
  waitedMs: number
  /** The failure of the last attempt. */
  failure: unknown
  /** `x-turnpike-route` of the attempts and the skipped candidates so far. */
  routeHeader: string
  /** Undefined if there is only one model. */
  readonly fallback: FallbackState | undefined
}

/** The state of a selection among several models. */
interface FallbackState {
  /** Failed attempts by model, refused credentials aside. */
  readonly failed: Map<Model, number>
  readonly on: RoutingSettings['fallbackOn']
}

const NONE: readonly Candidate[] = []

export function createSelection(context: RoutingContext): Selection {
  const { candidates, skipped } = context.route
  return {
    context,
    left: candidates,
    again: NONE,
    retryAfterMs: undefined,
    round: 0,
    called: NONE,
    switching: undefined,
    waitedMs: 0,
    failure: undefined,
    routeHeader: skipped,
    fallback: context.hasFallbacks ? { failed: new Map(), on: context.health.settings().fallbackOn } : undefined,
  }
}

/**
 * Begins the next attempt, synchronously if a candidate is available. Throws or rejects with the error for the
 * client.
 */
export function select(selection: Selection): RunningAttempt | Promise<RunningAttempt> {
  return selectNow(selection) ?? selectLater(selection)
}

/** Updates the selection after a failed attempt. */
export function applyFailure(selection: Selection, running: RunningAttempt, error: unknown): void {
  const { candidate, role, why, outcome } = running
  selection.routeHeader = withMember(selection.routeHeader, calledText(candidate.label, why, outcome))
  running.inRouteHeader = true
  selection.failure = error
  if (!(error instanceof ProviderError)) return
  const { kind, retryAfterMs } = error.failure
  const switches = role === 'normal' ? isAboutCredential(kind) : isCredentialRefusal(error)
  if (switches && hasAnotherTarget(selection, candidate)) {
    selection.switching = candidate
    selection.left = [candidate, ...selection.left]
    return
  }
  if (role === 'last') selection.left = NONE
  if (role === 'last' || !mayBeTriedAgain(error) || (retryAfterMs ?? 0) > RETRY_MAX_MS) return
  selection.again = [...selection.again, candidate]
  if (retryAfterMs !== undefined) selection.retryAfterMs = Math.max(retryAfterMs, selection.retryAfterMs ?? 0)
}

interface ModelFailure {
  readonly error: unknown
  /** The most attempts at one model. */
  readonly maxAttempts: number
}

/**
 * Updates the selection among several models after a failed attempt. A request that the model cannot process, or that
 * its window or filter rejects, excludes the model; a failure that allows no other model excludes the others.
 * @returns whether anything is left to try.
 */
export function applyModelFailure(
  selection: Selection,
  running: RunningAttempt,
  { error, maxAttempts }: ModelFailure,
): boolean {
  const { of } = running.candidate
  if (error instanceof GatewayError) {
    if (error.status !== 422) {
      selection.failure = error
      return false
    }
    noteUnable(selection, running, error)
    return selection.left.length > 0 || selection.again.length > 0
  }
  const reason = fallbackReason(error)
  applyFailure(selection, running, error)
  if (reason === undefined) return false
  const { failed, on } = selection.fallback ?? { failed: new Map(), on: undefined }
  if (!isCredentialRefusal(error)) failed.set(of, (failed.get(of) ?? 0) + 1)
  if (on?.[reason] === false) keep(selection, (each) => each.of === of)
  if (isAboutRequest(error) || (failed.get(of) ?? 0) >= maxAttempts) keep(selection, (each) => each.of !== of)
  return selection.left.length > 0 || selection.again.length > 0
}

/** Returns whether another model may answer in place of one that gives no output because of the content. */
export function mayReplaceBlocked(
  { fallback, left, again }: Selection,
  { candidate: { of } }: RunningAttempt,
): boolean {
  if (fallback === undefined || fallback.on?.content_filter === false) return false
  return [...left, ...again].some((each) => each.of !== of)
}

function keep(selection: Selection, isKept: (candidate: Candidate) => boolean): void {
  selection.left = selection.left.filter(isKept)
  selection.again = selection.again.filter(isKept)
}

/** Skips a provider whose protocol cannot express the request. @returns whether another candidate is left. */
export function skipUnsupporting(selection: Selection, running: RunningAttempt, error: unknown): boolean {
  if (!(error instanceof GatewayError) || error.status !== 422 || selection.left.length === 0) return false
  noteUnable(selection, running, error)
  return true
}

/** Records that the provider's protocol cannot express the request; nothing was sent. */
function noteUnable(selection: Selection, running: RunningAttempt, error: GatewayError): void {
  const { label } = running.candidate
  selection.routeHeader = withMember(selection.routeHeader, `${label};skipped=${error.code}`)
  running.inRouteHeader = true
  selection.called = selection.called.filter((each) => each !== running.candidate)
  selection.failure ??= error
}

function hasAnotherTarget({ context: { health } }: Selection, candidate: Candidate): boolean {
  if (candidate.targets.length < 2 || candidate.scripted) return false
  return freeTarget(candidate, health.clock(), health.random) !== undefined
}

/** Begins an attempt at the first candidate that can be called now. */
function selectNow(selection: Selection): RunningAttempt | undefined {
  const { context, left } = selection
  let only: Model | undefined
  for (const candidate of left) {
    if (only !== undefined && candidate.of !== only) return undefined
    if (!mayBeCalled(selection, candidate) || isLate(selection, candidate)) continue
    const calls = callsAt(candidate, context)
    const reason = skipReason(candidate, context.health, calls)
    if (reason !== undefined) {
      if (!allowsOthers(selection, reason)) only = candidate.of
      continue
    }
    const target = targetNow(selection, candidate)
    if (target === undefined) continue
    candidate.provider.limiter.acquire(calls)
    return take(selection, { candidate, target, role: undefined, calls })
  }
  return undefined
}

/** Returns whether another model may answer if a candidate cannot be called now. */
function allowsOthers({ fallback }: Selection, reason: SkipReason): boolean {
  return fallback?.on === undefined || fallback.on[reason === 'full' ? 'overloaded' : 'unavailable']
}

async function selectLater(selection: Selection): Promise<RunningAttempt> {
  for (;;) {
    const isLastRound = selection.again.length === 0
    const running = isLastRound ? ((await queueForCapacity(selection)) ?? selectLast(selection)) : undefined
    if (running !== undefined) return running
    const waitMs = selection.again.length > 0 ? beginRound(selection) : waitForCredential(selection)
    if (waitMs > 0) await waitWithin(selection, waitMs)
    const found = selectNow(selection)
    if (found !== undefined) return found
  }
}

/** Only candidates with open breakers are left. Calls the best of them once (UP-4). */
function selectLast(selection: Selection): RunningAttempt | undefined {
  const { context, left, called } = selection
  if (isCancelled(context.cancellation)) return undefined
  const fresh = left.filter(
    (each) => !called.includes(each) && mayBeCalled(selection, each) && !isLate(selection, each),
  )
  const { clock, random } = context.health
  const now = clock()
  for (const candidate of fresh) {
    const target = freeTarget(candidate, now, random)
    const running = target && takeAsLast(selection, candidate, target)
    if (running !== undefined) return running
  }
  return tryCooling(selection, fresh)
}

/** All credentials are cooling down: tries the one whose cooldown ends first, at most at intervals. */
function tryCooling(selection: Selection, fresh: readonly Candidate[]): RunningAttempt | undefined {
  const now = selection.context.health.clock()
  let best: { readonly candidate: Candidate; readonly target: KeyedTarget; readonly cooling: Cooldown } | undefined
  for (const candidate of fresh) {
    for (const target of candidate.targets) {
      const cooling = cooldownOf(target.health, candidate.model, now)
      if (cooling === undefined || (cooling.cause === 'limited' && !isWorthTrying(cooling, now))) continue
      if (best === undefined || rankOf(cooling) < rankOf(best.cooling)) best = { candidate, target, cooling }
    }
  }
  if (best === undefined) return undefined
  best.cooling.triedAt = now
  return takeAsLast(selection, best.candidate, best.target)
}

/** Returns whether to try a credential during its cooldown. A request waits for the end of a short one instead. */
function isWorthTrying(cooling: Cooldown, now: number): boolean {
  return cooling.until - now > RETRY_MAX_MS && mayTry(cooling, now)
}

/** Ranks a cooldown for waiting. A refused credential comes last, because it may never work again. */
function rankOf({ cause, until }: Cooldown): number {
  return cause === 'refused' ? Number.POSITIVE_INFINITY : until
}

function takeAsLast(selection: Selection, candidate: Candidate, target: KeyedTarget): RunningAttempt | undefined {
  const calls = callsAt(candidate, selection.context)
  const { limiter } = candidate.provider
  if (!limiter.hasCapacity(calls)) return undefined
  limiter.acquire(calls)
  return take(selection, { candidate, target, role: 'last', calls })
}

interface Choice {
  readonly candidate: Candidate
  readonly target: KeyedTarget
  /** The role of the attempt. Undefined leaves it to the breaker. */
  readonly role: Role | undefined
  /** The calls that the limiter has counted already. */
  readonly calls: number
}

/** Removes the chosen candidate from the round and begins its attempt. */
function take(selection: Selection, { candidate, target, role, calls }: Choice): RunningAttempt {
  const { context, called } = selection
  const { health, route } = context
  countRepeat(selection, candidate)
  const acting =
    role ?? (candidate.scripted ? 'normal' : (roleNow(candidate.deployment.breaker, health.clock()) ?? 'last'))
  if (candidate !== route.candidates[0]) listSkipped(selection, candidate)
  const why = whyOf(selection, candidate, acting)
  selection.left = selection.left.length === 1 ? NONE : selection.left.filter((each) => each !== candidate)
  selection.called = called.length === 0 ? [candidate] : [...called, candidate]
  selection.switching = undefined
  selection.waitedMs = 0
  return beginAttempt(health, { candidate, target, role: acting, why, calls })
}

function countRepeat({ called, switching, context, failure }: Selection, candidate: Candidate): void {
  if (candidate.scripted) return
  const { budget, limiter } = candidate.provider
  if (!isAtCalledProvider(called, candidate)) {
    earn(budget, { share: context.health.settings().retryBudget, inFlight: limiter.inFlight() })
  } else if (switching !== candidate && !isAboutRequest(failure)) spend(budget)
}

function isAtCalledProvider(called: readonly Candidate[], { provider }: Candidate): boolean {
  return called.length > 0 && called.some((each) => each.provider === provider)
}

function whyOf({ context: { route }, called }: Selection, candidate: Candidate, role: Role): ChoiceReason {
  if (role !== 'normal') return role
  if (called.includes(candidate)) return 'repeat'
  return candidate === route.candidates[0] ? route.why : 'fallback'
}

/**
 * Adds the better candidates that were not called to the header, each once.
 * @param chosen Undefined if none was called.
 */
function listSkipped(selection: Selection, chosen: Candidate | undefined): void {
  const { context, called, left } = selection
  for (const candidate of left) {
    if (candidate === chosen) return
    if (called.includes(candidate)) continue
    const reason = skipReason(candidate, context.health, callsAt(candidate, context))
    const text = reason && skippedText(candidate.label, reason)
    if (text === undefined || selection.routeHeader.includes(text)) continue
    selection.routeHeader = withMember(selection.routeHeader, text)
  }
}

/**
 * Returns whether the retry budget of a healthy provider allows a retry (UP-2); a change of credential is not a
 * retry.
 */
function mayBeCalled({ called, switching, failure, context }: Selection, candidate: Candidate): boolean {
  if (!isAtCalledProvider(called, candidate) || switching === candidate || candidate.scripted) return true
  if (!called.includes(candidate) && isNoLoad(failure)) return true
  const { provider, deployment } = candidate
  if (called.includes(candidate) && deployment.breaker.openUntil !== undefined) return false
  return mayRepeat(provider.budget, context.health.settings().retryBudget)
}

/** Returns whether the provider refused without work, so that another call does not burden a failing provider. */
function isNoLoad(failure: unknown): boolean {
  return isCredentialRefusal(failure) || isAboutRequest(failure)
}

/** Returns the sticky target if it is usable, else the least busy one. */
function targetNow({ context }: Selection, candidate: Candidate): KeyedTarget | undefined {
  const { target } = context.route
  const { clock, random } = context.health
  const now = clock()
  if (target !== undefined && candidate.targets.includes(target) && !isCooling(candidate, target, now)) return target
  return freeTarget(candidate, now, random)
}

/** Returns the calls that an attempt makes at once. */
function callsAt(candidate: Candidate, { choices }: Pick<RoutingContext, 'choices'>): number {
  return choices > 1 && spreads(candidate, choices) ? choices : 1
}

/**
 * Returns the deadline in monotonic milliseconds: it counts from the request's arrival, whatever the request waits
 * for (UP-5).
 */
function deadlineOf({ receivedAt }: RoutingContext, { upstream }: Candidate): number {
  return receivedAt + upstream.timeouts.total
}

function isLate({ context }: Selection, candidate: Candidate): boolean {
  return context.health.clock() >= deadlineOf(context, candidate)
}

/*
 * Waits of a request without an available candidate: for capacity, a credential or a backoff, and when it gives up.
 */

/** The first upper bound of the full-jitter backoff, which doubles. */
const RETRY_BASE_MS = 100
/** The longest `Retry-After` that the gateway waits for. Beyond it, the client decides whether to retry. */
const RETRY_MAX_MS = 2_000
/** The interval at which a cooldown is checked, because it ends early when another request succeeds. */
const LOOK_MS = 100
/** How long a request waits in the queue of a provider. */
const MAX_QUEUE_MS = 10_000
/** The `Retry-After` if the queue is full or the wait in it was too long. */
const CROWDED_RETRY_MS = 2_000

/** Queues at the best candidate that only lacks capacity. @returns undefined if there is none, or no longer. */
async function queueForCapacity(selection: Selection): Promise<RunningAttempt | undefined> {
  const { context, left } = selection
  const { health, cancellation } = context
  const candidate = left.find((each) => mayBeCalled(selection, each) && isFull(selection, each))
  if (candidate === undefined) return undefined
  const { limiter } = candidate.provider
  const calls = callsAt(candidate, context)
  const waitMs = Math.min(MAX_QUEUE_MS, deadlineOf(context, candidate) - health.clock())
  const waiter = waitMs > 0 ? limiter.enqueue(context.accountId, calls) : undefined
  if (waiter === undefined) throw selection.failure ?? crowded(selection, candidate)
  const timer = setTimeout(waiter.leave, waitMs)
  try {
    await unlessCancelled(cancellation, waiter.over)
  } finally {
    clearTimeout(timer)
    waiter.leave()
  }
  if (!waiter.granted())
    throw isCancelled(cancellation) ? giveUp(selection) : (selection.failure ?? crowded(selection, candidate))
  const target = targetNow(selection, candidate)
  const isHealthy = candidate.scripted || roleNow(candidate.deployment.breaker, health.clock()) !== undefined
  if (!isCancelled(cancellation) && target !== undefined && isHealthy) {
    return take(selection, { candidate, target, role: undefined, calls })
  }
  limiter.release(calls)
  if (isCancelled(cancellation)) throw giveUp(selection)
  return undefined
}

function isFull({ context }: Selection, candidate: Candidate): boolean {
  return skipReason(candidate, context.health, callsAt(candidate, context)) === 'full'
}

/** Begins the next round with the candidates that may succeed after a backoff. @returns the backoff in milliseconds. */
function beginRound(selection: Selection): number {
  const { context, again, left, retryAfterMs } = selection
  selection.round += 1
  selection.left = context.route.candidates.filter(
    (each) => left.includes(each) || (again.includes(each) && mayBeCalled(selection, each)),
  )
  selection.again = NONE
  selection.retryAfterMs = undefined
  if (selection.left.length === 0) throw giveUp(selection)
  return retryAfterMs ?? context.health.random() * Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** (selection.round - 1))
}

/** @returns how long to wait until a credential may be used again. Throws if that is too long. */
function waitForCredential(selection: Selection): number {
  const { context, left, waitedMs } = selection
  const now = context.health.clock()
  let soonest = Number.POSITIVE_INFINITY
  let limited: Candidate | undefined
  for (const candidate of left) {
    if (!mayBeCalled(selection, candidate)) continue
    for (const { health } of candidate.targets) {
      const cooling = cooldownOf(health, candidate.model, now)
      if (cooling?.cause !== 'limited' || cooling.until >= soonest) continue
      soonest = cooling.until
      limited = candidate
    }
  }
  if (limited === undefined) throw giveUp(selection)
  const leftMs = soonest - now
  const maxWaitMs = leftMs > RETRY_MAX_MS ? TRY_EVERY_MS + LOOK_MS : RETRY_MAX_MS + LOOK_MS
  if (selection.failure !== undefined && leftMs > RETRY_MAX_MS) throw selection.failure
  if (waitedMs >= maxWaitMs) throw selection.failure ?? limiting(selection, limited, leftMs)
  // (a timer may fire a moment early)
  const waitMs = leftMs > RETRY_MAX_MS ? LOOK_MS : Math.ceil(leftMs) + 1
  selection.waitedMs += waitMs
  return waitMs
}

async function waitWithin(selection: Selection, waitMs: number): Promise<void> {
  const { context, left } = selection
  const [first] = left
  if (first === undefined || context.health.clock() + waitMs >= deadlineOf(context, first)) throw giveUp(selection)
  await pause(context.cancellation, waitMs)
  if (isCancelled(context.cancellation)) throw giveUp(selection)
}

function giveUp(selection: Selection): unknown {
  const { failure, context } = selection
  if (failure !== undefined) return failure
  if (isCancelled(context.cancellation)) return new Error('The request was cancelled before a provider was called.')
  listSkipped(selection, undefined)
  const message = 'No provider of the model could be called in time.'
  return new GatewayError('overloaded', message, { retryAfterMs: CROWDED_RETRY_MS })
}

function crowded(selection: Selection, { upstream, provider }: Candidate): GatewayError {
  listSkipped(selection, undefined)
  const message = `Concurrency limit (${provider.limiter.inFlight()}) of the provider '${upstream.name}' reached.`
  return new GatewayError('overloaded', message, { retryAfterMs: CROWDED_RETRY_MS })
}

function limiting(selection: Selection, { upstream }: Candidate, waitMs: number): GatewayError {
  listSkipped(selection, undefined)
  const message = `The provider '${upstream.name}' is limiting the gateway's requests.`
  return new GatewayError('provider_rate_limited', message, { retryAfterMs: Math.ceil(waitMs) })
}
