/**
 * Whose turn it is with a key, among all processes on the database: one statement takes the key or leaves it, then the
 * row tells. Who does not get it follows the row until it ends.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { databaseUnavailable } from '../../db/failure.ts'
import type { Database } from '../../db/schema.ts'
import type { KeptAnswer } from '../../domain/credit.ts'
import { keyReused, lostAnswer, outcomeUnknown, resultTooLarge, shuttingDown } from './refusals.ts'
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
}

/** `run`: the key is the claim's, and surely still is while `owned`. `gave up`: another still runs. */
export type Turn =
  | { readonly kind: 'run'; readonly owned: () => boolean }
  | { readonly kind: 'answer'; readonly answer: KeptAnswer }
  | { readonly kind: 'gave up' }

/** What a look at the row leads to. */
type Finding =
  | Extract<Turn, { kind: 'answer' }>
  | { readonly kind: 'mine' }
  | { readonly kind: 'running' }
  | { readonly kind: 'free'; readonly lapsed: LapsedLease | undefined }

/**
 * Rejects with 409 for a key that another body has, whose outcome is unknown or was too large, and with
 * `database_unavailable`.
 * @param deadline Until when it waits for another, monotonic.
 */
export async function takeTurn(world: TurnWorld, claim: Claim, deadline: number): Promise<Turn> {
  let owned = await writeClaim(world, claim, undefined)
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LAST_LOOK_MS, lookMs * 1.5)) {
    const finding = await look(world, claim)
    if (finding.kind === 'mine') return { kind: 'run', owned }
    if (finding.kind === 'answer') return finding
    if (world.isClosed()) throw shuttingDown()
    if (finding.kind === 'free') {
      owned = await writeClaim(world, claim, finding.lapsed)
      continue
    }
    const left = deadline - world.clock()
    if (left <= 0) return { kind: 'gave up' }
    await pause(Math.min(lookMs, left))
  }
}

async function look(world: TurnWorld, claim: Claim): Promise<Finding> {
  const row = await findKey(world.db, claim)
  if (row === undefined) return { kind: 'free', lapsed: undefined }
  if (row.subject_id === claim.subjectId) return { kind: 'mine' }
  const answer = answerOf(row)
  const isRepeat = Buffer.compare(row.fingerprint, claim.fingerprint) === 0
  if (row.state === 'freed' && (answer === undefined || !isRepeat)) return { kind: 'free', lapsed: undefined }
  if (!isRepeat) throw keyReused()
  if (answer !== undefined) return { kind: 'answer', answer }
  if (row.state !== 'running') throw resultTooLarge()
  return row.lease_until > row.looked_at ? { kind: 'running' } : lookAtSubject(world, claim, row)
}

/** The process that had the key is gone, or has stalled for as long as its lease. */
async function lookAtSubject(world: TurnWorld, claim: Claim, row: KeyRow): Promise<Finding> {
  const { db, queue } = world
  const subjectId = row.subject_id
  const subject = await stateOfSubject(db, claim.accountId, subjectId)
  if (subject.kind === 'under way') throw outcomeUnknown(subjectId)
  if (subject.kind === 'nothing') return { kind: 'free', lapsed: row }
  const answer = lostAnswer(subjectId, subject.costNanoUsd)
  await queue(endStatement(db, { ...claim, subjectId }, { state: 'kept', answer }))
  return look(world, claim)
}

function answerOf({ status, headers, body }: KeyRow): KeptAnswer | undefined {
  if (status === null || headers === null || body === null) return undefined
  return { status, headers: JSON.parse(headers) as Record<string, string>, body } // as `endStatement` wrote it
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
