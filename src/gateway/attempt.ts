/**
 * Getting an answer to begin: the calls of one attempt, and the next attempt when one fails before its first event.
 * After the first event nothing is tried again: the client would read twice.
 */
import type { ChatRequest } from '../domain/chat.ts'
import { ProviderError } from '../protocols/protocol.ts'
import { type Call, startCall, type Target } from './call.ts'
import { type Completion, isOver, pause } from './completion.ts'
import { mayBeTriedAgain, mayBeTriedElsewhere } from './failure.ts'
import type { GatewayPorts } from './ports.ts'
import { createBranch } from './tally.ts'

/** Full jitter starts here and doubles. */
const RETRY_BASE_MS = 100
/** Waiting longer than this is the client's decision. */
const RETRY_MAX_MS = 2_000

/** The calls of one attempt: one, or one for each choice where the provider gives one choice a call. */
export interface Answering {
  readonly calls: readonly Call[]
  /** Whether a call's position is the index of its choice. */
  readonly spread: boolean
  abort(): void
}

export interface AttemptSettings {
  /** At least 1. */
  readonly maxAttempts: number
}

/** Resolves once every choice has begun. Rejects with the last failure when all attempts are used up. */
export async function beginAnswer(
  completion: Completion,
  ports: GatewayPorts,
  { maxAttempts }: AttemptSettings,
): Promise<Answering> {
  const { targets } = completion
  let excluded = 0
  for (let next = 0; ; next++) {
    const target = targets[next % targets.length]
    if (target === undefined) throw new Error('a completion without targets')
    try {
      return await attempt(completion, ports, target)
    } catch (error) {
      excluded += mayBeTriedAgain(error) ? 0 : 1
      const wait = waitBeforeNext(error, { next, targets: targets.length, random: ports.random })
      const goesOn = mayBeTriedElsewhere(error) && completion.attempts < maxAttempts && excluded < targets.length
      if (!goesOn || wait === undefined || isOver(completion)) throw error
      if (wait > 0) await pause(completion, wait)
      if (isOver(completion)) throw error
    }
  }
}

async function attempt(completion: Completion, ports: GatewayPorts, target: Target): Promise<Answering> {
  const { now, clock } = ports
  const { request, model } = completion
  const spread = request.n > 1 && !target.upstream.provider.protocol.severalChoices
  const startedAt = clock()
  const asked = request.stream && !model.capabilities.streaming ? { ...request, stream: false } : request
  const calls = requestsOf(asked, spread).map((each) => startCall({ target, request: each, model, now, clock }))
  completion.attempts += 1
  completion.target = target
  const answering = { calls, spread, abort: () => abortAll(calls) }
  completion.answering = answering
  completion.branches = calls.map(createBranch)
  if (isOver(completion)) answering.abort()
  try {
    if (calls.length === 1) await calls[0]?.answered
    else await Promise.all(calls.map(({ answered }) => answered))
    return answering
  } catch (error) {
    answering.abort()
    if (!isOver(completion)) completion.answering = undefined
    throw error
  } finally {
    completion.upstreamMs += clock() - startedAt
  }
}

function requestsOf(request: ChatRequest, spread: boolean): readonly ChatRequest[] {
  if (!spread) return [request]
  const { seed } = request
  return Array.from({ length: request.n }, (_, index) => ({
    ...request,
    n: 1,
    // Equal seeds would give equal choices.
    ...(seed === undefined ? {} : { seed: seed + index }),
  }))
}

function abortAll(calls: readonly Call[]): void {
  for (const call of calls) call.abort()
}

interface WaitInput {
  /** Position of the attempt that failed, from 0. */
  readonly next: number
  readonly targets: number
  readonly random: () => number
}

/** @returns Milliseconds; undefined when the provider asks for more patience than we have and there is no other. */
function waitBeforeNext(error: unknown, { next, targets, random }: WaitInput): number | undefined {
  if (targets > 1 && (next + 1) % targets !== 0) return 0
  const asked = error instanceof ProviderError ? error.failure.retryAfterMs : undefined
  if (asked !== undefined) return asked <= RETRY_MAX_MS ? asked : undefined
  return random() * Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** Math.floor(next / targets))
}
