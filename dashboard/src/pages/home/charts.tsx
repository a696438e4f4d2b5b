/** The four charts: requests by model, time to the first token, tokens in and out, spend by model. */
import { useQuery } from '@tanstack/react-query'
import { formatCompact, formatCount, formatUsd, plural } from '../../lib/format.ts'
import type { LinkTarget } from '../../ui/app-link.tsx'
import { ChartFrame, type ChartPoint, type ChartSeries, ChartTable, StackedBars } from '../../ui/chart/index.ts'
import { Loaded, Skeleton } from '../../ui/states.tsx'
import { useTimeZone } from '../../ui/time-zone.ts'
import { amountsOf, changeOf, seriesOf } from './chart-data.ts'
import { CHART_HEIGHT, changeShown, spendText, TotalLink } from './chart-parts.tsx'
import { FirstTokenChart } from './first-token-chart.tsx'
import { type UsageReport, usageQuery, usageTotalsQuery } from './queries.ts'
import type { HomeRange } from './search.ts'
import { type HomePeriods, useHomePeriods } from './use-home-period.ts'

export function Charts({ range }: { readonly range: HomeRange }) {
  const periods = useHomePeriods(range)
  const interval = range === '24h' ? 'hour' : 'day'
  const usage = useQuery(usageQuery(periods.period, interval))
  const before = useQuery(usageTotalsQuery(periods.before))
  const { data } = usage
  const parts = data && ({ range, periods, interval, report: data, before: before.data } as const)
  return (
    <section aria-label="Use" className="flex flex-col gap-4">
      <h2 className="sr-only">Use, {periods.period.label.toLowerCase()}</h2>
      {usage.error !== null && (
        <Loaded query={usage} what="usage">
          {nothing}
        </Loaded>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        {parts === undefined ? <Unloaded query={usage} /> : <AmountChart {...parts} kind="requests" />}
        <FirstTokenChart range={range} periods={periods} />
        {parts === undefined ? <Unloaded query={usage} /> : <AmountChart {...parts} kind="tokens" />}
        {parts === undefined ? <Unloaded query={usage} /> : <AmountChart {...parts} kind="cost" />}
      </div>
    </section>
  )
}

const nothing = () => null

/** In the place of a chart; what went wrong is said once, above all of them. */
function Unloaded({ query }: { readonly query: { readonly error: unknown } }) {
  return query.error === null ? <Skeleton className="h-72 rounded-xl" /> : null
}

type Kind = 'requests' | 'tokens' | 'cost'

interface AmountChartProps {
  readonly kind: Kind
  readonly range: HomeRange
  readonly periods: HomePeriods
  readonly report: UsageReport
  readonly before: UsageReport | undefined
  readonly interval: 'hour' | 'day'
}

const TOKEN_SERIES: readonly ChartSeries[] = [
  { key: 'input', label: 'Input' },
  { key: 'output', label: 'Output' },
]

function AmountChart({ kind, range, periods, report, before, interval }: AmountChartProps) {
  const zone = useTimeZone()
  const rows = report.series ?? []
  const points = amountsOf(rows, periods.period, { interval, zone })[kind]
  const order = (report.groups ?? []).map(({ key }) => key)
  const series = kind === 'tokens' ? TOKEN_SERIES : seriesOf(rows, order)
  const { title, format, formatTick, text, of, target } = KINDS[kind]
  const total = of(report)
  const summary = `${title}, ${periods.period.label.toLowerCase()}: ${text(total)} in all.`
  return (
    <ChartFrame
      title={title}
      total={<TotalLink target={target(range)} text={text(total)} />}
      change={changeShown(changeOf(total, before && of(before)), before !== undefined)}
      table={<AmountTable {...{ title, series, points, format, interval }} />}
    >
      <StackedBars
        label={title}
        summary={summary}
        series={series}
        points={points}
        format={format}
        formatTick={formatTick}
        height={CHART_HEIGHT}
      />
    </ChartFrame>
  )
}

interface AmountTableProps {
  readonly title: string
  readonly series: readonly ChartSeries[]
  readonly points: readonly ChartPoint[]
  readonly format: (value: number) => string
  readonly interval: 'hour' | 'day'
}

function AmountTable({ title, series, points, format, interval }: AmountTableProps) {
  const pointHeader = interval === 'hour' ? 'Hour' : 'Day (UTC)'
  return <ChartTable label={title} series={series} points={points} format={format} pointHeader={pointHeader} />
}

interface KindWords {
  readonly title: string
  readonly of: (report: UsageReport) => number
  /** With its unit. */
  readonly text: (total: number) => string
  readonly format: (value: number) => string
  readonly formatTick: (value: number) => string
  readonly target: (range: HomeRange) => LinkTarget
}

const KINDS: Readonly<Record<Kind, KindWords>> = {
  requests: {
    title: 'Requests by model',
    of: (report) => report.total_requests,
    text: (total) => plural(total, 'request'),
    format: formatCount,
    formatTick: formatCompact,
    target: (range) => ({ to: '/requests', search: { range } }),
  },
  tokens: {
    title: 'Input and output tokens',
    of: (report) => report.total_tokens,
    text: (total) => plural(total, 'token'),
    format: formatCount,
    formatTick: formatCompact,
    target: (range) => ({ to: '/usage', search: { range, metric: 'tokens' } }),
  },
  cost: {
    title: 'Spend by model',
    of: (report) => report.total_cost_usd,
    text: spendText,
    format: (usd) => formatUsd(usd),
    formatTick: (usd) => formatUsd(usd),
    target: (range) => ({ to: '/usage', search: { range, metric: 'spend' } }),
  },
}
