/** The time to the first token by hour, and the same numbers as a table. */
import { useNavigate } from '@tanstack/react-router'
import { formatMs } from '../../lib/format.ts'
import type { Period } from '../../lib/period.ts'
import { ChartFrame, ChartTable, LineChart } from '../../ui/chart/index.ts'
import { useTimeZone } from '../../ui/time-zone.ts'
import { clippedSpan } from './address.ts'
import { HOUR_MS } from './chart-data.ts'
import { SPEED_SERIES, type SpeedHour, speedPoints, speedSummary } from './speed-data.ts'

interface SpeedChartProps {
  readonly hours: readonly SpeedHour[]
  readonly period: Pick<Period, 'start' | 'end'>
}

const TITLE = 'Time to first token'

export function SpeedChart({ hours, period }: SpeedChartProps) {
  const zone = useTimeZone()
  const navigate = useNavigate()
  const points = speedPoints(hours, period, zone)
  const summary = speedSummary(points)
  if (summary === undefined) return <NoStreams />
  const openHour = ({ at }: { readonly at: string }) => {
    const start = Date.parse(at)
    void navigate({ to: '/requests', search: { ...clippedSpan({ start, end: start + HOUR_MS }, period) } })
  }
  return (
    <ChartFrame
      title={TITLE}
      table={
        <ChartTable
          label={TITLE}
          series={SPEED_SERIES}
          points={points.filter(({ values }) => typeof values['p50'] === 'number')}
          format={formatMs}
          pointHeader={zone === 'utc' ? 'Hour (UTC)' : 'Hour'}
          hasTotals={false}
        />
      }
    >
      <p className="mb-3 max-w-prose text-sm text-soft">{summary}</p>
      <LineChart
        label={TITLE}
        summary={summary}
        series={SPEED_SERIES}
        points={points}
        format={formatMs}
        height={260}
        onSelect={openHour}
      />
    </ChartFrame>
  )
}

function NoStreams() {
  return (
    <p className="rounded-xl border border-line bg-surface px-4 py-3 text-soft">
      None of these requests was streamed, so that there is no time to first token. The table below has how long they
      took.
    </p>
  )
}
