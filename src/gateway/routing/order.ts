/**
 * In which order a request's candidates are tried: by priority; within one, drawn by weight, where the better of two
 * draws counts if it has clearly less to do; and first of all, within the best priority, the home of the conversation.
 */

import type { Route } from '../route.ts'
import type { Head } from './affinity.ts'
import { roleNow } from './breaker.ts'
import { type Candidate, freeLane, isCooling, type Lane } from './candidate.ts'
import type { Health } from './health.ts'
import { type SkipReason, skippedText, type Why, withMember } from './trail.ts'

export type Ordered = Omit<Route, 'head'>

export interface OrderInput {
  readonly health: Health
  readonly stream: boolean
  readonly head: Head | undefined
}

/** Why a candidate is not to be called now; undefined: it may be. */
export function skipReason(candidate: Candidate, health: Health, calls: number): SkipReason | undefined {
  const { deployment, provider, scripted } = candidate
  const now = health.clock()
  if (!scripted && roleNow(deployment.breaker, now) === undefined) return 'open'
  if (freeLane(candidate, now, health.random) === undefined) return 'cooling'
  return provider.places.isFree(calls) ? undefined : 'full'
}

/** @param candidates By priority, at least one. */
export function orderCandidates(candidates: readonly Candidate[], input: OrderInput): Ordered {
  const { health, head } = input
  const usable: Candidate[] = []
  const others: Candidate[] = []
  for (const candidate of candidates) {
    if (skipReason(candidate, health, 1) === undefined) usable.push(candidate)
    else others.push(candidate)
  }
  const targets: Candidate[] = []
  const drawn = drawByPriority(usable.length > 0 ? usable : others, input, targets)
  if (usable.length > 0) drawByPriority(others, input, targets)
  const skipped = skippedBefore(usable[0], others, health)
  const home = head === undefined || usable.length === 0 ? undefined : homeAmong(bestOf(usable), head, health)
  if (home !== undefined) {
    const { candidate, lane } = home
    return { targets: [candidate, ...targets.filter((each) => each !== candidate)], why: 'sticky', lane, skipped }
  }
  const why = candidates.length === 1 ? 'only' : isPassedOver(usable[0], others) ? 'fallback' : drawn
  return { targets, why, lane: undefined, skipped }
}

/** Whether one that is left alone would have come before all others. */
function isPassedOver(first: Candidate | undefined, others: readonly Candidate[]): boolean {
  return first !== undefined && others.some(({ priority }) => priority < first.priority)
}

/** What is as good as the first one or better, and is not to be called now. */
function skippedBefore(first: Candidate | undefined, others: readonly Candidate[], health: Health): string {
  let list = ''
  if (first === undefined) return list
  for (const candidate of others) {
    const reason = candidate.priority <= first.priority ? skipReason(candidate, health, 1) : undefined
    if (reason !== undefined) list = withMember(list, skippedText(candidate.label, reason))
  }
  return list
}

/** Appends them to `into`. @returns why the first one is. */
function drawByPriority(candidates: readonly Candidate[], input: OrderInput, into: Candidate[]): Why {
  let why: Why | undefined
  for (let at = 0; at < candidates.length; ) {
    const priority = candidates[at]?.priority
    let end = at + 1
    while (candidates[end]?.priority === priority) end += 1
    const drawn = drawWithin(candidates.slice(at, end), input, into)
    why ??= drawn
    at = end
  }
  return why ?? 'priority'
}

function drawWithin(group: readonly Candidate[], { health, stream }: OrderInput, into: Candidate[]): Why {
  const { random } = health
  const first = draw(group, random)
  if (first === undefined || group.length === 1) {
    into.push(...group)
    return 'priority'
  }
  const second = draw(group, random) ?? first
  const better = second !== first && hasClearlyLess(second, first, stream)
  const chosen = better ? second : first
  into.push(chosen)
  const ranked = group
    .filter((each) => each !== chosen)
    .map((candidate) => ({ candidate, rank: rankOf(candidate, random) }))
  ranked.sort((a, b) => b.rank - a.rank)
  for (const { candidate } of ranked) into.push(candidate)
  return better ? 'load' : 'weight'
}

/** A draw without replacement in proportion to weight is a sort by `random^(1/weight)`, highest first. */
function rankOf({ weight }: Candidate, random: () => number): number {
  return weight > 0 ? random() ** (1 / weight) : -1
}

function draw(group: readonly Candidate[], random: () => number): Candidate | undefined {
  let sum = 0
  for (const { weight } of group) sum += weight
  let left = random() * sum
  for (const candidate of group) {
    left -= candidate.weight
    if (left < 0) return candidate
  }
  return group.at(-1)
}

/** So many calls more or less are chance. */
const NOISE_CALLS = 4
const NOISE_MS = 100
/** How much less is clearly less: what is about equally loaded and fast keeps its share exactly. */
const CLEARLY = 2

function hasClearlyLess(other: Candidate, than: Candidate, stream: boolean): boolean {
  const ms = latencyOf(than, stream)
  const otherMs = latencyOf(other, stream)
  const isKnown = ms !== undefined && otherMs !== undefined
  const load = (loadOf(than) + NOISE_CALLS) * (isKnown ? ms + NOISE_MS : 1)
  const otherLoad = (loadOf(other) + NOISE_CALLS) * (isKnown ? otherMs + NOISE_MS : 1)
  return otherLoad * CLEARLY < load
}

function loadOf({ deployment, share }: Candidate): number {
  return deployment.inFlight / share
}

function latencyOf({ deployment }: Candidate, stream: boolean): number | undefined {
  return stream ? deployment.firstEventMs : deployment.wholeAnswerMs
}

function bestOf(usable: readonly Candidate[]): readonly Candidate[] {
  const best = usable[0]?.priority
  return usable.filter(({ priority }) => priority === best)
}

interface Choice {
  readonly candidate: Candidate
  readonly lane: Lane
}

/**
 * Where the conversation was answered before. Where nobody knows, a long head goes where its hash says, so that all
 * processes send it to the same place.
 */
function homeAmong(group: readonly Candidate[], head: Head, health: Health): Choice | undefined {
  if (!head.recurring && !head.long) return undefined
  const now = health.clock()
  const home = health.affinity.homeOf(head)
  let best: Choice | undefined
  let bestRank = Number.POSITIVE_INFINITY
  for (const candidate of group) {
    const { lanes, weight, deployment } = candidate
    if (deployment.breaker.openUntil !== undefined) continue
    for (const lane of lanes) {
      if (isCooling(candidate, lane, now)) continue
      if (home?.deployment === deployment && home.credential === lane.health) return { candidate, lane }
      const rank = -Math.log(spread(head.seed ^ lane.seed)) / (weight / lanes.length)
      if (rank >= bestRank) continue
      bestRank = rank
      best = { candidate, lane }
    }
  }
  return head.long ? best : undefined
}

/** Even bits in (0, 1) of any 32 (the finalizer of MurmurHash3). */
function spread(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (((mixed ^ (mixed >>> 16)) >>> 0) + 0.5) / 2 ** 32
}
