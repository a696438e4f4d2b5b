/**
 * Getting an answer to begin: the calls of one attempt, and the next attempt when one fails before its first event.
 * After the first event nothing is tried again: the client would read twice.
 */
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import { reach } from '../lib/crash-point.ts'
import { ProviderError } from '../protocols/protocol.ts'
import { type Call, type CallEnd, startCall } from './call.ts'
import { type Completion, isOver } from './completion.ts'
import { isCredentialRefusal, mayBeTriedElsewhere } from './failure.ts'
import type { GatewayPorts } from './ports.ts'
import { spreads } from './routing/candidate.ts'
import { abandonPassage, noteCallOver, notePassageBegun, notePassageFailed, type Passage } from './routing/passage.ts'
import { learn, nextPassage, startSearch } from './routing/search.ts'
import { type Branch, createBranch, tally } from './tally.ts'

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
 * Resolves once every choice has begun. Rejects with the last failure when nothing more is to be tried. A refused
 * credential is no attempt: every other credential and deployment gets its turn.
 */
export async function beginAnswer(
  completion: Completion,
  ports: GatewayPorts,
  { maxAttempts }: AttemptSettings,
): Promise<Answering> {
  if (isOver(completion)) throw new Error('The request was over before a provider was called.')
  const search = startSearch(completion, ports)
  let refused = 0
  for (;;) {
    const found = nextPassage(search)
    const passage = found instanceof Promise ? await found : found
    try {
      return await attempt(completion, ports, passage)
    } catch (error) {
      if (isCredentialRefusal(error)) refused += 1
      const hasAttempts = completion.attempts - refused < maxAttempts
      const goesOn = hasAttempts && mayBeTriedElsewhere(error) && !isOver(completion)
      if (!goesOn) throw error
      learn(search, passage, error)
    }
  }
}

async function attempt(completion: Completion, ports: GatewayPorts, passage: Passage): Promise<Answering> {
  const { health } = ports
  completion.sent = false
  const { calls, spread } = startCalls(completion, ports, passage)
  completion.attempts += 1
  completion.target = passage.lane
  completion.passage = passage
  const answering = { calls, spread, abort: () => abortAll(calls) }
  completion.answering = answering
  const { protocol } = passage.lane.upstream.provider
  completion.branches = calls.map(() => createBranch(protocol))
  completion.generated = 0
  if (isOver(completion)) answering.abort()
  try {
    if (calls.length === 1) await calls[0]?.answered
    else await Promise.all(calls.map(({ answered }) => answered))
    notePassageBegun(completion, passage, health)
    return answering
  } catch (error) {
    answering.abort()
    const begun = tallyArrived(completion, calls)
    const over = isOver(completion) && !isRefusal(error)
    if (!over) {
      completion.answering = undefined
      completion.branches = begun
    }
    notePassageFailed(completion, passage, { error, over, now: ports.clock() })
    throw error
  } finally {
    completion.upstreamMs += ports.clock() - passage.startedAt
  }
}

function startCalls(
  completion: Completion,
  ports: GatewayPorts,
  passage: Passage,
): Pick<Answering, 'calls' | 'spread'> {
  const { now, clock, health } = ports
  const { request, model, outputTokens, receivedAt } = completion
  const { lane, candidate } = passage
  const spread = spreads(candidate, request.n)
  const asked = request.stream && !model.capabilities.streaming ? { ...request, stream: false } : request
  const onSend = (): void => noteSent(completion, ports)
  const onOver = (end: CallEnd): void => noteCallOver(completion, { passage, health }, end)
  const requests = requestsOf(asked, spread)
  const calls: Call[] = []
  passage.open = requests.length
  try {
    for (const each of requests) {
      const input = { target: lane, request: each, model, outputTokens, now, clock, receivedAt, onSend, onOver }
      calls.push(startCall(input))
    }
    return { calls, spread }
  } catch (error) {
    passage.open = calls.length
    if (calls.length === 0) abandonPassage(passage)
    abortAll(calls)
    throw error
  }
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
