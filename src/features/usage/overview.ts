/**
 * Completions over time, by what became of them. Hours and days come from the sums that are kept, which do not tell the
 * statuses apart: what did not complete is few, and has an index; the others completed.
 */
import { type Kysely, sql } from 'kysely'
import { dialectOf } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { given } from '../../db/shared-queries.ts'
import type { CompletionStatus } from '../../domain/completion.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { Period } from '../../http/period.ts'
import {
  agentOf,
  type CompletionFilter,
  isReadRowByRow,
  matching,
  notCompletedBetween,
  ofAgent,
} from './completion-list.ts'
import { DAY_MS, HOUR_MS, ID_TOLERANCE_MS, idsBornIn } from './period.ts'
import { sumParts, unitsSince } from './queries.ts'

export interface Bucket {
  /** Unix milliseconds. */
  readonly at: number
  readonly counts: Readonly<Record<CompletionStatus, number>>
}

export interface Overview {
  readonly period: Period
  readonly interval: 'minute' | 'hour' | 'day'
  /** How many of them a bucket is long. */
  readonly width: number
  readonly buckets: readonly Bucket[]
}

const WHOLE_BUCKETS = 90
/** Where the period begins within a bucket there is one more. */
const MOST_BUCKETS = WHOLE_BUCKETS + 1
const MINUTE_MS = 60_000
const INTERVAL_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const
/** Widths that divide a day; days are put together as they come. */
const HOURS = [1, 2, 3, 6, 12]
const DEFAULT_MS = DAY_MS

/** @param filter Instead of its period, `period` counts. */
export async function readOverview(
  db: Kysely<Database>,
  accountId: AccountId,
  { filter, period }: { readonly filter: CompletionFilter; readonly period: Period },
): Promise<Overview> {
  const scale = scaleOf(period)
  const kept = { start: (await firstKept(db, accountId, period)) ?? period.end, end: period.end }
  const counts = await countCompletions(db, accountId, {
    filter: { ...filter, period: kept },
    interval: scale.interval,
  })
  return { period, ...scale, buckets: bucketsOf(counts, { period, status: filter.status, ...scale }) }
}

/** What an overview is of: the last day, or the day before its end, where nothing else is said. */
export function overviewPeriod(
  asked: { readonly start: number | undefined; readonly end: number | undefined },
  now: number,
): Period {
  const end = asked.end ?? Math.max(now, asked.start ?? 0)
  return { start: asked.start ?? Math.max(0, end - DEFAULT_MS), end }
}

type Scale = Pick<Overview, 'interval' | 'width'>

/** The finest that has at most as many buckets as may be. */
function scaleOf(period: Period): Scale {
  const lengthMs = period.end - period.start
  if (lengthMs <= WHOLE_BUCKETS * MINUTE_MS) return { interval: 'minute', width: 1 }
  const hours = HOURS.map((width) => ({ interval: 'hour', width }) as const)
  const fitting = hours.find((scale) => unitsOf(period, scale).count <= MOST_BUCKETS)
  return fitting ?? { interval: 'day', width: Math.ceil(lengthMs / DAY_MS / WHOLE_BUCKETS) }
}

/** Buckets numbered from 1970-01-01 UTC. */
function unitsOf({ start, end }: Period, { interval, width }: Scale) {
  const bucketMs = INTERVAL_MS[interval] * width
  const first = Math.floor(start / bucketMs)
  return { first, count: Math.max(0, Math.ceil(end / bucketMs) - first), bucketMs }
}

/**
 * Where counting begins. Completions of before may be deleted while the sums still have them: nothing is counted that
 * cannot be listed. Undefined: there is nothing in the period.
 */
async function firstKept(db: Kysely<Database>, accountId: AccountId, period: Period): Promise<number | undefined> {
  const { above, below } = idsBornIn(period)
  const row = await db
    .selectFrom('completion')
    .select('created_at')
    .where('account_id', '=', accountId)
    .where('id', '>', above)
    .where('id', '<', below)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return undefined
  return Math.min(Math.max(period.start, row.created_at - ID_TOLERANCE_MS), period.end)
}

interface Count {
  readonly unit: number
  /** `all`: whatever became of them. */
  readonly status: CompletionStatus | 'all'
  readonly requests: number
}

interface Counting {
  readonly filter: CompletionFilter
  readonly interval: Overview['interval']
}

/** One look at the database, so that no completion is among those of a status and not among all. */
async function countCompletions(
  db: Kysely<Database>,
  accountId: AccountId,
  { filter, interval }: Counting,
): Promise<readonly Count[]> {
  if (interval === 'minute' || isReadRowByRow(filter)) return countRows(db, accountId, { filter, interval })
  const partOf = (status: NotCompleted) => countNotCompleted(db, accountId, { filter, interval, status })
  const { status } = filter
  if (status !== undefined && status !== 'completed') return partOf(status).execute()
  return NOT_COMPLETED.reduce(
    (all, each) => all.unionAll(partOf(each)),
    countAll(db, accountId, { filter, interval }),
  ).execute()
}

const NOT_COMPLETED = ['failed', 'client_left', 'incomplete'] as const satisfies readonly CompletionStatus[]
type NotCompleted = (typeof NOT_COMPLETED)[number]

const STATUS = sql<Count['status']>`status`.as('status')

function countAll(
  db: Kysely<Database>,
  accountId: AccountId,
  { filter, interval }: { readonly filter: CompletionFilter; readonly interval: 'hour' | 'day' },
) {
  const parts = sumParts(db, accountId, { period: filter.period, filter, by: undefined, interval })
  return db
    .selectFrom(parts.as('part'))
    .select(['unit', sql<Count['status']>`'all'`.as('status'), ({ fn }) => fn.sum<number>('requests').as('requests')])
    .groupBy('unit')
}

function countNotCompleted(
  db: Kysely<Database>,
  accountId: AccountId,
  { filter, interval, status }: Counting & { readonly status: NotCompleted },
) {
  return db
    .selectFrom('completion')
    .where('account_id', '=', accountId)
    .$call((rows) => matching(rows, filter))
    .$call((rows) => notCompletedBetween(rows, { status, range: idsBornIn(filter.period), dialect: dialectOf(db) }))
    .select([unitsSince(INTERVAL_MS[interval]).as('unit'), STATUS, ({ fn }) => fn.countAll<number>().as('requests')])
    .groupBy([unitsSince(INTERVAL_MS[interval]), 'status'])
}

async function countRows(
  db: Kysely<Database>,
  accountId: AccountId,
  { filter, interval }: Counting,
): Promise<readonly Count[]> {
  const { status, period } = filter
  const agentId = agentOf(filter)
  const { above, below } = idsBornIn(period)
  const rows = db.selectFrom('completion').where('account_id', '=', accountId)
  return (agentId === undefined ? rows.where('id', '>', above).where('id', '<', below) : ofAgent(rows, agentId))
    .$call((some) => matching(some, filter))
    .where(({ and }) => and(given({ status })))
    .select([unitsSince(INTERVAL_MS[interval]).as('unit'), STATUS, ({ fn }) => fn.countAll<number>().as('requests')])
    .groupBy([unitsSince(INTERVAL_MS[interval]), 'status'])
    .execute()
}

/** @param status What is asked for: nothing else is shown, though it may have been counted. */
function bucketsOf(
  rows: readonly Count[],
  {
    period,
    status: asked,
    ...scale
  }: Scale & { readonly period: Period; readonly status: CompletionStatus | undefined },
): readonly Bucket[] {
  const { first, count, bucketMs } = unitsOf(period, scale)
  const sums = Array.from({ length: count }, () => ({ all: 0, ...NOTHING }))
  for (const { unit, status, requests } of rows) {
    const sum = sums[Math.floor(unit / scale.width) - first]
    if (sum !== undefined) sum[status] += Number(requests)
  }
  return sums.map(({ all, ...counts }, index) => {
    const rest = Math.max(0, all - counts.failed - counts.client_left - counts.incomplete)
    const whole = { ...counts, completed: counts.completed + rest }
    return {
      at: (first + index) * bucketMs,
      counts: asked === undefined ? whole : { ...NOTHING, [asked]: whole[asked] },
    }
  })
}

const NOTHING = { completed: 0, failed: 0, client_left: 0, incomplete: 0 }
