/**
 * A completion on its way through the pipeline: what was admitted, which never changes, and the state of each later step,
 * which that step's file alone assigns. The others read it.
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
import type { KeptStream } from './resumable/stream.ts'
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
  /** As this model gets it. */
  readonly request: ChatRequest
  readonly model: Model
  /** Price and version are those of the admission, whatever the price list says later. */
  readonly price: Price
  readonly priceVersion: string
  /** What answers call the model. */
  readonly answersAs: string
  /** Best first. */
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
  /** Share of the cost, in millionths, that is charged for calls with the account's own credentials; undefined: none. */
  readonly byokFeePpm?: number | undefined
  /** The other models that may answer, in order. */
  readonly fallbacks: readonly RoutedModel[]
  /** Its share of the rate limits. */
  readonly limits: Admission
  /** Unix milliseconds. */
  readonly createdAt: number
  /** Monotonic milliseconds of the request's arrival. */
  readonly receivedAt: number
  readonly requestId: string
  readonly clientRequestId: string | undefined
  /** Tags, session and end user; undefined: none. */
  readonly attribution?: Attribution | undefined
  /** Undefined: the answer is not stored. */
  readonly store?: StoreAnswer | undefined
  /** Undefined: the request is not traced. */
  readonly trace?: RequestTrace | undefined
  /** The guardrails that apply to the answer, and what they masked of the prompt. */
  readonly guarded?: GuardedRequest | undefined
}

export interface GuardedRequest {
  readonly guard: Guard
  /** Texts of the prompt that were masked. */
  readonly masked: number
}

/** What is held for a request, and the limits that follow from it. Replaced by hold.ts, and by attempt.ts with the model. */
export interface Reservation {
  /** Undefined until it is committed. */
  readonly hold: Hold | undefined
  /** An exact count of the prompt may have lowered it. */
  readonly worst: WorstCase
  /** Of all calls, as expected; `worst` has the upper bound. */
  readonly promptTokens: number
  /** Of one choice at most, as it is sent: what is affordable may have lowered it. */
  readonly outputTokens: number
  /** The answer may be shorter than the client's limit allows: by the model's maximum, or by its credit. */
  readonly lowered: boolean
}

/** The calls of one attempt: one, or one for each choice where the provider gives one choice a call. */
export interface Answering {
  readonly calls: readonly Call[]
  /** Whether a call's position is the index of its choice. */
  readonly spread: boolean
  abort(): void
}

/** The current attempt, and the outcome of those before it. Assigned by attempt.ts. */
export interface AttemptState {
  /** Attempts made so far. */
  count: number
  /** Monotonic milliseconds spent waiting for providers before the first byte. */
  upstreamMs: number
  /** Undefined before the first attempt. */
  selection: Selection | undefined
  /** Of the last attempt. */
  running: RunningAttempt | undefined
  /** For the record: empty where the first attempt is answered. */
  log: readonly AttemptNote[]
  /** The calls in flight. */
  answering: Answering | undefined
  /** What each of these calls has used so far. */
  usages: readonly CallUsage[]
  /** A byte of the last attempt has left for its provider. */
  sent: boolean
  /** A byte of any attempt has, and the ledger knows. */
  dispatched: boolean
}

/** How the completion ended. Assigned by settle.ts. */
export interface OutcomeState {
  /** Monotonic milliseconds of the first byte written to the client. */
  firstByteAt: number | undefined
  /** Its one row, once it was handed over; then its hold is resolved. */
  record: CompletionRecord | undefined
  /** What the provider reported, where that was outside the bounds. */
  reported: CountedUsage | undefined
  /** The last estimate that was handed over while it ran. */
  lastReported: RunningEstimate | undefined
}

/** Assigned by resumable/answer.ts for a request with an `Idempotency-Key`. */
export interface IdempotentState {
  readonly run: IdempotentRun
  /** What its client and its repeats listen to, where the answer is a stream. */
  readonly stream: KeptStream | undefined
}

export interface Completion {
  readonly admitted: AdmittedRequest
  readonly attempt: AttemptState
  readonly outcome: OutcomeState
  readonly cancellation: Cancellation
  /** The model of the current attempt, before the first one the one that is called first. */
  current: RoutedModel
  /** Of the current model. */
  reservation: Reservation
  /** By model, where several may answer, once credit is held. Assigned by hold.ts. */
  reservations: ReadonlyMap<unknown, Reservation> | undefined
  /** The candidates that credit is held for. Assigned by hold.ts. */
  route: Route
  idempotent: IdempotentState | undefined
  /** What renders its answer, where that is a stream. Assigned by deliver.ts. */
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

/** The longest that the answer of a disconnected client is drained for its exact usage. */
const MAX_DRAIN_MS = 60_000
/** Answers of this process that are drained at a time; beyond it a disconnect ends the call. */
export const MAX_DRAINS = 50

let drains = 0

/**
 * The client is gone: its calls are aborted, or drained to their usage. Where repeats of the request wait for the same
 * answer everything goes on.
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

/** As the operator sets it; else where only the end reports what was used, and credit for the whole answer is held. */
function shouldDrain({ current, attempt: { running }, reservation }: Completion): boolean {
  const { hold, outputTokens, worst } = reservation
  const setting = running?.target.upstream.onDisconnect
  if (setting !== undefined) return setting === 'drain'
  const isCovered = hold !== undefined && !hold.unrecorded && outputTokens >= worst.outputTokens
  return isCovered && mayHideReasoning({ request: current.request, model: current.model, running })
}

/** Ends draining: the request is over. */
export function endDrain({ cancellation }: Completion): void {
  if (cancellation.drain === undefined) return
  clearTimeout(cancellation.drain)
  cancellation.drain = undefined
  drains -= 1
}

/** Ends the request from within the gateway: its calls are aborted, and its client gets `reason`. */
export function interrupt({ cancellation, attempt }: Completion, reason: GatewayError): void {
  cancellation.interruption = reason
  cancellation.wake?.()
  attempt.answering?.abort()
}
