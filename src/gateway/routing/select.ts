/**
 * Selects the candidate of the next attempt, and learns from failed ones. Candidates are called in rounds: each round has
 * those of the one before that may succeed after a moment, and begins after the longest `Retry-After` of them, or a backoff.
 */
import { ProviderError } from '../../protocols/protocol.ts'
import { isCancelled } from '../cancellation.ts'
import { isCredentialRefusal, mayBeTriedAgain } from '../upstream/failure.ts'
import type { AttemptLease } from './attempt-lease.ts'
import { beginRound, queueForCapacity, RETRY_MAX_MS, waitForCredential, waitWithin } from './backoff.ts'
import { calledText, freeTarget, withMember } from './candidates.ts'
import { type Cooling, coolingOf, isAboutCredential, mayTry } from './credentials.ts'
import type { Candidate, KeyedTarget } from './health.ts'
import { skipReason } from './order.ts'
import { callsAt, isLate, mayBeCalled, NONE, type Selection, take, targetNow } from './selection.ts'

/** Begins the next attempt, at once where a candidate can be called. Throws, or rejects, with the error for the client. */
export function select(selection: Selection): AttemptLease | Promise<AttemptLease> {
  return selectNow(selection) ?? selectLater(selection)
}

/** Applies what a failed attempt means for the next one. */
export function learn(selection: Selection, lease: AttemptLease, error: unknown): void {
  const { candidate, role, why, outcome } = lease
  selection.routeHeader = withMember(selection.routeHeader, calledText(candidate.label, why, outcome))
  lease.listed = true
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

function hasAnotherTarget({ context: { health } }: Selection, candidate: Candidate): boolean {
  if (candidate.targets.length < 2 || candidate.scripted) return false
  return freeTarget(candidate, health.clock(), health.random) !== undefined
}

/** The first candidate that can be called now. */
function selectNow(selection: Selection): AttemptLease | undefined {
  const { context, left } = selection
  for (const candidate of left) {
    if (!mayBeCalled(selection, candidate) || isLate(selection, candidate)) continue
    const calls = callsAt(candidate, context)
    if (skipReason(candidate, context.health, calls) !== undefined) continue
    const target = targetNow(selection, candidate)
    if (target === undefined) continue
    candidate.provider.limiter.acquire(calls)
    return take(selection, { candidate, target, role: undefined, calls })
  }
  return undefined
}

async function selectLater(selection: Selection): Promise<AttemptLease> {
  for (;;) {
    const isLastRound = selection.again.length === 0
    const lease = isLastRound ? ((await queueForCapacity(selection)) ?? selectLast(selection)) : undefined
    if (lease !== undefined) return lease
    const waitMs = selection.again.length > 0 ? beginRound(selection) : waitForCredential(selection)
    if (waitMs > 0) await waitWithin(selection, waitMs)
    const found = selectNow(selection)
    if (found !== undefined) return found
  }
}

/** Only candidates with open breakers are left: the best of them is called all the same, once (UP-4). */
function selectLast(selection: Selection): AttemptLease | undefined {
  const { context, left, called } = selection
  if (isCancelled(context.cancellation)) return undefined
  const fresh = left.filter(
    (each) => !called.includes(each) && mayBeCalled(selection, each) && !isLate(selection, each),
  )
  const { clock, random } = context.health
  const now = clock()
  for (const candidate of fresh) {
    const target = freeTarget(candidate, now, random)
    const lease = target && takeAsLast(selection, candidate, target)
    if (lease !== undefined) return lease
  }
  return tryCooling(selection, fresh)
}

/** Every credential is cooling: the one whose cooldown ends first is tried all the same, but seldom. */
function tryCooling(selection: Selection, fresh: readonly Candidate[]): AttemptLease | undefined {
  const now = selection.context.health.clock()
  let best: { readonly candidate: Candidate; readonly target: KeyedTarget; readonly cooling: Cooling } | undefined
  for (const candidate of fresh) {
    for (const target of candidate.targets) {
      const cooling = coolingOf(target.health, candidate.model, now)
      if (cooling === undefined || (cooling.cause === 'limited' && !isWorthTrying(cooling, now))) continue
      if (best === undefined || rankOf(cooling) < rankOf(best.cooling)) best = { candidate, target, cooling }
    }
  }
  if (best === undefined) return undefined
  best.cooling.triedAt = now
  return takeAsLast(selection, best.candidate, best.target)
}

/** A cooldown that ends soon is waited for. */
function isWorthTrying(cooling: Cooling, now: number): boolean {
  return cooling.until - now > RETRY_MAX_MS && mayTry(cooling, now)
}

/** A refused credential may never work again. */
function rankOf({ cause, until }: Cooling): number {
  return cause === 'refused' ? Number.POSITIVE_INFINITY : until
}

function takeAsLast(selection: Selection, candidate: Candidate, target: KeyedTarget): AttemptLease | undefined {
  const calls = callsAt(candidate, selection.context)
  const { limiter } = candidate.provider
  if (!limiter.hasCapacity(calls)) return undefined
  limiter.acquire(calls)
  return take(selection, { candidate, target, role: 'last', calls })
}
