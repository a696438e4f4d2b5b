/**
 * The candidates of a model, each with its health and credentials, computed once a reload; their names in
 * `x-turnpike-route`; and their order for a request. The order is by priority, then by a weighted draw, of which the
 * second result replaces the first if it is clearly less loaded. Within the best priority the sticky target comes
 * first.
 */
import { hash } from 'node:crypto'
import type { AccountCredentials } from '../../domain/account-credential.ts'
import type { ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Deployment, Model } from '../../domain/model.ts'
import type { UpstreamProvider } from '../upstream/transport.ts'
import { withAccountCredentials } from './account-credentials.ts'
import { type PromptPrefix, promptPrefixOf } from './affinity.ts'
import { roleNow } from './breaker.ts'
import { cooldownOf } from './credentials.ts'
import {
  type Candidate,
  type CandidateList,
  type ChoiceReason,
  credentialOf,
  type DeploymentFacts,
  deploymentOf,
  type Health,
  type KeyedTarget,
  type Route,
  type SkipReason,
} from './health.ts'

export interface CandidateInput {
  readonly provider: (name: string) => UpstreamProvider | undefined
  readonly health: Health
}

/** @throws GatewayError if none of the model's providers is configured. */
export function candidatesOf(model: Model, { provider, health }: CandidateInput): CandidateList {
  const known = health.candidates.get(model)
  if (known !== undefined) return known
  const made: Candidate[] = []
  for (const deployment of [...model.deployments].sort((a, b) => a.priority - b.priority)) {
    const upstream = provider(deployment.provider)
    if (upstream === undefined) continue
    made.push(candidateOf(withProtocol(upstream, deployment), health, { deployment, of: model }))
  }
  if (made.length === 0) {
    throw new GatewayError('provider_error', `No provider of the model '${model.id}' is configured.`)
  }
  const targets = made.reduce((sum, candidate) => sum + candidate.targets.length, 0)
  const only: Route = { candidates: made, why: 'only', target: undefined, prefix: undefined, skipped: '' }
  const list = { candidates: made, targets, only, sorted: new Map() }
  health.candidates.set(model, list)
  return list
}

/** Returns the provider with the protocol that the deployment selects among those that the operator configured. */
function withProtocol(upstream: UpstreamProvider, { protocol: name }: Deployment): UpstreamProvider {
  const protocol = name === undefined ? undefined : upstream.provider.protocols?.[name]
  return protocol === undefined ? upstream : { ...upstream, provider: { ...upstream.provider, protocol } }
}

interface Placed {
  readonly deployment: Deployment
  readonly of: Model
}

function candidateOf(upstream: UpstreamProvider, health: Health, { deployment, of }: Placed): Candidate {
  const { model, priority, weight } = deployment
  const provider = health.providerOf(upstream)
  const peers = of.deployments.filter((each) => each.priority === priority)
  const mean = peers.reduce((sum, each) => sum + each.weight, 0) / peers.length
  const credentials = upstream.credentials.length === 0 ? [''] : upstream.credentials
  return {
    of,
    upstream,
    model,
    priority,
    weight,
    share: weight > 0 ? weight / mean : 1,
    targets: credentials.map((credential, position) => ({
      upstream,
      model,
      credential,
      health: credentialOf(provider, credential),
      seed: seedOf(`${upstream.name} ${model} ${position}`),
    })),
    provider,
    deployment: deploymentOf(provider, model),
    label: labelOf(upstream.name, model),
    scripted: upstream.provider.scripted === true,
    names: [
      ...new Set([upstream.name, upstream.provider.id, upstream.provider.name].map((name) => name.toLowerCase())),
    ],
    facts: factsOf(deployment, upstream),
  }
}

/** Returns facts as configured, else as published for a built-in host. An unknown fact meets no requirement. */
function factsOf(deployment: Deployment, upstream: UpstreamProvider): DeploymentFacts {
  const published = upstream.isBuiltIn === true ? deployment.published : undefined
  const region = deployment.region ?? upstream.provider.regionOf?.(deployment.model) ?? published?.region
  return {
    dataCollection: deployment.dataCollection ?? upstream.dataCollection ?? published?.dataCollection ?? 'allow',
    zdr: deployment.zdr ?? upstream.zdr ?? published?.zdr ?? false,
    region: region?.toLowerCase(),
  }
}

/** Returns whether each choice needs a call of its own. */
export function spreads({ upstream }: Pick<Candidate, 'upstream'>, choices: number): boolean {
  return choices > 1 && !upstream.provider.protocol.severalChoices
}

function seedOf(text: string): number {
  return Number.parseInt(hash('sha1', text).slice(0, 8), 16)
}

/** Returns a usable target with the fewest calls in flight. Undefined if all are cooling down. */
export function freeTarget(candidate: Candidate, now: number, random: () => number): KeyedTarget | undefined {
  const { targets, model, scripted } = candidate
  const [first] = targets
  if (targets.length === 1 || first === undefined) {
    return first === undefined || (!scripted && cooldownOf(first.health, model, now) !== undefined) ? undefined : first
  }
  let best: KeyedTarget | undefined
  let equals = 0
  for (const target of targets) {
    if (!scripted && cooldownOf(target.health, model, now) !== undefined) continue
    if (best === undefined || target.health.inFlight < best.health.inFlight) {
      best = target
      equals = 1
    } else if (target.health.inFlight === best.health.inFlight) {
      equals += 1
      if (random() * equals < 1) best = target
    }
  }
  return best
}

export function isCooling({ model, scripted }: Candidate, { health }: KeyedTarget, now: number): boolean {
  return !scripted && cooldownOf(health, model, now) !== undefined
}

/** The most characters of `x-turnpike-route`: clients reject response heads that are too long. */
export const MAX_ROUTE_LENGTH = 2 * 1024

/** Returns a label such as `local;model="qwen3-coder"`. */
export function labelOf(provider: string, model: string): string {
  const name = /^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*$/.test(provider) ? provider : quoted(provider)
  return `${name};model=${quoted(model)}`
}

export function calledText(label: string, why: ChoiceReason, outcome: string): string {
  return `${label};why=${why};outcome=${outcome}`
}

export function skippedText(label: string, reason: SkipReason): string {
  return `${label};skipped=${reason}`
}

/** Appends a member to the list unless it would exceed the limit. */
export function withMember(list: string, member: string): string {
  if (list === '') return member
  return list.length + member.length + 2 > MAX_ROUTE_LENGTH ? list : `${list}, ${member}`
}

/** Percent-encodes other characters, because strings of RFC 8941 consist of printable ASCII. */
function quoted(text: string): string {
  const printable = text.toWellFormed().replace(/[^\x20-\x7e]/gu, encodeURIComponent)
  return `"${printable.replace(/["\\]/g, '\\$&')}"`
}

interface Routed {
  readonly accountId: string
  /** The account's own credentials, which replace the operator's. Undefined if it has none. */
  readonly credentials?: AccountCredentials | undefined
  readonly model: Model
  readonly request: Pick<ChatRequest, 'model' | 'messages' | 'stream'>
}

/**
 * Returns the candidates of a caller, with its account's own credentials if it has any.
 * @throws GatewayError if none of the model's providers is configured.
 */
export function candidatesFor(
  credentials: AccountCredentials | undefined,
  model: Model,
  input: CandidateInput,
): CandidateList {
  const shared = candidatesOf(model, input)
  return credentials === undefined ? shared : withAccountCredentials(shared, credentials, input.health)
}

/** @throws GatewayError if none of the model's providers is configured. */
export function routeRequest(
  { accountId, credentials, model, request }: Routed,
  { provider, health }: CandidateInput,
): Route {
  const { candidates, targets, only } = candidatesFor(credentials, model, { provider, health })
  if (targets === 1) return only
  const prefix = promptPrefixOf({ accountId, request })
  const { stream } = request
  return { prefix, ...orderCandidates(candidates, { health, stream, prefix }) }
}

type Ordered = Omit<Route, 'prefix'>

interface OrderInput {
  readonly health: Health
  readonly stream: boolean
  readonly prefix: PromptPrefix | undefined
}

/**
 * Joins the routes of several models, in order.
 * @param skipped The members of `x-turnpike-route` for excluded models.
 */
export function joinRoutes(routes: readonly Route[], skipped: string): Route {
  const [first] = routes
  if (first === undefined) throw new Error('There is no route.')
  const candidates = routes.length === 1 ? first.candidates : routes.flatMap((route) => route.candidates)
  return { ...first, candidates, skipped: first.skipped === '' ? skipped : withMember(skipped, first.skipped) }
}

/** Returns why a candidate cannot be called now. Undefined if it can. */
export function skipReason(candidate: Candidate, health: Health, calls: number): SkipReason | undefined {
  const { deployment, provider, scripted } = candidate
  const now = health.clock()
  if (!scripted && roleNow(deployment.breaker, now) === undefined) return 'open'
  if (freeTarget(candidate, now, health.random) === undefined) return 'cooling'
  return provider.limiter.hasCapacity(calls) ? undefined : 'full'
}

/** @param candidates By priority, at least one. */
export function orderCandidates(candidates: readonly Candidate[], input: OrderInput): Ordered {
  const { health, prefix } = input
  const few = candidates.length > MANY_CANDIDATES && !mayStick(prefix) ? drawFew(candidates, input) : undefined
  if (few !== undefined) return few
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

/**
 * Above `MANY_CANDIDATES` candidates, a request without a sticky target considers `DRAWN_CANDIDATES` that are drawn:
 * sorting all of them costs more than it gains.
 */
export const MANY_CANDIDATES = 64
export const DRAWN_CANDIDATES = 16
const DRAWS = 64

function mayStick(prefix: PromptPrefix | undefined): boolean {
  return prefix !== undefined && (prefix.recurring || prefix.long)
}

/** The candidates of the best priority, with the sum of weights up to each. */
interface WeightSums {
  readonly group: readonly Candidate[]
  readonly sums: Float64Array
}

const weightSums = new WeakMap<readonly Candidate[], WeightSums>()

function weightSumsOf(candidates: readonly Candidate[]): WeightSums {
  const known = weightSums.get(candidates)
  if (known !== undefined) return known
  const group = bestOf(candidates)
  const sums = new Float64Array(group.length)
  let sum = 0
  for (const [at, { weight }] of group.entries()) {
    sum += weight
    sums[at] = sum
  }
  const made = { group, sums }
  weightSums.set(candidates, made)
  return made
}

/** Draws available candidates by weight. @returns undefined if it finds too few. */
function drawFew(candidates: readonly Candidate[], { health, stream }: OrderInput): Ordered | undefined {
  const { group, sums } = weightSumsOf(candidates)
  if (group.length <= MANY_CANDIDATES) return undefined
  const drawn: Candidate[] = []
  for (let draws = 0; draws < DRAWS && drawn.length < DRAWN_CANDIDATES; draws++) {
    const candidate = group[positionOf(sums, health.random())]
    if (candidate === undefined || drawn.includes(candidate)) continue
    if (skipReason(candidate, health, 1) === undefined) drawn.push(candidate)
  }
  const [first, second] = drawn
  if (drawn.length < DRAWN_CANDIDATES || first === undefined || second === undefined) return undefined
  const isBetter = hasClearlyLess(second, first, stream)
  if (isBetter) drawn.splice(0, 2, second, first)
  return { candidates: drawn, why: isBetter ? 'load' : 'weight', target: undefined, skipped: '' }
}

/** Returns the first position whose sum exceeds a share of the total. */
function positionOf(sums: Float64Array, share: number): number {
  const wanted = share * (sums.at(-1) ?? 0)
  let low = 0
  let high = sums.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sums[middle] ?? 0) > wanted) high = middle
    else low = middle + 1
  }
  return low
}

/** Returns whether a candidate of better priority cannot be called now. */
function isPassedOver(first: Candidate | undefined, others: readonly Candidate[]): boolean {
  return first !== undefined && others.some(({ priority }) => priority < first.priority)
}

/** Names the unavailable candidates with at least the priority of the first one. */
function skippedBefore(first: Candidate | undefined, others: readonly Candidate[], health: Health): string {
  let list = ''
  if (first === undefined) return list
  for (const candidate of others) {
    const reason = candidate.priority <= first.priority ? skipReason(candidate, health, 1) : undefined
    if (reason !== undefined) list = withMember(list, skippedText(candidate.label, reason))
  }
  return list
}

/** Appends the candidates to `into`. @returns the reason for the first one. */
function drawByPriority(candidates: readonly Candidate[], input: OrderInput, into: Candidate[]): ChoiceReason {
  let why: ChoiceReason | undefined
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

function drawWithin(group: readonly Candidate[], { health, stream }: OrderInput, into: Candidate[]): ChoiceReason {
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

/**
 * Returns a rank. Sorting by `random^(1/weight)`, highest first, is a draw without replacement in proportion to
 * weight.
 */
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

/** A difference of this many calls is random. */
const NOISE_CALLS = 4
const NOISE_MS = 100
/**
 * The factor that makes a candidate clearly less loaded. Candidates with similar load and speed keep their exact
 * share.
 */
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
 * Returns the target that answered the conversation before. If none is known, a long prefix selects one by its hash, so
 * that all processes choose the same target.
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

/** Maps any 32 bits to an evenly distributed number in (0, 1), with the finalizer of MurmurHash3. */
export function spread(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (((mixed ^ (mixed >>> 16)) >>> 0) + 0.5) / 2 ** 32
}
