/**
 * Requests with an `Idempotency-Key`: the first one runs, and its outcome is kept for repeats. The port decides where
 * repeats wait and answers are stored; this file decides what an outcome means for the key.
 */
import type { Hold, IdempotentRequest, IdempotentRun, IdempotentStart, SavedAnswer } from '../../domain/credit.ts'
import { GatewayError, retryAfterSeconds } from '../../domain/errors.ts'
import { EVENT_STREAM_TYPE, eventsAfter, isEventStream } from '../../domain/kept-events.ts'
import { limitHeaders } from '../../domain/limits.ts'
import { usdText } from '../../domain/money.ts'
import { reach } from '../../lib/crash-point.ts'
import type { AnswerStream } from '../../protocols/client-api.ts'
import { isCancelled, unlessCancelled } from '../cancellation.ts'
import type { AdmittedRequest, Completion } from '../completion.ts'
import type { GatewayPorts } from '../ports.ts'
import { incompleteStatus, type Outcome, type Settlement, settle } from '../settle.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** A request with its key, in the form that the port accepts. */
type KeyedRequest = Pick<IdempotentRequest, 'key' | 'body' | 'fingerprint' | 'stream' | 'goneSubjectId'>

/** Returns how long a request waits for another one with its key. */
export function maxWaitOf({ route }: AdmittedRequest): number {
  return Math.max(...route.candidates.map(({ upstream }) => upstream.timeouts.total))
}

/** Resolves when this request may run, or with the answer of an earlier one. Rejects if the key cannot be used. */
export async function beginIdempotent(
  { admitted, cancellation }: Completion,
  { idempotency }: GatewayPorts,
  request: KeyedRequest,
): Promise<IdempotentStart> {
  if (isCancelled(cancellation)) throw new Error('The request was cancelled before its key was looked up.')
  const patienceMs = maxWaitOf(admitted)
  const { accountId } = admitted.caller
  const pending = idempotency.begin({
    accountId,
    endpoint: admitted.api.endpoint,
    ...request,
    subjectId: admitted.id,
    patienceMs,
  })
  const begun = await unlessCancelled(cancellation, pending)
  if (begun !== undefined) return begun
  pending.then(
    (late) => (late.kind === 'run' ? late.run.freed(errorAnswer(GIVEN_UP, admitted)) : undefined),
    () => {}, // its client has disconnected
  )
  throw new Error('The request was cancelled while another one with its key ran.')
}

/** Throws if another process may already consider this one dead, so that the request is not sent twice. */
export function requireKey(run: IdempotentRun, hold: Hold): void {
  if (hold.unrecorded) {
    const message = 'Requests with an Idempotency-Key need the database, which is unavailable. Retry later.'
    throw new GatewayError('database_unavailable', message)
  }
  if (!run.owned()) {
    const message = 'The gateway stalled before it could send this request; nothing was sent.'
    throw new GatewayError('overloaded', message)
  }
}

/**
 * Returns a kept answer for this request: with its own rate limits, and of a stream only the events that it still
 * misses.
 */
export function replayed({ limits }: AdmittedRequest, kept: SavedAnswer, after?: number): SavedAnswer {
  const { status, body } = kept
  const headers = { ...limitHeaders(limits), ...kept.headers, 'idempotent-replayed': 'true' }
  if (!isEventStream(kept)) return { status, headers, body }
  return { status, headers: { ...headers, ...STREAM_HEADERS }, body: eventsAfter(body, after) }
}

const STREAM_HEADERS = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' } as const

/**
 * Commits the answer with its charge. Resolves when both are committed, or when the request is cancelled before that.
 */
export async function commitAnswer(
  completion: Completion,
  ports: GatewayPorts,
  { ending, answer }: { readonly ending: Omit<Outcome, 'kept'>; readonly answer: SavedAnswer },
): Promise<void> {
  const { idempotent, cancellation } = completion
  if (idempotent === undefined) return
  const { run } = idempotent
  reach('before_idem_store')
  const committed = settle(completion, ports, { ...ending, kept: run.result(answer) })
  if (committed === undefined) return
  void committed.then(() => run.committed(answer))
  await unlessCancelled(cancellation, committed)
}

/**
 * Commits a complete stream with its charge. `last` is its last part, which is written next. Its readers need not wait
 * for the commit, because the charge is durable when this returns.
 */
export function commitStream(
  completion: Completion,
  ports: GatewayPorts,
  { ending, last }: { readonly ending: Omit<Outcome, 'kept'>; readonly last: string },
): void {
  const { run, stream } = completion.idempotent ?? {}
  if (run === undefined || stream === undefined) return
  const body = stream.textWith(last)
  const headers = keptHeaders(stream.headers(), EVENT_STREAM_TYPE)
  const answer: SavedAnswer | undefined = body === undefined ? undefined : { status: 200, headers, body }
  reach('before_idem_store')
  void settle(completion, ports, { ...ending, kept: run.result(answer) })?.then(() => run.committed(answer))
}

/** Returns the last event of a stream that broke off. @param renderer The renderer of that stream if it is known. */
export function finalEvent(
  { code, message }: { readonly code: string; readonly message: string },
  { api, requestId }: Pick<AdmittedRequest, 'api' | 'requestId'>,
  renderer?: AnswerStream,
): string {
  const end = { code, message: `${message} The partial response may be incomplete.`, requestId }
  return renderer?.fail?.(end) ?? api.renderBroken(end)
}

export function wholeAnswer(body: string, headers: Readonly<Record<string, string>>): SavedAnswer {
  return { status: 200, headers: keptHeaders(headers), body }
}

interface BrokenRun {
  readonly reason: GatewayError
  /** Undefined if no provider was called. */
  readonly settlement: Settlement | undefined
}

/** Keeps an outcome that was charged; any other frees the key. @returns the error for the client. */
export async function endRun(
  completion: Completion,
  ports: GatewayPorts,
  { reason, settlement }: BrokenRun,
): Promise<GatewayError> {
  const { admitted, idempotent, outcome, cancellation, renderer } = completion
  if (idempotent === undefined || outcome.record !== undefined) return reason
  const { run, stream } = idempotent
  const { abandoned } = cancellation
  if (settlement !== undefined && settlement.costNanoUsd > 0n) {
    const final = lasting(abandoned ? clientLeft(admitted, settlement) : reason)
    const ending = { settlement, status: incompleteStatus(completion) }
    // The status of a stream that has begun cannot change: the stream is kept with its error event.
    if (stream?.silent() === false) {
      commitStream(completion, ports, { ending, last: finalEvent(final, admitted, renderer) })
    } else await commitAnswer(completion, ports, { ending, answer: errorAnswer(final, admitted) })
    return final
  }
  if (settlement !== undefined) void settle(completion, ports, { settlement, status: incompleteStatus(completion) })
  run.freed(errorAnswer(abandoned ? GIVEN_UP : reason, admitted))
  return reason
}

/** The error for repeats that began to wait just as the first client disconnected. */
const GIVEN_UP = new GatewayError(
  'overloaded',
  'The client of the first request with this Idempotency-Key disconnected. Nothing was charged.',
)

function clientLeft({ id }: AdmittedRequest, { costNanoUsd }: Settlement): GatewayError {
  const message =
    `The client of the first request with this Idempotency-Key disconnected before its answer. The output until then ` +
    `was charged: $${usdText(costNanoUsd)} for ${id}. To run the request again, send it with a new key.`
  return new GatewayError('client_left', message, { details: { completion_id: id } })
}

/** Marks an error as final: a repeat receives the same error, so that retries are useless. */
function lasting(error: GatewayError): GatewayError {
  return error.with({ headers: { ...error.headers, 'x-should-retry': 'false' } })
}

function errorAnswer(error: GatewayError, { api, requestId }: AdmittedRequest): SavedAnswer {
  const headers = keptHeaders(error.headers ?? {})
  if (!error.retryable) headers['x-should-retry'] = 'false'
  const seconds = retryAfterSeconds(error)
  if (seconds !== undefined) {
    headers['retry-after'] = String(seconds)
    headers['retry-after-ms'] = String(Math.ceil(error.retryAfterMs ?? seconds * 1000))
  }
  return { status: api.statusOf(error), headers, body: api.renderError(error, requestId) }
}

/** Returns the headers that belong to the answer. Rate limits and IDs belong to the request. */
export function keptHeaders(headers: Readonly<Record<string, string>>, type = JSON_TYPE): Record<string, string> {
  const kept: Record<string, string> = { 'content-type': type }
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && (name.startsWith('x-turnpike-') || name === 'x-should-retry')) kept[name] = value
  }
  return kept
}
