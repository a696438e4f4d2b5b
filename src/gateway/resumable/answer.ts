/**
 * Answers a request with an `Idempotency-Key`: the first one runs, and its repeats receive its answer. Repeats of a
 * stream read it while it runs, in this process or another. It survives disconnects of its clients for a grace period.
 */
import type { IdempotentRun, IdempotentStart, SavedAnswer } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import { isEventStream } from '../../domain/kept-events.ts'
import { limitHeaders } from '../../domain/limits.ts'
import { isRecord, parseJson, textOf } from '../../lib/json.ts'
import { pause, withWake } from '../cancellation.ts'
import { type AdmittedRequest, type Completion, disconnect } from '../completion.ts'
import { clientError, failClient } from '../deliver.ts'
import type { ClientConnection, GatewayPorts } from '../ports.ts'
import { beginIdempotent, finalEvent, keptHeaders, maxWaitOf, replayed } from './idempotency.ts'
import type { RelayEnd, ResumableStreams } from './registry.ts'
import type { Listening, ResumableStream } from './stream.ts'

/** The first and the longest interval at which a stream is looked up that its process no longer has. */
const FIRST_LOOK_MS = 20
const LAST_LOOK_MS = 250
const UNREACHABLE_RETRY_MS = 5_000

interface Surroundings {
  readonly ports: GatewayPorts
  readonly client: ClientConnection
  readonly streams: ResumableStreams
  /** Runs the completion, writing to `client`. */
  readonly run: (client: ClientConnection) => Promise<void>
}

interface KeyedRequest {
  readonly key: string
  readonly body: unknown
  readonly fingerprint: Uint8Array | undefined
  /** The last event of the stream that the client received. Undefined if it received none. */
  readonly lastEventId: number | undefined
}

/** @returns the answer of an earlier request with the same key. Undefined if this request was answered. */
export function answerKeyed(
  completion: Completion,
  surroundings: Surroundings,
  request: KeyedRequest,
): Promise<SavedAnswer | undefined> {
  const answer = completion.admitted.request.stream ? answerStream : answerWhole
  return answer(completion, surroundings, request)
}

async function answerWhole(
  completion: Completion,
  { ports, client, run }: Surroundings,
  request: KeyedRequest,
): Promise<SavedAnswer | undefined> {
  const begun = await begin(completion, ports, request)
  if (begun.kind === 'replay') return replayed(completion.admitted, begun.answer)
  if (begun.kind !== 'run') throw new Error('Only streams can be followed while they run.')
  completion.idempotent = { run: begun.run, stream: undefined }
  await run(client)
  return undefined
}

async function answerStream(
  completion: Completion,
  surroundings: Surroundings,
  request: KeyedRequest,
): Promise<SavedAnswer | undefined> {
  const { ports, client } = surroundings
  const { admitted, cancellation } = completion
  const deadline = ports.clock() + maxWaitOf(admitted)
  let goneSubjectId: string | undefined
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LAST_LOOK_MS, lookMs * 1.5)) {
    const begun = await begin(completion, ports, { ...request, goneSubjectId })
    const end = await follow(completion, surroundings, { begun, after: request.lastEventId })
    if (end.kind === 'whole') return undefined
    if (end.kind === 'answer') return give(admitted, client, end.answer)
    if (end.kind === 'gone') goneSubjectId = end.subjectId
    else if (ports.clock() >= deadline) throw stillRunning()
    else await pause(cancellation, lookMs)
  }
}

/** `unknown`: the stream ended while it was looked up. */
type Followed =
  | { readonly kind: 'whole' | 'unknown' }
  | { readonly kind: 'answer'; readonly answer: SavedAnswer }
  | { readonly kind: 'gone'; readonly subjectId: string }

interface Following<Begun = IdempotentStart> {
  readonly begun: Begun
  readonly after: number | undefined
}

async function begin(
  completion: Completion,
  ports: GatewayPorts,
  { key, body, fingerprint, goneSubjectId }: KeyedRequest & { readonly goneSubjectId?: string | undefined },
): Promise<IdempotentStart> {
  const { stream } = completion.admitted.request
  try {
    return await beginIdempotent(completion, ports, { key, body, fingerprint, stream, goneSubjectId })
  } catch (error) {
    throw clientError(completion, ports, error)
  }
}

async function follow(
  completion: Completion,
  surroundings: Surroundings,
  { begun, after }: Following,
): Promise<Followed> {
  const { admitted } = completion
  if (begun.kind === 'run') return await runStream(completion, surroundings, begun.run)
  if (begun.kind === 'replay') return { kind: 'answer', answer: replayed(admitted, begun.answer, after) }
  if (begun.kind === 'elsewhere') return await followElsewhere(completion, surroundings, { begun, after })
  const stream = surroundings.streams.find({ accountId: admitted.caller.accountId, id: begun.subjectId })
  if (stream === undefined) return { kind: 'unknown' }
  await listenTo(stream, completion, { client: surroundings.client, after })
  return { kind: 'whole' }
}

/** Runs the first request, which creates the stream for itself and all repeats. */
async function runStream(
  completion: Completion,
  { client, streams, run: runCompletion }: Surroundings,
  run: IdempotentRun,
): Promise<Followed> {
  const { admitted } = completion
  const id = { accountId: admitted.caller.accountId, id: admitted.id }
  const stream = streams.open(id, admitted.api.keepAlive)
  completion.idempotent = { stream, run: withEnd(run, () => streams.forget(id)) }
  stream.onLeave(() => disconnect(completion))
  const listening = stream.listen({ client, after: undefined, headers: (own) => own })
  run.shared()
  await runCompletion(stream)
  await heard(completion, listening)
  return { kind: 'whole' }
}

/** Returns the run, extended to call `atEnd` once its outcome is kept or its key is free again. */
function withEnd(run: IdempotentRun, atEnd: () => void): IdempotentRun {
  return {
    ...run,
    committed(answer) {
      run.committed(answer)
      atEnd()
    },
    freed(answer) {
      run.freed(answer)
      atEnd()
    },
  }
}

async function listenTo(
  stream: ResumableStream,
  completion: Completion,
  { client, after }: { readonly client: ClientConnection; readonly after: number | undefined },
): Promise<void> {
  const { admitted } = completion
  admitted.limits.settle(0) // it reads an answer whose tokens count for another request
  try {
    const headers = (own: Readonly<Record<string, string>>) => headersOf(admitted, own)
    await heard(completion, stream.listen({ client, after, headers }))
  } catch (error) {
    throw withHeaders(admitted, GatewayError.from(error))
  }
}

/** Waits until everything is written or the gateway interrupts the request. */
async function heard({ admitted, cancellation }: Completion, listening: Listening): Promise<void> {
  const wake = (): void => {
    const { interruption } = cancellation
    if (interruption !== undefined) listening.cut(interruption, finalEvent(interruption, admitted))
  }
  await withWake(cancellation, wake, () => listening.done)
}

/** Returns the response head of another request's answer, with the rate limits of this request. */
function headersOf({ limits }: AdmittedRequest, ofStream: Readonly<Record<string, string>>): Record<string, string> {
  const { 'content-type': _, ...headers } = keptHeaders(ofStream)
  return { ...limitHeaders(limits), ...headers, 'idempotent-replayed': 'true' }
}

function withHeaders(admitted: AdmittedRequest, error: GatewayError): GatewayError {
  return error.with({ headers: headersOf(admitted, error.headers ?? {}) })
}

async function followElsewhere(
  completion: Completion,
  surroundings: Surroundings,
  following: Following<Extract<IdempotentStart, { kind: 'elsewhere' }>>,
): Promise<Followed> {
  const { client } = surroundings
  const { admitted, cancellation } = completion
  const { subjectId } = following.begun
  const end = await relay(completion, surroundings, following)
  if (cancellation.disconnected) return { kind: 'whole' }
  if (cancellation.interruption !== undefined) {
    failClient(admitted, client, cancellation.interruption)
    return { kind: 'whole' }
  }
  if (end.kind === 'answer') return { kind: 'answer', answer: replayed(admitted, end.answer) }
  if (end.kind === 'unreachable') throw withHeaders(admitted, unreachable())
  if (end.kind === 'cut') {
    if (!client.streaming()) return { kind: 'gone', subjectId }
    failClient(admitted, client, lost(subjectId))
    return { kind: 'whole' }
  }
  return end.kind === 'gone' ? { kind: 'gone', subjectId } : { kind: end.kind }
}

async function relay(
  { admitted, cancellation }: Completion,
  { client, streams }: Surroundings,
  { begun, after }: Following<Extract<IdempotentStart, { kind: 'elsewhere' }>>,
): Promise<RelayEnd> {
  const over = new AbortController()
  const { subjectId: id, instanceId } = begun
  const { accountId } = admitted.caller
  const headers = (own: Readonly<Record<string, string>>) => {
    admitted.limits.settle(0) // from now on it reads an answer whose tokens count for another request
    return headersOf(admitted, own)
  }
  const { keepAlive } = admitted.api
  const traceId = admitted.trace?.context.traceId
  const relayed = { accountId, id, instanceId, after, headers, keepAlive, signal: over.signal, traceId }
  return await withWake(
    cancellation,
    () => over.abort(),
    () => streams.relay(relayed, client),
  )
}

/** Sends a kept answer to a client, even if its response head was already sent. */
function give(admitted: AdmittedRequest, client: ClientConnection, answer: SavedAnswer): SavedAnswer | undefined {
  if (!client.streaming()) return answer
  client.write(isEventStream(answer) ? answer.body : finalEvent(errorIn(answer.body), admitted))
  client.endStream()
  return undefined
}

function errorIn(body: string): { readonly code: string; readonly message: string } {
  const answer = parseJson(body)
  const error = isRecord(answer) && isRecord(answer['error']) ? answer['error'] : {}
  return { code: textOf(error['code']), message: textOf(error['message']) }
}

function stillRunning(): GatewayError {
  const message = 'Another request with this Idempotency-Key is still running. Retry with the same key.'
  return new GatewayError('overloaded', message, { retryAfterMs: UNREACHABLE_RETRY_MS })
}

function unreachable(): GatewayError {
  const message =
    'The stream with this Idempotency-Key runs in another process, which is unreachable at the moment, and ' +
    'continues there. Retry with the same key.'
  return new GatewayError('overloaded', message, { retryAfterMs: UNREACHABLE_RETRY_MS })
}

function lost(subjectId: string): GatewayError {
  const message =
    'The process that ran the request with this Idempotency-Key stopped. The output until then is charged as ' +
    `${subjectId} within a minute. To run the request again, send it with a new key.`
  return new GatewayError('idempotency_outcome_unknown', message, { details: { completion_id: subjectId } })
}
