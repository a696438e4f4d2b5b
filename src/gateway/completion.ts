import type { Caller } from '../domain/caller.ts'
import type { ChatRequest } from '../domain/chat.ts'
import type { GatewayError } from '../domain/errors.ts'
import type { CompletionId } from '../domain/ids.ts'
import type { Model } from '../domain/model.ts'
import type { Answering } from './attempt.ts'
import type { Target } from './call.ts'
import type { Admission, GatewayPorts } from './ports.ts'
import { type Branch, createBranch } from './tally.ts'

/** One request on its way through the pipeline. */
export interface Completion {
  readonly id: CompletionId
  /** Unix milliseconds. */
  readonly createdAt: number
  /** Monotonic milliseconds of the request's arrival. */
  readonly receivedAt: number
  readonly caller: Caller
  readonly request: ChatRequest
  readonly model: Model
  readonly admission: Admission
  readonly targets: readonly Target[]
  readonly clientRequestId: string | undefined
  /** Calls made so far. */
  attempts: number
  /** Monotonic milliseconds spent waiting for providers before the first byte. */
  upstreamMs: number
  /** Where the last call went. */
  target: Target | undefined
  /** The calls under way. */
  answering: Answering | undefined
  branches: readonly Branch[]
  /** Monotonic milliseconds of the first byte written to the client. */
  firstByteAt: number | undefined
  left: boolean
  /** Why the gateway itself ends this request early. */
  interruption: GatewayError | undefined
  /** Ends a pause between attempts early. */
  wake: (() => void) | undefined
  /** Its one row was handed over. */
  metered: boolean
}

export interface CompletionInput {
  readonly ports: GatewayPorts
  readonly caller: Caller
  readonly request: ChatRequest
  readonly model: Model
  readonly admission: Admission
  readonly targets: readonly Target[]
  readonly receivedAt: number
  readonly clientRequestId: string | undefined
}

export function createCompletion(input: CompletionInput): Completion {
  const { ports, caller, request, model, admission, targets, receivedAt, clientRequestId } = input
  return {
    id: ports.ids.completion(),
    createdAt: ports.now(),
    receivedAt,
    caller,
    request,
    model,
    admission,
    targets,
    clientRequestId,
    attempts: 0,
    upstreamMs: 0,
    target: undefined,
    answering: undefined,
    branches: [createBranch()],
    firstByteAt: undefined,
    left: false,
    interruption: undefined,
    wake: undefined,
    metered: false,
  }
}

/** The longest that an answer nobody reads is read on to its exact usage, where the provider's setting is `drain`. */
export const MAX_DRAIN_MS = 60_000

/** The client is gone: its calls end at once, or are read to their usage where the provider bills in full anyway. */
export function leaveCompletion(completion: Completion): void {
  completion.left = true
  completion.wake?.()
  const { answering } = completion
  if (answering === undefined) return
  if (completion.target?.upstream.onDisconnect === 'drain') setTimeout(answering.abort, MAX_DRAIN_MS).unref()
  else answering.abort()
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

/** Whether nothing new may be started for this request. */
export function isOver(completion: Completion): boolean {
  return completion.left || completion.interruption !== undefined
}
