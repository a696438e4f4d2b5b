/** Requests over time, by what became of them. */
import type { PeriodSearch } from '../../lib/period.ts'
import { bucketLabel, type Zone } from '../../lib/time.ts'
import { COMPLETION_TONES } from '../../lib/tones.ts'
import type { ChartPoint, ChartSeries } from '../../ui/chart/index.ts'
import type { Overview } from './queries.ts'

/** In the colors of their badges. */
export const HISTOGRAM_SERIES: readonly ChartSeries[] = [
  { key: 'completed', label: 'Completed', paint: COMPLETION_TONES.completed },
  { key: 'client_left', label: 'Client left', paint: COMPLETION_TONES.client_left },
  { key: 'incomplete', label: 'Incomplete', paint: COMPLETION_TONES.incomplete },
  { key: 'failed', label: 'Failed', paint: COMPLETION_TONES.failed },
]

const UNIT_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const
const DAY_MS = 86_400_000

/** Those that have begun. @param now Unix milliseconds. */
export function histogramPoints(overview: Overview, { zone, now }: HistogramOptions): readonly ChartPoint[] {
  const { interval, period_start: start, period_end: end } = overview
  const isOneDay = Date.parse(end) - Date.parse(start) <= DAY_MS
  return overview.buckets
    .filter(({ at }) => Date.parse(at) <= now)
    .map(({ at, ...values }) => ({
      at,
      label: bucketLabel(Date.parse(at), { interval, isOneDay, zone }),
      values,
    }))
}

interface HistogramOptions {
  readonly zone: Zone
  readonly now: number
}

export function countOf({ buckets }: Overview): number {
  return buckets.reduce((sum, each) => sum + each.completed + each.failed + each.client_left + each.incomplete, 0)
}

/** The period of the bars from `first` to `last`, as far as it is in that of the histogram. */
export function bucketPeriod({ interval, width, ...overview }: Overview, first: string, last: string): PeriodSearch {
  const start = Math.max(Date.parse(first), Date.parse(overview.period_start))
  const end = Math.min(Date.parse(last) + width * UNIT_MS[interval], Date.parse(overview.period_end))
  return { range: 'custom', from: new Date(start).toISOString(), to: new Date(end).toISOString() }
}

/** `1 hour a bar`, for those who read the chart. */
export function bucketText({ interval, width }: Pick<Overview, 'interval' | 'width'>): string {
  return width === 1 ? `1 ${interval} a bar` : `${width} ${interval}s a bar`
}
