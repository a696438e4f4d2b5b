import { useQuery } from '@tanstack/react-query'
import { formatMs } from '../../lib/format.ts'
import { ChartFrame, type ChartSeries, ChartTable, LineChart } from '../../ui/chart/index.ts'
import { Failed, Skeleton } from '../../ui/states.tsx'
import { useTimeZone } from '../../ui/time-zone.ts'
import { changeOf, latencyPoints, usualFirstByte } from './chart-data.ts'
import { CHART_HEIGHT, changeShown, TotalLink } from './chart-parts.tsx'
import { earlierPerformanceQuery, performanceQuery } from './queries.ts'
import type { HomeRange } from './search.ts'
import { type HomePeriods, measuredPeriods } from './use-home-period.ts'

const TITLE = 'Time to first token'
const SERIES: readonly ChartSeries[] = [
  { key: 'p50', label: 'p50' },
  { key: 'p95', label: 'p95' },
]

interface FirstTokenChartProps {
  readonly range: HomeRange
  readonly periods: HomePeriods
}

export function FirstTokenChart({ range, periods }: FirstTokenChartProps) {
  const zone = useTimeZone()
  const { period, before } = measuredPeriods(periods)
  const performance = useQuery(performanceQuery(period))
  const earlier = useQuery(earlierPerformanceQuery(before))
  const { data, error } = performance
  if (data === undefined) {
    if (error === null) return <Skeleton className="h-72 rounded-xl" />
    return <Failed error={error} what="response times" onRetry={() => void performance.refetch()} />
  }
  const usual = usualFirstByte(data.series)
  const points = latencyPoints(data.series, period, zone)
  const format = (ms: number) => formatMs(ms)
  const text = usual === undefined ? 'No streams' : formatMs(usual)
  return (
    <ChartFrame
      title={TITLE}
      total={<TotalLink target={{ to: '/requests', search: { range: range === '30d' ? '7d' : range } }} text={text} />}
      change={
        usual === undefined
          ? undefined
          : changeShown(changeOf(usual, earlierOf(earlier.data)), earlier.data !== undefined)
      }
      table={
        <ChartTable
          label={TITLE}
          series={SERIES}
          points={points.filter(({ values }) => typeof values.p50 === 'number')}
          format={format}
          pointHeader="Hour"
          hasTotals={false}
        />
      }
    >
      <LineChart
        label={TITLE}
        summary={`${TITLE} of streams by hour, ${period.label.toLowerCase()}: usually ${text}.`}
        series={SERIES}
        points={points}
        format={format}
        height={CHART_HEIGHT}
      />
      <p className="mt-2 text-xs text-soft">{noteOf(range, data.sampled)}</p>
    </ChartFrame>
  )
}

function earlierOf(data: { readonly series: Parameters<typeof usualFirstByte>[0] } | undefined): number | undefined {
  return data === undefined ? undefined : usualFirstByte(data.series)
}

function noteOf(range: HomeRange, isSampled: boolean): string {
  const what = `Streams by hour${range === '30d' ? ' of the last 7 days' : ''}. The figure at the top is the median hour.`
  return isSampled ? `${what} From the newest 5,000 requests.` : what
}
