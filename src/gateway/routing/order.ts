/**
 * Orders a request's candidates: by priority; within one, drawn by weight, where the better of two draws counts if it is
 * clearly less loaded; and first of all, within the best priority, the target that the conversation sticks to.
 */
import type { ChatRequest } from '../../domain/chat.ts'
import type { Model } from '../../domain/model.ts'
import { type PromptPrefix, promptPrefixOf } from './affinity.ts'
import { roleNow } from './breaker.ts'
import { type CandidateInput, candidatesOf, freeTarget, isCooling, skippedText, withMember } from './candidates.ts'
import type { Candidate, Health, KeyedTarget, Route, SkipReason, Why } from './health.ts'

interface Routed {
  readonly accountId: string
  readonly model: Model
  readonly request: Pick<ChatRequest, 'model' | 'messages' | 'stream'>
}

/** Throws when none of the model's providers is configured. */
export function routeRequest({ accountId, model, request }: Routed, { provider, health }: CandidateInput): Route {
  const { candidates, targets, only } = candidatesOf(model, { provider, health })
  if (targets === 1) return only
  const prefix = promptPrefixOf({ accountId, request })
  const { stream } = request
  return { prefix, ...orderCandidates(candidates, { health, stream, prefix }) }
}

export type Ordered = Omit<Route, 'prefix'>

export interface OrderInput {
  readonly health: Health
  readonly stream: boolean
  readonly prefix: PromptPrefix | undefined
}

/** Why a candidate cannot be called now; undefined: it can. */
export function skipReason(candidate: Candidate, health: Health, calls: number): SkipReason | undefined {
  const { deployment, provider, scripted } = candidate
  const now = health.clock()
  if (!scripted && roleNow(deployment.breaker, now) === undefined) return 'open'
  if (freeTarget(candidate, now, health.random) === undefined) return 'cooling'
  return provider.limiter.hasCapacity(calls) ? undefined : 'full'
}

/** @param candidates By priority, at least one. */
function orderCandidates(candidates: readonly Candidate[], input: OrderInput): Ordered {
  const { health, prefix } = input
  const usable: Candidate[] = []
  const others: Candidate[] = []
  for (const candidate of candidates) {
    if (skipReason(candidate, health, 1) === undefined) usable.push(candidate)
    else others.push(candidate)
  }
  const ordered: Candidate[] = []
  const drawn = drawByPriority(usable.length > 0 ? usable : others, input, ordered)
  if (usable.length > 0) drawByPriority(others, input, ordered)
  const skipped = skippedBefore(usable[0], others, health)
  const sticky = prefix === undefined || usable.length === 0 ? undefined : stickyAmong(bestOf(usable), prefix, health)
  if (sticky !== undefined) {
    const { candidate, target } = sticky
    return { candidates: [candidate, ...ordered.filter((each) => each !== candidate)], why: 'sticky', target, skipped }
  }
  const why = candidates.length === 1 ? 'only' : isPassedOver(usable[0], others) ? 'fallback' : drawn
  return { candidates: ordered, why, target: undefined, skipped }
}

/** Whether a candidate of better priority cannot be called now. */
function isPassedOver(first: Candidate | undefined, others: readonly Candidate[]): boolean {
  return first !== undefined && others.some(({ priority }) => priority < first.priority)
}

/** Names the candidates of the first one's priority or better that cannot be called now. */
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
  readonly target: KeyedTarget
}

/**
 * The target that answered the conversation before. Where none is known, a long prefix is sent by its hash, so that all
 * processes choose the same target.
 */
function stickyAmong(group: readonly Candidate[], prefix: PromptPrefix, health: Health): Choice | undefined {
  if (!prefix.recurring && !prefix.long) return undefined
  const now = health.clock()
  const sticky = health.affinity.targetOf(prefix)
  let best: Choice | undefined
  let bestRank = Number.POSITIVE_INFINITY
  for (const candidate of group) {
    const { targets, weight, deployment } = candidate
    if (deployment.breaker.openUntil !== undefined) continue
    for (const target of targets) {
      if (isCooling(candidate, target, now)) continue
      if (sticky?.deployment === deployment && sticky.credential === target.health) return { candidate, target }
      const rank = -Math.log(spread(prefix.seed ^ target.seed)) / (weight / targets.length)
      if (rank >= bestRank) continue
      bestRank = rank
      best = { candidate, target }
    }
  }
  return prefix.long ? best : undefined
}

/** Even bits in (0, 1) of any 32 (the finalizer of MurmurHash3). */
function spread(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (((mixed ^ (mixed >>> 16)) >>> 0) + 0.5) / 2 ** 32
}
