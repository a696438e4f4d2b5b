/** What a chart shows: series of values over the same points. */
import { CHART_COLORS, type Tone } from '../../lib/tones.ts'

export interface ChartSeries {
  readonly key: string
  readonly label: string
  /**
   * Its color: one of the `CHART_COLORS` by its number, from 0, unless an earlier series of the chart has it; or that of
   * a status. Undefined: by its position.
   */
  readonly paint?: number | Tone | undefined
  /** Of its dash and its texture, from 0: set by `painted`. */
  readonly pattern?: number
}

export interface ChartPoint {
  /** ISO 8601: where the point's interval begins. Tells points apart. */
  readonly at: string
  /** As it is written under the axis and read out. */
  readonly label: string
  /** By series; a series that is not there, or null, has no value at this point. */
  readonly values: Readonly<Record<string, number | null | undefined>>
}

/** The rest in one series, where there are more than can be told apart. */
export const OTHER_KEY = '\u0000other'
const MAX_SERIES = 8

export interface ChartData {
  readonly series: readonly ChartSeries[]
  readonly points: readonly ChartPoint[]
}

/** Names of series come from people: `constructor` is one like any other. */
export function valueAt(point: ChartPoint | undefined, key: string): number | undefined {
  if (point === undefined) return undefined
  const value = Object.hasOwn(point.values, key) ? point.values[key] : undefined
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Where a series has a value and neither neighbor has: of a line, nothing would be seen there. */
export function lonePoints(points: readonly ChartPoint[], key: string): readonly number[] {
  const has = points.map((point) => valueAt(point, key) !== undefined)
  return has.flatMap((isThere, index) => (isThere && !has[index - 1] && !has[index + 1] ? [index] : []))
}

export function totalOf(points: readonly ChartPoint[], key: string): number {
  return points.reduce((sum, point) => sum + (valueAt(point, key) ?? 0), 0)
}

/** The eight series with the largest totals, in the order in which they were given; all others as "Other" behind them. */
export function topSeries({ series, points }: ChartData, limit = MAX_SERIES): ChartData {
  if (series.length <= limit) return { series, points }
  const totals = new Map(series.map(({ key }) => [key, totalOf(points, key)]))
  const ranked = [...series].sort((a, b) => (totals.get(b.key) ?? 0) - (totals.get(a.key) ?? 0))
  const kept = new Set(ranked.slice(0, limit).map(({ key }) => key))
  const others = series.filter(({ key }) => !kept.has(key))
  return {
    series: [...series.filter(({ key }) => kept.has(key)), { key: OTHER_KEY, label: `Other (${others.length})` }],
    points: points.map((point) => withOther(point, others)),
  }
}

/** The series, each with a color and a pattern that no other of them has, as long as there are enough. */
export function painted(series: readonly ChartSeries[]): readonly ChartSeries[] {
  const paints = new Set<number>()
  const patterns = new Set<number>()
  return series.map((each, index) => {
    if (each.key === OTHER_KEY || typeof each.paint === 'string') return each
    const paint = take(paints, each.paint ?? index, CHART_COLORS)
    return { ...each, paint, pattern: take(patterns, paint % MAX_SERIES, MAX_SERIES) }
  })
}

/** @returns `first`, or the next below `count` that is not taken. */
function take(taken: Set<number>, first: number, count: number): number {
  const order = Array.from({ length: count }, (_, step) => (first + step) % count)
  const found = order.find((each) => !taken.has(each)) ?? first % count
  taken.add(found)
  return found
}

function withOther(point: ChartPoint, others: readonly ChartSeries[]): ChartPoint {
  const values = others.map(({ key }) => valueAt(point, key)).filter((value) => value !== undefined)
  const other = values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0)
  return { ...point, values: { ...point.values, [OTHER_KEY]: other } }
}

export interface StackedValue {
  readonly from: number
  readonly to: number
}

/** Where each series begins and ends in a stack: those above zero go up from it, those below go down. */
export function stackOf(point: ChartPoint, series: readonly ChartSeries[]): readonly StackedValue[] {
  let up = 0
  let down = 0
  return series.map(({ key }) => {
    const value = valueAt(point, key) ?? 0
    const from = value < 0 ? down : up
    if (value < 0) down += value
    else up += value
    return { from, to: from + value }
  })
}

export interface Domain {
  /** 0, or less where values are negative. */
  readonly min: number
  readonly max: number
}

export function stackedDomain({ series, points }: ChartData): Domain {
  return domainOver(points.flatMap((point) => stackOf(point, series).map(({ to }) => to)))
}

export function lineDomain({ series, points }: ChartData): Domain {
  return domainOver(points.flatMap((point) => series.map(({ key }) => valueAt(point, key) ?? 0)))
}

function domainOver(values: readonly number[]): Domain {
  return values.reduce<Domain>(({ min, max }, value) => ({ min: Math.min(min, value), max: Math.max(max, value) }), {
    min: 0,
    max: 0,
  })
}

/** Whether all values are counts, between which an axis has nothing to show. */
export function isWholeNumbers({ series, points }: ChartData): boolean {
  return points.every((point) => series.every(({ key }) => Number.isInteger(valueAt(point, key) ?? 0)))
}

/** Bars of nothing but zero show nothing; a line at zero does, so that for lines only absence counts. */
export function isEmpty({ series, points }: ChartData, kind: 'bars' | 'lines'): boolean {
  return points.every((point) =>
    series.every(({ key }) => {
      const value = valueAt(point, key)
      return value === undefined || (kind === 'bars' && value === 0)
    }),
  )
}
