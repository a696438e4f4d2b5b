/**
 * Selects the jobs to start, round-robin by lane: each poll continues after the lanes that were served last, and takes one
 * job of each before a second of any. Its cost depends on the number of jobs requested, not on those waiting.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { dialectOf, readRows } from '../db/database.ts'
import type { Database } from '../db/schema/schema.ts'
import { isUnclaimed } from './queue.ts'
import { databaseNow, hasIdIn, isListed, listRows, numberAt, textAt } from './sql.ts'

/** Lanes examined in one query. */
const LANES_SIZE = 100
/** Extra lanes examined in the first query, since some may be full. */
const SPARE_LANES = 10
/** Maximum number of such queries in a poll; the next poll continues there. */
const MAX_LANE_QUERIES = 10

export interface SleepingJob {
  readonly id: string
  /** Milliseconds until it is due; 0 or less: due now. */
  readonly dueInMs: number
}

interface Looking {
  readonly kinds: readonly string[]
  readonly limit: number
}

/** Returns scheduled jobs and jobs with expired leases, ordered by due time. Like all queries here it uses the reader. */
export async function findSleeping(db: Kysely<Database>, { kinds, limit }: Looking): Promise<readonly SleepingJob[]> {
  const rows = await db
    .selectFrom('job')
    .select(['id', 'run_at', databaseNow().as('now')])
    .where('ended_at', 'is', null)
    .where('ready', '=', sql.lit(0)) // a literal, since PostgreSQL cannot match a parameter to the partial index
    // Not by the unique index, whose rows of a kind are mostly ended jobs.
    .where(sql`kind || ''`, 'in', kinds)
    .where(isUnclaimed)
    .orderBy('run_at')
    .limit(limit)
    .execute()
  return rows.map(({ id, run_at, now }) => ({ id, dueInMs: run_at - now }))
}

/** Moves due jobs into their lanes. Concurrent processes do not wait for each other. */
export async function wakeSleeping(db: Kysely<Database>, jobs: readonly SleepingJob[]): Promise<void> {
  const sleeping = db
    .selectFrom('job')
    .select('id')
    .where(isListed(db, jobs))
    .where('ready', '=', sql.lit(0))
    .where('ended_at', 'is', null)
    .where('run_at', '<=', databaseNow())
    .where(isUnclaimed)
  const mine = dialectOf(db) === 'postgres' ? sleeping.forUpdate().skipLocked() : sleeping
  await db.updateTable('job').set({ ready: 1 }).where(hasIdIn(db, mine)).execute()
}

/** Returns the kinds with ready jobs. */
export async function findReadyKinds(db: Kysely<Database>, kinds: readonly string[]): Promise<readonly string[]> {
  const rows = listRows(
    db,
    kinds.map((kind) => [kind]),
  )
  // No `exists` and no join: the planner's statistics are outdated for this table, and it would read all of it.
  const found = await readRows(
    db,
    sql<{ kind: string }>`select ${textAt(0)} as kind from ${rows} where (select lane from job
      where job.kind = ${textAt(0)} and job.ready = 1 and job.ended_at is null order by lane limit 1) is not null`,
  )
  return found.map(({ kind }) => kind)
}

export interface DueJobsInput {
  readonly kind: string
  /** Maximum number of jobs. */
  readonly room: number
  /** Jobs of one lane that run at once; undefined: any number. */
  readonly laneConcurrency: number | undefined
  /** The lane that was served last; empty: start with the first. */
  readonly after: string
}

export interface DueJobs {
  readonly jobs: readonly ReadyJob[]
  /** The lane after which the next poll continues. */
  readonly last: string
}

export interface ReadyJob {
  readonly id: string
  readonly lane: string
}

/** Returns the jobs to start; empty: none is ready, or all lanes with ready jobs are full. */
export async function findDueJobs(db: Kysely<Database>, input: DueJobsInput): Promise<DueJobs> {
  const { kind, room, laneConcurrency = Number.POSITIVE_INFINITY, after } = input
  const { lanes, last } = await findOpenLanes(db, { kind, room, laneConcurrency, after })
  if (lanes.length === 0) return { jobs: [], last }
  const rounds = Math.ceil(room / lanes.length)
  const wanted = lanes.map(({ lane, running }) => [lane, Math.min(rounds, laneConcurrency - running)] as const)
  const positions = new Map(lanes.map(({ lane }, position) => [lane, position]))
  const positionOf = ({ lane }: ReadyJob): number => positions.get(lane) ?? 0
  const jobs = (await pickJobs(db, kind, wanted)).toSorted(
    (one, other) => one.place - other.place || positionOf(one) - positionOf(other),
  )
  return { jobs: jobs.slice(0, room), last }
}

interface Lane {
  readonly lane: string
  readonly running: number
}

/** Returns at most `room` lanes that are not full, in round-robin order, and the last lane examined. */
async function findOpenLanes(db: Kysely<Database>, input: DueJobsInput & { readonly laneConcurrency: number }) {
  const { kind, room, laneConcurrency, after } = input
  const lanes: Lane[] = []
  let last = after
  let hasTurned = after === ''
  for (let queries = 0; queries < MAX_LANE_QUERIES; queries++) {
    const limit = queries === 0 ? Math.min(LANES_SIZE, room + SPARE_LANES) : LANES_SIZE
    const page = await readLanes(db, { kind, after: last, limit })
    for (const lane of page.lanes) {
      if (hasTurned && after !== '' && lane.lane > after) return { lanes, last: after } // once around
      last = lane.lane
      if (lane.running < laneConcurrency) lanes.push(lane)
      if (lanes.length === room) return { lanes, last }
    }
    if (page.isLast && hasTurned) break
    if (!page.isLast) continue
    hasTurned = true
    last = ''
  }
  return { lanes, last }
}

/** Steps from lane to lane by the index, independent of their contents. */
async function readLanes(
  db: Kysely<Database>,
  { kind, after, limit }: { readonly kind: string; readonly after: string; readonly limit: number },
) {
  // Not `min(lane)`, for which PostgreSQL reads all ready jobs if its statistics are outdated.
  const next = (lane: unknown) => sql`(select lane from job where kind = ${kind} and ready = 1 and ended_at is null
    and lane > ${lane} order by lane limit 1)`
  const lanes = await readRows(
    db,
    sql<Lane>`with recursive step (lane, place) as (
      select ${next(after)}, 1
      union all
      select ${next(sql`step.lane`)}, place + 1 from step where lane is not null and place < ${limit}
    ) select lane, (select count(*) from job where kind = ${kind} and lane = step.lane and owner is not null
        and lease_until > ${databaseNow()}) as running
    from step where lane is not null`,
  )
  return { lanes, isLast: lanes.length < limit }
}

interface PickedJob extends ReadyJob {
  /** How many of its lane come before it. */
  readonly place: number
}

type WantedLanes = readonly (readonly [lane: string, jobs: number])[]

/** Returns the first jobs of each lane, stepping by the index. */
async function pickJobs(db: Kysely<Database>, kind: string, lanes: WantedLanes): Promise<readonly PickedJob[]> {
  const due = sql`kind = ${kind} and ready = 1 and ended_at is null and run_at <= ${databaseNow()}
    and (lease_until is null or lease_until <= ${databaseNow()})`
  const wanted = sql`wanted (wanted_lane, jobs) as (select ${textAt(0)}, ${numberAt(1)} from ${listRows(db, lanes)})`
  const pick = dialectOf(db) === 'postgres' ? pickLaterally : pickStepwise
  return readRows(db, pick(wanted, due))
}

/** SQLite has no `lateral`; on PostgreSQL it prevents a scan of the whole table. */
function pickLaterally(wanted: RawBuilder<unknown>, due: RawBuilder<unknown>): RawBuilder<PickedJob> {
  return sql<PickedJob>`with ${wanted} select pick.id, pick.lane, pick.place from wanted cross join lateral (
      select id, lane, row_number() over (order by priority, run_at, id) - 1 as place from job
      where lane = wanted_lane and ${due} order by priority, run_at, id limit jobs
    ) as pick`
}

function pickStepwise(wanted: RawBuilder<unknown>, due: RawBuilder<unknown>): RawBuilder<PickedJob> {
  const first = sql`order by priority, run_at, id limit 1`
  return sql<PickedJob>`with recursive ${wanted}, pick (id, lane, priority, run_at, jobs, place) as (
      select job.id, job.lane, job.priority, job.run_at, jobs, 0 from wanted cross join job
      where job.id = (select id from job where lane = wanted_lane and ${due} ${first})
      union all
      select job.id, job.lane, job.priority, job.run_at, jobs, place + 1 from pick cross join job
      where place + 1 < jobs and job.id = (select id from job where lane = pick.lane and ${due}
        and (priority, run_at, id) > (pick.priority, pick.run_at, pick.id) ${first})
    ) select id, lane, place from pick`
}
