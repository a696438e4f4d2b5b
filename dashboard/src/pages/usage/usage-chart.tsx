/** The period as stacked bars, and the same numbers as a table. */
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { present } from '../../lib/address.ts'
import { formatCount, formatExactUsd, formatUsd } from '../../lib/format.ts'
import { GROUP_NAMES } from '../../lib/group-names.ts'
import {
  amountOf,
  changeOf,
  formatAmount,
  formatBrief,
  formatTick,
  METRIC_NAMES,
  type Metric,
} from '../../lib/measures.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { ChartFrame, type ChartPoint, ChartTable, LineChart, StackedBars } from '../../ui/chart/index.ts'
import { Card, Stat } from '../../ui/page.tsx'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import { clippedSpan, periodSearch, useUsageChange, useUsageSearch } from './address.ts'
import { totalOf } from './breakdown.ts'
import { chartOf, LENGTHS, withTotal } from './chart-data.ts'
import type { AskedReport, Report, ReportQuestion } from './queries.ts'

interface UsageChartProps extends AskedReport {
  readonly metric: Metric
  readonly before: Report | undefined
}

export function UsageChart({ asked, report, metric, before }: UsageChartProps) {
  const { cumulative } = useUsageSearch()
  const zone = useTimeZone()
  const now = useNow()
  const open = useOpenPoints(asked)
  const { period, group = 'model' } = asked
  const interval = group === 'day' ? 'day' : asked.interval
  const isOverTime = group !== 'agent'
  if (isOverTime && interval === undefined) return <TooLong />
  const isCumulative = cumulative === '1' && isOverTime
  const choice = { group, metric, period, interval: interval ?? 'day', cumulative: isCumulative, zone, now } as const
  const { series, points } = chartOf(report, choice)
  const name = METRIC_NAMES[metric]
  const title = `${isCumulative ? 'Cumulative ' : ''}${isCumulative ? name.toLowerCase() : name} by ${GROUP_NAMES[group].toLowerCase()}`
  const amount = Number(amountOf(totalOf(report), metric))
  const format = (of: number) => formatAmount(metric, of)
  const total = <span title={format(amount)}>{formatBrief(metric, amount)}</span>
  const shown = {
    label: title,
    summary: summaryOf(format(amount), points.length, isOverTime ? choice.interval : 'agent'),
    format,
    formatTick: (amount: number) => formatTick(metric, amount),
    height: 280,
    onSelect: (point: ChartPoint) => open(point),
    onZoom: isOverTime ? open : undefined,
  }
  return (
    <ChartFrame
      title={title}
      total={isOverTime ? total : undefined}
      change={isOverTime ? changeText(report, before, metric) : undefined}
      table={
        <ChartTable
          label={title}
          series={series}
          points={points}
          format={format}
          pointHeader={isOverTime ? headerOf(choice.interval, zone) : GROUP_NAMES.agent}
          hasTotals={!isCumulative}
        />
      }
    >
      {isCumulative ? (
        <LineChart {...shown} {...withTotal({ series, points })} />
      ) : (
        <StackedBars {...shown} formatTotal={(amount) => formatBrief(metric, amount)} series={series} points={points} />
      )}
    </ChartFrame>
  )
}

function TooLong() {
  return (
    <p className="rounded-xl border border-line bg-surface px-4 py-3 text-soft">
      Charts show at most 400 days. The table below covers the whole period.
    </p>
  )
}

/** Days become the period, one day by the hour; behind hours and an agent are their requests. */
function useOpenPoints({ group, interval, model, keyId, period }: ReportQuestion) {
  const change = useUsageChange()
  const navigate = useNavigate()
  const search = useUsageSearch()
  return ({ at }: ChartPoint, last: Pick<ChartPoint, 'at'> = { at }) => {
    if (group === 'day' || interval === 'day') {
      return change({
        range: 'custom',
        from: at.slice(0, 10),
        to: last.at.slice(0, 10),
        interval: undefined,
        ...(group === 'day' && { group: undefined }),
      })
    }
    const span =
      group === 'agent'
        ? { ...periodSearch(search, period), agent_id: at }
        : clippedSpan({ start: Date.parse(at), end: Date.parse(last.at) + LENGTHS.hour }, period)
    void navigate({ to: '/requests', search: present({ ...span, model, key_id: keyId }) })
  }
}

function headerOf(interval: 'hour' | 'day', zone: 'local' | 'utc'): string {
  if (interval === 'day') return 'Day (UTC)'
  return zone === 'utc' ? 'Hour (UTC)' : 'Hour'
}

function summaryOf(total: string, count: number, unit: 'hour' | 'day' | 'agent'): string {
  return unit === 'agent' ? `${count} agents.` : `${total} in all, over ${count} ${unit}s.`
}

interface UsageSummaryProps {
  readonly report: Report
  readonly before: Report | undefined
  readonly target: LinkTarget
}

/** Totals; each number links to its requests. */
export function UsageSummary({ report, before, target }: UsageSummaryProps) {
  const change = (metric: Metric) => changeText(report, before, metric)
  const { total_prompt_tokens: prompt, total_completion_tokens: completion } = report
  const linked = (value: string, exact?: string) => (
    <AppLink {...target} title={exact} className="rounded-sm hover:underline">
      {value}
    </AppLink>
  )
  return (
    <Card className="grid grid-cols-1 gap-x-6 gap-y-4 min-[26rem]:grid-cols-2 lg:grid-cols-4">
      <Stat
        label="Spend"
        value={linked(formatUsd(report.total_cost_usd), formatExactUsd(report.total_cost_usd))}
        change={change('spend')}
      />
      <Stat label="Requests" value={linked(formatCount(report.total_requests))} change={change('requests')} />
      <Stat
        label="Tokens"
        value={linked(formatCount(report.total_tokens))}
        change={change('tokens')}
        hint={`${formatCount(prompt)} in, ${formatCount(completion)} out`}
      />
      <Stat label="Spend per request" value={averageOf(report)} hint="Average, failed requests included" />
    </Card>
  )
}

/** To four digits: what is exact of an average has no end. */
function averageOf({ total_cost_usd: usd, total_requests: count }: Report): string {
  return formatUsd(count === 0 ? Number.NaN : Number((usd / count).toPrecision(4)))
}

/** A ratio, or words; undefined while it is not known. */
function changeText(report: Report, before: Report | undefined, metric: Metric): ReactNode {
  if (before === undefined) return undefined
  const change = changeOf(amountOf(totalOf(report), metric), amountOf(totalOf(before), metric))
  return change === 'new' ? 'None before' : change
}
