/** What of a period speed is told from, and the points and rows that show it. */
import { formatMs } from '../../lib/format.ts'
import { type Period, resolvePeriod } from '../../lib/period.ts'
import { bucketLabel, startOfDay, type Zone } from '../../lib/time.ts'
import type { ChartPoint, ChartSeries } from '../../ui/chart/index.ts'
import type { Sort } from '../../ui/table/table.tsx'
import { bucketStarts, DAY_MS } from './chart-data.ts'
import type { Performance } from './queries.ts'

export type SpeedRow = Performance['groups'][number]
export type SpeedHour = Performance['series'][number]
type Bounds = Pick<Period, 'start' | 'end'>

/** The gateway tells it of no longer period. */
const MOST_MS = 31 * DAY_MS

export interface MeasuredPeriod {
  readonly period: Period
  /** Whether something of the page's period that has been is not in it. */
  readonly isShortened: boolean
}

/**
 * The last 31 days of a period. Days that have not begun are none of them: a month ends weeks from now.
 * @param now Unix milliseconds.
 */
export function measuredPeriod(whole: Period, now: number, zone: Zone): MeasuredPeriod {
  const first = Date.parse(whole.start)
  const last = Date.parse(whole.end)
  if (last - first <= MOST_MS) return { period: whole, isShortened: false }
  const passed = Math.min(last, startOfDay(now, zone, { days: 1 }))
  const end = passed > first ? passed : last
  const start = Math.max(first, end - MOST_MS)
  const bounds = { from: new Date(start).toISOString(), to: new Date(end).toISOString() }
  return { period: resolvePeriod({ range: 'custom', ...bounds }, now, '7d', zone), isShortened: start > first }
}

const MOST_SEARCHED_MS = 7 * DAY_MS

/** The end of a period, as far back as the list of requests can be searched for a provider. */
export function searchablePeriod({ start, end }: Bounds): Bounds {
  const first = Math.max(Date.parse(start), Date.parse(end) - MOST_SEARCHED_MS)
  return { start: new Date(first).toISOString(), end }
}

export const SPEED_SERIES: readonly ChartSeries[] = [
  { key: 'p50', label: 'p50' },
  { key: 'p95', label: 'p95' },
]

/** Every hour is there, so that time is to scale; those without a stream have no values. */
export function speedPoints(
  hours: readonly SpeedHour[],
  { period, zone, now }: { readonly period: Bounds; readonly zone: Zone; readonly now: number },
): readonly ChartPoint[] {
  const byHour = new Map(hours.map((hour) => [Date.parse(hour.at), hour]))
  const scale = { interval: 'hour', isOneDay: isOneDay(period), zone } as const
  return bucketStarts({ period, interval: 'hour', now }).map((at) => {
    const hour = byHour.get(at)
    return {
      at: new Date(at).toISOString(),
      label: bucketLabel(at, scale),
      values: { p50: hour?.first_byte_ms_p50, p95: hour?.first_byte_ms_p95 },
    }
  })
}

function isOneDay({ start, end }: Bounds): boolean {
  return Date.parse(end) - Date.parse(start) <= DAY_MS
}

/**
 * One sentence: between what the medians of the hours are, and when it was slowest.
 * @returns Undefined where nothing was streamed.
 */
export function speedSummary(points: readonly ChartPoint[]): string | undefined {
  const known = points.flatMap(({ label, values: { p50, p95 } }) =>
    typeof p50 === 'number' && typeof p95 === 'number' ? [{ label, p50, p95 }] : [],
  )
  const [first, ...others] = known
  if (first === undefined) return undefined
  const slowest = others.reduce((one, other) => (other.p95 > one.p95 ? other : one), first)
  const medians = known.map(({ p50 }) => p50)
  const [fast, slow] = [formatMs(Math.min(...medians)), formatMs(Math.max(...medians))]
  const usual = fast === slow ? `was ${fast}` : `was between ${fast} and ${slow}, by the hour`
  return `The median time to first token ${usual}; p95 was highest at ${slowest.label}, with ${formatMs(slowest.p95)}.`
}

/** Rows without the number are last, whichever way. */
export function sortedSpeed(rows: readonly SpeedRow[], { id, direction }: Sort): readonly SpeedRow[] {
  const sign = direction === 'asc' ? 1 : -1
  const byName = (one: SpeedRow, other: SpeedRow) => (one.key.toLowerCase() < other.key.toLowerCase() ? -1 : 1)
  return rows.toSorted((one, other) => {
    if (id === 'name') return sign * byName(one, other)
    const [here, there] = [numberOf(one, id), numberOf(other, id)]
    if (here === there) return byName(one, other)
    if (here === undefined || there === undefined) return here === undefined ? 1 : -1
    return sign * (here - there)
  })
}

function numberOf(row: SpeedRow, column: string): number | undefined {
  switch (column) {
    case 'failed':
      return row.failed
    case 'success_rate':
      return row.success_rate ?? undefined
    case 'first_p50':
      return row.first_byte_ms?.p50
    case 'first_p95':
      return row.first_byte_ms?.p95
    case 'duration_p50':
      return row.duration_ms?.p50
    case 'duration_p95':
      return row.duration_ms?.p95
    default:
      return row.requests
  }
}
