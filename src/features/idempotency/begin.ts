/**
 * Begins a request with an idempotency key, among all processes on the database: one statement claims the key if it is
 * free, then its row is read. A request that does not own the key polls the row until it ends.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { databaseUnavailable } from '../../db/failure.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { IdempotentRequest, SavedAnswer } from '../../domain/credit.ts'
import { GatewayError, renderErrorBody } from '../../domain/errors.ts'
import type { AccountId, CompletionId } from '../../domain/ids.ts'
import { type BrokenEnd, brokenEnd, EVENT_STREAM_TYPE, isEventStream } from '../../domain/kept-events.ts'
import { type NanoUsd, usdText } from '../../domain/money.ts'
import {
  type Claim,
  claimStatement,
  endStatement,
  findKey,
  type KeyRow,
  type LapsedLease,
  type Lease,
  type StatementQueue,
  withdrawStatement,
} from './rows.ts'

/** Poll intervals for the row of another process: the first and the longest. */
const FIRST_POLL_MS = 50
const LAST_POLL_MS = 250
/** The part of a lease that certainly remains: the database's clock, which others use, may run faster than ours. */
const CERTAIN_SHARE = 0.95

export interface BeginContext extends Lease {
  readonly db: Kysely<Database>
  readonly queue: StatementQueue
  /** The longest wait for the database to write a claim. */
  readonly claimTimeoutMs: number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly isClosed: () => boolean
  /** How long an ended stream is kept, in milliseconds. */
  readonly keepStreamMs: () => number
  /** Of the API of an endpoint. */
  readonly errorFormatOf: (endpoint: string) => ErrorFormat
}

export type BeginRequest = Pick<IdempotentRequest, 'stream' | 'goneSubjectId'> & {
  /** Until when it waits for another request, in monotonic milliseconds. */
  readonly deadline: number
}

/** `run`: the claim owns the key, certainly while `owned`. `timed_out`: another request still runs. */
export type BeginResult =
  | { readonly kind: 'run'; readonly owned: () => boolean }
  | { readonly kind: 'answer'; readonly answer: SavedAnswer }
  /** A stream that another process runs. */
  | { readonly kind: 'elsewhere'; readonly subjectId: string; readonly instanceId: string }
  | { readonly kind: 'timed_out' }

type KeyState =
  | Extract<BeginResult, { kind: 'answer' | 'elsewhere' }>
  | { readonly kind: 'mine' }
  | { readonly kind: 'running' }
  | { readonly kind: 'free'; readonly lapsed: LapsedLease | undefined }

/**
 * Rejects with 409 for a key that another body has, whose outcome is unknown or was too large, and with
 * `database_unavailable`.
 */
export async function beginIdempotent(
  context: BeginContext,
  claim: Claim,
  request: BeginRequest,
): Promise<BeginResult> {
  let owned = await writeClaim(context, claim, undefined)
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(LAST_POLL_MS, pollMs * 1.5)) {
    const state = await inspectKey(context, claim, request)
    if (state.kind === 'mine') return { kind: 'run', owned }
    if (state.kind === 'answer' || state.kind === 'elsewhere') return state
    if (context.isClosed()) throw shuttingDown()
    if (state.kind === 'free') {
      owned = await writeClaim(context, claim, state.lapsed)
      continue
    }
    const left = request.deadline - context.clock()
    if (left <= 0) return { kind: 'timed_out' }
    await pause(Math.min(pollMs, left))
  }
}

async function inspectKey(context: BeginContext, claim: Claim, request: BeginRequest): Promise<KeyState> {
  const row = await findKey(context.db, claim)
  if (row === undefined) return { kind: 'free', lapsed: undefined }
  if (row.subject_id === claim.subjectId) return { kind: 'mine' }
  const answer = answerOf(row)
  const isRepeat = Buffer.compare(row.fingerprint, claim.fingerprint) === 0
  if (row.state === 'freed' && (answer === undefined || !isRepeat)) return { kind: 'free', lapsed: undefined }
  if (!isRepeat) throw keyReused()
  if (row.state === 'kept') return { kind: 'answer', answer: savedAnswer(context, row) }
  if (answer !== undefined) return { kind: 'answer', answer }
  if (row.state !== 'running') throw resultTooLarge()
  const isOver = row.lease_until <= row.looked_at
  if (request.stream !== true) return isOver ? resolveLapsedKey(context, claim, { row, request }) : { kind: 'running' }
  // The process may be alive although its lease is over: the stream is requested from it.
  const { subject_id: subjectId, instance_id: instanceId } = row
  const isElsewhere = instanceId !== context.instanceId && subjectId !== request.goneSubjectId
  if (isElsewhere && (await isInFlight(context, claim, row))) return { kind: 'elsewhere', subjectId, instanceId }
  if (isOver) return resolveLapsedKey(context, claim, { row, request })
  if (subjectId !== request.goneSubjectId || !(await isInFlight(context, claim, row))) return { kind: 'running' }
  return { kind: 'answer', answer: lostAs(context, claim, { subjectId, costNanoUsd: undefined, stream: true }) }
}

function lostAs({ errorFormatOf }: BeginContext, { endpoint }: Claim, lost: LostRequest): SavedAnswer {
  return lostAnswer(lost, errorFormatOf(endpoint))
}

/** A stream without a hold has no events that could be lost. */
async function isInFlight({ db }: BeginContext, { accountId }: Claim, row: KeyRow): Promise<boolean> {
  return (await subjectState(db, accountId, row.subject_id)).kind === 'in_flight'
}

/** Streams are kept for a shorter time than whole answers. */
function savedAnswer(context: BeginContext, row: KeyRow): SavedAnswer {
  const headers = headersOf(row)
  const isStream = isEventStream({ headers })
  if (isStream && row.looked_at - (row.ended_at ?? 0) >= context.keepStreamMs()) throw resultExpired()
  const answer = answerOf(row)
  if (answer !== undefined) return answer
  throw isStream ? resultExpired() : resultTooLarge()
}

interface LapsedKey {
  readonly row: KeyRow
  readonly request: BeginRequest
}

/** Derives from the ledger the outcome of a request whose process died, or stalled for longer than its lease. */
async function resolveLapsedKey(context: BeginContext, claim: Claim, { row, request }: LapsedKey): Promise<KeyState> {
  const { db, queue } = context
  const subjectId = row.subject_id
  const subject = await subjectState(db, claim.accountId, subjectId)
  const stream = request.stream === true
  if (subject.kind === 'in_flight') {
    if (!stream) throw outcomeUnknown(subjectId)
    return { kind: 'answer', answer: lostAs(context, claim, { subjectId, costNanoUsd: undefined, stream }) }
  }
  if (subject.kind === 'nothing') return { kind: 'free', lapsed: row }
  const answer = lostAs(context, claim, { subjectId, costNanoUsd: subject.costNanoUsd, stream })
  await queue(endStatement(db, { ...claim, subjectId }, { state: 'kept', answer }))
  return inspectKey(context, claim, request)
}

function answerOf(row: KeyRow): SavedAnswer | undefined {
  const { status, body } = row
  if (status === null || row.headers === null || body === null) return undefined
  return { status, headers: headersOf(row), body }
}

function headersOf({ headers }: KeyRow): Readonly<Record<string, string>> {
  return headers === null ? {} : (JSON.parse(headers) as Record<string, string>) // as `endStatement` wrote it
}

/** @returns Whether the claim, if it was granted, certainly still owns the key. */
async function writeClaim(
  context: BeginContext,
  claim: Claim,
  lapsed: LapsedLease | undefined,
): Promise<() => boolean> {
  const { db, queue, claimTimeoutMs } = context
  const owned = ownsUntilExpiry(context)
  const written = queue(claimStatement(db, claim, { ...context, lapsed }))
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(databaseUnavailable(new Error('A claim was not written in time.')))
    written.then(() => queue(withdrawStatement(db, claim))).catch(() => undefined) // its lease expires
  }, claimTimeoutMs)
  try {
    await Promise.race([written, late.promise])
  } finally {
    clearTimeout(timer)
  }
  return owned
}

/**
 * Whether a lease that begins after this call cannot have expired. Reads two clocks: the monotonic one stops while the
 * machine sleeps, the other can be set back.
 */
function ownsUntilExpiry({ leaseMs, clock, now }: BeginContext): () => boolean {
  const [tick, time] = [clock(), now()]
  const certainMs = leaseMs * CERTAIN_SHARE
  return () => clock() - tick < certainMs && now() - time < certainMs
}

/**
 * `in_flight`: it may have been executed, and is not settled. `charged`: it was executed. `nothing`: it was not charged,
 * usually because it was never sent to a provider.
 */
type SubjectState =
  | { readonly kind: 'in_flight' }
  | { readonly kind: 'charged'; readonly costNanoUsd: NanoUsd }
  | { readonly kind: 'nothing' }

/**
 * For a completion: a provider is called only after the hold is committed, and the transaction that writes the completion
 * deletes the hold. One statement reads both consistently.
 */
async function subjectState(db: Kysely<Database>, accountId: AccountId, subjectId: string): Promise<SubjectState> {
  const id = subjectId as CompletionId // ids of anything else are simply not found
  const row = await db
    .selectNoFrom(({ selectFrom }) => [
      selectFrom('hold').select('id').where('account_id', '=', accountId).where('id', '=', id).as('hold_id'),
      selectFrom('completion')
        .select('cost_nano_usd')
        .where(({ and }) => and({ account_id: accountId, id }))
        .as('charged_nano_usd'),
    ])
    .executeTakeFirstOrThrow()
  if (row.hold_id !== null) return { kind: 'in_flight' }
  const costNanoUsd = row.charged_nano_usd ?? 0n
  return costNanoUsd > 0n ? { kind: 'charged', costNanoUsd } : { kind: 'nothing' }
}

/* Errors of a repeat that can neither run nor receive the first answer. */

/** How an API renders the errors that are kept instead of its answers. */
export interface ErrorFormat {
  readonly renderError: (error: GatewayError, requestId: string) => string
  readonly statusOf: (error: GatewayError) => number
  readonly renderBroken: (end: BrokenEnd) => string
}

/** The rendering of the gateway's own API and of chat completions. */
export const OWN_ERRORS: ErrorFormat = {
  renderError: renderErrorBody,
  statusOf: ({ status }) => status,
  renderBroken: brokenEnd,
}

/** A request whose process died. */
interface LostRequest {
  readonly subjectId: string
  /** Undefined: not settled yet. */
  readonly costNanoUsd: NanoUsd | undefined
  readonly stream: boolean
}

const STILL_RUNNING_RETRY_MS = 5_000
const OVERLOADED_RETRY_MS = 1_000

export function keyReused(): GatewayError {
  const message =
    'This Idempotency-Key was used with another body less than 24 hours ago. Use a new key for a new request.'
  return new GatewayError('idempotency_key_reused', message)
}

export function resultTooLarge(): GatewayError {
  const message =
    'The request with this Idempotency-Key ran, but its answer was too large to keep. ' +
    'To run it again, send it with a new key.'
  return new GatewayError('idempotency_result_too_large', message)
}

function resultExpired(): GatewayError {
  const message =
    'The stream with this Idempotency-Key has ended, and its events are no longer kept. ' +
    'To run it again, send it with a new key.'
  return new GatewayError('idempotency_result_expired', message)
}

/** 503, not 409: clients retry it automatically with the same key, and receive the answer once it is available. */
export function stillRunning(): GatewayError {
  const message = 'Another request with this Idempotency-Key is still running. Repeat it with the same key.'
  return new GatewayError('overloaded', message, { retryAfterMs: STILL_RUNNING_RETRY_MS })
}

export function tooManyKeys(): GatewayError {
  const message = 'Too many requests with an Idempotency-Key are running.'
  return new GatewayError('overloaded', message, { retryAfterMs: OVERLOADED_RETRY_MS })
}

export function shuttingDown(): GatewayError {
  return new GatewayError('shutting_down', 'The server is shutting down.', { retryAfterMs: OVERLOADED_RETRY_MS })
}

function outcomeUnknown(subjectId: string): GatewayError {
  const message =
    'The process that ran the request with this Idempotency-Key stopped before its outcome was known. ' +
    `It is being settled as ${subjectId}; retry in a minute.`
  return new GatewayError('idempotency_outcome_unknown', message, { details: { completion_id: subjectId } })
}

/** Kept instead of an answer that was charged and then lost with its process. */
export function lostAnswer(lost: LostRequest, format: ErrorFormat): SavedAnswer {
  return lost.stream ? lostStream(lost, format) : lostWhole(lost, format)
}

function lostWhole({ subjectId, costNanoUsd = 0n as NanoUsd }: LostRequest, format: ErrorFormat): SavedAnswer {
  const message =
    'The process that ran the request with this Idempotency-Key stopped before its answer was kept. ' +
    `It was charged $${usdText(costNanoUsd)} as ${subjectId}. To run it again, send it with a new key.`
  const error = new GatewayError('idempotency_outcome_unknown', message, { details: { completion_id: subjectId } })
  const headers = { 'content-type': 'application/json; charset=utf-8', 'x-should-retry': 'false' }
  // no request produced this answer; the completion's ID leads to the log
  return { status: format.statusOf(error), headers, body: format.renderError(error, subjectId) }
}

/** As an event stream, for clients that resume one. */
function lostStream({ subjectId, costNanoUsd }: LostRequest, format: ErrorFormat): SavedAnswer {
  const charge =
    costNanoUsd === undefined
      ? `The output until then is charged as ${subjectId} within a minute.`
      : `The output until then was charged: $${usdText(costNanoUsd)} as ${subjectId}.`
  const message =
    `The process that ran the request with this Idempotency-Key stopped. ${charge} ` +
    'The partial response may be incomplete. To run it again, send it with a new key.'
  const headers = { 'content-type': EVENT_STREAM_TYPE }
  const end = { code: 'idempotency_outcome_unknown', message, requestId: subjectId }
  return { status: 200, headers, body: format.renderBroken(end) }
}
