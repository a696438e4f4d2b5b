import { type Bands, bandCenter } from './geometry.ts'
import { Swatch } from './paint.tsx'
import { valuesAt } from './reading.ts'
import type { ChartPoint, ChartSeries } from './series.ts'

export interface PointTooltipProps {
  readonly kind: 'bars' | 'lines'
  readonly chartId: string
  readonly point: ChartPoint
  readonly index: number
  readonly series: readonly ChartSeries[]
  readonly bands: Bands
  /** Where the bands begin in what the tooltip is placed in, in CSS pixels. */
  readonly left: number
  readonly format: (value: number) => string
}

const GAP = 8
const MAX_WIDTH = 272

/**
 * All values of one point, beside it, on the side that has more room. It can be pointed at. What it says is also the text
 * of the chart's slider, so that it is hidden from screen readers.
 */
export function PointTooltip({ kind, chartId, point, index, series, bands, left, format }: PointTooltipProps) {
  const center = bandCenter(bands, index)
  const half = Math.min(bands.width / bands.count / 2, 24)
  const isLeft = center > bands.width / 2
  const edge = isLeft ? bands.width - center + half + GAP : left + center + half + GAP
  const room = isLeft ? left + center - half - GAP : bands.width - center - half - GAP
  const values = valuesAt(point, series).filter(({ value }) => kind === 'lines' || value !== 0)
  const total = values.reduce((sum, { value }) => sum + value, 0)
  return (
    <div
      aria-hidden="true"
      style={{ [isLeft ? 'right' : 'left']: edge, maxWidth: Math.min(MAX_WIDTH, room) }}
      className="absolute top-0 z-10 rounded-lg border border-line bg-surface px-3 py-2 text-sm shadow-popup"
    >
      <div className="flex justify-between gap-4 font-medium text-ink">
        <span>{point.label}</span>
        {kind === 'bars' && <span className="tabular-nums">{format(total)}</span>}
      </div>
      {kind === 'lines' && values.length === 0 && <div className="text-soft">No data</div>}
      {(series.length > 1 || kind === 'lines') &&
        values.map(({ key, label, index: at, value }) => (
          <div key={key} className="mt-1 flex items-center gap-2 text-soft">
            <Swatch kind={kind} chartId={chartId} seriesKey={key} index={at} />
            <span className="min-w-0 flex-1 truncate">{label}</span>
            <span className="pl-2 text-ink tabular-nums">{format(value)}</span>
          </div>
        ))}
    </div>
  )
}
