/** What bars and lines have in common: axes, the point that is being read, its tooltip, the legend. */
import { type ReactNode, type RefCallback, useCallback, useId, useState } from 'react'
import { type Bands, bandCenter, domainOf, heightScale, labelWidth, placedLabels } from './geometry.ts'
import { PaintPatterns, Swatch } from './paint.tsx'
import { type PointRange, pointText, useReading, valuesAt } from './reading.ts'
import type { ChartData, ChartPoint, ChartSeries } from './series.ts'

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
  /** Several points were chosen, by dragging or with Shift and the arrow keys, then Enter: the first and the last. */
  readonly onZoom?: ((first: ChartPoint, last: ChartPoint) => void) | undefined
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

export function Plot({ kind, data, ticks, label, summary, format, children, ...rest }: PlotProps) {
  const { height = DEFAULT_HEIGHT, formatTick = format, totalText, caption, onSelect, onZoom } = rest
  const { series, points } = data
  const chartId = useId()
  const [ref, width] = useWidth()
  const left = gutterOf(ticks, formatTick)
  const plotHeight = height - AXIS_HEIGHT - TOP_ROOM
  const bands = { count: points.length, width: Math.max(0, width - left - 1) }
  const select = onSelect === undefined ? undefined : (at: number) => points[at] && onSelect(points[at])
  const zoom =
    onZoom === undefined
      ? undefined
      : ({ first, last }: PointRange) => {
          if (points[first] && points[last]) onZoom(points[first], points[last])
        }
  const { index, range, handlers, onPointerLeave } = useReading({ points, bands, left, onSelect: select, onZoom: zoom })
  const top = heightScale(domainOf(ticks), plotHeight)
  const point = index === null ? undefined : points[index]
  const text = range
    ? rangeText(points, range)
    : point && pointText(point, series, { format, isStacked: kind === 'bars' })
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
          aria-valuetext={text ?? howToRead(points.length, rest)}
          style={{ height }}
          className={`touch-pan-y rounded-lg select-none ${onSelect === undefined ? '' : 'cursor-pointer'}`}
        >
          {width > 0 && (
            <svg aria-hidden="true" width={width} height={height} className="block">
              <PaintPatterns id={chartId} series={series} />
              <g transform={`translate(${left} ${TOP_ROOM})`}>
                <ValueAxis ticks={ticks} format={formatTick} height={top} width={bands.width} />
                <PointAxis points={points} bands={bands} top={plotHeight} />
                {range && <RangeMark range={range} bands={bands} height={plotHeight} />}
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

function howToRead(count: number, { onSelect, onZoom }: Pick<SeriesChartProps, 'onSelect' | 'onZoom'>): string {
  const points = count === 1 ? '1 point' : `${count} points`
  const zoom = onZoom === undefined ? '' : '. With Shift they choose a period, which Enter opens'
  return `${points}. The arrow keys read them${onSelect === undefined ? '' : ', Enter opens one'}${zoom}.`
}

function rangeText(points: readonly ChartPoint[], { first, last }: PointRange): string {
  return `From ${points[first]?.label} to ${points[last]?.label}, ${last - first + 1} points. Enter opens this period.`
}

/** What is being chosen. */
function RangeMark({
  range,
  bands,
  height,
}: {
  readonly range: PointRange
  readonly bands: Bands
  readonly height: number
}) {
  const share = bands.width / bands.count
  const width = share * (range.last - range.first + 1)
  return (
    <rect data-range x={range.first * share} width={width} height={height} className="fill-accent/15 stroke-accent" />
  )
}

/** Replaces a chart without data, at the same height. */
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
        No data in this period.
      </p>
    </div>
  )
}

/** The width of an element in whole CSS pixels, as it changes; 0 until it is known. */
function useWidth(): readonly [ref: RefCallback<HTMLElement>, width: number] {
  const [width, setWidth] = useState(0)
  const ref = useCallback((element: HTMLElement | null) => {
    if (element === null) return
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.floor(entry.contentRect.width))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}

const AXIS_HEIGHT = 24
const LABEL_GAP = 8

/** The width that the labels of the value axis take, in CSS pixels. */
function gutterOf(ticks: readonly number[], format: (value: number) => string): number {
  return Math.ceil(Math.max(0, ...ticks.map((tick) => labelWidth(format(tick))))) + LABEL_GAP
}

interface ValueAxisProps {
  readonly ticks: readonly number[]
  readonly format: (value: number) => string
  readonly height: (value: number) => number
  readonly width: number
}

/** Lines across the plot at round values, the one at zero stronger, with labels to their left. */
function ValueAxis({ ticks, format, height, width }: ValueAxisProps) {
  return (
    <g>
      {ticks.map((tick) => {
        const y = Math.round(height(tick)) + 0.5
        return (
          <g key={tick}>
            <line x2={width} y1={y} y2={y} className={tick === 0 ? 'stroke-strong' : 'stroke-line'} />
            <text x={-LABEL_GAP} y={y} dy="0.32em" textAnchor="end" className="fill-soft text-xs tabular-nums">
              {format(tick)}
            </text>
          </g>
        )
      })}
    </g>
  )
}

interface PointAxisProps {
  readonly points: readonly ChartPoint[]
  readonly bands: Bands
  readonly top: number
}

/** The names of the points, as many as have room. */
function PointAxis({ points, bands, top }: PointAxisProps) {
  const labels = placedLabels(
    points.map(({ label }) => label),
    bands,
  )
  return (
    <g transform={`translate(0 ${top + 17})`}>
      {labels.map(({ index, x, label }) => (
        <text key={points[index]?.at ?? index} x={x} textAnchor="middle" className="fill-soft text-xs tabular-nums">
          {label}
        </text>
      ))}
    </g>
  )
}

interface LegendProps {
  readonly kind: 'bars' | 'lines'
  readonly chartId: string
  readonly series: readonly ChartSeries[]
  /** What is written behind a name. */
  readonly totalText?: ((key: string) => string) | undefined
}

/** Names for the samples. One series needs none: the chart's own name says what it is. */
function Legend({ kind, chartId, series, totalText }: LegendProps) {
  if (series.length < 2) return null
  return (
    <ul className="mt-3 flex flex-wrap gap-x-4 gap-y-1.5 text-sm text-soft">
      {series.map((each) => (
        <li key={each.key} className="flex max-w-full min-w-0 items-center gap-1.5">
          <Swatch kind={kind} chartId={chartId} series={each} />
          <span className="truncate">{each.label}</span>
          {totalText !== undefined && <span className="text-ink tabular-nums">{totalText(each.key)}</span>}
        </li>
      ))}
    </ul>
  )
}

interface PointTooltipProps {
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
function PointTooltip({ kind, chartId, point, index, series, bands, left, format }: PointTooltipProps) {
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
        values.map(({ series: each, value }) => (
          <div key={each.key} className="mt-1 flex items-center gap-2 text-soft">
            <Swatch kind={kind} chartId={chartId} series={each} />
            <span className="min-w-0 flex-1 truncate">{each.label}</span>
            <span className="pl-2 text-ink tabular-nums">{format(value)}</span>
          </div>
        ))}
    </div>
  )
}
