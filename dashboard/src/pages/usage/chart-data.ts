/** What the chart of a report shows: its series over all hours or days of the period, or one bar for each agent. */
import { type Group, groupLabel } from '../../lib/group-names.ts'
import { amountOf, METRIC_NAMES, type Metric } from '../../lib/measures.ts'
import { modelColors } from '../../lib/model-colors.ts'
import type { Period } from '../../lib/period.ts'
import { bucketLabel, type Zone } from '../../lib/time.ts'
import type { ChartPoint, ChartSeries } from '../../ui/chart/index.ts'
import type { Report } from './queries.ts'
import type { Interval } from './search.ts'

export interface ChartChoice {
  readonly group: Group
  readonly metric: Metric
  readonly period: Pick<Period, 'start' | 'end'>
  readonly interval: Interval
  /** Each point has everything before it, too. */
  readonly cumulative: boolean
  readonly zone: Zone
  /** Unix milliseconds: what has not begun yet is left out. */
  readonly now: number
}

export interface UsageChart {
  readonly series: readonly ChartSeries[]
  /** Nano-dollars, requests or tokens. */
  readonly points: readonly ChartPoint[]
}

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
export const LENGTHS: Readonly<Record<Interval, number>> = { hour: HOUR_MS, day: DAY_MS }
/** Bars for more agents than these say nothing. */
const MAX_AGENTS = 24
const ALL = 'all'
/** The gateway tells no more groups than 50 apart in a series. */
const REST = { key: '', label: 'All others', paint: 'neutral' } as const

export function chartOf(report: Report, choice: ChartChoice): UsageChart {
  if (choice.group === 'agent') return agentBars(report, choice)
  const amounts = choice.group === 'day' ? amountsOfDays(report, choice) : amountsOfSeries(report, choice)
  return { series: seriesOf(report, choice), points: pointsOf(amounts, choice) }
}

type Amounts = ReadonlyMap<number, ReadonlyMap<string, bigint>>

function amountsOfSeries({ series = [] }: Report, { metric }: ChartChoice): Amounts {
  const byTime = Map.groupBy(series, ({ at }) => Date.parse(at))
  return new Map([...byTime].map(([at, sums]) => [at, new Map(sums.map((sum) => [sum.key, amountOf(sum, metric)]))]))
}

function amountsOfDays({ groups = [] }: Report, { metric }: ChartChoice): Amounts {
  return new Map(groups.map((day) => [Date.parse(day.key), new Map([[ALL, amountOf(day, metric)]])]))
}

function seriesOf({ groups = [], series: sums = [] }: Report, { group, metric }: ChartChoice): readonly ChartSeries[] {
  if (group === 'day') return [{ key: ALL, label: METRIC_NAMES[metric] }]
  const shown = new Set(sums.map(({ key }) => key))
  const named = groups
    .filter(({ key }) => shown.has(key))
    .map((each) => ({ key: each.key, label: groupLabel(group, each) }))
  const colors = group === 'model' ? modelColors(named.map(({ key }) => key)) : []
  const series = named.map((each, index) => ({ ...each, paint: colors[index] }))
  return shown.has(REST.key) ? [...series, REST] : series
}

function pointsOf(amounts: Amounts, choice: ChartChoice): readonly ChartPoint[] {
  const { interval, period, zone, cumulative } = choice
  const isOneDay = Date.parse(period.end) - Date.parse(period.start) <= DAY_MS
  const sums = new Map<string, bigint>()
  return bucketStarts(choice).map((at) => {
    const here = amounts.get(at) ?? new Map<string, bigint>()
    for (const [key, amount] of here) sums.set(key, (sums.get(key) ?? 0n) + amount)
    const shown = cumulative ? sums : here
    return {
      at: new Date(at).toISOString(),
      label: bucketLabel(at, { interval, isOneDay, zone }),
      values: Object.fromEntries([...shown].map(([key, amount]) => [key, Number(amount)])),
    }
  })
}

/** The first moments of the hours or days (of UTC) of a period that have begun. */
export function bucketStarts({
  period,
  interval,
  now,
}: Pick<ChartChoice, 'period' | 'interval' | 'now'>): readonly number[] {
  const length = LENGTHS[interval]
  const first = Math.floor(Date.parse(period.start) / length)
  const end = Math.min(Math.ceil(Date.parse(period.end) / length), Math.floor(now / length) + 1)
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => (first + index) * length)
}

/** What agents use has no series: there is one bar for each, the largest first. */
function agentBars({ groups = [] }: Report, { metric }: ChartChoice): UsageChart {
  const series = [{ key: ALL, label: METRIC_NAMES[metric] }]
  const bySize = groups.map((group) => ({ group, amount: amountOf(group, metric) })).toSorted(largestFirst)
  const points = bySize.slice(0, MAX_AGENTS).map(({ group, amount }) => ({
    at: group.key,
    label: groupLabel('agent', group),
    values: { [ALL]: Number(amount) },
  }))
  return { series, points }
}

function largestFirst(one: { readonly amount: bigint }, other: { readonly amount: bigint }): number {
  if (one.amount === other.amount) return 0
  return one.amount > other.amount ? -1 : 1
}

/** What is chosen, where the period allows it: hours for at most 32 days, days for at most 400. */
export function intervalOf(
  { start, end }: Pick<Period, 'start' | 'end'>,
  chosen: Interval | undefined,
): { readonly interval: Interval | undefined; readonly canChoose: boolean } {
  const length = Date.parse(end) - Date.parse(start)
  if (length > 400 * DAY_MS) return { interval: undefined, canChoose: false }
  const canChoose = length > DAY_MS && length <= 32 * DAY_MS
  if (canChoose && chosen !== undefined) return { interval: chosen, canChoose }
  return { interval: length <= 2 * DAY_MS ? 'hour' : 'day', canChoose }
}

/** Lines that can be told apart: the total and these, of which the last is the rest where there are more. */
const MAX_LINES = 7
const TOTAL = { key: '\u0000total', label: 'Total', paint: 'neutral' } as const
const REST_KEY = '\u0000rest'

/** For lines that grow: the total, the groups that are largest in the end, and all others as one. */
export function withTotal({ series, points }: UsageChart): UsageChart {
  if (series.length < 2) return { series, points }
  const last = points.findLast(({ values }) => Object.keys(values).length > 0)
  const ranked = series.toSorted((one, other) => amountAt(last, other.key) - amountAt(last, one.key))
  const others = ranked.length > MAX_LINES ? ranked.slice(MAX_LINES - 1) : []
  const shown = series.filter((each) => !others.includes(each))
  const rest = others.length === 0 ? [] : [{ key: REST_KEY, label: `Other (${others.length})` }]
  return {
    series: [TOTAL, ...shown, ...rest],
    points: points.map((point) => {
      if (Object.keys(point.values).length === 0) return point // nothing yet, or not begun
      const sum = (keys: readonly { readonly key: string }[]) =>
        keys.reduce((all, { key }) => all + amountAt(point, key), 0)
      return { ...point, values: { ...point.values, [TOTAL.key]: sum(series), [REST_KEY]: sum(others) } }
    }),
  }
}

function amountAt(point: ChartPoint | undefined, key: string): number {
  return (point !== undefined && Object.hasOwn(point.values, key) && point.values[key]) || 0
}
