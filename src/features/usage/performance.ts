/** How fast and how reliably completions were answered, by what the newest rows of a period say. */
import type { Kysely } from 'kysely'
import type { CompletionTable, Database } from '../../db/schema.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { Period } from '../../http/period.ts'
import { idsBornIn } from './id-range.ts'
import { HOUR_MS } from './period.ts'

/** Rows of a period that are looked at. */
const MAX_ROWS = 5_000

export const PERFORMANCE_GROUPINGS = ['model', 'provider'] as const
export type PerformanceGrouping = (typeof PERFORMANCE_GROUPINGS)[number]

type Row = Pick<
  CompletionTable,
  'model' | 'provider' | 'status' | 'stream' | 'created_at' | 'duration_ms' | 'first_byte_ms'
>

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

export async function readPerformance(
  db: Kysely<Database>,
  accountId: AccountId,
  { period, grouping }: { readonly period: Period; readonly grouping: PerformanceGrouping },
): Promise<Performance> {
  const found = await newestRows(db, accountId, period)
  const rows = found.slice(0, MAX_ROWS)
  const hours = Map.groupBy(rows, ({ created_at: createdAt }) => Math.floor(createdAt / HOUR_MS))
  const groups = Map.groupBy(rows, (row) => row[grouping])
  return {
    isSampled: found.length > rows.length,
    groups: [...groups]
      .map(([key, ofGroup]) => groupOf(key, ofGroup))
      .toSorted((one, other) => other.requests - one.requests || (one.key < other.key ? -1 : 1)),
    series: [...hours]
      .toSorted(([one], [other]) => one - other)
      .map(([hour, ofHour]) => ({ at: hour * HOUR_MS, requests: ofHour.length, firstByteMs: firstByteOf(ofHour) })),
  }
}

function newestRows(db: Kysely<Database>, accountId: AccountId, period: Period): Promise<readonly Row[]> {
  const { above, below } = idsBornIn(period)
  return db
    .selectFrom('completion')
    .select(['model', 'provider', 'status', 'stream', 'created_at', 'duration_ms', 'first_byte_ms'])
    .where('account_id', '=', accountId)
    .where('id', '>', above)
    .where('id', '<', below)
    .where('created_at', '>=', period.start)
    .where('created_at', '<', period.end)
    .orderBy('id', 'desc')
    .limit(MAX_ROWS + 1)
    .execute()
}

function groupOf(key: string, rows: readonly Row[]): PerformanceGroup {
  const completed = rows.filter(({ status }) => status === 'completed')
  const failed = rows.filter(({ status }) => status === 'failed' || status === 'incomplete').length
  const judged = completed.length + failed
  return {
    key,
    requests: rows.length,
    failed,
    successRate: judged === 0 ? undefined : completed.length / judged,
    firstByteMs: firstByteOf(rows),
    durationMs: percentilesOf(completed.map(({ duration_ms }) => duration_ms)),
  }
}

/** Of streams: the first byte of an answer in one piece is its last one, too. */
function firstByteOf(rows: readonly Row[]): Percentiles | undefined {
  return percentilesOf(rows.flatMap(({ stream, first_byte_ms: ms }) => (stream === 0 || ms === null ? [] : [ms])))
}

/** The nearest rank: always a time that was measured. Undefined of nothing. */
function percentilesOf(times: readonly number[]): Percentiles | undefined {
  const sorted = times.toSorted((one, other) => one - other)
  const [p50, p95] = [0.5, 0.95].map((share) => sorted[Math.ceil(share * sorted.length) - 1])
  return p50 === undefined || p95 === undefined ? undefined : { p50, p95 }
}
