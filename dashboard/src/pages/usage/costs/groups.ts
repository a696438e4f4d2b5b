/** Rows and bars of a report of costs. The rows add up to the report's own total, to the nano-dollar. */
import { amountOf, type Counts, type Metric, shareOf } from '../../../lib/measures.ts'
import { modelColors } from '../../../lib/model-colors.ts'
import type { Period } from '../../../lib/period.ts'
import { bucketLabel } from '../../../lib/time.ts'
import type { ChartPoint, ChartSeries } from '../../../ui/chart/index.ts'
import { bucketStarts } from '../chart-data.ts'
import type { Report } from '../queries.ts'
import { type Dimension, type NameOf, valueLabel } from './dimensions.ts'

export interface CostRow extends Counts {
  readonly key: string
  /** One for each dimension; null: the requests have none. */
  readonly values: readonly (string | null)[]
  /** The rest: the number of its groups. */
  readonly restOf: number | undefined
  /** Of the spend. */
  readonly share: number | undefined
}

export function rowsOf(report: Report, dimensions: readonly Dimension[]): readonly CostRow[] {
  const whole = amountOf(totalOf(report), 'spend')
  const row = (counts: Counts, values: CostRow['values'], restOf: number | undefined): CostRow => ({
    ...{ requests: counts.requests, tokens: counts.tokens, cost_usd: counts.cost_usd },
    key: JSON.stringify([restOf, ...values]),
    values,
    restOf,
    share: shareOf(amountOf(counts, 'spend'), whole),
  })
  const groups = (report.groups ?? []).map((group) => row(group, valuesOf(group, dimensions), undefined))
  const { other } = report
  return other === undefined ? groups : [...groups, row(other, [], other.groups)]
}

type Group = NonNullable<Report['groups']>[number]

/** A report by one thing has no `keys`. */
function valuesOf({ key, keys }: Group, dimensions: readonly Dimension[]): CostRow['values'] {
  return keys === undefined ? [key] : dimensions.map((name) => keys[name] ?? null)
}

export function totalOf(report: Report): Counts {
  return { requests: report.total_requests, tokens: report.total_tokens, cost_usd: report.total_cost_usd }
}

export interface CostChartChoice {
  /** `day` and, behind it, what the bars are made of. */
  readonly dimensions: readonly Dimension[]
  readonly metric: Metric
  readonly period: Pick<Period, 'start' | 'end'>
  readonly nameOf: NameOf
  /** Unix milliseconds: days that have not begun are left out. */
  readonly now: number
}

export interface CostChart {
  readonly series: readonly ChartSeries[]
  readonly points: readonly ChartPoint[]
}

const ALL: ChartSeries = { key: 'all', label: 'All' }

/** Bars of days, the largest series first. */
export function costChartOf(report: Report, choice: CostChartChoice): CostChart {
  const { dimensions, metric, period, nameOf, now } = choice
  const part = dimensions[1]
  const days = new Map<string, Record<string, number>>()
  const sums = new Map<string, { readonly label: string; amount: number }>()
  for (const group of report.groups ?? []) {
    const [day, value = null] = valuesOf(group, dimensions)
    const { key, label } =
      part === undefined ? ALL : { key: JSON.stringify(value), label: valueLabel(part, value, nameOf) }
    const amount = Number(amountOf(group, metric))
    const sum = sums.get(key) ?? { label, amount: 0 }
    sum.amount += amount
    sums.set(key, sum)
    const values = days.get(day ?? '') ?? {}
    values[key] = amount
    days.set(day ?? '', values)
  }
  const series = [...sums].toSorted(([, one], [, other]) => other.amount - one.amount)
  const colors = part === 'model' ? modelColors(series.map(([, { label }]) => label)) : []
  return {
    series: series.map(([key, { label }], index) => ({ key, label, paint: colors[index] })),
    points: bucketStarts({ period, interval: 'day', now }).map((start) => {
      const at = new Date(start).toISOString()
      const label = bucketLabel(start, { interval: 'day', isOneDay: false, zone: 'utc' })
      return { at, label, values: days.get(at.slice(0, 10)) ?? {} }
    }),
  }
}
