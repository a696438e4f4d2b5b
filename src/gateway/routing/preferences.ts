/**
 * A request's preferences for candidates (`provider`, `:floor`, `:nitro`): which of them may answer, and in which
 * order.
 * Sorted lists are cached briefly, so that many candidates cost a request no more than few.
 */
import type { AccountCredentials } from '../../domain/account-credential.ts'
import type { ChatRequest, MaxPrice, ProviderPreferences, RequestedSort, SortOrder } from '../../domain/chat.ts'
import type { DataPolicy } from '../../domain/data-policy.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { Model } from '../../domain/model.ts'
import type { Price } from '../../domain/price/tariff.ts'
import { droppedParameters } from '../upstream/call.ts'
import { isOwn } from './account-credentials.ts'
import { promptPrefixOf } from './affinity.ts'
import { type CandidateInput, candidatesFor, DRAWN_CANDIDATES, MANY_CANDIDATES, orderCandidates } from './candidates.ts'
import type { Candidate, CandidateList, ChoiceReason, Health, Route, RoutingPolicy } from './health.ts'
import { latencyMs, tokensPerSecond } from './measurements.ts'

export interface Preferred {
  readonly accountId: string
  /** The account's own credentials. */
  readonly credentials?: AccountCredentials | undefined
  readonly model: Model & { readonly price: Price }
  readonly request: ChatRequest
  readonly preferences: ProviderPreferences
  /** The data policies that apply to the caller. A candidate must satisfy all of them. */
  readonly policies?: readonly DataPolicy[] | undefined
}

/** @throws GatewayError `no_candidates` if the preferences exclude all, `policy_not_satisfiable` if a policy does. */
export function preferredRoute(preferred: Preferred, input: CandidateInput): Route {
  const { model, request, preferences, accountId, credentials } = preferred
  const { health } = input
  const list = candidatesFor(credentials, model, input)
  checkPrice(model, preferences.maxPrice)
  const { order, sort, allowFallbacks } = preferences
  const few = sort === undefined && list.candidates.length > MANY_CANDIDATES ? listedFirst(preferred, list) : undefined
  if (few !== undefined) return { candidates: few, why: 'order', target: undefined, prefix: undefined, skipped: '' }
  const kept = keptOf(preferred, list)
  if (order === undefined && sort === undefined) {
    const prefix = list.targets === 1 ? undefined : promptPrefixOf({ accountId, request })
    const route = { prefix, ...orderCandidates(kept, { health, stream: request.stream, prefix }) }
    return allowFallbacks === false ? { ...route, candidates: route.candidates.slice(0, 1) } : route
  }
  const sorted =
    sort === undefined
      ? { candidates: kept, why: 'order' as const }
      : sortedBy(sort, { list, kept, health, stream: request.stream })
  const ordered = order === undefined ? sorted.candidates : inOrder(sorted.candidates, order)
  const candidates = credentials === undefined ? ordered : ownFirst(ordered)
  const why = order === undefined ? sorted.why : 'order'
  const isOnly = allowFallbacks === false && order === undefined
  return {
    candidates: isOnly ? candidates.slice(0, 1) : candidates,
    why,
    target: undefined,
    prefix: undefined,
    skipped: '',
  }
}

type Exclusion = 'only' | 'ignore' | 'order' | 'data_collection' | 'zdr' | 'regions' | 'require_parameters'

function keptOf(preferred: Preferred, list: CandidateList): readonly Candidate[] {
  const { preferences, model } = preferred
  const candidates = allowedOf(preferred, list)
  const { only, ignore, order, allowFallbacks, dataCollection, zdr, regions, requireParameters } = preferences
  const isFiltered = only ?? ignore ?? dataCollection ?? zdr ?? regions ?? requireParameters
  if (isFiltered === undefined && (order === undefined || allowFallbacks !== false)) return candidates
  const excludes = exclusionFor(preferred)
  const kept = candidates.filter((candidate) => excludes(candidate) === undefined)
  if (kept.length > 0) return kept
  const excluded = candidates.map((each) => [each.upstream.name, excludes(each)] as const)
  const wanted = [...(only ?? []), ...(allowFallbacks === false ? (order ?? []) : [])]
  throw noneLeft(model, excluded, unmatched(wanted, candidates))
}

/** Returns the names that are of no provider of the model. */
function unmatched(names: readonly string[], candidates: readonly Candidate[]): readonly string[] {
  return names.filter((name) => {
    const ranks = ranksOf([name])
    return candidates.every((each) => rankIn(ranks, each) === undefined)
  })
}

/** Returns the candidates that satisfy the policies. */
function allowedOf({ policies, model }: Preferred, { candidates }: CandidateList): readonly Candidate[] {
  if (policies === undefined) return candidates
  const allowed = candidates.filter((each) => policies.every((policy) => unmetRequirement(each, policy) === undefined))
  if (allowed.length > 0) return allowed
  const [candidate] = candidates
  const reasons = policies.flatMap((policy) => (candidate && unmetRequirement(candidate, policy)) ?? [])
  const message = `The data policy (${[...new Set(reasons)].join(', ')}) allows no provider of the model '${model.id}'.`
  throw new GatewayError('policy_not_satisfiable', message, { param: 'model' })
}

/** Returns a function that names the preference which excludes a candidate. */
function exclusionFor({ preferences, request, model }: Preferred): (candidate: Candidate) => Exclusion | undefined {
  const { allowFallbacks, requireParameters, dataCollection, zdr, regions } = preferences
  const hasDemand = dataCollection === 'deny' || zdr === true || regions !== undefined
  const only = preferences.only && ranksOf(preferences.only)
  const ignore = preferences.ignore && ranksOf(preferences.ignore)
  const order = allowFallbacks === false && preferences.order ? ranksOf(preferences.order) : undefined
  return (candidate) => {
    if (only !== undefined && rankIn(only, candidate) === undefined) return 'only'
    if (ignore !== undefined && rankIn(ignore, candidate) !== undefined) return 'ignore'
    if (order !== undefined && rankIn(order, candidate) === undefined) return 'order'
    const fact = hasDemand ? unmetRequirement(candidate, preferences) : undefined
    if (fact !== undefined || requireParameters !== true) return fact
    const [target] = candidate.targets
    const isWhole = target !== undefined && droppedParameters(target, request, model).length === 0
    return isWhole ? undefined : 'require_parameters'
  }
}

/**
 * Returns the position of each name in lower case: `together`, `Together` and `together/turbo` are the same provider.
 */
function ranksOf(names: readonly string[]): ReadonlyMap<string, number> {
  const ranks = new Map<string, number>()
  for (const [rank, name] of names.entries()) {
    const lower = name.toLowerCase()
    for (const each of [lower, lower.split('/', 1)[0] ?? lower]) if (!ranks.has(each)) ranks.set(each, rank)
  }
  return ranks
}

/** Returns the position of the first name of the candidate's provider. */
function rankIn(ranks: ReadonlyMap<string, number>, { names }: Candidate): number | undefined {
  let best: number | undefined
  for (const name of names) {
    const rank = ranks.get(name)
    if (rank !== undefined && (best === undefined || rank < best)) best = rank
  }
  return best
}

/** Moves candidates of providers in the list to the front, in its order; the others keep their order. */
function inOrder(candidates: readonly Candidate[], order: readonly string[]): readonly Candidate[] {
  const ranks = ranksOf(order)
  const ranked: { readonly candidate: Candidate; readonly rank: number }[] = []
  const others: Candidate[] = []
  for (const candidate of candidates) {
    const rank = rankIn(ranks, candidate)
    if (rank === undefined) others.push(candidate)
    else ranked.push({ candidate, rank })
  }
  ranked.sort((a, b) => a.rank - b.rank)
  return [...ranked.map(({ candidate }) => candidate), ...others]
}

const byNames = new WeakMap<CandidateList, ReadonlyMap<string, readonly Candidate[]>>()

function byNameOf(list: CandidateList): ReadonlyMap<string, readonly Candidate[]> {
  const known = byNames.get(list)
  if (known !== undefined) return known
  const made = new Map<string, Candidate[]>()
  for (const candidate of list.candidates) {
    for (const name of candidate.names) made.set(name, [...(made.get(name) ?? []), candidate])
  }
  byNames.set(list, made)
  return made
}

/**
 * Returns the candidates in `order` and a few others, because a request needs no more of many. Undefined if the whole
 * list must be examined.
 */
function listedFirst(preferred: Preferred, list: CandidateList): readonly Candidate[] | undefined {
  const { preferences, policies, credentials } = preferred
  const { order, allowFallbacks } = preferences
  if (order === undefined || policies !== undefined || credentials !== undefined) return undefined
  const excludes = exclusionFor(preferred)
  const byName = byNameOf(list)
  const found = new Set<Candidate>()
  for (const name of ranksOf(order).keys()) {
    for (const each of byName.get(name) ?? []) if (excludes(each) === undefined) found.add(each)
  }
  if (allowFallbacks === false) return found.size === 0 ? undefined : [...found]
  const enough = found.size + DRAWN_CANDIDATES
  for (const each of list.candidates) {
    if (found.size >= enough) break
    if (excludes(each) === undefined) found.add(each)
  }
  return found.size === 0 ? undefined : [...found]
}

/** Returns whether the operator's credentials are the fallback of the account's own. */
function ownFirst(candidates: readonly Candidate[]): readonly Candidate[] {
  return [...candidates.filter(isOwn), ...candidates.filter((candidate) => !isOwn(candidate))]
}

function noneLeft(
  { id }: Model,
  excluded: readonly (readonly [name: string, by: string | undefined])[],
  unknown: readonly string[],
): GatewayError {
  const reasons = excluded.slice(0, 5).map(([name, by]) => `'${name}' by \`provider.${by}\``)
  const more = excluded.length > 5 ? ` and ${excluded.length - 5} more` : ''
  const named = unknown.slice(0, 5).map((name) => `'${name.slice(0, 100)}'`)
  const none = named.length === 0 ? '' : ` The model has no provider ${named.join(', ')}.`
  const message = `No provider of the model '${id}' matches the request's preferences; excluded: ${reasons.join(', ')}${more}.${none}`
  return new GatewayError('no_candidates', message, { param: 'provider' })
}

/** @throws GatewayError if a rate of the price itself exceeds the limit. */
function checkPrice({ id, price }: Preferred['model'], limit: MaxPrice | undefined): void {
  if (limit === undefined) return
  const none = Number.POSITIVE_INFINITY
  const isAbove =
    price.inputMicroUsd > (limit.inputMicroUsd ?? none) ||
    price.outputMicroUsd > (limit.outputMicroUsd ?? none) ||
    (price.perRequestNanoUsd ?? 0) > (limit.perRequestNanoUsd ?? none) ||
    (price.perImageNanoUsd ?? 0) > (limit.perImageNanoUsd ?? none)
  if (!isAbove) return
  const message = `The price of the model '${id}' exceeds \`provider.max_price\`.`
  throw new GatewayError('no_candidates', message, { param: 'provider.max_price' })
}

interface Sorting {
  readonly list: CandidateList
  /** The candidates of the list that may answer. */
  readonly kept: readonly Candidate[]
  readonly health: Health
  readonly stream: boolean
}

interface Sorted {
  readonly candidates: readonly Candidate[]
  readonly why: ChoiceReason
}

/** How long a sorted list is reused. */
const SORTED_FOR_MS = 250
/** The share of requests that a deployment without measurements receives. */
export const EXPLORED_SHARE = 0.05

/**
 * Returns measured candidates, best first, then the others by priority. All candidates of a model have the same price,
 * so a sort by price keeps the operator's order.
 */
export function sortedBy({ by, explores }: RequestedSort, { list, kept, health, stream }: Sorting): Sorted {
  if (by === 'price') return { candidates: kept, why: 'sort' }
  const { candidates, unmeasured } = sortedList(by, { list, health, stream })
  const sorted = kept === list.candidates ? candidates : onlyThese(candidates, kept)
  const { random } = health
  if (unmeasured === 0 || unmeasured === candidates.length || !(explores ?? random() < EXPLORED_SHARE)) {
    return { candidates: sorted, why: 'sort' }
  }
  const fresh = sorted.filter((candidate) => scoreOf(candidate, by, { health, stream }) === undefined)
  const explored = fresh[Math.floor(random() * fresh.length)]
  if (explored === undefined) return { candidates: sorted, why: 'sort' }
  return { candidates: [explored, ...sorted.filter((each) => each !== explored)], why: 'explore' }
}

function onlyThese(sorted: readonly Candidate[], kept: readonly Candidate[]): readonly Candidate[] {
  const these = new Set(kept)
  return sorted.filter((candidate) => these.has(candidate))
}

function sortedList(by: SortOrder, { list, health, stream }: Omit<Sorting, 'kept'>): SortedList {
  const key = stream ? `${by} stream` : by
  const now = health.clock()
  const known = list.sorted.get(key)
  if (known !== undefined && now - known.at < SORTED_FOR_MS) return known
  const scored = list.candidates.map((candidate) => ({ candidate, score: scoreOf(candidate, by, { health, stream }) }))
  scored.sort((a, b) => (a.score ?? Number.POSITIVE_INFINITY) - (b.score ?? Number.POSITIVE_INFINITY) || 0)
  const made = {
    at: now,
    candidates: scored.map(({ candidate }) => candidate),
    unmeasured: scored.filter(({ score }) => score === undefined).length,
  }
  list.sorted.set(key, made)
  return made
}

type SortedList = CandidateList['sorted'] extends Map<string, infer List> ? List : never

/** Returns a score, of which the lowest is best. Undefined if nothing was measured. */
function scoreOf(
  { deployment: { measurements } }: Candidate,
  by: SortOrder,
  { health, stream }: Pick<Sorting, 'health' | 'stream'>,
): number | undefined {
  const now = health.clock()
  if (by === 'latency') return latencyMs(measurements, { stream, now })
  const speed = tokensPerSecond(measurements, now)
  return speed === undefined ? undefined : -speed
}

interface Rated {
  readonly price: Price
  readonly route: Route
  readonly request: ChatRequest
}

/** Returns one price for comparisons: prompts are about three times as long as answers. */
export function blendedMicroUsd({ inputMicroUsd, outputMicroUsd }: Price): number {
  return (3 * inputMicroUsd + outputMicroUsd) / 4
}

/** Sorts models by price or by their best candidate if the request asks for it; stable. */
export function orderModels<Model extends Rated>(
  models: readonly Model[],
  sort: ProviderPreferences['sort'],
  health: Health,
): readonly Model[] {
  if (sort === undefined || !sort.acrossModels || models.length < 2) return models
  const { by } = sort
  const scored = models.map((model) => ({ model, score: modelScore(model, by, health) }))
  return scored.sort((a, b) => a.score - b.score || 0).map(({ model }) => model)
}

function modelScore({ price, route, request }: Rated, by: SortOrder, health: Health): number {
  if (by === 'price') return blendedMicroUsd(price)
  let best = Number.POSITIVE_INFINITY
  for (const candidate of route.candidates) {
    best = Math.min(best, scoreOf(candidate, by, { health, stream: request.stream }) ?? best)
  }
  return best
}

/*
 * Data policies: the requirements of the operator, an account or a key for the deployments that answer.
 */

/** Returns the policies that apply to a caller. Undefined if there are none. */
export function policiesOf(
  { accountId, keyId, plan, dataPolicies }: Caller,
  policies: readonly RoutingPolicy[] | undefined,
): readonly DataPolicy[] | undefined {
  if (policies === undefined) return dataPolicies
  const own = policies.filter(
    ({ accounts, keys, plans }) =>
      (accounts?.includes(accountId) ?? true) && (keys?.includes(keyId) ?? true) && (plans?.includes(plan) ?? true),
  )
  if (own.length === 0) return dataPolicies
  return dataPolicies === undefined ? own : [...own, ...dataPolicies]
}

/** Returns the requirement that a candidate does not meet. Undefined if it meets all. */
function unmetRequirement({ facts }: Candidate, demand: DataPolicy): 'data_collection' | 'zdr' | 'regions' | undefined {
  const { dataCollection, zdr, regions } = demand
  if (dataCollection === 'deny' && facts.dataCollection !== 'deny') return 'data_collection'
  if (zdr === true && !facts.zdr) return 'zdr'
  return regions?.some((each) => isWithin(facts.region, each.toLowerCase())) === false ? 'regions' : undefined
}

/** Returns whether a region is the wanted one or a part of it: `eu` includes `eu-central-1`. */
function isWithin(region: string | undefined, wanted: string): boolean {
  return region === wanted || region?.startsWith(`${wanted}-`) === true
}
