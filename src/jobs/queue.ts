/**
 * Background work as rows. Every start of a job raises its `attempt`, and whatever its owner writes later is refused
 * once that has moved on: a process that was frozen while another took its job over cannot do harm.
 */
import { type ExpressionBuilder, type Kysely, type Selectable, sql } from 'kysely'
import type { Database, JobTable } from '../db/schema.ts'
import { completionIdFloor, type IdSource } from '../domain/ids.ts'
import { databaseNow, databaseTimeIn } from './clock.ts'
import type { Job } from './job.ts'

export interface NewJob {
  readonly kind: string
  /** Unique within its kind: the same again adds nothing, as long as the job or what is remembered of it is there. */
  readonly name: string
  /** Anything that JSON can carry. */
  readonly payload: unknown
  /** Unix milliseconds; undefined: at once. */
  readonly runAt?: number | undefined
}

/**
 * Inside a transaction the job is there exactly if that is committed.
 * @returns False when there is already a job of this kind and name.
 */
export async function enqueue(db: Kysely<Database>, job: NewJob, ids: Pick<IdSource, 'job'>): Promise<boolean> {
  const result = await db
    .insertInto('job')
    .values({
      id: ids.job(),
      kind: job.kind,
      name: job.name,
      payload: JSON.stringify(job.payload ?? null),
      run_at: job.runAt ?? databaseNow(),
      attempt: 0,
      created_at: databaseNow(),
    })
    .onConflict((conflict) => conflict.columns(['kind', 'name']).doNothing())
    .executeTakeFirst()
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n
}

const SCHEDULE = 'schedule'

/** Makes the one job of a scheduled kind, due at once. One that is due later than the interval says is brought forward. */
export async function schedule(
  db: Kysely<Database>,
  { kind, everyMs }: { readonly kind: string; readonly everyMs: number },
  ids: Pick<IdSource, 'job'>,
): Promise<void> {
  if (await enqueue(db, { kind, name: SCHEDULE, payload: null }, ids)) return
  await db
    .updateTable('job')
    .set({ run_at: databaseTimeIn(everyMs) })
    .where('kind', '=', kind)
    .where('name', '=', SCHEDULE)
    .where('run_at', '>', databaseTimeIn(everyMs))
    .execute()
}

/** An open job as it was seen; by the time that it is claimed it may be another's. */
export interface SeenJob extends Pick<JobTable, 'id' | 'kind' | 'attempt'> {
  /** Milliseconds until it is due; 0 or less: it is. */
  readonly dueInMs: number
}

/** Jobs that nobody runs, the first due first, those not yet due at the end. Asks the reader, which never waits for writers. */
export async function findWaiting(
  db: Kysely<Database>,
  { kinds, limit }: { readonly kinds: readonly string[]; readonly limit: number },
): Promise<readonly SeenJob[]> {
  const rows = await db
    .selectFrom('job')
    .select(['id', 'kind', 'attempt', 'run_at', databaseNow().as('now')])
    .where('ended_at', 'is', null)
    // Not by the unique index, whose rows of a kind are mostly ended jobs.
    .where(sql`kind || ''`, 'in', kinds)
    .where(isUnclaimed)
    .orderBy('run_at')
    .limit(limit)
    .execute()
  return rows.map(({ id, kind, attempt, run_at, now }) => ({ id, kind, attempt, dueInMs: run_at - now }))
}

export interface Claim {
  readonly jobs: readonly Pick<SeenJob, 'id' | 'attempt'>[]
  readonly owner: string
  readonly leaseMs: number
}

/** Takes those that are still as they were seen: of several processes that try, one gets each. */
export async function claim(db: Kysely<Database>, { jobs, owner, leaseMs }: Claim): Promise<readonly Job[]> {
  const rows = await db
    .updateTable('job')
    .set(({ eb }) => ({ attempt: eb('attempt', '+', 1), owner, lease_until: databaseTimeIn(leaseMs) }))
    .where(isOneOf(jobs))
    .where('ended_at', 'is', null)
    .where('run_at', '<=', databaseNow())
    .where(isUnclaimed)
    .returning(['id', 'kind', 'name', 'payload', 'attempt', 'created_at'])
    .execute()
  return rows.map(toJob)
}

/** @returns The ids of those that are still the owner's. */
export async function renew(db: Kysely<Database>, { jobs, owner, leaseMs }: Claim): Promise<readonly string[]> {
  const rows = await db
    .updateTable('job')
    .set({ lease_until: databaseTimeIn(leaseMs) })
    .where(isOneOf(jobs))
    .where('owner', '=', owner)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** How a start of a job came out. */
export type Ending =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: string }
  /** It waits for another start. `error` undefined: nothing was wrong. */
  | { readonly kind: 'again'; readonly inMs: number; readonly error: string | undefined }

export interface Held extends Pick<Job, 'id' | 'attempt'> {
  readonly owner: string
}

/** @returns False when the job was no longer the owner's: nothing was written. */
export async function finish(db: Kysely<Database>, held: Held, ending: Ending): Promise<boolean> {
  const result = await db
    .updateTable('job')
    .set({ owner: null, lease_until: null, ...columnsOf(ending) })
    .where('id', '=', held.id)
    .where('attempt', '=', held.attempt)
    .where('owner', '=', held.owner)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

function columnsOf(ending: Ending) {
  if (ending.kind === 'again') return { run_at: databaseTimeIn(ending.inMs), last_error: ending.error ?? null }
  const error = ending.kind === 'failed' ? ending.error : null
  return { ended_at: databaseNow(), outcome: ending.kind, last_error: error }
}

type JobExpressions = ExpressionBuilder<Database, 'job'>

function isUnclaimed(job: JobExpressions) {
  return job.or([job('lease_until', 'is', null), job('lease_until', '<=', databaseNow())])
}

function isOneOf(jobs: readonly Pick<SeenJob, 'id' | 'attempt'>[]) {
  return (job: JobExpressions) => job.or(jobs.map(({ id, attempt }) => job.and({ id, attempt })))
}

function toJob(row: Pick<Selectable<JobTable>, 'id' | 'kind' | 'name' | 'payload' | 'attempt' | 'created_at'>): Job {
  const { id, kind, name, payload, attempt, created_at } = row
  return { id, kind, name, payload: JSON.parse(payload), attempt, createdAt: created_at }
}

/** Deletes at most `limit` jobs that ended before a time, Unix milliseconds. @returns How many. */
export async function forgetEnded(
  db: Kysely<Database>,
  { endedBefore, limit }: { readonly endedBefore: number; readonly limit: number },
): Promise<number> {
  const rows = await db
    .selectFrom('job')
    .select('id')
    .where('id', '<', firstIdOf(endedBefore))
    .where('ended_at', '<', endedBefore)
    .orderBy('id')
    .limit(limit)
    .execute()
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  const result = await db.deleteFrom('job').where('id', 'in', ids).where('ended_at', 'is not', null).executeTakeFirst()
  return Number(result.numDeletedRows)
}

/** Ids of jobs sort by time, and tell it as those of completions do: what ended before a time was made before it. */
function firstIdOf(ms: number): string {
  return `job_${completionIdFloor(ms).slice('chatcmpl-'.length)}`
}
