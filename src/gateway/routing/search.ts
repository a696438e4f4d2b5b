/**
 * The search for a provider that answers: which candidate is called next, and what a failure means for the one after it.
 * Candidates are asked in rounds: each round has those of the one before that may do better after a moment, and begins
 * when all of them wish it to.
 */
import { ProviderError } from '../../protocols/protocol.ts'
import { type Completion, isOver } from '../completion.ts'
import { isCredentialRefusal, mayBeTriedAgain } from '../failure.ts'
import type { GatewayPorts } from '../ports.ts'
import { type Candidate, freeLane, type Lane } from './candidate.ts'
import { type Cooling, coolingOf, isAboutCredential, mayTry } from './credential.ts'
import { skipReason } from './order.ts'
import type { Passage } from './passage.ts'
import { beginRound, queueForPlace, RETRY_MAX_MS, waitForCredential, waitWithin } from './patience.ts'
import { enter, isLate, laneNow, mayBeCalled, NONE, placesOf, type Search } from './way.ts'

export function startSearch(completion: Completion, ports: GatewayPorts): Search {
  return {
    completion,
    ports,
    left: completion.targets,
    again: NONE,
    askedMs: undefined,
    round: 0,
    called: NONE,
    switching: undefined,
    waitedMs: 0,
    failure: undefined,
  }
}

/** A way for the next attempt, at once where there is one. Throws, or rejects, with what the client is to be told. */
export function nextPassage(search: Search): Passage | Promise<Passage> {
  return findNow(search) ?? findLater(search)
}

/** What an attempt's failure means for the next one. */
export function learn(search: Search, { candidate, role }: Passage, error: unknown): void {
  search.failure = error
  if (!(error instanceof ProviderError)) return
  const { kind, retryAfterMs } = error.failure
  const switches = role === 'normal' ? isAboutCredential(kind) : isCredentialRefusal(error)
  if (switches && hasAnotherLane(search, candidate)) {
    search.switching = candidate
    search.left = [candidate, ...search.left]
    return
  }
  if (role === 'last') search.left = NONE
  if (role === 'last' || !mayBeTriedAgain(error) || (retryAfterMs ?? 0) > RETRY_MAX_MS) return
  search.again = [...search.again, candidate]
  if (retryAfterMs !== undefined) search.askedMs = Math.max(retryAfterMs, search.askedMs ?? 0)
}

function hasAnotherLane({ ports }: Search, candidate: Candidate): boolean {
  if (candidate.lanes.length < 2 || candidate.scripted) return false
  return freeLane(candidate, ports.health.clock(), ports.health.random) !== undefined
}

/** The first candidate that can be called now. */
function findNow(search: Search): Passage | undefined {
  const { completion, ports, left } = search
  for (const candidate of left) {
    if (!mayBeCalled(search, candidate) || isLate(search, candidate)) continue
    const size = placesOf(completion, candidate)
    if (skipReason(candidate, ports.health, size) !== undefined) continue
    const lane = laneNow(search, candidate)
    if (lane === undefined) continue
    candidate.provider.places.take(size)
    return enter(search, { candidate, lane, role: undefined, size })
  }
  return undefined
}

async function findLater(search: Search): Promise<Passage> {
  for (;;) {
    const isLastRound = search.again.length === 0
    const passage = isLastRound ? ((await queueForPlace(search)) ?? findLast(search)) : undefined
    if (passage !== undefined) return passage
    const waitMs = search.again.length > 0 ? beginRound(search) : waitForCredential(search)
    if (waitMs > 0) await waitWithin(search, waitMs)
    const found = findNow(search)
    if (found !== undefined) return found
  }
}

/** Nothing is left but what is to be left alone: the best of it is called all the same, once (UP-4). */
function findLast(search: Search): Passage | undefined {
  const { completion, ports, left, called } = search
  if (isOver(completion)) return undefined
  const fresh = left.filter((each) => !called.includes(each) && mayBeCalled(search, each) && !isLate(search, each))
  const { clock, random } = ports.health
  const now = clock()
  for (const candidate of fresh) {
    const lane = freeLane(candidate, now, random)
    const passage = lane && enterAsLast(search, candidate, lane)
    if (passage !== undefined) return passage
  }
  return tryCooling(search, fresh)
}

/** Every credential cools: the one that will be of use soonest is tried all the same, but seldom. */
function tryCooling(search: Search, fresh: readonly Candidate[]): Passage | undefined {
  const now = search.ports.health.clock()
  let best: { readonly candidate: Candidate; readonly lane: Lane; readonly cooling: Cooling } | undefined
  for (const candidate of fresh) {
    for (const lane of candidate.lanes) {
      const cooling = coolingOf(lane.health, candidate.model, now)
      if (cooling === undefined || (cooling.cause === 'limited' && !isWorthTrying(cooling, now))) continue
      if (best === undefined || rankOf(cooling) < rankOf(best.cooling)) best = { candidate, lane, cooling }
    }
  }
  if (best === undefined) return undefined
  best.cooling.triedAt = now
  return enterAsLast(search, best.candidate, best.lane)
}

/** What is over soon is waited for. */
function isWorthTrying(cooling: Cooling, now: number): boolean {
  return cooling.until - now > RETRY_MAX_MS && mayTry(cooling, now)
}

/** What was refused may never come back. */
function rankOf({ cause, until }: Cooling): number {
  return cause === 'refused' ? Number.POSITIVE_INFINITY : until
}

function enterAsLast(search: Search, candidate: Candidate, lane: Lane): Passage | undefined {
  const size = placesOf(search.completion, candidate)
  const { places } = candidate.provider
  if (!places.isFree(size)) return undefined
  places.take(size)
  return enter(search, { candidate, lane, role: 'last', size })
}
