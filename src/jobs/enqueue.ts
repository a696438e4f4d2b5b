/** How jobs come into the queue. */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../db/schema.ts'
import type { IdSource } from '../domain/ids.ts'
import { databaseNow, databaseTimeIn } from './clock.ts'
import type { JobKind } from './job.ts'
import { listRows, numberAt, textAt } from './lists.ts'

export interface NewJob {
  readonly kind: string
  /** Unique within its kind: the same again adds nothing, as long as the job or what is remembered of it is there. */
  readonly name: string
  /** Anything that JSON can carry. */
  readonly payload: unknown
  /** Unix milliseconds; undefined: at once. */
  readonly runAt?: number | undefined
  /** Whose work it is, an account or a receiver, never empty: lanes of a kind take turns. Undefined: one lane with all such jobs. */
  readonly lane?: string | undefined
  /** 0 to 9, by default 5. Within a lane 0 comes first, whatever is waiting longer; lanes take turns all the same. */
  readonly priority?: number | undefined
}

/** Of jobs without one. */
export const COMMON_LANE = '*'
const USUAL_PRIORITY = 5
/** Jobs of one statement. */
const BULK_SIZE = 1_000

/**
 * Inside a transaction the job is there exactly if that is committed.
 * @returns False when there is already a job of this kind and name.
 */
export async function enqueue(db: Kysely<Database>, job: NewJob, ids: Pick<IdSource, 'job'>): Promise<boolean> {
  return (await insert(db, [job], ids)) > 0
}

/** One statement for each 1 000 jobs; all of them or none only inside a transaction. @returns How many are new. */
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
 * Makes the one job of a kind that is a schedule: due at once, or by the calendar if it goes by that. One that is due
 * later than the schedule says is brought forward.
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
    .where('kind', '=', kind)
    .where('name', '=', SCHEDULE)
    .where('run_at', '>', due)
    .execute()
}

/** Unix milliseconds by the database's clock. */
export async function readDatabaseTime(db: Kysely<Database>): Promise<number> {
  return Number((await db.selectNoFrom(databaseNow().as('now')).executeTakeFirstOrThrow()).now)
}
