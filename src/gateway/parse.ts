/** Parses a request: the client's JSON becomes a `ChatRequest`, validated once, for a model that can answer it. */
import type { ChatRequest, ContentPart } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { BodyFindings } from '../domain/json-body.ts'
import { type Model, notPriced } from '../domain/model.ts'
import type { Price } from '../domain/price/price.ts'
import { parseChatRequest } from '../protocols/openai-chat/client/request.ts'
import type { GatewayPorts } from './ports.ts'

export interface Incoming {
  readonly caller: Caller
  /** The parsed JSON body. */
  readonly body: unknown
  /** What is known of a large body already. */
  readonly findings?: BodyFindings | undefined
  readonly requestId: string
  readonly clientRequestId: string | undefined
  /** Already checked. */
  readonly idempotencyKey: string | undefined
  /** Monotonic milliseconds. */
  readonly receivedAt: number
}

/** @throws GatewayError */
export function parse(ports: GatewayPorts, { body, caller }: Incoming): ParsedRequest {
  const request = parseChatRequest(body)
  const model = findModel(ports, caller, request)
  checkCapabilities(request, model)
  return { request, model }
}

export interface ParsedRequest {
  readonly request: ChatRequest
  readonly model: PricedModel
}

interface PricedModel extends Model {
  readonly price: Price
  readonly priceVersion: string
}

function findModel(ports: GatewayPorts, caller: Caller, request: ChatRequest): PricedModel {
  const book = ports.models()
  const model = book.find(request.model)
  if (model === undefined) {
    const nearest = book.nearest(request.model, 3).map((id) => `'${id}'`)
    const hint = nearest.length === 0 ? '' : ` Did you mean ${nearest.join(', ')}?`
    const message = `The model '${request.model.slice(0, 100)}' does not exist.${hint} GET /v1/models lists all.`
    throw new GatewayError('model_not_found', message, { param: 'model' })
  }
  if (caller.models !== undefined && !caller.models.has(model.id) && !caller.models.has(model.aliasOf ?? model.id)) {
    throw new GatewayError('model_not_allowed', `This key may not use the model '${model.id}'.`, { param: 'model' })
  }
  if (!isPriced(model)) throw notPriced(model)
  return model
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

function isImage({ type }: ContentPart): boolean {
  return type === 'image_url'
}

function cannot(model: Model, what: string, param: string): GatewayError {
  const code = param.startsWith('messages') ? 'unsupported_content' : 'unsupported_parameter'
  return new GatewayError(code, `The model '${model.id}' cannot ${what}.`, { param })
}
