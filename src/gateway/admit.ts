/** What a request must pass before anything is held or sent for it: its body, its model, a route, the rate limit. */

import type { Caller } from '../domain/caller.ts'
import type { ChatRequest } from '../domain/chat.ts'
import type { Hold, HoldAsk } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import type { Price } from '../domain/price.ts'
import { notPriced } from '../domain/price-ends.ts'
import { reach } from '../lib/crash-point.ts'
import { parseChatRequest } from '../protocols/openai-chat/client/index.ts'
import { checkCapabilities } from './capabilities.ts'
import { type Completion, createCompletion, isOver } from './completion.ts'
import { requireKey } from './idempotent.ts'
import type { GatewayPorts } from './ports.ts'
import { routeRequest } from './route.ts'
import { isCountable, recount, seemsTooLong, worstCase } from './worst-case.ts'

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
  const { targets } = route
  const { price, priceVersion } = model
  const worst = worstCase({ request, model, targets, now: ports.now() })
  const input = { caller, request, model, price, priceVersion, route, worst, receivedAt, requestId, clientRequestId }
  const admission = ports.admit(caller, () => worst.promptTokens + worst.outputTokens * request.n)
  if (admission instanceof Promise) return admission.then((granted) => createCompletion(input, granted, ports))
  return createCompletion(input, admission, ports)
}

/**
 * Resolves when the worst that the request can cost is held. What is affordable may lower its length. A prompt whose upper
 * bound does not fit, the window or the credit, is counted exactly, once.
 */
export async function holdCredit(completion: Completion, ports: GatewayPorts): Promise<void> {
  if (isOver(completion)) throw new Error('The request was over before anything was held for it.')
  const isTooLong = seemsTooLong(completion.worst, completion.model)
  if (isTooLong) await countPrompt(completion, ports)
  const hold = await holdWorst(completion, ports, isTooLong)
  completion.hold = hold
  reach('after_hold')
  if (completion.run !== undefined) requireKey(completion.run, hold)
  if (hold.outputTokens >= completion.outputTokens) return
  completion.outputTokens = hold.outputTokens
  completion.lowered = true
}

async function holdWorst(completion: Completion, ports: GatewayPorts, isCounted: boolean): Promise<Hold> {
  const mayCount = !isCounted && isCountable(completion.worst, completion)
  try {
    return await ports.credit.hold(askOf(completion, mayCount))
  } catch (error) {
    if (!mayCount || !(error instanceof GatewayError) || error.status !== 402) throw error
  }
  await countPrompt(completion, ports)
  return await ports.credit.hold(askOf(completion, false))
}

async function countPrompt(completion: Completion, { countWhole }: GatewayPorts): Promise<void> {
  const { worst, request, model, price, targets, createdAt: now } = completion
  const counted = await recount(worst, { request, model: { ...model, price }, targets, now }, countWhole)
  completion.worst = counted
  completion.promptTokens = counted.likelyTokens
  completion.outputTokens = counted.outputTokens
}

/** @param mayCount A refusal is not the last word. */
function askOf(completion: Completion, mayCount: boolean): HoldAsk {
  const { request, model, targets, worst } = completion
  return {
    id: completion.id,
    caller: completion.caller,
    model: model.aliasOf ?? model.id,
    provider: targets[0]?.upstream.name ?? '',
    rates: worst.rates,
    priceVersion: completion.priceVersion,
    stream: request.stream,
    promptTokens: completion.promptTokens,
    outputTokens: completion.outputTokens,
    choices: request.n,
    flexible: request.maxTokens === undefined,
    tentative: mayCount || worst.bound.isOpen,
    createdAt: completion.createdAt,
    clientRequestId: completion.clientRequestId,
  }
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
