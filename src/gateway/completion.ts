import type { Caller } from '../domain/caller.ts'
import type { ChatRequest } from '../domain/chat.ts'
import type { AttemptNote, CompletionRecord } from '../domain/completion.ts'
import type { Hold, IdempotentRun, RunningEstimate } from '../domain/credit.ts'
import type { GatewayError } from '../domain/errors.ts'
import type { CompletionId } from '../domain/ids.ts'
import type { Model } from '../domain/model.ts'
import type { Price } from '../domain/price.ts'
import type { Answering } from './attempt.ts'
import type { KeptStream } from './kept-stream.ts'
import type { Admission, GatewayPorts, Target } from './ports.ts'
import type { Route } from './route.ts'
import type { Candidate } from './routing/candidate.ts'
import type { Passage } from './routing/passage.ts'
import type { Branch } from './tally.ts'
import type { CountedUsage } from './usage-bounds.ts'
import type { WorstCase } from './worst-case.ts'

/** What a completion is from its admission on. */
export interface CompletionInput {
  readonly caller: Caller
  readonly request: ChatRequest
  readonly model: Model
  /** Price and version are those of the admission, whatever the price list says later. */
  readonly price: Price
  readonly priceVersion: string
  readonly route: Route
  /** The most that it can cost. */
  readonly worst: WorstCase
  /** Monotonic milliseconds of the request's arrival. */
  readonly receivedAt: number
  readonly requestId: string
  readonly clientRequestId: string | undefined
}

/** One request on its way through the pipeline. */
export interface Completion extends Omit<CompletionInput, 'request' | 'worst'> {
  /** Its place within the rate limits. */
  readonly admission: Admission
  readonly id: CompletionId
  /** Where it may go, best first. */
  readonly targets: readonly Candidate[]
  /** Unix milliseconds. */
  readonly createdAt: number
  request: ChatRequest
  /** An exact count may have lowered it. */
  worst: WorstCase
  /** Of all calls, as expected; `worst` has the upper bound. */
  promptTokens: number
  /** Of one choice at most, as it is sent: what is affordable may have lowered it. */
  outputTokens: number
  /** The answer may be less long than the client's words allow: by the model's maximum, or by its credit. */
  lowered: boolean
  hold: Hold | undefined
  /** Its answer is kept for repeats of its `Idempotency-Key`. */
  run: IdempotentRun | undefined
  /** What its client and its repeats listen to, where it is a stream that is kept. */
  stream: KeptStream | undefined
  /** Calls made so far. */
  attempts: number
  /** Monotonic milliseconds spent waiting for providers before the first byte. */
  upstreamMs: number
  /** Where the last call went. */
  target: Target | undefined
  /** The attempt under way, or the one that is answered. */
  passage: Passage | undefined
  /** What `x-turnpike-route` says of attempts before it. */
  trail: string
  /** The same for its record: empty where the first attempt is answered. */
  attemptLog: readonly AttemptNote[]
  /** The calls under way. */
  answering: Answering | undefined
  branches: readonly Branch[]
  /** Characters generated so far by the calls under way. */
  generated: number
  /** A byte of the last attempt has left for its provider. */
  sent: boolean
  /** A byte of any attempt has, and the ledger knows. */
  dispatched: boolean
  /** Monotonic milliseconds of the first byte written to the client. */
  firstByteAt: number | undefined
  /** Nobody is there to be written to. */
  left: boolean
  /** The client left, and nobody else waits for the answer. */
  abandoned: boolean
  /** Ends a call that is read on for nobody: then it is one of `MAX_DRAINS`. */
  drain: NodeJS.Timeout | undefined
  /** Why the gateway itself ends this request early. */
  interruption: GatewayError | undefined
  /** Ends a wait early that is not for a provider. */
  wake: (() => void) | undefined
  /** The last estimate of it that was handed over. */
  told: RunningEstimate | undefined
  /** Its one row, once it was handed over; then its hold is resolved. */
  record: CompletionRecord | undefined
  /** What the provider reported, where that was outside the bounds. */
  reported: CountedUsage | undefined
}

export function createCompletion(input: CompletionInput, admission: Admission, { ids, now }: GatewayPorts): Completion {
  return {
    id: ids.completion(),
    createdAt: now(),
    receivedAt: input.receivedAt,
    caller: input.caller,
    request: input.request,
    model: input.model,
    price: input.price,
    priceVersion: input.priceVersion,
    admission,
    route: input.route,
    targets: input.route.targets,
    worst: input.worst,
    promptTokens: input.worst.likelyTokens,
    outputTokens: input.worst.outputTokens,
    requestId: input.requestId,
    clientRequestId: input.clientRequestId,
    lowered: input.worst.lowered,
    hold: undefined,
    run: undefined,
    stream: undefined,
    attempts: 0,
    upstreamMs: 0,
    target: undefined,
    passage: undefined,
    trail: input.route.skipped,
    attemptLog: NO_NOTES,
    answering: undefined,
    branches: NOTHING_YET,
    generated: 0,
    sent: false,
    dispatched: false,
    firstByteAt: undefined,
    left: false,
    abandoned: false,
    ...UNDER_WAY,
  }
}

const UNDER_WAY = {
  drain: undefined,
  interruption: undefined,
  wake: undefined,
  told: undefined,
  record: undefined,
  reported: undefined,
} as const

const NOTHING_YET: readonly Branch[] = []
const NO_NOTES: readonly AttemptNote[] = []

/** The longest that an answer nobody reads is read on to its exact usage, where the provider's setting is `drain`. */
export const MAX_DRAIN_MS = 60_000
/** Such answers of this process at a time; beyond it those who leave end their calls. */
export const MAX_DRAINS = 50

let drains = 0

/**
 * The client is gone: its calls end at once, or are read to their usage where the provider bills in full anyway. Where
 * others wait for the same answer everything goes on.
 */
export function leaveCompletion(completion: Completion): void {
  completion.left = true
  if (completion.run !== undefined && completion.run.waiting() > 0) return
  completion.abandoned = true
  completion.wake?.()
  const { answering } = completion
  if (answering === undefined || completion.drain !== undefined) return
  if (completion.target?.upstream.onDisconnect !== 'drain' || drains >= MAX_DRAINS) {
    answering.abort()
    return
  }
  drains += 1
  completion.drain = setTimeout(answering.abort, MAX_DRAIN_MS).unref()
}

/** The request is over: whatever was read on for nobody has ended. */
export function endDrain(completion: Completion): void {
  if (completion.drain === undefined) return
  clearTimeout(completion.drain)
  completion.drain = undefined
  drains -= 1
}

/** The gateway ends the request: what is under way stops, and the client is told `reason`. */
export function interruptCompletion(completion: Completion, reason: GatewayError): void {
  completion.interruption = reason
  completion.wake?.()
  completion.answering?.abort()
}

/** Waits, unless the client leaves or the gateway interrupts. */
export function pause(completion: Completion, milliseconds: number): Promise<void> {
  if (isOver(completion)) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      completion.wake = undefined
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    completion.wake = end
  })
}

/** What `pending` comes to; undefined as soon as the request is over before. */
export async function unlessOver<T>(completion: Completion, pending: Promise<T>): Promise<T | undefined> {
  if (isOver(completion)) return undefined
  const over = Promise.withResolvers<undefined>()
  completion.wake = () => over.resolve(undefined)
  try {
    return await Promise.race([pending, over.promise])
  } finally {
    completion.wake = undefined
  }
}

/** Whether nothing new may be started for this request. */
export function isOver(completion: Completion): boolean {
  return completion.abandoned || completion.interruption !== undefined
}
