/**
 * The data plane: what happens to a chat completion, in order. Start reading here.
 *
 *   1 authenticate  before this file, in http/: who calls
 *   2 parse         the client's JSON becomes a ChatRequest, validated once
 *   3 admit         rate limit
 *   4 route         the model's deployments become targets, best first
 *   5 call          attempt.ts and call.ts: until an answer begins
 *   6 render        deliver-whole.ts and deliver-stream.ts
 *   7 settle        always, exactly once: usage, cost, outcome
 *
 * It must not know SQL, the HTTP server, or any feature: what it needs of them are the ports.
 */

import type { Caller } from '../domain/caller.ts'
import type { ChatRequest } from '../domain/chat.ts'
import type { CompletionStatus } from '../domain/completion.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import { estimateInputTokens, worstOutputTokens } from '../domain/reservation.ts'
import { createRoster } from '../lib/roster.ts'
import { parseChatRequest } from '../protocols/openai-chat/client/index.ts'
import { type AttemptSettings, beginAnswer } from './attempt.ts'
import { checkCapabilities } from './capabilities.ts'
import type { ClientConnection } from './client.ts'
import { type Completion, createCompletion, interruptCompletion, leaveCompletion } from './completion.ts'
import { createDelivery, deliverStream, type StreamDelivery } from './deliver-stream.ts'
import { deliverWhole } from './deliver-whole.ts'
import { toGatewayError } from './failure.ts'
import { completionHeaders } from './headers.ts'
import type { GatewayPorts } from './ports.ts'
import { routeTargets } from './route.ts'
import { meterCompletion, priceBrokenAnswer, type Settlement } from './settle.ts'
import { generatedAnything } from './tally.ts'

export interface Incoming {
  readonly caller: Caller
  /** The parsed JSON body. */
  readonly body: unknown
  readonly clientRequestId: string | undefined
  /** Monotonic milliseconds. */
  readonly receivedAt: number
}

export interface Gateway {
  /**
   * Answers one request on `client`. Rejects with `GatewayError` as long as nothing was written; afterwards failures
   * are told in the stream. Every call that reached a provider is metered, however it ends.
   */
  complete(incoming: Incoming, client: ClientConnection): Promise<void>
  /** Ends requests under way, all or those of the callers it concerns: streams with an error event, others with an error. */
  interrupt(reason: GatewayError, concerns?: (caller: Caller) => boolean): void
  /** Requests under way. */
  readonly active: number
}

export function createGateway(ports: GatewayPorts, settings: () => AttemptSettings): Gateway {
  const active = createRoster<Completion>()
  return {
    async complete(incoming, client) {
      const completion = admit(ports, incoming)
      const leaveRoster = active.add(completion)
      client.onLeave(() => leaveCompletion(completion))
      try {
        if (completion.request.stream) await answerStreamed(completion, { ports, client, settings: settings() })
        else await answerWhole(completion, { ports, client, settings: settings() })
      } finally {
        leaveRoster()
        completion.admission.release()
        completion.admission.settle(0)
      }
    },
    interrupt(reason, concerns = () => true) {
      for (const completion of active.items()) {
        if (concerns(completion.caller)) interruptCompletion(completion, reason)
      }
    },
    get active() {
      return active.size
    },
  }
}

function admit(ports: GatewayPorts, { caller, body, clientRequestId, receivedAt }: Incoming): Completion {
  const request = parseChatRequest(body)
  const model = findModel(ports, caller, request)
  checkCapabilities(request, model)
  const targets = routeTargets(model, ports)
  const admission = ports.admit(caller, () => worstTokens(request, model))
  return createCompletion({ ports, caller, request, model, admission, targets, receivedAt, clientRequestId })
}

function worstTokens(request: ChatRequest, model: Model): number {
  const input = estimateInputTokens(request)
  return input + worstOutputTokens(request, model, input)
}

function findModel(ports: GatewayPorts, caller: Caller, request: ChatRequest): Model {
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
  if (model.price === undefined) {
    const message = `The model '${model.id}' has no price yet. The operator sets it in the configuration file.`
    throw new GatewayError('model_not_priced', message, { param: 'model' })
  }
  return model
}

interface Surroundings {
  readonly ports: GatewayPorts
  readonly client: ClientConnection
  readonly settings: AttemptSettings
}

async function answerWhole(completion: Completion, { ports, client, settings }: Surroundings): Promise<void> {
  try {
    const answering = await beginAnswer(completion, ports, settings)
    const settlement = await deliverWhole(completion, { ports, client }, answering)
    meterCompletion(completion, ports, { settlement, status: completion.left ? 'client_left' : 'completed' })
  } catch (error) {
    await settleBroken(completion, ports)
    throw reasonOf(completion, ports, error)
  }
}

async function answerStreamed(completion: Completion, { ports, client, settings }: Surroundings): Promise<void> {
  client.expectStream(() => completionHeaders(completion, ports))
  const delivery = createDelivery(completion, ports, client)
  try {
    const answering = await beginAnswer(completion, ports, settings)
    const settlement = await deliverStream(delivery, answering)
    meterCompletion(completion, ports, { settlement, status: completion.left ? 'client_left' : 'completed' })
  } catch (error) {
    await settleBroken(completion, ports)
    failStream(delivery, reasonOf(completion, ports, error))
  }
}

/** In the stream once its head is out; as a rejection, and so with a status of its own, before. */
function failStream({ completion, client, renderer }: StreamDelivery, error: GatewayError): void {
  if (completion.left) return
  if (!client.streaming()) throw error
  const message = `${error.message} The partial response may be incomplete.`
  client.write(renderer.fail({ type: 'upstream_error', message, code: error.code }))
  client.endStream()
}

async function settleBroken(completion: Completion, ports: GatewayPorts): Promise<void> {
  completion.admission.release() // nothing runs any more; counting what it used may take a moment
  if (completion.attempts === 0) return
  const begun = generatedAnything(completion.branches)
  const status: CompletionStatus = completion.left ? 'client_left' : begun ? 'incomplete' : 'failed'
  let settlement: Settlement
  try {
    settlement = await priceBrokenAnswer(completion, ports, status)
  } catch {
    settlement = { usage: { promptTokens: 0, completionTokens: 0 }, source: 'estimated', costNanoUsd: 0n }
  }
  meterCompletion(completion, ports, { settlement, status })
}

function reasonOf(completion: Completion, ports: GatewayPorts, error: unknown): GatewayError {
  if (completion.interruption !== undefined) return completion.interruption
  return toGatewayError(error, completion.target?.upstream.name, completionHeaders(completion, ports))
}
