/** What one request's selection of a provider knows, and whether a candidate may be called now. */
import type { Cancellation } from '../cancellation.ts'
import { isCredentialRefusal } from '../upstream/failure.ts'
import { type AttemptLease, beginLease } from './attempt-lease.ts'
import { earn, mayRepeat, type Role, roleNow, spend } from './breaker.ts'
import { freeTarget, isCooling, skippedText, spreads, withMember } from './candidates.ts'
import type { Candidate, Health, KeyedTarget, Route, Why } from './health.ts'
import { skipReason } from './order.ts'

/** What routing knows of a request. */
export interface RoutingContext {
  readonly accountId: string
  readonly route: Route
  /** Of the answer: a provider may need a call for each. */
  readonly choices: number
  /** Monotonic milliseconds. */
  readonly receivedAt: number
  readonly cancellation: Cancellation
  readonly health: Health
}

export interface Selection {
  readonly context: RoutingContext
  /** Of this round, best first; those that were called are not in it. */
  left: readonly Candidate[]
  /** For the next round. */
  again: readonly Candidate[]
  /** The longest `Retry-After` among those of the next round, in milliseconds. */
  retryAfterMs: number | undefined
  round: number
  called: readonly Candidate[]
  /** Has another credential that may succeed at once: that is no repeat. */
  switching: Candidate | undefined
  /** For a credential to be used again, since the last call, in milliseconds. */
  waitedMs: number
  /** Of the last attempt. */
  failure: unknown
  /** `x-turnpike-route` of the attempts and skipped candidates so far. */
  routeHeader: string
}

export const NONE: readonly Candidate[] = []

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
  }
}

export interface Choice {
  readonly candidate: Candidate
  readonly target: KeyedTarget
  /** Undefined: as its breaker says. */
  readonly role: Role | undefined
  /** Calls that its limiter has counted already. */
  readonly calls: number
}

/** Takes a choice: its candidate leaves the round, and its attempt begins. */
export function take(selection: Selection, { candidate, target, role, calls }: Choice): AttemptLease {
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
  return beginLease(health, { candidate, target, role: acting, why, calls })
}

function countRepeat({ called, switching, context }: Selection, candidate: Candidate): void {
  if (candidate.scripted) return
  const { budget, limiter } = candidate.provider
  if (!isAtCalledProvider(called, candidate)) {
    earn(budget, { share: context.health.settings().retryBudget, inFlight: limiter.inFlight() })
  } else if (switching !== candidate) spend(budget)
}

function isAtCalledProvider(called: readonly Candidate[], { provider }: Candidate): boolean {
  return called.length > 0 && called.some((each) => each.provider === provider)
}

function whyOf({ context: { route }, called }: Selection, candidate: Candidate, role: Role): Why {
  if (role !== 'normal') return role
  if (called.includes(candidate)) return 'repeat'
  return candidate === route.candidates[0] ? route.why : 'fallback'
}

/** Names the better candidates that were not called, once each. @param chosen Undefined: none was. */
export function listSkipped(selection: Selection, chosen: Candidate | undefined): void {
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

/** A repeat needs a healthy provider with retry budget left (UP-2); after a refused credential it is none. */
export function mayBeCalled({ called, switching, failure, context }: Selection, candidate: Candidate): boolean {
  if (!isAtCalledProvider(called, candidate) || switching === candidate || candidate.scripted) return true
  if (!called.includes(candidate) && isCredentialRefusal(failure)) return true
  const { provider, deployment } = candidate
  if (called.includes(candidate) && deployment.breaker.openUntil !== undefined) return false
  return mayRepeat(provider.budget, context.health.settings().retryBudget)
}

/** The sticky target, as long as it may be used; else the least busy one. */
export function targetNow({ context }: Selection, candidate: Candidate): KeyedTarget | undefined {
  const { target } = context.route
  const { clock, random } = context.health
  const now = clock()
  if (target !== undefined && candidate.targets.includes(target) && !isCooling(candidate, target, now)) return target
  return freeTarget(candidate, now, random)
}

/** Calls that an attempt makes at once. */
export function callsAt(candidate: Candidate, { choices }: Pick<RoutingContext, 'choices'>): number {
  return choices > 1 && spreads(candidate, choices) ? choices : 1
}

/** Monotonic milliseconds: fixed by the request's arrival, whatever it waits for (UP-5). */
export function deadlineOf({ receivedAt }: RoutingContext, { upstream }: Candidate): number {
  return receivedAt + upstream.timeouts.total
}

export function isLate({ context }: Selection, candidate: Candidate): boolean {
  return context.health.clock() >= deadlineOf(context, candidate)
}
