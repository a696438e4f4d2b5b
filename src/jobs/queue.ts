/**
 * The job queue in a table: enqueue, claim, renew, finish. Every start of a job increments its `attempt`; writes of an owner
 * with an earlier attempt are rejected (fencing).
 */
import { type ExpressionBuilder, type Kysely, type Selectable, sql } from 'kysely'
import { acquireAdvisoryLock, dialectOf } from '../db/database.ts'
import type { Database, JobTable } from '../db/schema/schema.ts'
import { completionIdFloor, type IdSource } from '../domain/ids.ts'
import type { Job, JobKind } from './job.ts'
import { carriable, databaseNow, databaseTimeIn, hasIdIn, isListed, listRows, numberAt, textAt } from './sql.ts'

/** A job as its start needs it. */
export interface ClaimedJob extends Job {
  /** Starts that ended in an error; others were lost with their process, or interrupted by its stop. */
  readonly failures: number
}

export interface Claim {
  readonly jobs: readonly Pick<Job, 'id'>[]
  readonly owner: string
  readonly leaseMs: number
}

/** Claims due jobs without an owner; of several concurrent processes one gets each job. */
export async function claim(db: Kysely<Database>, { jobs, owner, leaseMs }: Claim): Promise<readonly ClaimedJob[]> {
  const due = db
    .selectFrom('job')
    .select('id')
    .where(isListed(db, jobs))
    .where('ended_at', 'is', null)
    .where('run_at', '<=', databaseNow())
    .where(isUnclaimed)
  // Skips jobs that another process is claiming; SQLite serializes writers anyway.
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

/** Claims jobs within the limits of their lanes. Claiming processes are serialized, so that each counts all running jobs. */
export async function claimInLanes(db: Kysely<Database>, input: LaneClaim): Promise<readonly ClaimedJob[]> {
  const { kind, jobs, laneConcurrency } = input
  return db.transaction().execute(async (transaction) => {
    await acquireAdvisoryLock(transaction, `jobs ${kind}`)
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

/** Renews leases that have not expired: another process may be claiming expired ones. @returns The IDs of renewed jobs. */
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

/** The outcome of a start. */
export type Ending =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: string }
  /** It waits for another start. `error` undefined: no failure. */
  | { readonly kind: 'again'; readonly inMs: number; readonly error: string | undefined }

export interface Held extends Pick<Job, 'id' | 'attempt'> {
  readonly owner: string
}

/** @returns False if the owner had lost the job; then nothing was written. */
export async function finish(db: Kysely<Database>, { id, attempt, owner }: Held, ending: Ending): Promise<boolean> {
  return (await finishAll(db, owner, [{ id, attempt, ending }])).length > 0
}

export interface EndedStart extends Pick<Job, 'id' | 'attempt'> {
  readonly ending: Ending
}

/** Finishes all in one statement. @returns The jobs that were still owned; nothing was written for the others. */
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

/** Statements that lock rows in the same order cannot deadlock. */
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

/** IDs of jobs sort by creation time, like those of completions; a job that ended before a time was created before it. */
function firstIdOf(ms: number): string {
  return `job_${completionIdFloor(ms).slice('chatcmpl-'.length)}`
}

export interface NewJob {
  readonly kind: string
  /** Unique within its kind: a second job with the name is not added while the row of the first exists. */
  readonly name: string
  /** A JSON value. */
  readonly payload: unknown
  /** Unix milliseconds; undefined: at once. */
  readonly runAt?: number | undefined
  /** An account or a receiver, never empty; lanes of a kind are served round-robin. Undefined: the lane of all such jobs. */
  readonly lane?: string | undefined
  /** 0 to 9, default 5. Within a lane 0 comes first, even before older jobs; it does not affect other lanes. */
  readonly priority?: number | undefined
}

/** The lane of jobs without one. */
const COMMON_LANE = '*'
const USUAL_PRIORITY = 5
/** Jobs of one statement. */
const BULK_SIZE = 1_000

/**
 * Inside a transaction the job is added if and only if it commits.
 * @returns False if a job of this kind and name exists.
 */
export async function enqueue(db: Kysely<Database>, job: NewJob, ids: Pick<IdSource, 'job'>): Promise<boolean> {
  return (await insert(db, [job], ids)) > 0
}

/** Adds jobs with a statement for each 1 000; atomic only inside a transaction. @returns The number of new jobs. */
export async function enqueueAll(
  db: Kysely<Database>,
  jobs: readonly NewJob[],
  ids: Pick<IdSource, 'job'>,
): Promise<number> {
  let added = 0
  for (let at = 0; at < jobs.length; at += BULK_SIZE) added += await insert(db, jobs.slice(at, at + BULK_SIZE), ids)
  return added
}

async function insert(db: Kysely<Database>, jobs: readonly NewJob[], ids: Pick<IdSource, 'job'>): Promise<number> {
  const rows = jobs.map(({ kind, name, payload, runAt, lane = COMMON_LANE, priority = USUAL_PRIORITY }) => {
    const time = runAt === undefined ? null : Math.round(runAt)
    return [ids.job(), kind, name, JSON.stringify(payload ?? null), time, lane, priority]
  })
  const given = numberAt(4)
  const result = await sql`
    insert into job (id, kind, name, payload, run_at, attempt, created_at, lane, priority, ready)
    select ${textAt(0)}, ${textAt(1)}, ${textAt(2)}, ${textAt(3)}, coalesce(${given}, ${databaseNow()}), 0,
      ${databaseNow()}, ${textAt(5)}, ${numberAt(6)}, case when ${given} is null then 1 else 0 end
    from ${listRows(db, rows)} where true
    on conflict (kind, name) do nothing`.execute(db)
  return Number(result.numAffectedRows ?? 0n)
}

const SCHEDULE = 'schedule'

/**
 * Creates the single job of a schedule: due at once, or by its calendar. A job that is due later than scheduled is moved
 * forward.
 */
export async function schedule(
  db: Kysely<Database>,
  { kind, everyMs, nextAt }: { readonly kind: string } & Pick<JobKind, 'everyMs' | 'nextAt'>,
  ids: Pick<IdSource, 'job'>,
): Promise<void> {
  const next = nextAt?.(await readDatabaseTime(db))
  if (await enqueue(db, { kind, name: SCHEDULE, payload: null, runAt: next }, ids)) return
  const due = next === undefined ? databaseTimeIn(everyMs ?? 0) : sql<number>`cast(${next} as bigint)`
  await db
    .updateTable('job')
    .set({ run_at: due })
    .where(({ and }) => and({ kind, name: SCHEDULE }))
    .where('run_at', '>', due)
    .execute()
}

/** Unix milliseconds by the database's clock. */
export async function readDatabaseTime(db: Kysely<Database>): Promise<number> {
  return Number((await db.selectNoFrom(databaseNow().as('now')).executeTakeFirstOrThrow()).now)
}
