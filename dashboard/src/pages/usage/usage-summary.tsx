/** What was used in all: each number leads to the requests behind it. */
import type { ReactNode } from 'react'
import { formatCount, formatUsd } from '../../lib/format.ts'
import type { Metric } from '../../lib/measures.ts'
import { amountOf, changeOf, formatHeadline } from '../../lib/measures.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { Card, Stat } from '../../ui/page.tsx'
import { totalOf } from './breakdown.ts'
import type { Report } from './queries.ts'

interface UsageSummaryProps {
  readonly report: Report
  readonly before: Report | undefined
  readonly target: LinkTarget
}

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
        value={linked(formatHeadline(report.total_cost_usd), formatUsd(report.total_cost_usd))}
        change={change('spend')}
      />
      <Stat label="Requests" value={linked(formatCount(report.total_requests))} change={change('requests')} />
      <Stat
        label="Tokens"
        value={linked(formatCount(report.total_tokens))}
        change={change('tokens')}
        hint={`${formatCount(prompt)} in, ${formatCount(completion)} out`}
      />
      <Stat label="Spend per request" value={averageOf(report)} hint="On average, failed ones included" />
    </Card>
  )
}

/** To four digits: what is exact of an average has no end. */
function averageOf({ total_cost_usd: usd, total_requests: count }: Report): string {
  return formatUsd(count === 0 ? Number.NaN : Number((usd / count).toPrecision(4)))
}

/** A ratio, or words; undefined while it is not known. */
export function changeText(report: Report, before: Report | undefined, metric: Metric): ReactNode {
  if (before === undefined) return undefined
  const change = changeOf(amountOf(totalOf(report), metric), amountOf(totalOf(before), metric))
  return change === 'new' ? 'None before' : change
}
