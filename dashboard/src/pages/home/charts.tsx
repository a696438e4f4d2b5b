/** The four charts: requests by model, time to the first token, tokens in and out, spend by model. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  formatCompact,
  formatCount,
  formatExactUsd,
  formatMs,
  formatUsd,
  formatUsdBriefly,
  plural,
} from '../../lib/format.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import {
  ChartFrame,
  type ChartPoint,
  type ChartSeries,
  ChartTable,
  LineChart,
  SharedMoment,
  StackedBars,
} from '../../ui/chart/index.ts'
import { Failed, Loaded, Skeleton } from '../../ui/states.tsx'
import { useTimeZone } from '../../ui/time-zone.ts'
import { amountsOf, changeOf, latencyPoints, seriesOf, usualFirstByte } from './chart-data.ts'
import {
  type HomePeriods,
  performanceQuery,
  timesQuery,
  type UsageReport,
  usageQuery,
  usageTotalsQuery,
  useHomePeriods,
} from './queries.ts'
import type { HomeRange } from './search.ts'

export function Charts({ range }: { readonly range: HomeRange }) {
  const periods = useHomePeriods(range)
  const interval = range === '24h' ? 'hour' : 'day'
  const usage = useQuery(usageQuery(periods.period))
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
      <SharedMoment value={useState<string>()}>
        <div className="grid gap-4 lg:grid-cols-2">
          {parts === undefined ? <Unloaded query={usage} /> : <AmountChart {...parts} kind="requests" />}
          <FirstTokenChart range={range} periods={periods} />
          {parts === undefined ? <Unloaded query={usage} /> : <AmountChart {...parts} kind="tokens" />}
          {parts === undefined ? <Unloaded query={usage} /> : <AmountChart {...parts} kind="cost" />}
        </div>
      </SharedMoment>
    </section>
  )
}

const nothing = () => null

/** Replaces a chart that failed to load; one error above the charts has the reason. */
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
  const points = amountsOf(rows, periods.period, { interval, zone, now: periods.now })[kind]
  const order = (report.groups ?? []).map(({ key }) => key)
  const series = kind === 'tokens' ? TOKEN_SERIES : seriesOf(rows, order)
  const { title, format, formatBrief = format, formatTick, formatTotal, text, of, target } = KINDS[kind]
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
        format={formatBrief}
        formatTick={formatTick}
        formatTotal={formatTotal}
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
  const pointHeader = interval === 'hour' ? 'Hour' : 'Day'
  return <ChartTable label={title} series={series} points={points} format={format} pointHeader={pointHeader} />
}

interface KindWords {
  readonly title: string
  readonly of: (report: UsageReport) => number
  /** With its unit. */
  readonly text: (total: number) => string
  readonly format: (value: number) => string
  /** Beside the pointer; the table has every digit. */
  readonly formatBrief?: (value: number) => string
  /** In the legend; `formatBrief` unless given. */
  readonly formatTotal?: (value: number) => string
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
    text: formatUsd,
    format: formatExactUsd,
    formatBrief: formatUsd,
    formatTotal: formatUsdBriefly,
    formatTick: formatExactUsd,
    target: (range) => ({ to: '/usage', search: { range, metric: 'spend' } }),
  },
}

/** In CSS pixels: all four are seen at once on a laptop. */
const CHART_HEIGHT = 168

function TotalLink({ target, text }: { readonly target: LinkTarget; readonly text: string }) {
  return (
    <AppLink {...target} className="rounded-sm hover:text-accent hover:underline">
      {text}
    </AppLink>
  )
}

/** A ratio; in its place, where there can be none, why. @param isKnown Whether the period before has been loaded. */
function changeShown(change: number | undefined, isKnown: boolean): number | string | undefined {
  return isKnown ? (change ?? 'none in the previous period') : undefined
}

const TITLE = 'Time to first token'
const SERIES: readonly ChartSeries[] = [
  { key: 'p50', label: 'p50' },
  { key: 'p95', label: 'p95' },
]

interface FirstTokenChartProps {
  readonly range: HomeRange
  readonly periods: HomePeriods
}

function FirstTokenChart({ range, periods }: FirstTokenChartProps) {
  const zone = useTimeZone()
  const { period, before, now } = periods
  const performance = useQuery(range === '24h' ? performanceQuery(period) : timesQuery(period))
  const earlier = useQuery(timesQuery(before))
  const { data, error } = performance
  if (data === undefined) {
    if (error === null) return <Skeleton className="h-72 rounded-xl" />
    return <Failed error={error} what="response times" onRetry={() => void performance.refetch()} />
  }
  const usual = usualFirstByte(data.series)
  const points = latencyPoints(data.series, period, { zone, now })
  const format = (ms: number) => formatMs(ms)
  const text = usual === undefined ? 'No streams' : formatMs(usual)
  return (
    <ChartFrame
      title={TITLE}
      total={<TotalLink target={{ to: '/requests', search: { range } }} text={text} />}
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
      <p className="mt-2 text-xs text-soft">Streams by hour. The figure at the top is the median hour.</p>
    </ChartFrame>
  )
}

function earlierOf(data: { readonly series: Parameters<typeof usualFirstByte>[0] } | undefined): number | undefined {
  return data === undefined ? undefined : usualFirstByte(data.series)
}
