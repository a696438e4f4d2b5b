/**
 * Admits a request: the client's JSON becomes a `ChatRequest`, validated once, for a model that can answer it; then its
 * candidates, its worst case, its share of the rate limits, and a hold of credit.
 */
import type { ChatRequest, ContentPart } from '../domain/chat.ts'
import type { Hold, HoldRequest } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { BodyFindings } from '../domain/json-body.ts'
import { type Model, notPriced, wrongKind } from '../domain/model.ts'
import type { Price } from '../domain/price/price.ts'
import { generatesText, inputCount, type Task, textParam } from '../domain/task.ts'
import { reach } from '../lib/crash-point.ts'
import type { ClientApi } from '../protocols/client-api.ts'
import { withoutUnpricedTools } from '../protocols/server-tools.ts'
import { isCancelled } from './cancellation.ts'
import type { AdmittedRequest, Completion } from './completion.ts'
import type { Admission, GatewayPorts } from './ports.ts'
import { requireKey } from './resumable/idempotency.ts'
import { routeRequest } from './routing/candidates.ts'
import { callsAtWorst, isCountable, recount, seemsTooLong, worstCase } from './worst-case.ts'

export interface Incoming {
  /** The API that the client uses. */
  readonly api: ClientApi
  readonly caller: Caller
  /** The parsed JSON body. */
  readonly body: unknown
  /** Those that the API passes on, with lower-case names. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** What is known of a large body already. */
  readonly findings?: BodyFindings | undefined
  readonly requestId: string
  readonly clientRequestId: string | undefined
  /** Already checked. */
  readonly idempotencyKey: string | undefined
  /** Monotonic milliseconds. */
  readonly receivedAt: number
  /** The last event that the client has of a stream with an `Idempotency-Key`. */
  readonly lastEventId?: number | undefined
}

interface ParsedRequest {
  readonly request: ChatRequest
  readonly model: PricedModel
}

/** The request, for a model that can answer it. @throws GatewayError */
export function parse(
  ports: GatewayPorts,
  { api, body, caller, headers }: Pick<Incoming, 'api' | 'body' | 'caller' | 'headers'>,
): ParsedRequest {
  const parsed = api.parse(body, headers)
  const model = findModel(ports, caller, parsed)
  if (model.kind !== (api.kind ?? 'chat')) throw wrongKind(model)
  const request = withoutUnpricedTools(parsed, model.price)
  if (request.task === undefined) checkCapabilities(request, model)
  else checkInputs(request.task, model)
  return { request, model }
}

/**
 * Validates and routes a request and applies its rate limits; `holdCredit` holds the credit later. The result counts within
 * the rate limits until its `limits` are released. @throws GatewayError
 */
export function admit(ports: GatewayPorts, incoming: Incoming): AdmittedRequest | Promise<AdmittedRequest> {
  const { api, caller, body, headers, findings, clientRequestId, requestId, receivedAt } = incoming
  const { request, model } = parse(ports, { api, caller, body, headers })
  const route = routeRequest({ accountId: caller.accountId, model, request }, ports)
  const { candidates } = route
  checkSentBytes(callsAtWorst(request, candidates), findings)
  const { price, priceVersion } = model
  const createdAt = ports.now()
  const worst = worstCase({ request, model, candidates, now: createdAt, content: findings?.prompt })
  const withLimits = (limits: Admission): AdmittedRequest => ({
    id: ports.ids.completion(),
    api,
    caller,
    request,
    model,
    price,
    priceVersion,
    route,
    worst,
    limits,
    createdAt,
    receivedAt,
    requestId,
    clientRequestId,
  })
  const limits = ports.admit(caller, () => worst.promptTokens + worst.outputTokens * request.n)
  return limits instanceof Promise ? limits.then(withLimits) : withLimits(limits)
}

/** Bytes of one request in all calls that are made at once; a single call may have as many as the body. */
export const MAX_SENT_BYTES = 64 * 1024 * 1024

/** Where a provider gives one choice a call, a large prompt is rendered and sent once for each. */
function checkSentBytes(calls: number, findings: BodyFindings | undefined): void {
  if (findings === undefined || calls === 1 || calls * findings.bytes <= MAX_SENT_BYTES) return
  const message = `This model's provider gives one choice a request: ${calls} times ${findings.bytes} bytes are more than the ${MAX_SENT_BYTES} that are sent at once. Lower \`n\`.`
  throw new GatewayError('body_too_large', message, { param: 'n' })
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

/**
 * Resolves when the most that the request can cost is held. Affordable credit may lower its output. A prompt whose upper
 * bound exceeds the window or the credit is counted exactly, once.
 */
export async function holdCredit(completion: Completion, ports: GatewayPorts): Promise<void> {
  const { admitted, cancellation, idempotent } = completion
  if (isCancelled(cancellation)) throw new Error('The request was cancelled before credit was held for it.')
  const isTooLong = seemsTooLong(admitted.worst, admitted)
  if (isTooLong) await countPrompt(completion, ports)
  const hold = await holdWorst(completion, ports, isTooLong)
  const { worst, promptTokens, outputTokens, lowered } = completion.reservation
  const isLowered = hold.outputTokens < outputTokens
  completion.reservation = {
    hold,
    worst,
    promptTokens,
    outputTokens: isLowered ? hold.outputTokens : outputTokens,
    lowered: lowered || isLowered,
  }
  reach('after_hold')
  if (idempotent !== undefined) requireKey(idempotent.run, hold)
}

async function holdWorst(completion: Completion, ports: GatewayPorts, isCounted: boolean): Promise<Hold> {
  const { model, route } = completion.admitted
  const mayCount = !isCounted && isCountable(completion.reservation.worst, { model, candidates: route.candidates })
  try {
    return await ports.credit.hold(holdRequest(completion, mayCount))
  } catch (error) {
    if (!mayCount || !(error instanceof GatewayError) || error.status !== 402) throw error
  }
  await countPrompt(completion, ports)
  return await ports.credit.hold(holdRequest(completion, false))
}

async function countPrompt(completion: Completion, { countWhole }: GatewayPorts): Promise<void> {
  const { request, model, price, route, createdAt: now, worst } = completion.admitted
  const weighed = { request, model: { ...model, price }, candidates: route.candidates, now }
  const counted = await recount(worst, weighed, countWhole)
  const { likelyTokens: promptTokens, outputTokens } = counted
  completion.reservation = { ...completion.reservation, worst: counted, promptTokens, outputTokens }
}

/** @param mayCount A refusal is not final. */
function holdRequest({ admitted, reservation }: Completion, mayCount: boolean): HoldRequest {
  const { request, model, route } = admitted
  const { worst, promptTokens, outputTokens } = reservation
  return {
    id: admitted.id,
    caller: admitted.caller,
    model: model.aliasOf ?? model.id,
    provider: route.candidates[0]?.upstream.name ?? '',
    rates: worst.rates,
    priceVersion: admitted.priceVersion,
    stream: request.stream,
    promptTokens,
    outputTokens,
    choices: request.n,
    flexible: request.maxTokens === undefined && generatesText(request.task),
    tentative: mayCount || worst.bound.isOpen,
    createdAt: admitted.createdAt,
    clientRequestId: admitted.clientRequestId,
  }
}
