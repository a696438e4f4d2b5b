/**
 * The data plane: the steps of a chat completion, in order. Start reading here.
 *
 *   1 authenticate  before this file, in http/: who calls
 *                   guardrails/prompt.ts, where the account has guardrails: masks or rejects its prompt
 *                   capture.ts, where the account has prompts and answers stored
 *   2 parse         admit.ts: the client's JSON becomes a ChatRequest, validated once
 *   3 admit         admit.ts: models that may answer, candidates, rate limits; then hold.ts: the most that it can cost;
 *                   between the two resumable/answer.ts: a repeat of a request gets the answer of the first
 *   4 select        routing/select.ts: the candidate of the next attempt
 *   5 attempt       attempt.ts: one call or more, until an answer begins; a failed attempt leads back to 4
 *   6 deliver       deliver.ts: the answer, whole or as a stream; each event is metered (usage/meter.ts) before it is
 *                   rendered; guardrails/answer.ts in between; hold.ts while a stream approaches its hold
 *   7 settle        settle.ts: always, exactly once, before the last byte: usage, cost, outcome
 *
 * It must not know SQL, the HTTP server or any feature; it reaches them through the ports.
 */
import type { Hold, RunningEstimate, SavedAnswer } from '../domain/credit.ts'
import type { GatewayError } from '../domain/errors.ts'
import type { Guard } from '../domain/guardrails/guard.ts'
import type { Caller } from '../domain/identity/caller.ts'
import { createInFlight } from '../lib/collections.ts'
import { admit, type Incoming, parse } from './admit.ts'
import { type AttemptSettings, beginAnswer } from './attempt.ts'
import { beginCapture } from './capture.ts'
import { type Completion, createCompletion, disconnect, interrupt } from './completion.ts'
import { clientError, completionHeaders, createDelivery, deliverStream, deliverWhole, failStream } from './deliver.ts'
import { guardPrompt } from './guardrails/prompt.ts'
import { holdCredit } from './hold.ts'
import type { ClientConnection, GatewayPorts } from './ports.ts'
import { answerKeyed } from './resumable/answer.ts'
import { endRun } from './resumable/idempotency.ts'
import { createResumableStreams, type ResumableStreams } from './resumable/registry.ts'
import { routeRequest } from './routing/candidates.ts'
import { endCompletion, incompleteStatus, priceIncomplete, runningEstimates, settle } from './settle.ts'
import { countPromptTokens } from './worst-case.ts'

export interface Gateway {
  /**
   * Answers one request on `client`. Rejects with `GatewayError` as long as nothing was written; afterwards failures
   * are reported in the stream. Every call that reached a provider is charged for, however it ends.
   * @returns the answer of an earlier request with the same `Idempotency-Key`, which the caller must send.
   */
  complete(incoming: Incoming, client: ClientConnection): Promise<SavedAnswer | undefined>
  /** Counts the tokens of a request's prompt without calling a provider. Rejects with `GatewayError`. */
  countTokens(incoming: Pick<Incoming, 'api' | 'caller' | 'body' | 'findings'>): Promise<number>
  /** Ends requests in flight, all or those of matching callers: streams with an error event, others with an error. */
  interrupt(reason: GatewayError, concerns?: (caller: Caller) => boolean): void
  /** Returns the unsettled holds of requests in flight. */
  holds(): readonly Hold[]
  /** Ends requests in flight whose hold was lost, in the same way. */
  interruptHeld(reason: GatewayError, isLost: (hold: Hold) => boolean): void
  /** Returns the usage of requests in flight whose estimate changed since the last call. */
  estimates(): readonly RunningEstimate[]
  /** The number of requests in flight. */
  readonly active: number
}

/** @param streams The resumable streams. Undefined creates them for this process only. */
export function createGateway(
  ports: GatewayPorts,
  settings: () => AttemptSettings,
  streams: ResumableStreams = createResumableStreams({ graceMs: () => DEFAULT_GRACE_MS }),
): Gateway {
  const inFlight = createInFlight<Completion>()
  return {
    async complete(received, client) {
      const guard = ports.guardrails?.guardOf(received.caller)
      const incoming = guard === undefined ? received : await guarded(received, guard)
      const capture = beginCapture(ports.capture, incoming, received.findings?.bytes)
      const admitted = admit(ports, capture === undefined ? incoming : { ...incoming, api: capture.api })
      const completion = createCompletion(admitted instanceof Promise ? await admitted : admitted)
      const remove = inFlight.add(completion)
      client.onLeave(() => disconnect(completion))
      try {
        const answer = completion.admitted.request.stream ? answerStream : answerWhole
        const run = (to: ClientConnection): Promise<void> =>
          answer(completion, { ports, client: to, settings: settings() })
        const { idempotencyKey: key, lastEventId, body, findings } = incoming
        if (key !== undefined) {
          const request = { key, body, fingerprint: findings?.fingerprint, lastEventId }
          return await answerKeyed(completion, { ports, client, streams, run }, request)
        }
        await run(client)
        return undefined
      } finally {
        remove()
        endCompletion(completion, ports)
        capture?.end(completion)
      }
    },
    countTokens: async ({ api, caller, body, findings }) => {
      const { request, model } = parse(ports, { api, caller, body }).first
      const { candidates } = routeRequest({ accountId: caller.accountId, model, request }, ports)
      const weighed = { request, model, candidates, now: ports.now(), content: findings?.prompt }
      return await countPromptTokens(weighed, ports.countWhole)
    },
    interrupt(reason, concerns = () => true) {
      for (const completion of inFlight.items()) {
        if (concerns(completion.admitted.caller)) interrupt(completion, reason)
      }
    },
    holds: () => inFlight.items().flatMap((completion) => unsettledHold(completion) ?? []),
    interruptHeld(reason, isLost) {
      for (const completion of inFlight.items()) {
        const hold = unsettledHold(completion)
        if (hold !== undefined && isLost(hold)) interrupt(completion, reason)
      }
    },
    estimates: () => runningEstimates(inFlight.items(), ports.clock()),
    get active() {
      return inFlight.size
    },
  }
}

const DEFAULT_GRACE_MS = 15_000

function unsettledHold({ reservation, outcome }: Completion): Hold | undefined {
  return outcome.record === undefined ? reservation.hold : undefined
}

/** Applies guardrails to the request, which may mask its prompt. */
async function guarded(incoming: Incoming, finding: Guard | Promise<Guard | undefined>): Promise<Incoming> {
  const guard = finding instanceof Promise ? await finding : finding
  if (guard === undefined) return incoming
  const { body, masked } = await guardPrompt(guard, incoming)
  const findings = masked === 0 ? incoming.findings : undefined // the findings describe the unmasked text
  return { ...incoming, body, findings, guarded: { guard, masked } }
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

async function answerStream(completion: Completion, { ports, client, settings }: Surroundings): Promise<void> {
  let delivery = createDelivery(completion, ports, client)
  try {
    await holdCredit(completion, ports)
    client.expectStream(() => completionHeaders(completion, ports), completion.admitted.api.keepAlive)
    const answering = await beginAnswer(completion, ports, settings)
    if (completion.current !== completion.admitted) delivery = createDelivery(completion, ports, client)
    await deliverStream(delivery, answering)
  } catch (error) {
    failStream(delivery, await endBroken(completion, ports, error))
  }
}

/** Charges the usage of an answer that broke off. @returns the error for the client. */
async function endBroken(completion: Completion, ports: GatewayPorts, error: unknown): Promise<GatewayError> {
  const { admitted, attempt, idempotent } = completion
  admitted.limits.release() // the calls have ended; counting their usage may take a moment
  const settlement = attempt.count === 0 ? undefined : await priceIncomplete(completion, ports)
  const reason = clientError(completion, ports, error)
  if (idempotent !== undefined) return await endRun(completion, ports, { reason, settlement })
  if (settlement !== undefined) void settle(completion, ports, { settlement, status: incompleteStatus(completion) })
  return reason
}
