/**
 * Getting an answer to begin: the calls of one attempt, and the next attempt when one fails before its first event.
 * After the first event nothing is tried again: the client would read twice.
 */
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import { reach } from '../lib/crash-point.ts'
import { ProviderError } from '../protocols/protocol.ts'
import { type Call, startCall, type Target } from './call.ts'
import { type Completion, isOver, pause } from './completion.ts'
import { mayBeTriedAgain, mayBeTriedElsewhere } from './failure.ts'
import type { GatewayPorts } from './ports.ts'
import { type Branch, createBranch, tally } from './tally.ts'

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

/**
 * Resolves once every choice has begun. Rejects with the last failure when all attempts are used up. Targets are asked
 * in rounds: each round has those of the one before that may do better after a moment, and begins when all of them
 * wish it to.
 */
export async function beginAnswer(
  completion: Completion,
  ports: GatewayPorts,
  { maxAttempts }: AttemptSettings,
): Promise<Answering> {
  if (isOver(completion)) throw new Error('The request was over before a provider was called.')
  let targets = completion.targets
  let again: Target[] = []
  let askedMs: number | undefined
  let round = 0
  for (let position = 0; ; ) {
    const target = targets[position++]
    if (target === undefined) throw new Error('a completion without targets')
    try {
      return await attempt(completion, ports, target)
    } catch (error) {
      const patienceMs = retryAfterOf(error)
      if (mayBeTriedAgain(error) && (patienceMs ?? 0) <= RETRY_MAX_MS) {
        again.push(target)
        if (patienceMs !== undefined) askedMs = Math.max(patienceMs, askedMs ?? 0)
      }
      let wait = 0
      if (position === targets.length) {
        round += 1
        wait = askedMs ?? jitterBefore(round, ports.random)
        targets = again
        again = []
        askedMs = undefined
        position = 0
      }
      const goesOn = mayBeTriedElsewhere(error) && completion.attempts < maxAttempts && targets.length > 0
      if (!goesOn || isOver(completion)) throw error
      if (wait > 0) await pause(completion, wait)
      if (isOver(completion)) throw error
    }
  }
}

async function attempt(completion: Completion, ports: GatewayPorts, target: Target): Promise<Answering> {
  const { now, clock } = ports
  const { request, model } = completion
  const spread = spreads(target, request.n)
  const startedAt = clock()
  const asked = request.stream && !model.capabilities.streaming ? { ...request, stream: false } : request
  const onSend = (): void => noteSent(completion, ports)
  completion.sent = false
  const calls = requestsOf(asked, spread).map((each) => startCall({ target, request: each, model, now, clock, onSend }))
  completion.attempts += 1
  completion.target = target
  const answering = { calls, spread, abort: () => abortAll(calls) }
  completion.answering = answering
  completion.branches = calls.map(createBranch)
  completion.generated = 0
  if (isOver(completion)) answering.abort()
  try {
    if (calls.length === 1) await calls[0]?.answered
    else await Promise.all(calls.map(({ answered }) => answered))
    return answering
  } catch (error) {
    answering.abort()
    const begun = tallyArrived(completion, calls)
    if (!isOver(completion) || isRefusal(error)) {
      completion.answering = undefined
      completion.branches = begun
    }
    throw error
  } finally {
    completion.upstreamMs += clock() - startedAt
  }
}

/** Whether the choices are asked for one by one. */
export function spreads({ upstream }: Target, choices: number): boolean {
  return choices > 1 && !upstream.provider.protocol.severalChoices
}

/** The first byte of a call leaves now. The ledger is told once: from here on something may be owed. */
function noteSent(completion: Completion, { credit }: GatewayPorts): void {
  completion.sent = true
  if (completion.dispatched || completion.hold === undefined) return
  completion.dispatched = true
  reach('before_send')
  credit.dispatched(completion.hold)
}

/** The provider answered with an error: it has done no work, whether or not the client still waits. */
function isRefusal(error: unknown): boolean {
  return error instanceof ProviderError && error.failure.status !== 0
}

/** What other calls had generated when one failed is owed. @returns their branches: a call that told nothing owes nothing. */
function tallyArrived({ branches }: Completion, calls: readonly Call[]): readonly Branch[] {
  return branches.filter((branch, position) => {
    const events: ChatEvent[] = []
    calls[position]?.arrived(events)
    for (const event of events) tally(branch, event)
    return branch.length > 0 || branch.finishes.size > 0
  })
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

function retryAfterOf(error: unknown): number | undefined {
  return error instanceof ProviderError ? error.failure.retryAfterMs : undefined
}

/** @param round From 1. */
function jitterBefore(round: number, random: () => number): number {
  return random() * Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** (round - 1))
}
