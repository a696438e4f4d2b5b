/**
 * How fast and how reliably completions were answered, by what the newest rows of a period say. The database gathers them
 * by name and hour, with their times as one text each; to rank them there took three times as long as to read them.
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
  /** Failed or broken off by the provider; not those that it rejected for their content. */
  readonly failed: number
  /** Undefined where all clients left. */
  readonly successRate: number | undefined
  readonly firstByteMs: Percentiles | undefined
  readonly durationMs: Percentiles | undefined
  /** In order; hours without a row are absent. */
  readonly hours: readonly GroupHour[]
}

export interface GroupHour {
  /** Unix milliseconds. */
  readonly at: number
  readonly requests: number
  readonly failed: number
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
  const cells = await gather(db, { ...choice, accountId })
  const looked = sumOf(cells, 'requests')
  return {
    isSampled: looked === MAX_ROWS && (await hasMore(db, { ...choice, accountId })),
    groups: [...Map.groupBy(cells, ({ key }) => key)]
      .map(([key, ofGroup]) => groupOf(key, ofGroup))
      .toSorted((one, other) => other.requests - one.requests || (one.key < other.key ? -1 : 1)),
    series: [...Map.groupBy(cells, ({ hour }) => hour)]
      .toSorted(([one], [other]) => one - other)
      .map(([hour, ofHour]) => ({
        at: hour * HOUR_MS,
        requests: sumOf(ofHour, 'requests'),
        firstByteMs: percentilesOf(ofHour, 'firstBytes'),
      })),
  }
}

/** What one name did in one hour. */
interface Cell {
  readonly key: string
  readonly hour: number
  readonly requests: number
  readonly failed: number
  readonly completed: number
  /** Milliseconds with commas between. Of streams: the first byte of an answer in one piece is its last one, too. */
  readonly firstBytes: string | null
  /** The same; of those that completed. */
  readonly durations: string | null
}

/** The provider refused the request's content: the client's fault, which says nothing of the provider. */
const REJECTED = sql`(attempt_log is not null and attempt_log like '%"outcome":"rejected"%')`

function gather(db: Kysely<Database>, { grouping, ...choice }: Choice): Promise<readonly Cell[]> {
  return readRows(
    db,
    sql<Cell>`select name as key, hour, count(*) as requests,
      count(case when status = 'incomplete' or (status = 'failed' and not ${REJECTED}) then 1 end) as failed,
      count(case when status = 'completed' then 1 end) as completed,
      string_agg(case when stream = 1 then cast(first_byte_ms as text) end, ',') as "firstBytes",
      string_agg(case when status = 'completed' then cast(duration_ms as text) end, ',') as "durations"
    from (
      select ${sql.ref(grouping)} as name, created_at / ${sql.lit(HOUR_MS)} as hour, status, stream, duration_ms, first_byte_ms, attempt_log
      from completion where ${isIn(choice)} order by id desc limit ${sql.lit(MAX_ROWS)}
    ) as newest group by name, hour`,
  )
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

/** @param cells One for each hour. */
function groupOf(key: string, cells: readonly Cell[]): PerformanceGroup {
  const failed = sumOf(cells, 'failed')
  const completed = sumOf(cells, 'completed')
  return {
    key,
    requests: sumOf(cells, 'requests'),
    failed,
    successRate: completed + failed === 0 ? undefined : completed / (completed + failed),
    firstByteMs: percentilesOf(cells, 'firstBytes'),
    durationMs: percentilesOf(cells, 'durations'),
    hours: cells
      .map(({ hour, requests, failed }) => ({ at: hour * HOUR_MS, requests, failed }))
      .toSorted((one, other) => one.at - other.at),
  }
}

/** The nearest rank: always a time that was measured. */
function percentilesOf(cells: readonly Cell[], times: 'firstBytes' | 'durations'): Percentiles | undefined {
  const texts = cells.flatMap((cell) => cell[times] ?? [])
  if (texts.length === 0) return undefined
  const ranked = Float64Array.from(texts.join(',').split(','), Number).sort()
  const at = (percent: number) => ranked[Math.ceil((ranked.length * percent) / 100) - 1] ?? 0
  return { p50: at(50), p95: at(95) }
}

function sumOf(cells: readonly Cell[], field: 'requests' | 'failed' | 'completed'): number {
  return cells.reduce((sum, cell) => sum + cell[field], 0)
}
