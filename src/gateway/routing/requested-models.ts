/**
 * The models that may answer a request: the one that it names, then its fallbacks, each with the request as that model
 * receives it. Models that lack a required capability are excluded unless that excludes all.
 */
import { hash } from 'node:crypto'
import {
  type ChatRequest,
  type ContentPart,
  inputCount,
  type ProviderPreferences,
  type RequestedSort,
  type Task,
  textParam,
} from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import {
  isDeprecated,
  type Model,
  type ModelBook,
  type ModelKind,
  notPriced,
  type VirtualModel,
  wrongKind,
} from '../../domain/model.ts'
import type { Price } from '../../domain/price/tariff.ts'
import { withoutUnpricedTools } from '../../protocols/server-tools.ts'
import { promptPrefixOf } from './affinity.ts'
import { type CandidateInput, candidatesOf, labelOf, spread, withMember } from './candidates.ts'
import type { Candidate, Health } from './health.ts'
import { tokensPerSecond } from './measurements.ts'
import { blendedMicroUsd, EXPLORED_SHARE } from './preferences.ts'

export interface PricedModel extends Model {
  readonly price: Price
  readonly priceVersion: string
}

/** A model that may answer, and the request as this model receives it. */
export interface RequestedModel {
  readonly request: ChatRequest
  readonly model: PricedModel
  /** The name that the answer gives as its model. */
  readonly answersAs: string
  /** Undefined if the request has no preferences. */
  readonly preferences: ProviderPreferences | undefined
}

export interface RequestedModels {
  readonly first: RequestedModel
  readonly fallbacks: readonly RequestedModel[]
  /** The members of `x-turnpike-route` for models that were excluded. */
  readonly skipped: string
  /** The key under which a virtual model remembers the model that answers. */
  readonly stickyKey: string | undefined
}

export interface ModelRequest {
  readonly book: ModelBook
  readonly caller: Caller
  readonly request: ChatRequest
  readonly kind: ModelKind
  /** Unix milliseconds. */
  readonly now: () => number
  /** The health and credentials by which the candidates of virtual models are ordered. */
  readonly routing: CandidateInput
}

const NONE: readonly RequestedModel[] = []

/** @throws GatewayError if no model is left, or for a model of the request's own list that the caller may not use. */
export function requestedModels(asked: ModelRequest): RequestedModels {
  const { request, book } = asked
  const found = book.find(request.model)
  const isPlain = request.routing === undefined && found?.fallbacks === undefined && found?.virtual === undefined
  if (found === undefined || !isPlain) return withFallbacks(asked)
  checkModel(asked, found, 'model')
  const first = { ...prepare(found, request), answersAs: request.model, preferences: undefined }
  return { first, fallbacks: NONE, skipped: '', stickyKey: undefined }
}

/** A model and the sort order that the request's name of it implies. */
interface Named {
  readonly model: Model
  readonly sort: RequestedSort | undefined
}

function withFallbacks(asked: ModelRequest): RequestedModels {
  const { request, book } = asked
  const { models, provider } = request.routing ?? {}
  const first = find(book, request.model)
  if (first === undefined)
    throw new GatewayError('model_not_found', unknownText(book, request.model), { param: 'model' })
  checkModel(asked, first.model, 'model')
  const others =
    models !== undefined
      ? listedModels(asked, first, models)
      : provider?.allowFallbacks === false
        ? []
        : configuredFallbacks(asked, first.model)
  const usable: RequestedModel[] = []
  let skipped = ''
  let failure: unknown
  const { named, stickyKey, explores } = expanded(asked, [first, ...others])
  for (const { model, sort } of named) {
    if (usable.length === MAX_MODELS) break
    try {
      usable.push({
        ...prepare(model, request),
        answersAs: model.id,
        preferences: withSort(provider, sort ?? provider?.sort, explores),
      })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      failure ??= error
      skipped = withMember(skipped, skippedModel(model, error.code))
    }
  }
  const [best, ...fallbacks] = usable
  if (best === undefined) throw failure ?? noneOf(first.model)
  return { first: best, fallbacks, skipped, stickyKey }
}

function withSort(
  provider: ProviderPreferences | undefined,
  sort: RequestedSort | undefined,
  explores: boolean | undefined,
): ProviderPreferences | undefined {
  return sort === undefined ? provider : { ...provider, sort: explores === undefined ? sort : { ...sort, explores } }
}

/** The most models for one request: each is ranked, and the hold covers its cost. */
const MAX_MODELS = 11

interface Expanded {
  readonly named: readonly Named[]
  readonly stickyKey: string | undefined
  /** Whether the request explores; drawn once, for models and deployments. Undefined if no model was sorted by speed. */
  readonly explores: boolean | undefined
}

/**
 * Replaces virtual models by their candidates, in order. A key that may use the virtual model may use them through
 * it.
 */
function expanded({ book, caller, request, routing, kind, now }: ModelRequest, all: readonly Named[]): Expanded {
  const named: Named[] = []
  let stickyKey: string | undefined
  let drawn: boolean | undefined
  const explores = (): boolean => {
    drawn ??= routing.health.random() < EXPLORED_SHARE
    return drawn
  }
  for (const [at, each] of all.entries()) {
    const virtual = sortedAs(each)
    if (virtual === undefined) {
      if (!isAmong(named, each.model)) named.push(each)
      continue
    }
    const candidates = virtual.candidates.flatMap(({ model: id, weight }) => {
      const model = book.find(id)
      return model === undefined || model.kind !== kind || isDeprecated(model, now()) ? [] : [{ model, weight }]
    })
    const sort = each.sort ?? request.routing?.provider?.sort
    const order = orderVirtual({ virtual, candidates, caller, request, sort, explores }, routing)
    if (at === 0) stickyKey = order.stickyKey
    for (const model of order.models) if (!isAmong(named, model)) named.push({ model, sort: each.sort })
  }
  return { named, stickyKey, explores: drawn }
}

/** Returns the virtual model, whose strategy a suffix of its ID replaces. Undefined for other models. */
function sortedAs({ model: { virtual }, sort }: Named): VirtualModel | undefined {
  if (virtual === undefined || sort === undefined) return virtual
  return { ...virtual, strategy: sort.by === 'price' ? 'cheapest' : 'fastest', sticky: 'none' }
}

/** The sort order of deployments that the suffix of an ID requests; of a virtual model, also of its candidates. */
const SUFFIXES: Readonly<Record<string, RequestedSort>> = {
  ':floor': { by: 'price', acrossModels: false },
  ':nitro': { by: 'throughput', acrossModels: false },
}

function find(book: ModelBook, id: string): Named | undefined {
  const model = book.find(id)
  if (model !== undefined) return { model, sort: undefined }
  for (const [suffix, sort] of Object.entries(SUFFIXES)) {
    const base = id.endsWith(suffix) ? book.find(id.slice(0, -suffix.length)) : undefined
    if (base !== undefined) return { model: base, sort }
  }
  return undefined
}

/** @throws GatewayError for a model that the caller may not use. */
function checkModel({ caller, kind }: ModelRequest, model: Model, param: string): void {
  if (!mayUse(caller, model)) throw notAllowed(model.id, param)
  if (model.kind !== kind) throw wrongKind(model).with({ param })
}

/** `"gpt-6";skipped=model_not_priced`, by the first of its deployments. */
export function skippedModel({ deployments: [first], id }: Model, reason: string): string {
  return `${labelOf(first?.provider ?? '*', first?.model ?? id)};skipped=${reason}`
}

/** Returns the operator's fallbacks that this caller may use now, without duplicates. */
function configuredFallbacks({ book, caller, kind, now }: ModelRequest, model: Model): readonly Named[] {
  const found: Named[] = []
  for (const id of model.fallbacks ?? []) {
    const other = book.find(id)
    if (other === undefined || other.kind !== kind || !mayUse(caller, other) || isDeprecated(other, now())) continue
    if (ownId(other) !== ownId(model) && !isAmong(found, other)) found.push({ model: other, sort: undefined })
  }
  return found
}

/**
 * Returns the models that the request lists, without duplicates.
 * @throws GatewayError for a model that the caller cannot name.
 */
function listedModels(asked: ModelRequest, first: Named, ids: readonly string[]): readonly Named[] {
  const { book, kind } = asked
  const found: Named[] = []
  for (const [at, id] of ids.entries()) {
    const param = `models[${at}]`
    const named = find(book, id)
    if (named === undefined)
      throw new GatewayError('invalid_value', `\`${param}\`: ${unknownText(book, id)}`, { param })
    checkModel(asked, named.model, param)
    if (isAmong([first, ...found], named.model)) continue
    if (kind === 'embedding') throw incomparable(named.model.id, param)
    found.push(named)
  }
  return found
}

function incomparable(id: string, param: string): GatewayError {
  const message = `\`${param}\`: '${id}' cannot answer in place of another embedding model, since their vectors cannot be compared.`
  return new GatewayError('invalid_value', message, { param })
}

function isAmong(found: readonly Named[], model: Model): boolean {
  return found.some((each) => ownId(each.model) === ownId(model))
}

function ownId({ id, aliasOf }: Model): string {
  return aliasOf ?? id
}

function unknownText(book: ModelBook, id: string): string {
  const nearest = book.nearest(id, 3).map((near) => `'${near}'`)
  const hint = nearest.length === 0 ? '' : ` Did you mean ${nearest.join(', ')}?`
  return `The model '${id.slice(0, 100)}' does not exist.${hint} GET /v1/models lists all.`
}

/** Returns the error of a virtual model whose candidates all have no provider or are past their shutdown. */
function noneOf({ id }: Model): GatewayError {
  return new GatewayError('no_candidates', `The virtual model '${id}' has no usable candidate.`, { param: 'model' })
}

function mayUse({ models }: Caller, { id, aliasOf }: Model): boolean {
  return models === undefined || models.has(id) || models.has(aliasOf ?? id)
}

function notAllowed(id: string, param: string): GatewayError {
  return new GatewayError('model_not_allowed', `This key may not use the model '${id}'.`, { param })
}

/** @throws GatewayError for a model without a price or without a required capability. */
function prepare(model: Model, asked: ChatRequest): Pick<RequestedModel, 'request' | 'model'> {
  if (!isPriced(model)) throw notPriced(model)
  const request = withoutUnpricedTools(asked, model.price)
  if (request.task === undefined) checkCapabilities(request, model)
  else checkInputs(request.task, model)
  return { request, model }
}

function isPriced(model: Model): model is PricedModel {
  return model.price !== undefined && model.priceVersion !== undefined
}

/** Rejects, before any provider is called, what the model cannot do. The error names the parameter that requires it. */
export function checkCapabilities({ messages, tools, responseFormat }: ChatRequest, model: Model): void {
  const { pdf, jsonSchema } = model
  const { vision, function_calling: functions, json_mode: json } = model.capabilities
  if (tools !== undefined && !functions) throw cannot(model, 'call functions', 'tools')
  if (responseFormat !== undefined && responseFormat.type !== 'text' && !json) {
    throw cannot(model, 'answer in JSON mode', 'response_format')
  }
  if (jsonSchema === false && responseFormat?.type === 'json_schema') {
    throw cannot(model, 'answer by a JSON schema', 'response_format')
  }
  if (vision && pdf !== false) return
  for (let i = 0; i < messages.length; i++) {
    const content = messages[i]?.content
    if (typeof content !== 'object' || content === null) continue
    const j = content.findIndex((part) => (!vision && isImage(part)) || (pdf === false && isPdf(part)))
    const found = content[j]
    if (found !== undefined) {
      throw cannot(model, isImage(found) ? 'read images' : 'read PDF files', `messages[${i}].content[${j}]`)
    }
  }
}

/** Rejects more inputs than the model accepts, and more token IDs than its window. The hold measures texts. */
function checkInputs(task: Task, model: Model): void {
  const { id, contextWindow, maxInputs = Number.POSITIVE_INFINITY } = model
  const tooLong = task.type === 'embedding' ? task.inputs.findIndex((input) => isLonger(input, contextWindow)) : -1
  if (tooLong >= 0) {
    const message = `\`input[${tooLong}]\` exceeds the context window of the model '${id}' (${contextWindow} tokens).`
    throw new GatewayError('context_length_exceeded', message, { param: `input[${tooLong}]` })
  }
  const inputs = inputCount(task)
  if (inputs <= maxInputs) return
  const param = textParam(task)
  const message = `\`${param}\` must have at most ${maxInputs} entries for the model '${id}', not ${inputs}. Send several requests.`
  throw new GatewayError('out_of_range', message, { param })
}

function isLonger(input: string | readonly number[], tokens: number): boolean {
  return typeof input !== 'string' && input.length > tokens
}

function isImage({ type }: ContentPart): boolean {
  return type === 'image_url'
}

/** Returns whether a part is a PDF file. Only the provider knows the kind of a file without data. */
function isPdf(part: ContentPart): boolean {
  return part.type === 'file' && part.file.file_data?.startsWith('data:application/pdf') === true
}

function cannot(model: Model, what: string, param: string): GatewayError {
  const code = param.startsWith('messages') ? 'unsupported_content' : 'unsupported_parameter'
  return new GatewayError(code, `The model '${model.id}' cannot ${what}.`, { param })
}

/*
 * The order of the models behind a virtual one: first the one to which the conversation or the user is sticky, then by
 * strategy.
 */

interface Weighted {
  readonly model: Model
  readonly weight: number
}

interface VirtualRequest {
  readonly virtual: VirtualModel
  /** The usable models, in the order of the configuration. */
  readonly candidates: readonly Weighted[]
  readonly caller: Caller
  readonly request: ChatRequest
  /** The sort order of the deployments. */
  readonly sort: RequestedSort | undefined
  /** Returns the same for all models of a request. */
  readonly explores: () => boolean
}

interface VirtualOrder {
  readonly models: readonly Model[]
  /** The key under which the answering model is remembered. Undefined if nothing is sticky. */
  readonly stickyKey: string | undefined
}

function orderVirtual(asked: VirtualRequest, input: CandidateInput): VirtualOrder {
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

function ordersOf(asked: VirtualRequest, stickyKey: string | undefined, input: CandidateInput): readonly Weighted[] {
  const { virtual, candidates } = asked
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
      return bySpeed(asked, input)
  }
}

/** Sorts by score, lowest first; stable. */
function sortedBy(candidates: readonly Weighted[], scoreOf: (each: Weighted) => number): readonly Weighted[] {
  const scored = candidates.map((each) => ({ each, score: scoreOf(each) }))
  return scored.sort((a, b) => (a.score === b.score ? 0 : a.score - b.score)).map(({ each }) => each)
}

/**
 * Draws without replacement in proportion to weight. A sticky request is drawn by its key, identically in all
 * processes, so that a change of weights moves as few conversations as possible.
 */
function drawOf({ model, weight }: Weighted, stickyKey: string | undefined, { random }: Health): number {
  if (weight <= 0) return Number.POSITIVE_INFINITY
  const chance = stickyKey === undefined ? 1 - random() : spread(seedOf(stickyKey) ^ seedOf(hash('sha1', model.id)))
  return -Math.log(chance) / weight
}

function seedOf(key: string): number {
  return Number.parseInt(key.slice(0, 8), 16)
}

/** Returns the calls in flight at the least busy deployment. */
function busyness({ model }: Weighted, input: CandidateInput): number {
  return least(deploymentsOf(model, input), ({ deployment, share }) => deployment.inFlight / share)
}

/** Returns measured models, fastest first, then the others, one of which sometimes comes first to be measured. */
function bySpeed({ candidates, sort, explores }: VirtualRequest, input: CandidateInput): readonly Weighted[] {
  const { health } = input
  const now = health.clock()
  const slowness = ({ model }: Weighted): number =>
    least(
      deploymentsOf(model, input),
      ({ deployment }) => -(tokensPerSecond(deployment.measurements, now) ?? -Infinity),
    )
  const sorted = sortedBy(candidates, slowness)
  const fresh = sorted.filter((each) => slowness(each) === Number.POSITIVE_INFINITY)
  if (fresh.length === 0 || fresh.length === sorted.length || !explores()) return sorted
  // The request explores a deployment of the fastest model instead, where those are sorted as well.
  const others = sort === undefined || sort.by === 'price' ? 0 : 1
  const explored = fresh[Math.floor(health.random() * (fresh.length + others))]
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
