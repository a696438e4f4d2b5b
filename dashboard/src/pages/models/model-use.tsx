/** What this account used of the model in the last week, and how fast and how reliable it was in the last day. */
import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../api/me.ts'
import { formatCount, formatMs, formatSuccess, formatUsd, plural } from '../../lib/format.ts'
import { modelColors } from '../../lib/model-colors.ts'
import { type Period, resolvePeriod } from '../../lib/period.ts'
import { formatDate, startOfDay, type Zone } from '../../lib/time.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { ChartFrame, type ChartPoint, type ChartSeries, ChartTable, StackedBars } from '../../ui/chart/index.ts'
import { Stat } from '../../ui/page.tsx'
import { Failed, Skeleton } from '../../ui/states.tsx'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import { UptimeLegend, UptimeStrip } from '../../ui/uptime-strip.tsx'
import { type UptimeCell, uptimeCells } from '../../ui/uptime-strip-cells.ts'
import { modelUseQuery, type Speed, uptimesQuery } from './queries.ts'

export function ModelUse({ model }: { readonly model: string }) {
  const mayRead = useCan('usage:read')
  return mayRead ? (
    <>
      <Week model={model} />
      <LastDay model={model} />
    </>
  ) : null
}

function Week({ model }: { readonly model: string }) {
  const zone = useTimeZone()
  const period = resolvePeriod({ range: '7d' }, useNow(), '7d', zone)
  const use = useQuery(modelUseQuery(model, period))
  const { data, error } = use
  if (data === undefined) {
    if (error === null) return <Skeleton className="h-64 rounded-xl" />
    return <Failed error={error} what="your use of it" onRetry={() => void use.refetch()} />
  }
  // A model that is only looked at takes no color from those in use.
  const paint = data.total_requests === 0 ? undefined : modelColors([model])[0]
  const series = [{ key: 'requests', label: 'Requests', paint }]
  const points = daysOf(data.series ?? [], period, zone)
  const title = 'Your requests, last 7 days'
  const text = plural(data.total_requests, 'request')
  return (
    <ChartFrame
      title={title}
      total={
        <AppLink
          to="/requests"
          search={{ range: '7d', model }}
          className="rounded-sm hover:text-accent hover:underline"
        >
          {text}
        </AppLink>
      }
      change={`${plural(data.total_tokens, 'token')}, ${formatUsd(data.total_cost_usd)}`}
      table={<ChartTable label={title} series={series} points={points} format={formatCount} pointHeader="Day" />}
    >
      <StackedBars
        label={title}
        summary={`${text} in the last 7 days.`}
        series={series}
        points={points}
        format={formatCount}
        height={160}
      />
    </ChartFrame>
  )
}

interface HourRow {
  readonly at: string
  readonly requests: number
}

/** Each day of the period, of the zone; an hour belongs to the day that it begins in. */
function daysOf(rows: readonly HourRow[], { start, end }: Period, zone: Zone): readonly ChartPoint[] {
  const byDay = Map.groupBy(rows, ({ at }) => startOfDay(Date.parse(at), zone, { days: 0 }))
  const points: ChartPoint[] = []
  for (let day = Date.parse(start); day < Date.parse(end); day = startOfDay(day, zone, { days: 1 })) {
    const at = new Date(day).toISOString()
    const label = formatDate(at, zone).replace(/, \d{4}$/, '')
    const requests = (byDay.get(day) ?? []).reduce((sum, row) => sum + row.requests, 0)
    points.push({ at, label, values: { requests } })
  }
  return points
}

const TITLE = 'Your last 24 hours'
const DAY_SERIES: readonly ChartSeries[] = [
  { key: 'requests', label: 'Requests' },
  { key: 'failed', label: 'Failed' },
]

/** Nothing where the model was not called. */
function LastDay({ model }: { readonly model: string }) {
  const now = useNow()
  const zone = useTimeZone()
  const { data } = useQuery(uptimesQuery(resolvePeriod({ range: '24h' }, now, '24h')))
  const speed = data?.groups.find(({ key }) => key === model)
  if (data === undefined || speed === undefined) return null
  const cells = uptimeCells(speed.hours ?? [], { now, zone })
  return (
    <ChartFrame title={TITLE} table={<HoursTable cells={cells} />}>
      <Stats speed={speed} />
      <UptimeStrip cells={cells} className="mt-4 h-auto w-full max-w-sm" />
      <UptimeLegend cells={cells} className="mt-2" />
      <p className="mt-2 text-xs text-soft">Each mark is one hour of your requests, over all providers.</p>
    </ChartFrame>
  )
}

function Stats({ speed }: { readonly speed: Speed }) {
  const { first_byte_ms: firstToken, duration_ms: duration, success_rate: success, requests, failed } = speed
  return (
    <div className="grid grid-cols-2 gap-4 sm:grid-cols-3">
      <Stat
        label="Uptime"
        value={success === null ? '—' : formatSuccess(success)}
        hint={`${formatCount(failed)} of ${plural(requests, 'request')} failed`}
      />
      <Stat label="Time to first token" {...percentiles(firstToken, 'No streams')} />
      <Stat label="Whole answer" {...percentiles(duration, 'None completed')} />
    </div>
  )
}

/** The median, with what 95 % do not exceed below it. */
function percentiles(times: { readonly p50: number; readonly p95: number } | null, none: string) {
  return times === null
    ? { value: '—', hint: none }
    : { value: formatMs(times.p50), hint: `p95 ${formatMs(times.p95)}` }
}

function HoursTable({ cells }: { readonly cells: readonly UptimeCell[] }) {
  const points = cells.map(({ at, label, requests, failed }) => ({
    at,
    label,
    values: { requests, failed },
  }))
  return <ChartTable label={TITLE} series={DAY_SERIES} points={points} format={formatCount} pointHeader="Hour" />
}
