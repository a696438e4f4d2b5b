/** How fast and how reliable a model was in the last 24 hours, by the account's own requests. */
import { useQuery } from '@tanstack/react-query'
import { formatCount, formatMs, formatSuccess, plural } from '../../lib/format.ts'
import { resolvePeriod } from '../../lib/period.ts'
import { ChartFrame, type ChartSeries, ChartTable } from '../../ui/chart/index.ts'
import { Stat } from '../../ui/page.tsx'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import { UptimeLegend, UptimeStrip } from '../../ui/uptime-strip.tsx'
import { firstKnownHour, type UptimeCell, uptimeCells } from '../../ui/uptime-strip-cells.ts'
import { type Speed, uptimesQuery } from './queries.ts'

const TITLE = 'Your last 24 hours'
const SERIES: readonly ChartSeries[] = [
  { key: 'requests', label: 'Requests' },
  { key: 'failed', label: 'Failed' },
]

/** Nothing where the model was not called. */
export function LastDay({ model }: { readonly model: string }) {
  const now = useNow()
  const zone = useTimeZone()
  const { data } = useQuery(uptimesQuery(resolvePeriod({ range: '24h' }, now, '24h')))
  const speed = data?.groups.find(({ key }) => key === model)
  if (data === undefined || speed === undefined) return null
  const cells = uptimeCells(speed.hours ?? [], { now, zone, knownFrom: firstKnownHour(data) })
  return (
    <ChartFrame title={TITLE} table={<HoursTable cells={cells} />}>
      <Stats speed={speed} />
      <UptimeStrip cells={cells} className="mt-4 h-auto w-full max-w-sm" />
      <UptimeLegend cells={cells} className="mt-2" />
      <p className="mt-2 text-xs text-soft">{noteOf(data.sampled)}</p>
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

function noteOf(isSampled: boolean): string {
  const what = 'Each mark is an hour of your requests, from whichever provider.'
  return isSampled ? `${what} From the newest 5,000 requests.` : what
}

function HoursTable({ cells }: { readonly cells: readonly UptimeCell[] }) {
  const points = cells.map(({ at, label, state, requests, failed }) => ({
    at,
    label,
    values: state === 'unknown' ? {} : { requests, failed },
  }))
  return <ChartTable label={TITLE} series={SERIES} points={points} format={formatCount} pointHeader="Hour" />
}
