/**
 * The same request once: whose turn it is, and what is kept of its answer. Who waits, and where answers are kept, is the
 * business of the port; here is decided what an outcome means for the key.
 */

import type { Hold, IdempotentAsk, IdempotentRun, IdempotentTurn, KeptAnswer } from '../domain/credit.ts'
import { renderErrorBody, retryAfterSeconds } from '../domain/error-body.ts'
import { GatewayError } from '../domain/errors.ts'
import { brokenEnd, EVENT_STREAM_TYPE, eventsAfter, isEventStream } from '../domain/kept-events.ts'
import { limitHeaders } from '../domain/limits.ts'
import { usdText } from '../domain/money.ts'
import { reach } from '../lib/crash-point.ts'
import { type Completion, isOver, unlessOver } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { brokenStatus, type Outcome, type Settlement, settle } from './settle.ts'

const ENDPOINT = 'POST /v1/chat/completions'
const JSON_TYPE = 'application/json; charset=utf-8'

/** A key as the port is asked for it. */
export type TurnAsk = Pick<IdempotentAsk, 'key' | 'body' | 'stream' | 'goneSubjectId'>

/** How long a request waits for another with its key. */
export function patienceOf({ targets }: Completion): number {
  return Math.max(...targets.map(({ upstream }) => upstream.timeouts.total))
}

/** Resolves when it is this request's turn, or with the answer of the one before it. Rejects when the key is refused. */
export async function takeTurn(
  completion: Completion,
  { idempotency }: GatewayPorts,
  once: TurnAsk,
): Promise<IdempotentTurn> {
  if (isOver(completion)) throw new Error('The request was over before its key was looked at.')
  const patienceMs = patienceOf(completion)
  const { accountId } = completion.caller
  const pending = idempotency.begin({ accountId, endpoint: ENDPOINT, ...once, subjectId: completion.id, patienceMs })
  const turn = await unlessOver(completion, pending)
  if (turn !== undefined) return turn
  pending.then(
    (late) => (late.kind === 'run' ? late.run.freed(errorAnswer(GIVEN_UP, completion)) : undefined),
    () => {}, // nobody is left to be told
  )
  throw new Error('The request was over before it was its turn.')
}

/** Throws where another process may believe by now that this one is gone: it must not be sent twice. */
export function requireKey(run: IdempotentRun, hold: Hold): void {
  if (hold.unrecorded) {
    const message = 'Requests with an Idempotency-Key need the database, which is not there at the moment.'
    throw new GatewayError('database_unavailable', message)
  }
  if (!run.owned()) {
    const message = 'The gateway stalled before it could send this request; nothing was sent.'
    throw new GatewayError('overloaded', message)
  }
}

/** A kept answer as this request gets it: under its own limits, and of a stream what it does not have yet. */
export function replayed({ admission }: Completion, kept: KeptAnswer, after?: number): KeptAnswer {
  const { status, body } = kept
  const headers = { ...limitHeaders(admission), ...kept.headers, 'idempotent-replayed': 'true' }
  if (!isEventStream(kept)) return { status, headers, body }
  return { status, headers: { ...headers, ...STREAM_HEADERS }, body: eventsAfter(body, after) }
}

const STREAM_HEADERS = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' } as const

/** The answer with its charge. Resolves when both are committed, or when nobody can wait for that any more. */
export async function commitAnswer(
  completion: Completion,
  ports: GatewayPorts,
  { outcome, answer }: { readonly outcome: Omit<Outcome, 'kept'>; readonly answer: KeptAnswer },
): Promise<void> {
  const { run } = completion
  if (run === undefined) return
  reach('before_idem_store')
  const committed = settle(completion, ports, { ...outcome, kept: run.result(answer) })
  if (committed === undefined) return
  void committed.then(() => run.committed(answer))
  await unlessOver(completion, committed)
}

/**
 * The whole of a stream with its charge, of which `last` is the end that is told next. Who listens need not wait for the
 * commit: the charge is safe when this returns.
 */
export function commitStream(
  completion: Completion,
  ports: GatewayPorts,
  { outcome, last }: { readonly outcome: Omit<Outcome, 'kept'>; readonly last: string },
): void {
  const { run, stream } = completion
  if (run === undefined || stream === undefined) return
  const body = stream.textWith(last)
  const headers = keptHeaders(stream.headers(), EVENT_STREAM_TYPE)
  const answer: KeptAnswer | undefined = body === undefined ? undefined : { status: 200, headers, body }
  reach('before_idem_store')
  void settle(completion, ports, { ...outcome, kept: run.result(answer) })?.then(() => run.committed(answer))
}

/** How a stream that broke off ends. */
export function lastWords(
  { code, message }: { readonly code: string; readonly message: string },
  { requestId }: Pick<Completion, 'requestId'>,
): string {
  return brokenEnd({ code, message: `${message} The partial response may be incomplete.`, requestId })
}

export function wholeAnswer(body: string, headers: Readonly<Record<string, string>>): KeptAnswer {
  return { status: 200, headers: keptHeaders(headers), body }
}

interface BrokenRun {
  readonly reason: GatewayError
  /** Undefined: no provider was called. */
  readonly settlement: Settlement | undefined
}

/** An outcome that charged something is kept, any other frees the key. @returns what the client is told. */
export async function endRun(
  completion: Completion,
  ports: GatewayPorts,
  { reason, settlement }: BrokenRun,
): Promise<GatewayError> {
  const { run, stream, abandoned } = completion
  if (run === undefined || completion.record !== undefined) return reason
  if (settlement !== undefined && settlement.costNanoUsd > 0n) {
    const told = lasting(abandoned ? clientLeft(completion, settlement) : reason)
    const outcome = { settlement, status: brokenStatus(completion) }
    // A stream that has begun cannot have a status any more: it is kept with its end.
    if (stream?.silent() === false) commitStream(completion, ports, { outcome, last: lastWords(told, completion) })
    else await commitAnswer(completion, ports, { outcome, answer: errorAnswer(told, completion) })
    return told
  }
  if (settlement !== undefined) void settle(completion, ports, { settlement, status: brokenStatus(completion) })
  run.freed(errorAnswer(abandoned ? GIVEN_UP : reason, completion))
  return reason
}

/** Told to those who came to wait in the moment when the first client left. */
const GIVEN_UP = new GatewayError(
  'overloaded',
  'The request that ran with this Idempotency-Key was given up by its client. Nothing was charged.',
)

function clientLeft({ id }: Completion, { costNanoUsd }: Settlement): GatewayError {
  const message =
    `The client that first sent this Idempotency-Key left before its answer was whole. What was generated until then ` +
    `was charged: $${usdText(costNanoUsd)} for ${id}. Send the request with a new key to run it again.`
  return new GatewayError('client_left', message, { details: { completion_id: id } })
}

/** A repeat gets the same again: it is of no use to try. */
function lasting(error: GatewayError): GatewayError {
  return error.withHeaders({ ...error.headers, 'x-should-retry': 'false' })
}

function errorAnswer(error: GatewayError, { requestId }: Completion): KeptAnswer {
  const headers = keptHeaders(error.headers ?? {})
  if (!error.retryable) headers['x-should-retry'] = 'false'
  const seconds = retryAfterSeconds(error)
  if (seconds !== undefined) {
    headers['retry-after'] = String(seconds)
    headers['retry-after-ms'] = String(Math.ceil(error.retryAfterMs ?? seconds * 1000))
  }
  return { status: error.status, headers, body: renderErrorBody(error, requestId) }
}

/** What belongs to the answer; limits and ids are of the request. */
export function keptHeaders(headers: Readonly<Record<string, string>>, type = JSON_TYPE): Record<string, string> {
  const kept: Record<string, string> = { 'content-type': type }
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && (name.startsWith('x-turnpike-') || name === 'x-should-retry')) kept[name] = value
  }
  return kept
}
