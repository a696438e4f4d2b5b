/**
 * The data plane: what happens to a chat completion, in order. Start reading here.
 *
 *   1 authenticate  before this file, in http/: who calls
 *   2 parse         admit.ts: the client's JSON becomes a ChatRequest, validated once
 *   3 route         route.ts: the model's deployments become targets, best first
 *   4 admit         rate limit; idempotent.ts: the same request once; then what it can cost at worst is held
 *   5 call          attempt.ts and call.ts: until an answer begins
 *   6 render        deliver-whole.ts and deliver-stream.ts; top-up.ts: while a stream is longer than what is held
 *   7 settle        settle.ts: always, exactly once, before the last byte: usage, cost, outcome
 *
 * It must not know SQL, the HTTP server, or any feature: what it needs of them are the ports.
 */
import type { Caller } from '../domain/caller.ts'
import type { KeptAnswer, RunningEstimate } from '../domain/credit.ts'
import type { GatewayError } from '../domain/errors.ts'
import { createRoster } from '../lib/roster.ts'
import { admit, holdCredit, type Incoming } from './admit.ts'
import { type AttemptSettings, beginAnswer } from './attempt.ts'
import type { ClientConnection } from './client.ts'
import { type Completion, interruptCompletion, leaveCompletion } from './completion.ts'
import { createDelivery, deliverStream, type StreamDelivery } from './deliver-stream.ts'
import { deliverWhole } from './deliver-whole.ts'
import { runningEstimates } from './estimates.ts'
import { toGatewayError } from './failure.ts'
import { completionHeaders } from './headers.ts'
import { endRun, replayed, takeTurn } from './idempotent.ts'
import type { GatewayPorts } from './ports.ts'
import { brokenStatus, conclude, priceBroken, settle } from './settle.ts'

export type { Incoming } from './admit.ts'

export interface Gateway {
  /**
   * Answers one request on `client`. Rejects with `GatewayError` as long as nothing was written; afterwards failures
   * are told in the stream. Every call that reached a provider is charged for, however it ends.
   * @returns an answer of an earlier request with the same `Idempotency-Key`, with which nothing was done yet.
   */
  complete(incoming: Incoming, client: ClientConnection): Promise<KeptAnswer | undefined>
  /** Ends requests under way, all or those of the callers it concerns: streams with an error event, others with an error. */
  interrupt(reason: GatewayError, concerns?: (caller: Caller) => boolean): void
  /** What the requests under way have come to, of those for which that changed since it was last asked. */
  estimates(): readonly RunningEstimate[]
  /** Requests under way. */
  readonly active: number
}

export function createGateway(ports: GatewayPorts, settings: () => AttemptSettings): Gateway {
  const active = createRoster<Completion>()
  return {
    async complete(incoming, client) {
      const admitted = admit(ports, incoming)
      const completion = admitted instanceof Promise ? await admitted : admitted
      const leaveRoster = active.add(completion)
      client.onLeave(() => leaveCompletion(completion))
      try {
        const surroundings = { ports, client, settings: settings() }
        if (completion.request.stream) await answerStreamed(completion, surroundings)
        else if (incoming.idempotencyKey === undefined) await answerWhole(completion, surroundings)
        else return await answerOnce(completion, surroundings, { key: incoming.idempotencyKey, body: incoming.body })
        return undefined
      } finally {
        leaveRoster()
        conclude(completion, ports)
      }
    },
    interrupt(reason, concerns = () => true) {
      for (const completion of active.items()) {
        if (concerns(completion.caller)) interruptCompletion(completion, reason)
      }
    },
    estimates: () => runningEstimates(active.items()),
    get active() {
      return active.size
    },
  }
}

interface Surroundings {
  readonly ports: GatewayPorts
  readonly client: ClientConnection
  readonly settings: AttemptSettings
}

async function answerWhole(completion: Completion, { ports, client, settings }: Surroundings): Promise<void> {
  try {
    await holdCredit(completion, ports)
    const answering = await beginAnswer(completion, ports, settings)
    await deliverWhole(completion, { ports, client }, answering)
  } catch (error) {
    throw await endBroken(completion, ports, error)
  }
}

async function answerStreamed(completion: Completion, { ports, client, settings }: Surroundings): Promise<void> {
  const delivery = createDelivery(completion, ports, client)
  try {
    await holdCredit(completion, ports)
    client.expectStream(() => completionHeaders(completion, ports))
    const answering = await beginAnswer(completion, ports, settings)
    await deliverStream(delivery, answering)
  } catch (error) {
    failStream(delivery, await endBroken(completion, ports, error))
  }
}

/** @returns the answer of an earlier request with the same key; undefined: it is answered. */
async function answerOnce(
  completion: Completion,
  surroundings: Surroundings,
  once: { readonly key: string; readonly body: unknown },
): Promise<KeptAnswer | undefined> {
  const { ports } = surroundings
  try {
    const turn = await takeTurn(completion, ports, once)
    if (turn.kind === 'replay') return replayed(completion, turn.answer)
    completion.run = turn.run
  } catch (error) {
    throw reasonOf(completion, ports, error)
  }
  await answerWhole(completion, surroundings)
  return undefined
}

/** In the stream once its head is out; as a rejection, and so with a status of its own, before. */
function failStream({ completion, client, renderer }: StreamDelivery, error: GatewayError): void {
  if (completion.left) return
  if (!client.streaming()) throw error
  const message = `${error.message} The partial response may be incomplete.`
  client.write(renderer.fail({ type: 'upstream_error', message, code: error.code }))
  client.endStream()
}

/** Charges for what was used of an answer that broke off. @returns what the client is told. */
async function endBroken(completion: Completion, ports: GatewayPorts, error: unknown): Promise<GatewayError> {
  completion.admission.release() // nothing runs any more; counting what it used may take a moment
  const settlement = completion.attempts === 0 ? undefined : await priceBroken(completion, ports)
  const reason = reasonOf(completion, ports, error)
  if (completion.run !== undefined) return await endRun(completion, ports, { reason, settlement })
  if (settlement !== undefined) void settle(completion, ports, { settlement, status: brokenStatus(completion) })
  return reason
}

function reasonOf(completion: Completion, ports: GatewayPorts, error: unknown): GatewayError {
  const reason = completion.interruption ?? error
  return toGatewayError(reason, completion.target?.upstream.name, completionHeaders(completion, ports))
}
