/**
 * The order in which the models behind a virtual one are tried: by its strategy, after the one that the conversation or the
 * user sticks to.
 */
import { hash } from 'node:crypto'
import type { ChatRequest } from '../../domain/chat.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { Model, VirtualModel } from '../../domain/model.ts'
import { promptPrefixOf } from './affinity.ts'
import { type CandidateInput, candidatesOf, spread } from './candidates.ts'
import type { Candidate, Health } from './health.ts'
import { tokensPerSecond } from './measurements.ts'
import { blendedMicroUsd, EXPLORED_SHARE } from './preferences.ts'

export interface Weighted {
  readonly model: Model
  readonly weight: number
}

interface VirtualRequest {
  readonly virtual: VirtualModel
  /** Usable ones, in the order of the configuration. */
  readonly candidates: readonly Weighted[]
  readonly caller: Caller
  readonly request: ChatRequest
}

export interface VirtualOrder {
  readonly models: readonly Model[]
  /** By which the model that answers is remembered; undefined: nothing sticks. */
  readonly stickyKey: string | undefined
}

export function orderVirtual(asked: VirtualRequest, input: CandidateInput): VirtualOrder {
  const { candidates } = asked
  const { health } = input
  const stickyKey = stickyKeyOf(asked)
  const remembered = stickyKey === undefined ? undefined : health.stickyModels.get(stickyKey)
  const ordered = ordersOf(asked, stickyKey, input)
  const sticky = candidates.find(({ model, weight }) => weight > 0 && model.id === remembered)
  const models = sticky === undefined ? ordered : [sticky, ...ordered.filter((each) => each !== sticky)]
  return { models: models.map(({ model }) => model), stickyKey }
}

function stickyKeyOf({ virtual, caller, request }: VirtualRequest): string | undefined {
  const { accountId } = caller
  if (virtual.sticky === 'conversation') return promptPrefixOf({ accountId, request }).key
  const user = request.user ?? caller.userId ?? caller.keyId
  return virtual.sticky === 'user' ? hash('sha1', `${accountId} ${request.model} ${user}`) : undefined
}

function ordersOf(
  { virtual, candidates }: VirtualRequest,
  stickyKey: string | undefined,
  input: CandidateInput,
): readonly Weighted[] {
  const { health } = input
  switch (virtual.strategy) {
    case 'priority':
      return candidates
    case 'weighted':
      return sortedBy(candidates, (each) => drawOf(each, stickyKey, health))
    case 'cheapest':
      return sortedBy(candidates, ({ model }) => (model.price === undefined ? 0 : blendedMicroUsd(model.price)))
    case 'least_busy':
      return sortedBy(candidates, (each) => busyness(each, input))
    case 'fastest':
      return bySpeed(candidates, input)
  }
}

/** Stable; the least first. */
function sortedBy(candidates: readonly Weighted[], scoreOf: (each: Weighted) => number): readonly Weighted[] {
  const scored = candidates.map((each) => ({ each, score: scoreOf(each) }))
  return scored.sort((a, b) => (a.score === b.score ? 0 : a.score - b.score)).map(({ each }) => each)
}

/**
 * A draw without replacement in proportion to weight. What sticks is drawn by its key, in all processes alike: then a shift
 * of weights moves as few as possible.
 */
function drawOf({ model, weight }: Weighted, stickyKey: string | undefined, { random }: Health): number {
  if (weight <= 0) return Number.POSITIVE_INFINITY
  const chance = stickyKey === undefined ? 1 - random() : spread(seedOf(stickyKey) ^ seedOf(hash('sha1', model.id)))
  return -Math.log(chance) / weight
}

function seedOf(key: string): number {
  return Number.parseInt(key.slice(0, 8), 16)
}

/** Calls in flight at the idlest of its deployments. */
function busyness({ model }: Weighted, input: CandidateInput): number {
  return least(deploymentsOf(model, input), ({ deployment, share }) => deployment.inFlight / share)
}

/** Measured models, the fastest first, then the others; sometimes one of these first. */
function bySpeed(candidates: readonly Weighted[], input: CandidateInput): readonly Weighted[] {
  const { health } = input
  const now = health.clock()
  const slowness = ({ model }: Weighted): number =>
    least(
      deploymentsOf(model, input),
      ({ deployment }) => -(tokensPerSecond(deployment.measurements, now) ?? -Infinity),
    )
  const sorted = sortedBy(candidates, slowness)
  const fresh = sorted.filter((each) => slowness(each) === Number.POSITIVE_INFINITY)
  if (fresh.length === 0 || fresh.length === sorted.length || health.random() >= EXPLORED_SHARE) return sorted
  const explored = fresh[Math.floor(health.random() * fresh.length)]
  return explored === undefined ? sorted : [explored, ...sorted.filter((each) => each !== explored)]
}

function least(candidates: readonly Candidate[], scoreOf: (candidate: Candidate) => number): number {
  let found = Number.POSITIVE_INFINITY
  for (const candidate of candidates) found = Math.min(found, scoreOf(candidate))
  return found
}

function deploymentsOf(model: Model, input: CandidateInput): readonly Candidate[] {
  const isConfigured = model.deployments.some((each) => input.provider(each.provider) !== undefined)
  return isConfigured ? candidatesOf(model, input).candidates : []
}
