/**
 * The models that may answer a request: the one that it names, then its fallbacks; each with the request as that model gets
 * it. Models that cannot do what the request asks for are left out as long as another one is left.
 */
import type { ChatRequest, ContentPart } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import { isDeprecated, type Model, type ModelBook, type ModelKind, notPriced, wrongKind } from '../../domain/model.ts'
import type { Price } from '../../domain/price/price.ts'
import { inputCount, type Task, textParam } from '../../domain/task.ts'
import { withoutUnpricedTools } from '../../protocols/server-tools.ts'
import { labelOf, withMember } from './candidates.ts'

export interface PricedModel extends Model {
  readonly price: Price
  readonly priceVersion: string
}

/** A model that may answer, and the request as it gets it. */
export interface RequestedModel {
  readonly request: ChatRequest
  readonly model: PricedModel
  /** What answers call the model. */
  readonly answersAs: string
}

export interface RequestedModels {
  readonly first: RequestedModel
  readonly fallbacks: readonly RequestedModel[]
  /** What `x-turnpike-route` says of models that were left out. */
  readonly skipped: string
}

export interface ModelRequest {
  readonly book: ModelBook
  readonly caller: Caller
  readonly request: ChatRequest
  readonly kind: ModelKind
  /** Unix milliseconds. */
  readonly now: () => number
}

const NONE: readonly RequestedModel[] = []

/** @throws GatewayError where no model is left, or for a model of the request's own list that it may not name. */
export function requestedModels(asked: ModelRequest): RequestedModels {
  const { request, book, caller, kind } = asked
  const model = findModel(book, caller, request.model)
  if (model.kind !== kind) throw wrongKind(model)
  if (request.routing === undefined && model.fallbacks === undefined) {
    return { first: prepare(model, request, request.model), fallbacks: NONE, skipped: '' }
  }
  return withFallbacks(asked, model)
}

function withFallbacks(asked: ModelRequest, model: Model): RequestedModels {
  const { request } = asked
  const { models } = request.routing ?? {}
  const others = models === undefined ? configuredFallbacks(asked, model) : listedModels(asked, models)
  const usable: RequestedModel[] = []
  let skipped = ''
  let failure: unknown
  for (const each of [model, ...others]) {
    try {
      usable.push(prepare(each, request, each === model ? request.model : each.id))
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      failure ??= error
      skipped = withMember(skipped, skippedModel(each, error.code))
    }
  }
  const [first, ...fallbacks] = usable
  if (first === undefined) throw failure
  return { first, fallbacks, skipped }
}

/** `"gpt-6";skipped=model_not_priced`, by the first of its deployments. */
export function skippedModel({ deployments: [first], id }: Model, reason: string): string {
  return `${labelOf(first?.provider ?? '*', first?.model ?? id)};skipped=${reason}`
}

/** Those of the operator that this caller may use now, once each. */
function configuredFallbacks({ book, caller, kind, now }: ModelRequest, model: Model): readonly Model[] {
  const found: Model[] = []
  for (const id of model.fallbacks ?? []) {
    const other = book.find(id)
    if (other === undefined || other.kind !== kind || !mayUse(caller, other) || isDeprecated(other, now())) continue
    if (!isAmong([model, ...found], other)) found.push(other)
  }
  return found
}

/** Those that the request lists, once each. @throws GatewayError for one that it cannot name. */
function listedModels({ book, caller, kind, request }: ModelRequest, ids: readonly string[]): readonly Model[] {
  const found: Model[] = []
  for (const [at, id] of ids.entries()) {
    const param = `models[${at}]`
    const model = book.find(id)
    if (model === undefined)
      throw new GatewayError('invalid_value', `\`${param}\`: ${unknownText(book, id)}`, { param })
    if (!mayUse(caller, model)) throw notAllowed(model.id, param)
    if (model.kind !== kind) throw wrongKind(model).with({ param })
    if (model.id !== request.model && !isAmong(found, model)) found.push(model)
  }
  return found
}

function isAmong(models: readonly Model[], model: Model): boolean {
  return models.some((each) => ownId(each) === ownId(model))
}

function ownId({ id, aliasOf }: Model): string {
  return aliasOf ?? id
}

function findModel(book: ModelBook, caller: Caller, id: string): Model {
  const model = book.find(id)
  if (model === undefined) throw new GatewayError('model_not_found', unknownText(book, id), { param: 'model' })
  if (!mayUse(caller, model)) throw notAllowed(model.id, 'model')
  return model
}

function unknownText(book: ModelBook, id: string): string {
  const nearest = book.nearest(id, 3).map((near) => `'${near}'`)
  const hint = nearest.length === 0 ? '' : ` Did you mean ${nearest.join(', ')}?`
  return `The model '${id.slice(0, 100)}' does not exist.${hint} GET /v1/models lists all.`
}

function mayUse({ models }: Caller, { id, aliasOf }: Model): boolean {
  return models === undefined || models.has(id) || models.has(aliasOf ?? id)
}

function notAllowed(id: string, param: string): GatewayError {
  return new GatewayError('model_not_allowed', `This key may not use the model '${id}'.`, { param })
}

/** @throws GatewayError for a model without a price, and for what it cannot do. */
function prepare(model: Model, asked: ChatRequest, answersAs: string): RequestedModel {
  if (!isPriced(model)) throw notPriced(model)
  const request = withoutUnpricedTools(asked, model.price)
  if (request.task === undefined) checkCapabilities(request, model)
  else checkInputs(request.task, model)
  return { request, model, answersAs }
}

function isPriced(model: Model): model is PricedModel {
  return model.price !== undefined && model.priceVersion !== undefined
}

/** Rejects, before any provider is called, what the model cannot do; the error names the parameter that requires it. */
export function checkCapabilities({ messages, tools, responseFormat }: ChatRequest, model: Model): void {
  const { vision, function_calling: functions, json_mode: json } = model.capabilities
  if (tools !== undefined && !functions) throw cannot(model, 'call functions', 'tools')
  if (responseFormat !== undefined && responseFormat.type !== 'text' && !json) {
    throw cannot(model, 'answer in JSON mode', 'response_format')
  }
  if (vision) return
  for (const [i, { content }] of messages.entries()) {
    if (typeof content !== 'object' || content === null) continue
    const j = content.findIndex(isImage)
    if (j >= 0) throw cannot(model, 'read images', `messages[${i}].content[${j}]`)
  }
}

/** Rejects more inputs than the model takes, and more token IDs than its window; texts are measured for the hold. */
function checkInputs(task: Task, model: Model): void {
  const { id, contextWindow, maxInputs = Number.POSITIVE_INFINITY } = model
  const tooLong = task.type === 'embedding' ? task.inputs.findIndex((input) => isLonger(input, contextWindow)) : -1
  if (tooLong >= 0) {
    const message = `\`input[${tooLong}]\` has more tokens than the context window of the model '${id}': ${contextWindow}.`
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

function cannot(model: Model, what: string, param: string): GatewayError {
  const code = param.startsWith('messages') ? 'unsupported_content' : 'unsupported_parameter'
  return new GatewayError(code, `The model '${model.id}' cannot ${what}.`, { param })
}
