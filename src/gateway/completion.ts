/**
 * A completion in the pipeline: the admitted request, which never changes, and the state of each later step. Only the
 * file of that step assigns it; the others read it.
 */
import type { Attribution } from '../domain/attribution.ts'
import type { ChatRequest } from '../domain/chat.ts'
import type { AttemptNote, CompletionRecord } from '../domain/completion.ts'
import type { Hold, IdempotentRun, RunningEstimate } from '../domain/credit.ts'
import type { GatewayError } from '../domain/errors.ts'
import type { Guard } from '../domain/guardrails/guard.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { CompletionId } from '../domain/ids.ts'
import type { Model } from '../domain/model.ts'
import type { Price } from '../domain/price/tariff.ts'
import type { RequestTrace } from '../domain/trace.ts'
import type { AnswerStream, ClientApi } from '../protocols/client-api.ts'
import { type Cancellation, createCancellation } from './cancellation.ts'
import type { Admission, StoreAnswer } from './ports.ts'
import type { ResumableStream } from './resumable/stream.ts'
import type { Candidate, Route } from './routing/health.ts'
import type { RunningAttempt } from './routing/running-attempt.ts'
import type { Selection } from './routing/select.ts'
import type { Call } from './upstream/call.ts'
import { mayHideReasoning } from './usage/hidden-reasoning.ts'
import type { CountedUsage } from './usage/measure.ts'
import type { CallUsage } from './usage/meter.ts'
import type { WorstCase } from './worst-case.ts'

/** A model that may answer a request. */
export interface RoutedModel {
  /** The request as this model receives it. */
  readonly request: ChatRequest
  readonly model: Model
  /** The price and its version at admission. Later changes of the price list do not apply. */
  readonly price: Price
  readonly priceVersion: string
  /** The name that the answer gives as its model. */
  readonly answersAs: string
  /** The candidates, best first. */
  readonly candidates: readonly Candidate[]
  /** The most that the request can cost there. */
  readonly worst: WorstCase
}

/** A request within its rate limits, for the first model that may answer it: a snapshot. */
export interface AdmittedRequest extends RoutedModel {
  readonly id: CompletionId
  readonly api: ClientApi
  readonly caller: Caller
  /** The candidates of all models. */
  readonly route: Route
  /**
   * The share of the cost, in millionths, that the account pays for calls with its own credentials. Undefined if it
   * has none.
   */
  readonly byokFeePpm?: number | undefined
  /** The fallback models, in order. */
  readonly fallbacks: readonly RoutedModel[]
  /** The request's share of the rate limits. */
  readonly limits: Admission
  /** Unix milliseconds. */
  readonly createdAt: number
  /** Monotonic milliseconds at which the request arrived. */
  readonly receivedAt: number
  readonly requestId: string
  readonly clientRequestId: string | undefined
  /** Tags, session and end user. Undefined if there are none. */
  readonly attribution?: Attribution | undefined
  /** Stores the answer. Undefined if the answer is not stored. */
  readonly store?: StoreAnswer | undefined
  /** Undefined if the request is not traced. */
  readonly trace?: RequestTrace | undefined
  /** The guardrails that apply to the answer, and what they masked of the prompt. */
  readonly guarded?: GuardedRequest | undefined
}

export interface GuardedRequest {
  readonly guard: Guard
  /** Texts of the prompt that were masked. */
  readonly masked: number
}

/**
 * The credit held for a request, and the output limits that follow from it. hold.ts creates it; attempt.ts replaces
 * it when the model changes.
 */
export interface Reservation {
  /** Undefined until the hold is committed. */
  readonly hold: Hold | undefined
  /** An exact count of the prompt may have lowered it. */
  readonly worst: WorstCase
  /** The expected prompt tokens of all calls; `worst` has the upper bound. */
  readonly promptTokens: number
  /** The output limit of one choice as it is sent, which affordable credit may have lowered. */
  readonly outputTokens: number
  /** The answer may be shorter than the client's limit allows: by the model's maximum, or by its credit. */
  readonly lowered: boolean
}

/** The calls of one attempt: one, or one for each choice where the provider gives one choice a call. */
export interface Answering {
  readonly calls: readonly Call[]
  /** Whether each choice has a call of its own, so that the call's position is the index of the choice. */
  readonly spread: boolean
  abort(): void
}

/** The current attempt, and the outcome of those before it. Assigned by attempt.ts. */
export interface AttemptState {
  /** The number of attempts so far. */
  count: number
  /** Monotonic milliseconds spent waiting for providers before the first byte. */
  upstreamMs: number
  /** Undefined before the first attempt. */
  selection: Selection | undefined
  /** The last attempt. */
  running: RunningAttempt | undefined
  /** The attempts for the record. Empty if the first attempt is answered. */
  log: readonly AttemptNote[]
  /** The calls in flight. */
  answering: Answering | undefined
  /** The usage of each of these calls so far. */
  usages: readonly CallUsage[]
  /** A byte of the last attempt was sent to its provider. */
  sent: boolean
  /** A byte of any attempt was sent, and the ledger was notified. */
  dispatched: boolean
}

/** The outcome of the completion. Assigned by settle.ts. */
export interface OutcomeState {
  /** Monotonic milliseconds of the first byte written to the client. */
  firstByteAt: number | undefined
  /** The completion's only record, set when it is handed over. From then on the hold is resolved. */
  record: CompletionRecord | undefined
  /** The provider's figures if they are outside the bounds. */
  reported: CountedUsage | undefined
  /** The last usage estimate that was recorded while the completion ran. */
  lastReported: RunningEstimate | undefined
}

/** The state of a request with an `Idempotency-Key`. Assigned by resumable/answer.ts. */
export interface IdempotentState {
  readonly run: IdempotentRun
  /** The resumable stream that the client and its repeats read. Undefined if the answer is whole. */
  readonly stream: ResumableStream | undefined
}

export interface Completion {
  readonly admitted: AdmittedRequest
  readonly attempt: AttemptState
  readonly outcome: OutcomeState
  readonly cancellation: Cancellation
  /** The model of the current attempt, or of the first one before it begins. */
  current: RoutedModel
  /** The reservation of the current model. */
  reservation: Reservation
  /** The reservations by model if several may answer, set when credit is held. Assigned by hold.ts. */
  reservations: ReadonlyMap<unknown, Reservation> | undefined
  /** The candidates that credit is held for. Assigned by hold.ts. */
  route: Route
  idempotent: IdempotentState | undefined
  /** The renderer of a streamed answer. Assigned by deliver.ts. */
  renderer: AnswerStream | undefined
}

export function createCompletion(admitted: AdmittedRequest): Completion {
  const { worst } = admitted
  const { likelyTokens: promptTokens, outputTokens, lowered } = worst
  return {
    admitted,
    attempt: {
      count: 0,
      upstreamMs: 0,
      selection: undefined,
      running: undefined,
      log: NO_NOTES,
      answering: undefined,
      usages: NO_USAGES,
      sent: false,
      dispatched: false,
    },
    outcome: { firstByteAt: undefined, record: undefined, reported: undefined, lastReported: undefined },
    cancellation: createCancellation(),
    current: admitted,
    reservation: { hold: undefined, worst, promptTokens, outputTokens, lowered },
    reservations: undefined,
    route: admitted.route,
    idempotent: undefined,
    renderer: undefined,
  }
}

const NO_USAGES: readonly CallUsage[] = []
const NO_NOTES: readonly AttemptNote[] = []

/** How long the answer of a disconnected client is drained to obtain its exact usage. */
const MAX_DRAIN_MS = 60_000
/** The answers that this process drains at a time. Beyond this number, a disconnect aborts the call. */
export const MAX_DRAINS = 50

let drains = 0

/**
 * Handles the disconnect of the client: aborts its calls, or drains them to obtain their usage. If repeats of the
 * request wait for the answer, the calls continue.
 */
export function disconnect(completion: Completion): void {
  const { cancellation, idempotent, attempt } = completion
  cancellation.disconnected = true
  if (idempotent !== undefined && idempotent.run.waiting() > 0) return
  cancellation.abandoned = true
  cancellation.wake?.()
  const { answering } = attempt
  if (answering === undefined || cancellation.drain !== undefined) return
  if (!shouldDrain(completion) || drains >= MAX_DRAINS) {
    answering.abort()
    return
  }
  drains += 1
  cancellation.drain = setTimeout(answering.abort, MAX_DRAIN_MS).unref()
}

/**
 * Returns whether to drain the calls of a disconnected client: as the operator configured; by default if only the end
 * of the answer reports its usage and credit for the whole answer is held.
 */
function shouldDrain({ current, attempt: { running }, reservation }: Completion): boolean {
  const { hold, outputTokens, worst } = reservation
  const setting = running?.target.upstream.onDisconnect
  if (setting !== undefined) return setting === 'drain'
  const isCovered = hold !== undefined && !hold.unrecorded && outputTokens >= worst.outputTokens
  return isCovered && mayHideReasoning({ request: current.request, model: current.model, running })
}

/** Ends the draining of a request that has ended. */
export function endDrain({ cancellation }: Completion): void {
  if (cancellation.drain === undefined) return
  clearTimeout(cancellation.drain)
  cancellation.drain = undefined
  drains -= 1
}

/** Ends the request on behalf of the gateway: aborts its calls and reports `reason` to the client. */
export function interrupt({ cancellation, attempt }: Completion, reason: GatewayError): void {
  cancellation.interruption = reason
  cancellation.wake?.()
  attempt.answering?.abort()
}
