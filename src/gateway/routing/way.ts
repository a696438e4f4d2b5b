/** What one request's search for a provider knows, and whether and how a candidate of it may be called now. */
import type { Completion } from '../completion.ts'
import { isCredentialRefusal } from '../failure.ts'
import type { GatewayPorts } from '../ports.ts'
import { type Role, roleNow } from './breaker.ts'
import { type Candidate, freeLane, isCooling, type Lane, spreads } from './candidate.ts'
import { skipReason } from './order.ts'
import { enterPassage, type Passage } from './passage.ts'
import { earn, mayRepeat, spend } from './retry-budget.ts'
import { skippedText, type Why, withMember } from './trail.ts'

export interface Search {
  readonly completion: Completion
  readonly ports: GatewayPorts
  /** Of this round, best first; those that were called are not in it. */
  left: readonly Candidate[]
  /** For the next round. */
  again: readonly Candidate[]
  /** The longest wait that those of the next round asked for. */
  askedMs: number | undefined
  round: number
  called: readonly Candidate[]
  /** Has another credential that may do better at once: that is no repeat. */
  switching: Candidate | undefined
  /** For a credential to be used again, since the last call, in milliseconds. */
  waitedMs: number
  /** Of the last attempt. */
  failure: unknown
}

export const NONE: readonly Candidate[] = []

export interface Way {
  readonly candidate: Candidate
  readonly lane: Lane
  /** Undefined: what its breaker says. */
  readonly role: Role | undefined
  /** Places at the provider, which are taken already. */
  readonly size: number
}

export function enter(search: Search, { candidate, lane, role, size }: Way): Passage {
  const { completion, ports, called } = search
  const { health } = ports
  payFor(search, candidate)
  const acting =
    role ?? (candidate.scripted ? 'normal' : (roleNow(candidate.deployment.breaker, health.clock()) ?? 'last'))
  if (candidate !== completion.targets[0]) listSkipped(search, candidate)
  const why = whyOf(search, candidate, acting)
  search.left = search.left.length === 1 ? NONE : search.left.filter((each) => each !== candidate)
  search.called = called.length === 0 ? [candidate] : [...called, candidate]
  search.switching = undefined
  search.waitedMs = 0
  return enterPassage(health, { candidate, lane, role: acting, why, size })
}

function payFor({ called, switching, ports }: Search, candidate: Candidate): void {
  if (candidate.scripted) return
  const { budget, places } = candidate.provider
  if (!isAtCalledProvider(called, candidate)) {
    earn(budget, { share: ports.health.settings().retryBudget, inFlight: places.inFlight() })
  } else if (switching !== candidate) spend(budget)
}

function isAtCalledProvider(called: readonly Candidate[], { provider }: Candidate): boolean {
  return called.length > 0 && called.some((each) => each.provider === provider)
}

function whyOf({ completion, called }: Search, candidate: Candidate, role: Role): Why {
  if (role !== 'normal') return role
  if (called.includes(candidate)) return 'repeat'
  return candidate === completion.targets[0] ? completion.route.why : 'fallback'
}

/** The better ones that were not called are named, once each. @param chosen Undefined: none was. */
export function listSkipped({ completion, ports, called, left }: Search, chosen: Candidate | undefined): void {
  for (const candidate of left) {
    if (candidate === chosen) return
    if (called.includes(candidate)) continue
    const reason = skipReason(candidate, ports.health, placesOf(completion, candidate))
    const text = reason && skippedText(candidate.label, reason)
    if (text !== undefined && !completion.trail.includes(text)) completion.trail = withMember(completion.trail, text)
  }
}

/** A repeat needs a provider that is well and has repeats left (UP-2); after a refused credential it is none. */
export function mayBeCalled({ called, switching, failure, ports }: Search, candidate: Candidate): boolean {
  if (!isAtCalledProvider(called, candidate) || switching === candidate || candidate.scripted) return true
  if (!called.includes(candidate) && isCredentialRefusal(failure)) return true
  const { provider, deployment } = candidate
  if (called.includes(candidate) && deployment.breaker.openUntil !== undefined) return false
  return mayRepeat(provider.budget, ports.health.settings().retryBudget)
}

/** The one that has the conversation's beginning, as long as it may be used. */
export function laneNow({ completion, ports }: Search, candidate: Candidate): Lane | undefined {
  const { lane } = completion.route
  const { clock, random } = ports.health
  const now = clock()
  if (lane !== undefined && candidate.lanes.includes(lane) && !isCooling(candidate, lane, now)) return lane
  return freeLane(candidate, now, random)
}

/** What a request takes of a provider's places. */
export function placesOf({ request: { n } }: Completion, candidate: Candidate): number {
  return n > 1 && spreads(candidate, n) ? n : 1
}

/** Monotonic milliseconds: fixed by the request's arrival, whatever it waits for (UP-5). */
export function deadlineOf({ receivedAt }: Completion, { upstream }: Candidate): number {
  return receivedAt + upstream.timeouts.total
}

export function isLate({ completion, ports }: Search, candidate: Candidate): boolean {
  return ports.health.clock() >= deadlineOf(completion, candidate)
}
