/**
 * How fast and how reliably completions were answered, by what the newest rows of a period say. The
 * database adds up and ranks: only sums and percentiles come to the thread that answers requests.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { readRows } from '../../db/read-rows.ts'
import type { Database } from '../../db/schema.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { Period } from '../../http/period.ts'
import { idsBornIn } from './id-range.ts'
import { HOUR_MS } from './period.ts'

/** Rows of a period that are looked at. */
const MAX_ROWS = 5_000

export const PERFORMANCE_GROUPINGS = ['model', 'provider'] as const
export type PerformanceGrouping = (typeof PERFORMANCE_GROUPINGS)[number]

/** In milliseconds. */
export interface Percentiles {
  readonly p50: number
  readonly p95: number
}

export interface PerformanceGroup {
  readonly key: string
  readonly requests: number
  /** Failed or broken off by the provider. */
  readonly failed: number
  /** Undefined where all clients left. */
  readonly successRate: number | undefined
  readonly firstByteMs: Percentiles | undefined
  readonly durationMs: Percentiles | undefined
}

export interface PerformanceHour {
  /** Unix milliseconds. */
  readonly at: number
  readonly requests: number
  readonly firstByteMs: Percentiles | undefined
}

export interface Performance {
  /** Whether there were more rows than are looked at. */
  readonly isSampled: boolean
  /** Those with the most requests first. */
  readonly groups: readonly PerformanceGroup[]
  /** In order; hours without a row are absent. */
  readonly series: readonly PerformanceHour[]
}

interface Choice {
  readonly accountId: AccountId
  readonly period: Period
  readonly grouping: PerformanceGrouping
}

export async function readPerformance(
  db: Kysely<Database>,
  accountId: AccountId,
  choice: Omit<Choice, 'accountId'>,
): Promise<Performance> {
  const newest = newestRows({ ...choice, accountId })
  const counts = await countRows(db, newest)
  const times = await rankTimes(db, newest)
  const looked = counts.reduce((sum, { requests }) => sum + requests, 0)
  return {
    isSampled: looked === MAX_ROWS && (await hasMore(db, { ...choice, accountId })),
    groups: [...Map.groupBy(counts, ({ key }) => key)]
      .map(([key, ofGroup]) => groupOf(key, { counts: ofGroup, times }))
      .toSorted((one, other) => other.requests - one.requests || (one.key < other.key ? -1 : 1)),
    series: [...Map.groupBy(counts, ({ hour }) => hour)]
      .toSorted(([one], [other]) => one - other)
      .map(([hour, ofHour]) => ({
        at: hour * HOUR_MS,
        requests: sumOf(ofHour, 'requests'),
        firstByteMs: times.get(`hour ${hour}`),
      })),
  }
}

/** The rows that all is about; first bytes are those of streams: that of an answer in one piece is its last one, too. */
function newestRows({ grouping, ...choice }: Choice): RawBuilder<unknown> {
  return sql`newest as materialized (
    select ${sql.ref(grouping)} as name, created_at / ${sql.lit(HOUR_MS)} as hour, status, duration_ms,
      case when stream = 1 then first_byte_ms end as first_byte_ms
    from completion where ${isIn(choice)} order by id desc limit ${sql.lit(MAX_ROWS)}
  )`
}

function isIn({ accountId, period }: Omit<Choice, 'grouping'>): RawBuilder<unknown> {
  const { above, below } = idsBornIn(period)
  return sql`account_id = ${accountId} and id > ${above} and id < ${below}
    and created_at >= ${period.start} and created_at < ${period.end}`
}

async function hasMore(db: Kysely<Database>, choice: Choice): Promise<boolean> {
  const query = sql`select 1 from completion where ${isIn(choice)} order by id desc limit 1 offset ${sql.lit(MAX_ROWS)}`
  return (await readRows(db, query)).length > 0
}

interface Count {
  readonly key: string
  readonly hour: number
  readonly requests: number
  readonly failed: number
  readonly completed: number
}

async function countRows(db: Kysely<Database>, newest: RawBuilder<unknown>): Promise<readonly Count[]> {
  return readRows(
    db,
    sql<Count>`with ${newest}
    select name as key, hour, count(*) as requests,
      count(case when status in ('failed', 'incomplete') then 1 end) as failed,
      count(case when status = 'completed' then 1 end) as completed
    from newest group by name, hour`,
  )
}

interface Ranked {
  readonly subject: string
  readonly ms: number
}

/** The nearest rank: always a time that was measured. By `first <group>`, `whole <group>` and `hour <hour>`. */
async function rankTimes(db: Kysely<Database>, newest: RawBuilder<unknown>): Promise<ReadonlyMap<string, Percentiles>> {
  const rows = await readRows(
    db,
    sql<Ranked>`with ${newest}, times as (
      select 'first ' || name as subject, first_byte_ms as ms from newest where first_byte_ms is not null
      union all select 'whole ' || name, duration_ms from newest where status = 'completed'
      union all select 'hour ' || hour, first_byte_ms from newest where first_byte_ms is not null
    ), ranked as (
      select subject, ms, row_number() over (partition by subject order by ms) as place,
        count(*) over (partition by subject) as size
      from times
    )
    select subject, ms from ranked where place in ((size * 50 + 99) / 100, (size * 95 + 99) / 100)`,
  )
  return new Map(
    [...Map.groupBy(rows, ({ subject }) => subject)].map(([subject, all]) => [subject, percentilesOf(all)]),
  )
}

/** @param ranked One or two rows: both places may be the same one. */
function percentilesOf(ranked: readonly Ranked[]): Percentiles {
  const times = ranked.map(({ ms }) => ms)
  return { p50: Math.min(...times), p95: Math.max(...times) }
}

function groupOf(
  key: string,
  { counts, times }: { readonly counts: readonly Count[]; readonly times: ReadonlyMap<string, Percentiles> },
): PerformanceGroup {
  const failed = sumOf(counts, 'failed')
  const completed = sumOf(counts, 'completed')
  return {
    key,
    requests: sumOf(counts, 'requests'),
    failed,
    successRate: completed + failed === 0 ? undefined : completed / (completed + failed),
    firstByteMs: times.get(`first ${key}`),
    durationMs: times.get(`whole ${key}`),
  }
}

function sumOf(counts: readonly Count[], field: 'requests' | 'failed' | 'completed'): number {
  return counts.reduce((sum, count) => sum + count[field], 0)
}
