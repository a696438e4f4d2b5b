import type { ChartPoint } from '../../ui/chart/index.ts'
import type { UsageChart } from './chart-data.ts'

/** Lines that can be told apart: the total and these, of which the last is the rest where there are more. */
const MAX_LINES = 7
const TOTAL = { key: '\u0000total', label: 'Total' }
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
