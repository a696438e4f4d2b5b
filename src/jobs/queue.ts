/**
 * Background work as rows. Every start of a job raises its `attempt`, and whatever its owner writes later is refused
 * once that has moved on: a process that was frozen while another took its job over cannot do harm.
 */
import { type ExpressionBuilder, type Kysely, type Selectable, sql } from 'kysely'
import { dialectOf } from '../db/dialect.ts'
import type { Database, JobTable } from '../db/schema.ts'
import { takeTurn } from '../db/turn.ts'
import { completionIdFloor } from '../domain/ids.ts'
import { databaseNow, databaseTimeIn } from './clock.ts'
import type { Job } from './job.ts'
import { carriable, hasIdIn, isListed, listRows, numberAt, textAt } from './lists.ts'

/** A job as its start needs it. */
export interface ClaimedJob extends Job {
  /** Its starts so far that ended in an error; the others were lost with their process, or interrupted by its stop. */
  readonly failures: number
}

export interface Claim {
  readonly jobs: readonly Pick<Job, 'id'>[]
  readonly owner: string
  readonly leaseMs: number
}

/** Takes those that are due and nobody's: of several processes that try, one gets each. */
export async function claim(db: Kysely<Database>, { jobs, owner, leaseMs }: Claim): Promise<readonly ClaimedJob[]> {
  const due = db
    .selectFrom('job')
    .select('id')
    .where(isListed(db, jobs))
    .where('ended_at', 'is', null)
    .where('run_at', '<=', databaseNow())
    .where(isUnclaimed)
  // What another is just taking is not waited for; SQLite's writers follow one another anyway.
  const free = dialectOf(db) === 'postgres' ? due.forUpdate().skipLocked() : due
  const claimed = await db
    .updateTable('job')
    .set(({ eb }) => ({ attempt: eb('attempt', '+', 1), ready: 0, owner, lease_until: databaseTimeIn(leaseMs) }))
    .where(hasIdIn(db, free))
    .returning(['id', 'kind', 'name', 'payload', 'attempt', 'failures', 'created_at'])
    .execute()
  return claimed.map(toJob)
}

export interface LaneClaim extends Claim {
  readonly kind: string
  readonly jobs: readonly { readonly id: string; readonly lane: string }[]
  /** Jobs of one lane of the kind that may run at once, in all processes together. */
  readonly laneConcurrency: number
}

/** The same, as far as their lanes have room: processes that claim do so one after another, so none counts too few. */
export async function claimInLanes(db: Kysely<Database>, input: LaneClaim): Promise<readonly ClaimedJob[]> {
  const { kind, jobs, laneConcurrency } = input
  return db.transaction().execute(async (transaction) => {
    await takeTurn(transaction, `jobs ${kind}`)
    const rows = await transaction
      .selectFrom('job')
      .select(({ fn }) => ['lane', fn.countAll<number>().as('running')])
      .where('kind', '=', kind)
      .where('owner', 'is not', null)
      .where('lease_until', '>', databaseNow())
      .groupBy('lane')
      .execute()
    const running = new Map(rows.map((row) => [row.lane, Number(row.running)]))
    const fitting = jobs.filter(({ lane }) => {
      const count = (running.get(lane) ?? 0) + 1
      running.set(lane, count)
      return count <= laneConcurrency
    })
    return fitting.length === 0 ? [] : claim(transaction, { ...input, jobs: fitting })
  })
}

export interface Renewal {
  readonly jobs: readonly Pick<Job, 'id' | 'attempt'>[]
  readonly owner: string
  readonly leaseMs: number
}

/** A lease that has expired stays so, whoever had it: another may be about to claim it. @returns The ids of those renewed. */
export async function renew(db: Kysely<Database>, { jobs, owner, leaseMs }: Renewal): Promise<readonly string[]> {
  const rows = listRows(db, inOrder(jobs).map(identityOf))
  const renewed = await sql<{ id: string }>`
    update job set lease_until = ${databaseTimeIn(leaseMs)}
    from (select ${textAt(0)} as held_id, ${numberAt(1)} as held_attempt from ${rows}) as held
    where id = held_id and attempt = held_attempt and owner = ${owner} and lease_until > ${databaseNow()}
      and ${isListed(db, jobs)}
    returning id`.execute(db)
  return renewed.rows.map(({ id }) => id)
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
export async function finish(db: Kysely<Database>, { id, attempt, owner }: Held, ending: Ending): Promise<boolean> {
  return (await finishAll(db, owner, [{ id, attempt, ending }])).length > 0
}

export interface EndedStart extends Pick<Job, 'id' | 'attempt'> {
  readonly ending: Ending
}

/** All in one statement. @returns Those that were still the owner's; of the others nothing was written. */
export async function finishAll(
  db: Kysely<Database>,
  owner: string,
  starts: readonly EndedStart[],
): Promise<readonly Pick<Job, 'id' | 'attempt'>[]> {
  const rows = inOrder(starts).map((start) => [...identityOf(start), ...columnsOf(start.ending)])
  const result = await sql<Pick<Job, 'id' | 'attempt'>>`
    update job set owner = null, lease_until = null, ready = 0, outcome = end_outcome, last_error = end_error,
      ended_at = case when end_outcome is null then null else ${databaseNow()} end,
      run_at = case when end_in_ms is null then run_at else ${databaseNow()} + end_in_ms end,
      failures = failures + case when end_error is null then 0 else 1 end
    from (select ${textAt(0)} as held_id, ${numberAt(1)} as held_attempt, ${textAt(2)} as end_outcome,
      ${textAt(3)} as end_error, ${numberAt(4)} as end_in_ms from ${listRows(db, rows)}) as held
    where id = held_id and attempt = held_attempt and owner = ${owner} and ${isListed(db, starts)}
    returning id, attempt`.execute(db)
  return result.rows
}

function columnsOf(ending: Ending) {
  const outcome = ending.kind === 'again' ? null : ending.kind
  const error = ending.kind === 'done' || ending.error === undefined ? null : carriable(ending.error)
  return [outcome, error, ending.kind === 'again' ? Math.round(ending.inMs) : null]
}

function identityOf({ id, attempt }: Pick<Job, 'id' | 'attempt'>): readonly [string, number] {
  return [id, attempt]
}

/** Statements that lock the same rows in the same order do not wait for each other in a circle. */
function inOrder<Row extends Pick<Job, 'id'>>(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

export function isUnclaimed(job: ExpressionBuilder<Database, 'job'>) {
  return job.or([job('lease_until', 'is', null), job('lease_until', '<=', databaseNow())])
}

type ClaimedRow = Pick<Selectable<JobTable>, 'id' | 'kind' | 'name' | 'payload' | 'attempt' | 'failures' | 'created_at'>

function toJob({ payload, created_at, ...row }: ClaimedRow): ClaimedJob {
  return { ...row, payload: JSON.parse(payload), createdAt: created_at }
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
