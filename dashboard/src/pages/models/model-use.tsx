/** What this account used of the model in the last week, and how fast and how reliable it was in the last day. */
import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../api/me.ts'
import { formatCount, formatUsd, plural } from '../../lib/format.ts'
import { type Period, resolvePeriod } from '../../lib/period.ts'
import { formatDate } from '../../lib/time.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { ChartFrame, type ChartPoint, ChartTable, StackedBars } from '../../ui/chart/index.ts'
import { Failed, Skeleton } from '../../ui/states.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { LastDay } from './last-day.tsx'
import { modelUseQuery } from './queries.ts'

const DAY_MS = 86_400_000
const SERIES = [{ key: 'requests', label: 'Requests' }] as const

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
  const period = resolvePeriod({ range: '7d' }, useNow(), '7d')
  const use = useQuery(modelUseQuery(model, period))
  const { data, error } = use
  if (data === undefined) {
    if (error === null) return <Skeleton className="h-64 rounded-xl" />
    return <Failed error={error} what="your use of it" onRetry={() => void use.refetch()} />
  }
  const points = daysOf(data.series ?? [], period)
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
      table={<ChartTable label={title} series={SERIES} points={points} format={formatCount} pointHeader="Day (UTC)" />}
    >
      <StackedBars
        label={title}
        summary={`${text} in the last 7 days.`}
        series={SERIES}
        points={points}
        format={formatCount}
        height={160}
      />
    </ChartFrame>
  )
}

interface DayRow {
  readonly at: string
  readonly requests: number
}

/** Each day of the period, of UTC. */
function daysOf(rows: readonly DayRow[], { start, end }: Period): readonly ChartPoint[] {
  const requests = new Map(rows.map((row) => [Date.parse(row.at), row.requests]))
  const first = Date.parse(start)
  return Array.from({ length: Math.round((Date.parse(end) - first) / DAY_MS) }, (_, index) => {
    const at = new Date(first + index * DAY_MS).toISOString()
    const label = formatDate(at, 'utc').replace(/, \d{4}$/, '')
    return { at, label, values: { requests: requests.get(Date.parse(at)) ?? 0 } }
  })
}
