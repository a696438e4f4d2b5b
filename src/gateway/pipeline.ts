/**
 * The data plane: what happens to a chat completion, in order. Start reading here.
 *
 *   1 authenticate  before this file, in http/: who calls
 *   2 parse         admit.ts: the client's JSON becomes a ChatRequest, validated once
 *   3 route         route.ts: the model's deployments become targets, best first
 *   4 admit         rate limit; idempotent.ts: the same request once; then what it can cost at worst is held
 *   5 call          attempt.ts and call.ts: until an answer begins
 *   6 render        deliver-whole.ts and deliver-stream.ts; top-up.ts: while a stream is longer than what is held;
 *                   answer-kept.ts: a stream with a key, which can be listened to again
 *   7 settle        settle.ts: always, exactly once, before the last byte: usage, cost, outcome
 *
 * It must not know SQL, the HTTP server, or any feature: what it needs of them are the ports.
 */
import type { Caller } from '../domain/caller.ts'
import type { Hold, KeptAnswer, RunningEstimate } from '../domain/credit.ts'
import type { GatewayError } from '../domain/errors.ts'
import { createRoster } from '../lib/roster.ts'
import { type Incoming as AdmittedIncoming, admit, holdCredit } from './admit.ts'
import { answerKept } from './answer-kept.ts'
import { answerStreamed, type Surroundings } from './answer-streamed.ts'
import { type AttemptSettings, beginAnswer } from './attempt.ts'
import type { ClientConnection } from './client.ts'
import { type Completion, interruptCompletion, leaveCompletion } from './completion.ts'
import { deliverWhole } from './deliver-whole.ts'
import { endBroken, reasonOf } from './ending.ts'
import { runningEstimates } from './estimates.ts'
import { replayed, takeTurn } from './idempotent.ts'
import { createKeptStreams, type KeptStreams } from './kept-streams.ts'
import type { GatewayPorts } from './ports.ts'
import { conclude } from './settle.ts'

export interface Incoming extends AdmittedIncoming {
  /** The last event that the client has of a stream with an `Idempotency-Key`. */
  readonly lastEventId?: number | undefined
}

export interface Gateway {
  /**
   * Answers one request on `client`. Rejects with `GatewayError` as long as nothing was written; afterwards failures
   * are told in the stream. Every call that reached a provider is charged for, however it ends.
   * @returns an answer of an earlier request with the same `Idempotency-Key`, with which nothing was done yet.
   */
  complete(incoming: Incoming, client: ClientConnection): Promise<KeptAnswer | undefined>
  /** Ends requests under way, all or those of the callers it concerns: streams with an error event, others with an error. */
  interrupt(reason: GatewayError, concerns?: (caller: Caller) => boolean): void
  /** Holds of requests under way that are not settled. */
  holds(): readonly Hold[]
  /** Ends requests under way whose hold is lost, in the same way. */
  interruptHeld(reason: GatewayError, isLost: (hold: Hold) => boolean): void
  /** What the requests under way have come to, of those for which that changed since it was last asked. */
  estimates(): readonly RunningEstimate[]
  /** Requests under way. */
  readonly active: number
}

/** @param streams Those with an `Idempotency-Key`; undefined: of this process alone. */
export function createGateway(
  ports: GatewayPorts,
  settings: () => AttemptSettings,
  streams: KeptStreams = createKeptStreams({ graceMs: () => DEFAULT_GRACE_MS }),
): Gateway {
  const active = createRoster<Completion>()
  return {
    async complete(incoming, client) {
      const admitted = admit(ports, incoming)
      const completion = admitted instanceof Promise ? await admitted : admitted
      const leaveRoster = active.add(completion)
      client.onLeave(() => leaveCompletion(completion))
      try {
        const { idempotencyKey: key, body, lastEventId } = incoming
        const surroundings = { ports, client, settings: settings() }
        const { stream } = completion.request
        if (key !== undefined && stream) {
          return await answerKept(completion, { ...surroundings, streams }, { key, body, lastEventId })
        }
        if (key !== undefined) return await answerOnce(completion, surroundings, { key, body })
        if (stream) await answerStreamed(completion, surroundings)
        else await answerWhole(completion, surroundings)
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
    holds: () => active.items().flatMap(({ hold, record }) => (hold === undefined || record !== undefined ? [] : hold)),
    interruptHeld(reason, isLost) {
      for (const completion of active.items()) {
        const { hold, record } = completion
        if (hold !== undefined && record === undefined && isLost(hold)) interruptCompletion(completion, reason)
      }
    },
    estimates: () => runningEstimates(active.items()),
    get active() {
      return active.size
    },
  }
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
    if (turn.kind !== 'run') throw new Error('What is not streamed cannot be listened to.')
    completion.run = turn.run
  } catch (error) {
    throw reasonOf(completion, ports, error)
  }
  await answerWhole(completion, surroundings)
  return undefined
}

const DEFAULT_GRACE_MS = 15_000
