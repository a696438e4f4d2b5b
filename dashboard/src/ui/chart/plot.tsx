/** What bars and lines have in common: axes, the point that is being read, its tooltip, the legend. */
import { type ReactNode, useId } from 'react'
import { AXIS_HEIGHT, gutterOf, PointAxis, ValueAxis } from './axes.tsx'
import type { Bands } from './geometry.ts'
import { Legend } from './legend.tsx'
import { PaintPatterns } from './paint.tsx'
import { pointText } from './reading.ts'
import { domainOf, heightScale } from './scale.ts'
import type { ChartData, ChartPoint, ChartSeries } from './series.ts'
import { PointTooltip } from './tooltip.tsx'
import { useReading } from './use-reading.ts'
import { useWidth } from './use-width.ts'

export interface SeriesChartProps {
  /** Its accessible name. */
  readonly label: string
  /** What it shows, in one sentence, for those who do not see it. */
  readonly summary: string
  readonly series: readonly ChartSeries[]
  readonly points: readonly ChartPoint[]
  readonly format: (value: number) => string
  /** For the axis, where `format` is too long. */
  readonly formatTick?: ((value: number) => string) | undefined
  /** Of the plot with its axis, in CSS pixels. */
  readonly height?: number | undefined
  /** A point was clicked, touched twice, or chosen with Enter. */
  readonly onSelect?: ((point: ChartPoint) => void) | undefined
}

export interface PlotArea {
  readonly chartId: string
  readonly bands: Bands
  readonly top: (value: number) => number
  readonly plotHeight: number
  /** The point that is being read. */
  readonly reading: number | null
}

interface PlotProps extends Omit<SeriesChartProps, 'series' | 'points'> {
  readonly kind: 'bars' | 'lines'
  readonly data: ChartData
  readonly ticks: readonly number[]
  readonly totalText?: ((key: string) => string) | undefined
  readonly caption?: ReactNode | undefined
  /** The marks, as SVG. */
  readonly children: (area: PlotArea) => ReactNode
}

const DEFAULT_HEIGHT = 220
const TOP_ROOM = 8

export function Plot({ kind, data, ticks, label, summary, format, children, onSelect, ...rest }: PlotProps) {
  const { height = DEFAULT_HEIGHT, formatTick = format, totalText, caption } = rest
  const { series, points } = data
  const chartId = useId()
  const [ref, width] = useWidth()
  const left = gutterOf(ticks, formatTick)
  const plotHeight = height - AXIS_HEIGHT - TOP_ROOM
  const bands = { count: points.length, width: Math.max(0, width - left - 1) }
  const select = onSelect === undefined ? undefined : (at: number) => points[at] && onSelect(points[at])
  const { index, handlers, onPointerLeave } = useReading({ bands, left, onSelect: select })
  const top = heightScale(domainOf(ticks), plotHeight)
  const point = index === null ? undefined : points[index]
  const text = point && pointText(point, series, { format, isStacked: kind === 'bars' })
  return (
    <div>
      {caption}
      <p id={`${chartId}-summary`} className="sr-only">
        {summary}
      </p>
      <div ref={ref} className="relative" onPointerLeave={onPointerLeave}>
        <div
          {...handlers}
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-roledescription="chart"
          aria-describedby={`${chartId}-summary`}
          aria-orientation="horizontal"
          aria-readonly
          aria-valuemin={1}
          aria-valuemax={points.length}
          aria-valuenow={(index ?? points.length - 1) + 1}
          aria-valuetext={text ?? howToRead(points.length, onSelect !== undefined)}
          style={{ height }}
          className={`touch-pan-y rounded-lg ${onSelect === undefined ? '' : 'cursor-pointer'}`}
        >
          {width > 0 && (
            <svg aria-hidden="true" width={width} height={height} className="block">
              <PaintPatterns id={chartId} series={series} />
              <g transform={`translate(${left} ${TOP_ROOM})`}>
                <ValueAxis ticks={ticks} format={formatTick} height={top} width={bands.width} />
                <PointAxis points={points} bands={bands} top={plotHeight} />
                <g className="keep-colors">{children({ chartId, bands, top, plotHeight, reading: index })}</g>
              </g>
            </svg>
          )}
        </div>
        {index !== null && point !== undefined && (
          <PointTooltip {...{ kind, chartId, point, index, series, bands, left, format }} />
        )}
      </div>
      <Legend kind={kind} chartId={chartId} series={series} totalText={totalText} />
    </div>
  )
}

function howToRead(count: number, canSelect: boolean): string {
  const points = count === 1 ? '1 point' : `${count} points`
  return `${points}. The arrow keys read them${canSelect ? ', Enter opens one' : ''}.`
}

/** In the place of a chart that has nothing to show, as high as it. */
export function NothingToPlot({
  label,
  height = DEFAULT_HEIGHT,
}: {
  readonly label: string
  readonly height?: number | undefined
}) {
  return (
    <div
      style={{ height }}
      className="flex items-center justify-center rounded-lg bg-sunken px-4 text-center text-soft"
    >
      <p>
        <span className="sr-only">{label}: </span>
        Nothing in this period.
      </p>
    </div>
  )
}
