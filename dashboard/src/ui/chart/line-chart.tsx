import { useMemo } from 'react'
import { bandCenter, heightScale, linePath, niceTicks } from './geometry.ts'
import { dotFill, lineLooks } from './paint.tsx'
import { NothingToPlot, Plot, type PlotArea, type SeriesChartProps } from './plot.tsx'
import { type ChartData, isEmpty, lineDomain, lonePoints, painted, topSeries, valueAt } from './series.ts'

const TICKS = 4

export interface LineChartProps extends SeriesChartProps {
  /** What is measured: `ms`, `tokens per second`. Written above the axis. */
  readonly unit?: string | undefined
}

/** Values that do not add up: latencies, rates. Where there is no value, the line has a gap. The first eight series are shown. */
export function LineChart({ series, points, unit, ...rest }: LineChartProps) {
  const data = useMemo(
    () => ({ series: painted(topSeries({ series, points }).series.slice(0, 8)), points }),
    [series, points],
  )
  const ticks = useMemo(() => niceTicks(lineDomain(data), TICKS), [data])
  if (isEmpty(data, 'lines')) return <NothingToPlot {...rest} />
  const caption = unit === undefined ? undefined : <div className="mb-1 text-xs text-soft">{unit}</div>
  return (
    <Plot {...rest} kind="lines" data={data} ticks={ticks} caption={caption}>
      {(area) => <Lines {...area} data={data} />}
    </Plot>
  )
}

function Lines({ data, bands, top, plotHeight, reading }: PlotArea & { readonly data: ChartData }) {
  const point = reading === null ? undefined : data.points[reading]
  const x = reading === null ? 0 : bandCenter(bands, reading)
  return (
    <>
      {point !== undefined && <line x1={x} x2={x} y2={plotHeight} className="stroke-strong" />}
      {data.series.map((each) => (
        <path
          key={each.key}
          d={linePath(data.points, each.key, bands, top)}
          fill="none"
          strokeWidth={2}
          strokeLinecap="round"
          strokeLinejoin="round"
          {...lineLooks(each)}
        />
      ))}
      {data.series.flatMap((each) =>
        lonePoints(data.points, each.key).map((at) => (
          <circle
            key={`${each.key} ${at}`}
            cx={bandCenter(bands, at)}
            cy={top(valueAt(data.points[at], each.key) ?? 0)}
            r={2.5}
            className={dotFill(each)}
          />
        )),
      )}
      {point !== undefined &&
        data.series.map((each) => {
          const value = valueAt(point, each.key)
          if (value === undefined) return null
          const looks = `stroke-surface ${dotFill(each)}`
          return <circle key={each.key} cx={x} cy={top(value)} r={4} strokeWidth={2} className={looks} />
        })}
    </>
  )
}

export interface SparklineProps {
  /** What it shows, in words: `1,234 requests in the last 24 hours, most at 14:00`. */
  readonly label: string
  /** From the oldest to the newest; null where there is none. */
  readonly values: readonly (number | null)[]
  /** In CSS pixels. */
  readonly width?: number | undefined
  readonly height?: number | undefined
}

const ROOM = 2

/** The course of one value, the size of a word. */
export function Sparkline({ label, values, width = 96, height = 24 }: SparklineProps) {
  const known = values.filter((value) => value !== null)
  const scale = heightScale({ min: Math.min(0, ...known), max: Math.max(0, ...known) }, height - 2 * ROOM)
  const points = values.map((value, index) => ({ at: String(index), label: '', values: { value } }))
  return (
    <svg role="img" aria-label={label} width={width} height={height} className="inline-block align-middle">
      <g transform={`translate(0 ${ROOM})`}>
        <line x2={width} y1={scale(0)} y2={scale(0)} className="stroke-line" />
        <path
          d={linePath(points, 'value', { count: points.length, width }, scale)}
          fill="none"
          strokeWidth={1.5}
          strokeLinecap="round"
          strokeLinejoin="round"
          className="stroke-chart-1"
        />
      </g>
    </svg>
  )
}
