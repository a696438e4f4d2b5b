/** What a request must pass before anything is held or sent for it: its body, its model, a route, the rate limit. */
import type { Caller } from '../domain/caller.ts'
import type { ChatRequest } from '../domain/chat.ts'
import type { HoldAsk, HoldRates } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import type { Price } from '../domain/price.ts'
import { estimateInputTokens } from '../domain/reservation.ts'
import { reach } from '../lib/crash-point.ts'
import { parseChatRequest } from '../protocols/openai-chat/client/index.ts'
import { checkCapabilities } from './capabilities.ts'
import { type Completion, createCompletion, isOver } from './completion.ts'
import { requireKey } from './idempotent.ts'
import { planOutput } from './output-limit.ts'
import type { GatewayPorts } from './ports.ts'
import { routeRequest } from './route.ts'
import { type Candidate, spreads } from './routing/candidate.ts'

export interface Incoming {
  readonly caller: Caller
  /** The parsed JSON body. */
  readonly body: unknown
  readonly requestId: string
  readonly clientRequestId: string | undefined
  /** Already checked. */
  readonly idempotencyKey: string | undefined
  /** Monotonic milliseconds. */
  readonly receivedAt: number
}

/** Throws `GatewayError`. What it returns has a place within the rate limits, which is to be given back. */
export function admit(ports: GatewayPorts, incoming: Incoming): Completion | Promise<Completion> {
  const { caller, body, clientRequestId, requestId, receivedAt } = incoming
  const request = parseChatRequest(body)
  const model = findModel(ports, caller, request)
  checkCapabilities(request, model)
  const route = routeRequest({ accountId: caller.accountId, model, request }, ports)
  const inputTokens = estimateInputTokens(request)
  const { targets } = route
  const { tokens: outputTokens, ...limit } = planOutput({ request, model, promptTokens: inputTokens, targets })
  const promptTokens = inputTokens * callsAtWorst(request, targets)
  const { price, priceVersion } = model
  const input = {
    caller,
    request,
    model,
    price,
    priceVersion,
    route,
    promptTokens,
    outputTokens,
    ...limit,
    receivedAt,
    requestId,
    clientRequestId,
  }
  const admission = ports.admit(caller, () => promptTokens + outputTokens * request.n)
  if (admission instanceof Promise) return admission.then((granted) => createCompletion(input, granted, ports))
  return createCompletion(input, admission, ports)
}

/** Resolves when the worst that the request can cost is held. What is affordable may lower its length. */
export async function holdCredit(completion: Completion, { credit }: GatewayPorts): Promise<void> {
  if (isOver(completion)) throw new Error('The request was over before anything was held for it.')
  const hold = await credit.hold(askOf(completion))
  completion.hold = hold
  reach('after_hold')
  if (completion.run !== undefined) requireKey(completion.run, hold)
  if (hold.outputTokens >= completion.outputTokens) return
  completion.outputTokens = hold.outputTokens
  completion.lowered = true
}

function askOf(completion: Completion): HoldAsk {
  const { request, model, targets } = completion
  return {
    id: completion.id,
    caller: completion.caller,
    model: model.aliasOf ?? model.id,
    provider: targets[0]?.upstream.name ?? '',
    rates: ratesOf(completion),
    priceVersion: completion.priceVersion,
    stream: request.stream,
    promptTokens: completion.promptTokens,
    outputTokens: completion.outputTokens,
    choices: request.n,
    flexible: request.maxTokens === undefined,
    createdAt: completion.createdAt,
    clientRequestId: completion.clientRequestId,
  }
}

function ratesOf({ price, reasoningTokens, request }: Completion): HoldRates {
  const { inputMicroUsd, outputMicroUsd } = price
  const fixedNanoUsd = Math.ceil((reasoningTokens * request.n * outputMicroUsd) / 1000)
  return { inputMicroUsd, outputMicroUsd, fixedNanoUsd }
}

/** Where a provider gives one choice a call, every choice pays for the prompt. */
function callsAtWorst({ n }: ChatRequest, targets: readonly Candidate[]): number {
  return n > 1 && targets.some((target) => spreads(target, n)) ? n : 1
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
  if (!isPriced(model)) {
    const message = `The model '${model.id}' has no price yet. The operator sets it in the configuration file.`
    throw new GatewayError('model_not_priced', message, { param: 'model' })
  }
  return model
}

function isPriced(model: Model): model is PricedModel {
  return model.price !== undefined && model.priceVersion !== undefined
}
