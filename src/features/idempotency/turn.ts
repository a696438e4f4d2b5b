/**
 * Whose turn it is with a key, among all processes on the database: one statement takes the key or leaves it, then the
 * row tells. Who does not get it follows the row until it ends.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { databaseUnavailable } from '../../db/failure.ts'
import type { Database } from '../../db/schema.ts'
import type { IdempotentAsk, KeptAnswer } from '../../domain/credit.ts'
import { isEventStream } from '../../domain/kept-events.ts'
import {
  keyReused,
  lostAnswer,
  lostStream,
  outcomeUnknown,
  resultExpired,
  resultTooLarge,
  shuttingDown,
} from './refusals.ts'
import {
  type Claim,
  claimStatement,
  endStatement,
  findKey,
  type KeyRow,
  type LapsedLease,
  type Lease,
  withdrawStatement,
} from './rows.ts'
import type { StatementQueue } from './statement-queue.ts'
import { stateOfSubject } from './subject.ts'

/** Between two looks at the row of another process: the first, and what they grow to. */
const FIRST_LOOK_MS = 50
const LAST_LOOK_MS = 250
/** Of a lease: the database's clock, which others measure it by, may run a little faster than ours. */
const SURELY_OWNED = 0.95

export interface TurnWorld extends Lease {
  readonly db: Kysely<Database>
  readonly queue: StatementQueue
  /** How long the database may take to write a claim. */
  readonly claimTimeoutMs: number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly isClosed: () => boolean
  /** How long an ended stream is kept, in milliseconds. */
  readonly keepStreamMs: () => number
}

/** How a key is asked for. */
export type TurnAsk = Pick<IdempotentAsk, 'stream' | 'goneSubjectId'> & {
  /** Until when it may wait for another, monotonic. */
  readonly deadline: number
}

/** `run`: the key is the claim's, and surely still is while `owned`. `gave up`: another still runs. */
export type Turn =
  | { readonly kind: 'run'; readonly owned: () => boolean }
  | { readonly kind: 'answer'; readonly answer: KeptAnswer }
  /** A stream that another process runs. */
  | { readonly kind: 'elsewhere'; readonly subjectId: string; readonly instanceId: string }
  | { readonly kind: 'gave up' }

/** What a look at the row leads to. */
type Finding =
  | Extract<Turn, { kind: 'answer' | 'elsewhere' }>
  | { readonly kind: 'mine' }
  | { readonly kind: 'running' }
  | { readonly kind: 'free'; readonly lapsed: LapsedLease | undefined }

/**
 * Rejects with 409 for a key that another body has, whose outcome is unknown or was too large, and with
 * `database_unavailable`.
 */
export async function takeTurn(world: TurnWorld, claim: Claim, ask: TurnAsk): Promise<Turn> {
  let owned = await writeClaim(world, claim, undefined)
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LAST_LOOK_MS, lookMs * 1.5)) {
    const finding = await look(world, claim, ask)
    if (finding.kind === 'mine') return { kind: 'run', owned }
    if (finding.kind === 'answer' || finding.kind === 'elsewhere') return finding
    if (world.isClosed()) throw shuttingDown()
    if (finding.kind === 'free') {
      owned = await writeClaim(world, claim, finding.lapsed)
      continue
    }
    const left = ask.deadline - world.clock()
    if (left <= 0) return { kind: 'gave up' }
    await pause(Math.min(lookMs, left))
  }
}

async function look(world: TurnWorld, claim: Claim, ask: TurnAsk): Promise<Finding> {
  const row = await findKey(world.db, claim)
  if (row === undefined) return { kind: 'free', lapsed: undefined }
  if (row.subject_id === claim.subjectId) return { kind: 'mine' }
  const answer = answerOf(row)
  const isRepeat = Buffer.compare(row.fingerprint, claim.fingerprint) === 0
  if (row.state === 'freed' && (answer === undefined || !isRepeat)) return { kind: 'free', lapsed: undefined }
  if (!isRepeat) throw keyReused()
  if (row.state === 'kept') return { kind: 'answer', answer: keptAnswer(world, row) }
  if (answer !== undefined) return { kind: 'answer', answer }
  if (row.state !== 'running') throw resultTooLarge()
  const isOver = row.lease_until <= row.looked_at
  if (ask.stream !== true) return isOver ? lookAtSubject(world, claim, { row, ask }) : { kind: 'running' }
  // Also where its lease is over its process may live: it is asked.
  const { subject_id: subjectId, instance_id: instanceId } = row
  const isElsewhere = instanceId !== world.instanceId && subjectId !== ask.goneSubjectId
  if (isElsewhere && (await isUnderWay(world, claim, row))) return { kind: 'elsewhere', subjectId, instanceId }
  if (isOver) return lookAtSubject(world, claim, { row, ask })
  if (subjectId !== ask.goneSubjectId || !(await isUnderWay(world, claim, row))) return { kind: 'running' }
  return { kind: 'answer', answer: lostStream(subjectId, undefined) }
}

/** Nothing can be heard, and nothing is lost, of a stream for which nothing was held yet. */
async function isUnderWay({ db }: TurnWorld, { accountId }: Claim, row: KeyRow): Promise<boolean> {
  return (await stateOfSubject(db, accountId, row.subject_id)).kind === 'under way'
}

/** Streams are kept for a shorter time than what was answered in one piece. */
function keptAnswer(world: TurnWorld, row: KeyRow): KeptAnswer {
  const headers = headersOf(row)
  const isStream = isEventStream({ headers })
  if (isStream && row.looked_at - (row.ended_at ?? 0) >= world.keepStreamMs()) throw resultExpired()
  const answer = answerOf(row)
  if (answer !== undefined) return answer
  throw isStream ? resultExpired() : resultTooLarge()
}

interface Looked {
  readonly row: KeyRow
  readonly ask: TurnAsk
}

/** The process that had the key is gone, or has stalled for as long as its lease. */
async function lookAtSubject(world: TurnWorld, claim: Claim, { row, ask }: Looked): Promise<Finding> {
  const { db, queue } = world
  const subjectId = row.subject_id
  const subject = await stateOfSubject(db, claim.accountId, subjectId)
  const isStream = ask.stream === true
  if (subject.kind === 'under way') {
    if (!isStream) throw outcomeUnknown(subjectId)
    return { kind: 'answer', answer: lostStream(subjectId, undefined) }
  }
  if (subject.kind === 'nothing') return { kind: 'free', lapsed: row }
  const answer = (isStream ? lostStream : lostAnswer)(subjectId, subject.costNanoUsd)
  await queue(endStatement(db, { ...claim, subjectId }, { state: 'kept', answer }))
  return look(world, claim, ask)
}

function answerOf(row: KeyRow): KeptAnswer | undefined {
  const { status, body } = row
  if (status === null || row.headers === null || body === null) return undefined
  return { status, headers: headersOf(row), body }
}

function headersOf({ headers }: KeyRow): Readonly<Record<string, string>> {
  return headers === null ? {} : (JSON.parse(headers) as Record<string, string>) // as `endStatement` wrote it
}

/** @returns Whether the key is surely still ours, if we got it. */
async function writeClaim(world: TurnWorld, claim: Claim, lapsed: LapsedLease | undefined): Promise<() => boolean> {
  const { db, queue, claimTimeoutMs } = world
  const owned = sinceNow(world)
  const written = queue(claimStatement(db, claim, { ...world, lapsed }))
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(databaseUnavailable(new Error('A claim was not written in time.')))
    written.then(() => queue(withdrawStatement(db, claim))).catch(() => undefined) // its lease ends by itself
  }, claimTimeoutMs)
  try {
    await Promise.race([written, late.promise])
  } finally {
    clearTimeout(timer)
  }
  return owned
}

/**
 * Whether a lease that begins later than this call cannot be over yet. Asks two clocks: the monotonic one stands still
 * while the machine sleeps, the other may be set back.
 */
function sinceNow({ leaseMs, clock, now }: TurnWorld): () => boolean {
  const [tick, time] = [clock(), now()]
  const sureMs = leaseMs * SURELY_OWNED
  return () => clock() - tick < sureMs && now() - time < sureMs
}
