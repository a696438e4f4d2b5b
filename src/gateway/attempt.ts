/**
 * Makes attempts until one is answered. Each attempt calls the candidate that routing selects. After its first event an
 * answer is not retried, since the client would receive its beginning twice.
 */
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import type { AttemptNote } from '../domain/completion.ts'
import { type AttemptTrace, attemptHeaders, beginAttemptTrace } from '../domain/trace.ts'
import { reach } from '../lib/crash-point.ts'
import { ProviderError } from '../protocols/protocol.ts'
import { protocolOf } from '../providers/provider.ts'
import { isCancelled } from './cancellation.ts'
import type { Answering, Completion } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { spreads } from './routing/candidates.ts'
import type { Candidate } from './routing/health.ts'
import {
  endAttempt,
  outcomeOf,
  type RunningAttempt,
  recordAttemptFailure,
  recordCallEnd,
  recordFirstEvent,
  statusOf,
} from './routing/running-attempt.ts'
import {
  applyFailure,
  applyModelFailure,
  createSelection,
  mayReplaceBlocked,
  type Selection,
  select,
  skipUnsupporting,
} from './routing/select.ts'
import { boundsOf, costOf, outputScaleOf } from './settle.ts'
import { type Call, type CallEnd, startCall } from './upstream/call.ts'
import { fallbackReason, isCredentialRefusal, mayBeTriedElsewhere, redactProviderMessage } from './upstream/failure.ts'
import { measureRoughly } from './usage/measure.ts'
import { type CallUsage, createCallUsage, meter } from './usage/meter.ts'

export interface AttemptSettings {
  /** The most attempts of one request, at least 1. */
  readonly maxAttempts: number
}

/**
 * Resolves once every choice has begun. Rejects with the last failure when nothing more may be tried. A refused
 * credential does not count as an attempt: every other credential and deployment is tried.
 */
export async function beginAnswer(
  completion: Completion,
  ports: GatewayPorts,
  { maxAttempts }: AttemptSettings,
): Promise<Answering> {
  const { attempt, cancellation } = completion
  if (isCancelled(cancellation)) throw new Error('The request was cancelled before a provider was called.')
  const selection = startSelection(completion, ports)
  attempt.selection = selection
  let refused = 0
  for (;;) {
    const selected = select(selection)
    const running = selected instanceof Promise ? await queued(completion, ports, selected) : selected
    try {
      return await tryOnce(completion, ports, running)
    } catch (error) {
      if (isCancelled(cancellation)) throw error
      if (selection.fallback !== undefined) {
        if (!applyModelFailure(selection, running, { error, maxAttempts })) throw selection.failure ?? error
        continue
      }
      if (skipUnsupporting(selection, running, error)) continue
      if (isCredentialRefusal(error)) refused += 1
      const hasAttempts = attempt.count - refused < maxAttempts
      if (!hasAttempts || !mayBeTriedElsewhere(error)) throw error
      applyFailure(selection, running, error)
    }
  }
}

/** Waits for capacity and reports the wait to the trace. */
async function queued(
  { admitted: { trace } }: Completion,
  { clock }: GatewayPorts,
  selected: Promise<RunningAttempt>,
): Promise<RunningAttempt> {
  if (trace === undefined) return await selected
  const startedAt = clock()
  try {
    return await selected
  } finally {
    const at = clock()
    trace.steps.push({ name: 'queue', at, value: at - startedAt })
  }
}

function startSelection({ admitted, cancellation, route }: Completion, { health }: GatewayPorts): Selection {
  const { caller, request, receivedAt, fallbacks } = admitted
  const { accountId } = caller
  const hasFallbacks = fallbacks.length > 0
  return createSelection({ accountId, route, choices: request.n, receivedAt, cancellation, health, hasFallbacks })
}

/** Switches to another model, whose price, limits and form of the request apply from the next attempt on. */
function switchModel(completion: Completion, { of }: Candidate): void {
  const { admitted, reservations } = completion
  const next = [admitted, ...admitted.fallbacks].find(({ model }) => model === of)
  const reservation = reservations?.get(of)
  if (next === undefined || reservation === undefined) throw new Error(`Nothing is held for the model '${of.id}'.`)
  completion.current = next
  completion.reservation = reservation
}

async function tryOnce(completion: Completion, ports: GatewayPorts, running: RunningAttempt): Promise<Answering> {
  const { admitted, attempt } = completion
  attempt.sent = false
  const answering = startAttempt(completion, ports, running)
  const { calls } = answering
  try {
    if (calls.length === 1) await calls[0]?.firstEvent
    else await Promise.all(calls.map((call) => call.firstEvent))
    if (isBlocked(answering) && attempt.selection !== undefined && mayReplaceBlocked(attempt.selection, running))
      throw new ProviderError({ kind: 'content_filter', status: 0, message: 'The provider blocked the content.' })
    const traced = admitted.trace?.attempts.at(-1)
    if (traced !== undefined) traced.firstEventMs = ports.clock() - running.startedAt
    recordFirstEvent(running, { stream: admitted.request.stream, route: completion.route, health: ports.health })
    const isNoted = attempt.log.length > 0 || running.target.ownCredential !== undefined
    if (isNoted) addNote(completion, running, { outcome: 'answered', status: 200 })
    return answering
  } catch (error) {
    answering.abort()
    failAttempt(completion, ports, { running, answering, error })
    throw error
  } finally {
    attempt.upstreamMs += ports.clock() - running.startedAt
  }
}

function startAttempt(completion: Completion, ports: GatewayPorts, running: RunningAttempt): Answering {
  const { attempt, cancellation } = completion
  const { calls, spread } = startCallsAt(completion, ports, running)
  const answering = { calls, spread, abort: () => abortAll(calls) }
  attempt.count += 1
  attempt.running = running
  attempt.answering = answering
  const protocol = protocolOf(running.target.upstream.provider, completion.current.request)
  attempt.usages = calls.map(() => createCallUsage(protocol))
  if (isCancelled(cancellation)) answering.abort()
  return answering
}

interface Failed {
  readonly running: RunningAttempt
  readonly answering: Answering
  readonly error: unknown
}

function failAttempt(completion: Completion, ports: GatewayPorts, { running, answering, error }: Failed): void {
  const { attempt, cancellation } = completion
  const blocked = isBlocked(answering)
  const arrived = meterArrived(attempt.usages, answering.calls)
  const begun = blocked ? [] : arrived
  const isAbandoned = isCancelled(cancellation) && !isRefusal(error)
  if (begun.length === 0 && attempt.sent && !isRefusal(error)) noteUnbilled(completion, running, ports.clock())
  if (!isAbandoned) {
    attempt.answering = undefined
    attempt.usages = begun
  }
  recordAttemptFailure(running, isAbandoned ? undefined : error, ports.clock())
  const outcome = isAbandoned ? 'abandoned' : outcomeOf(error)
  addNote(completion, running, {
    outcome,
    status: statusOf(error),
    reason: isAbandoned ? undefined : fallbackReason(error),
    message: isAbandoned ? undefined : messageOf(error),
  })
}

/** The message of a failure of the provider, or of one that the gateway found; undefined for errors of the gateway. */
function messageOf(error: unknown): string | undefined {
  return error instanceof ProviderError ? redactProviderMessage(error.failure.message) : undefined
}

/** Starts the calls at another model. If they cannot be rendered, the previous model stays the current one. */
function startCallsAt(
  completion: Completion,
  ports: GatewayPorts,
  running: RunningAttempt,
): Pick<Answering, 'calls' | 'spread'> {
  const { current, reservation } = completion
  if (running.candidate.of === current.model) return startCalls(completion, ports, running)
  switchModel(completion, running.candidate)
  try {
    return startCalls(completion, ports, running)
  } catch (error) {
    completion.current = current
    completion.reservation = reservation
    throw error
  }
}

function startCalls(
  completion: Completion,
  ports: GatewayPorts,
  running: RunningAttempt,
): Pick<Answering, 'calls' | 'spread'> {
  const { now, clock, health } = ports
  const { request, model } = completion.current
  const { receivedAt } = completion.admitted
  const { outputTokens } = completion.reservation
  const { target, candidate } = running
  const spread = spreads(candidate, request.n)
  const sent = request.stream && !model.capabilities.streaming ? { ...request, stream: false } : request
  const onSend = (): void => noteSent(completion, ports)
  const trace = beginTraced(completion, running)
  const onOver = (end: CallEnd): void => {
    if (recordCallEnd(running, health, end)) noteCut(completion, running)
    if (trace !== undefined && running.openCalls === 0) trace.endedAt = clock()
  }
  const shared = { target, model, outputTokens, now, clock, receivedAt, onSend, onOver }
  const requests = requestsOf(sent, spread)
  const calls: Call[] = []
  running.openCalls = requests.length
  try {
    for (const each of requests) {
      const traceHeaders = attemptHeaders(completion.admitted.trace, trace)
      calls.push(startCall({ ...shared, request: each, traceHeaders }))
    }
    return { calls, spread }
  } catch (error) {
    running.openCalls = calls.length
    if (calls.length === 0) endAttempt(running)
    if (calls.length === 0) completion.admitted.trace?.attempts.pop()
    abortAll(calls)
    throw error
  }
}

function beginTraced(
  { admitted: { trace } }: Completion,
  { candidate: { model }, target: { upstream }, startedAt }: RunningAttempt,
): AttemptTrace | undefined {
  if (trace === undefined) return undefined
  const { name: provider, baseUrl } = upstream
  const { telemetryName: kind = upstream.provider.id } = upstream.provider
  return beginAttemptTrace(trace, { provider, kind, baseUrl, model, startedAt })
}

/**
 * Notes that the first byte of a call is sent. Notifies the ledger once, because the provider may charge from now on.
 */
function noteSent({ attempt, reservation: { hold } }: Completion, { credit }: GatewayPorts): void {
  attempt.sent = true
  if (attempt.dispatched || hold === undefined) return
  attempt.dispatched = true
  reach('before_send')
  credit.dispatched(hold)
}

/** Adds the cost of a failed attempt to the operator's: its provider may charge for an answer that no client pays. */
function noteUnbilled(completion: Completion, { candidate }: RunningAttempt, now: number): void {
  if (completion.cancellation.abandoned) return // the client is charged
  const { usages } = completion.attempt
  const usage = measureRoughly(usages, boundsOf(completion), outputScaleOf(completion, now))
  candidate.provider.unbilledNanoUsd += costOf(completion, usage)
}

function addNote(
  { admitted, attempt }: Completion,
  running: RunningAttempt,
  { outcome, status, reason, message }: Pick<AttemptNote, 'outcome' | 'status' | 'reason' | 'message'>,
): void {
  const { candidate, target, startedAt, durationMs = 0 } = running
  const note = {
    provider: candidate.upstream.name,
    model: candidate.model,
    outcome,
    status,
    startedMs: Math.round(startedAt - admitted.receivedAt),
    durationMs: Math.round(durationMs),
    ...(reason !== undefined && admitted.fallbacks.length > 0 && { reason }),
    ...(target.ownCredential === undefined ? {} : { credentialId: target.ownCredential }),
    ...(message !== undefined && { message }),
  }
  attempt.log = [...attempt.log, note]
  const traced = admitted.trace?.attempts.at(-1)
  if (traced === undefined) return
  traced.outcome = outcome === 'answered' ? undefined : outcome
  traced.status = status
}

/** Records that an answer broke off after it had begun. */
function noteCut(completion: Completion, running: RunningAttempt): void {
  const { attempt } = completion
  if (attempt.log.at(-1)?.outcome === 'answered') attempt.log = attempt.log.slice(0, -1)
  addNote(completion, running, { outcome: 'cut', status: 200 })
}

/** Returns whether every choice ended for its content, before any output. */
function isBlocked({ calls }: Answering): boolean {
  return calls.every((call) => call.blocked())
}

/** Returns whether the provider answered with an error, in which case it charges nothing. */
function isRefusal(error: unknown): boolean {
  return error instanceof ProviderError && error.failure.status !== 0
}

/**
 * Meters the output of the other calls when one failed, because providers charge it.
 * @returns the usage of calls with output.
 */
function meterArrived(usages: readonly CallUsage[], calls: readonly Call[]): readonly CallUsage[] {
  return usages.filter((usage, position) => {
    const events: ChatEvent[] = []
    calls[position]?.arrived(events)
    for (const event of events) meter(usage, event)
    return usage.length > 0 || usage.finishes.size > 0
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
