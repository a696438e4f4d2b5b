/**
 * A stream with an `Idempotency-Key`: the first request runs it and listens, its repeats listen to the same, in this
 * process or another, and those that come when it has ended get what is kept. Nobody's leaving ends it before its grace.
 */
import type { IdempotentRun, IdempotentTurn, KeptAnswer } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import { isEventStream } from '../domain/kept-events.ts'
import { limitHeaders } from '../domain/limits.ts'
import { isRecord, parseJson, textOf } from '../lib/json.ts'
import { answerStreamed, failClient, type Surroundings } from './answer-streamed.ts'
import { type Completion, leaveCompletion, pause } from './completion.ts'
import { reasonOf } from './ending.ts'
import { keptHeaders, lastWords, patienceOf, replayed, takeTurn } from './idempotent.ts'
import type { KeptStream, Listening } from './kept-stream.ts'
import type { KeptStreams, RelayEnd } from './kept-streams.ts'

/** Between two looks for a stream that its process no longer knows: the first, and what they grow to. */
const FIRST_LOOK_MS = 20
const LAST_LOOK_MS = 250
const UNREACHABLE_RETRY_MS = 5_000

export interface KeptSurroundings extends Surroundings {
  readonly streams: KeptStreams
}

export interface KeptAsk {
  readonly key: string
  readonly body: unknown
  /** The last event that the client has; undefined: none. */
  readonly lastEventId: number | undefined
}

/** @returns the answer of an earlier request with the same key; undefined: it is answered. */
export async function answerKept(
  completion: Completion,
  surroundings: KeptSurroundings,
  ask: KeptAsk,
): Promise<KeptAnswer | undefined> {
  const { ports } = surroundings
  const deadline = ports.clock() + patienceOf(completion)
  let goneSubjectId: string | undefined
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LAST_LOOK_MS, lookMs * 1.5)) {
    const turn = await turnOf(completion, surroundings, { ...ask, goneSubjectId })
    const end = await follow(completion, surroundings, { turn, after: ask.lastEventId })
    if (end.kind === 'whole') return undefined
    if (end.kind === 'answer') return give(completion, surroundings, end.answer)
    if (end.kind === 'gone') goneSubjectId = end.subjectId
    else if (ports.clock() >= deadline) throw stillRunning()
    else await pause(completion, lookMs)
  }
}

/** `unknown`: it ended in the moment when it was looked for. */
type Followed =
  | { readonly kind: 'whole' | 'unknown' }
  | { readonly kind: 'answer'; readonly answer: KeptAnswer }
  | { readonly kind: 'gone'; readonly subjectId: string }

interface Following<Turn = IdempotentTurn> {
  readonly turn: Turn
  readonly after: number | undefined
}

async function turnOf(
  completion: Completion,
  { ports }: KeptSurroundings,
  { key, body, goneSubjectId }: KeptAsk & { readonly goneSubjectId: string | undefined },
): Promise<IdempotentTurn> {
  try {
    return await takeTurn(completion, ports, { key, body, stream: true, goneSubjectId })
  } catch (error) {
    throw reasonOf(completion, ports, error)
  }
}

async function follow(
  completion: Completion,
  surroundings: KeptSurroundings,
  { turn, after }: Following,
): Promise<Followed> {
  if (turn.kind === 'run') return await runStream(completion, surroundings, turn.run)
  if (turn.kind === 'replay') return { kind: 'answer', answer: replayed(completion, turn.answer, after) }
  if (turn.kind === 'elsewhere') return await followElsewhere(completion, surroundings, { turn, after })
  const { accountId } = completion.caller
  const stream = surroundings.streams.find({ accountId, id: turn.subjectId })
  if (stream === undefined) return { kind: 'unknown' }
  await listenTo(stream, completion, { surroundings, after })
  return { kind: 'whole' }
}

/** The first: the stream is made for it, and for all who come. */
async function runStream(
  completion: Completion,
  surroundings: KeptSurroundings,
  run: IdempotentRun,
): Promise<Followed> {
  const { client, streams } = surroundings
  const place = { accountId: completion.caller.accountId, id: completion.id }
  const stream = streams.open(place)
  completion.stream = stream
  completion.run = runOf(run, () => streams.forget(place))
  stream.onLeave(() => leaveCompletion(completion))
  const listening = stream.listen({ client, after: undefined, headers: (own) => own })
  run.shared()
  await answerStreamed(completion, { ...surroundings, client: stream })
  await heard(completion, listening)
  return { kind: 'whole' }
}

/** A run at whose end the stream need not be found any more. */
function runOf(run: IdempotentRun, atEnd: () => void): IdempotentRun {
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
  stream: KeptStream,
  completion: Completion,
  { surroundings, after }: { readonly surroundings: KeptSurroundings; readonly after: number | undefined },
): Promise<void> {
  const { client } = surroundings
  completion.admission.settle(0) // it reads what another uses
  try {
    const headers = (own: Readonly<Record<string, string>>) => headersOf(completion, own)
    await heard(completion, stream.listen({ client, after, headers }))
  } catch (error) {
    throw ownError(completion, GatewayError.from(error))
  }
}

/** Waits until all is written. The gateway may end it before. */
async function heard(completion: Completion, listening: Listening): Promise<void> {
  completion.wake = () => {
    const { interruption } = completion
    if (interruption !== undefined) listening.cut(interruption, lastWords(interruption, completion))
  }
  try {
    await listening.done
  } finally {
    completion.wake = undefined
  }
}

/** The head of an answer that another request brought about, under the limits of this one. */
function headersOf({ admission }: Completion, ofStream: Readonly<Record<string, string>>): Record<string, string> {
  const { 'content-type': _, ...headers } = keptHeaders(ofStream)
  return { ...limitHeaders(admission), ...headers, 'idempotent-replayed': 'true' }
}

function ownError(completion: Completion, error: GatewayError): GatewayError {
  return error.withHeaders(headersOf(completion, error.headers ?? {}))
}

async function followElsewhere(
  completion: Completion,
  surroundings: KeptSurroundings,
  following: Following<Extract<IdempotentTurn, { kind: 'elsewhere' }>>,
): Promise<Followed> {
  const { client } = surroundings
  const { subjectId } = following.turn
  const end = await relay(completion, surroundings, following)
  if (completion.left) return { kind: 'whole' }
  if (completion.interruption !== undefined) {
    failClient(completion, client, completion.interruption)
    return { kind: 'whole' }
  }
  if (end.kind === 'answer') return { kind: 'answer', answer: replayed(completion, end.answer) }
  if (end.kind === 'unreachable') throw ownError(completion, unreachable())
  if (end.kind === 'cut') {
    if (!client.streaming()) return { kind: 'gone', subjectId }
    failClient(completion, client, lost(subjectId))
    return { kind: 'whole' }
  }
  return end.kind === 'gone' ? { kind: 'gone', subjectId } : { kind: end.kind }
}

async function relay(
  completion: Completion,
  { client, streams }: KeptSurroundings,
  { turn, after }: Following<Extract<IdempotentTurn, { kind: 'elsewhere' }>>,
): Promise<RelayEnd> {
  const over = new AbortController()
  completion.wake = () => over.abort()
  try {
    const { subjectId: id, instanceId } = turn
    const { accountId } = completion.caller
    const headers = (own: Readonly<Record<string, string>>) => {
      completion.admission.settle(0) // from here on it reads what another uses
      return headersOf(completion, own)
    }
    return await streams.relay({ accountId, id, instanceId, after, headers, signal: over.signal }, client)
  } finally {
    completion.wake = undefined
  }
}

/** An answer that is kept, also to a client whose head is out already. */
function give(completion: Completion, { client }: KeptSurroundings, answer: KeptAnswer): KeptAnswer | undefined {
  if (!client.streaming()) return answer
  client.write(isEventStream(answer) ? answer.body : lastWords(errorIn(answer.body), completion))
  client.endStream()
  return undefined
}

function errorIn(body: string): { readonly code: string; readonly message: string } {
  const answer = parseJson(body)
  const error = isRecord(answer) && isRecord(answer['error']) ? answer['error'] : {}
  return { code: textOf(error['code']), message: textOf(error['message']) }
}

function stillRunning(): GatewayError {
  const message = 'Another request with this Idempotency-Key is still running. Repeat it with the same key.'
  return new GatewayError('overloaded', message, { retryAfterMs: UNREACHABLE_RETRY_MS })
}

function unreachable(): GatewayError {
  const message =
    'The stream with this Idempotency-Key runs in another process, which cannot be reached at the moment. It goes on ' +
    'there. Repeat the request with the same key.'
  return new GatewayError('overloaded', message, { retryAfterMs: UNREACHABLE_RETRY_MS })
}

function lost(subjectId: string): GatewayError {
  const message =
    'The process that ran the request with this Idempotency-Key stopped. What was generated until then is charged as ' +
    `${subjectId}, within a minute. To run the request again, send it with a new key.`
  return new GatewayError('idempotency_outcome_unknown', message, { details: { completion_id: subjectId } })
}
