import { Swatch } from './paint.tsx'
import type { ChartSeries } from './series.ts'

export interface LegendProps {
  readonly kind: 'bars' | 'lines'
  readonly chartId: string
  readonly series: readonly ChartSeries[]
  /** What is written behind a name. */
  readonly totalText?: ((key: string) => string) | undefined
}

/** Names for the samples. One series needs none: the chart's own name says what it is. */
export function Legend({ kind, chartId, series, totalText }: LegendProps) {
  if (series.length < 2) return null
  return (
    <ul className="mt-3 flex flex-wrap gap-x-4 gap-y-1.5 text-sm text-soft">
      {series.map(({ key, label }, index) => (
        <li key={key} className="flex max-w-full min-w-0 items-center gap-1.5">
          <Swatch kind={kind} chartId={chartId} seriesKey={key} index={index} />
          <span className="truncate">{label}</span>
          {totalText !== undefined && <span className="text-ink tabular-nums">{totalText(key)}</span>}
        </li>
      ))}
    </ul>
  )
}
