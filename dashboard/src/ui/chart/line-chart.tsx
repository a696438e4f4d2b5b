import { useMemo } from 'react'
import { bandCenter, linePath } from './geometry.ts'
import { dotFill, lineLooks } from './paint.tsx'
import { NothingToPlot, Plot, type PlotArea, type SeriesChartProps } from './plot.tsx'
import { niceTicks } from './scale.ts'
import { type ChartData, isEmpty, lineDomain, lonePoints, topSeries, valueAt } from './series.ts'

const TICKS = 4

export interface LineChartProps extends SeriesChartProps {
  /** What is measured: `ms`, `tokens per second`. Written above the axis. */
  readonly unit?: string | undefined
}

/** Values that do not add up: latencies, rates. Where there is no value, the line has a gap. The first eight series are shown. */
export function LineChart({ series, points, unit, ...rest }: LineChartProps) {
  const data = useMemo(() => ({ series: topSeries({ series, points }).series.slice(0, 8), points }), [series, points])
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
      {data.series.map(({ key }, index) => (
        <path
          key={key}
          d={linePath(data.points, key, bands, top)}
          fill="none"
          strokeWidth={2}
          strokeLinecap="round"
          strokeLinejoin="round"
          {...lineLooks(key, index)}
        />
      ))}
      {data.series.flatMap(({ key }, index) =>
        lonePoints(data.points, key).map((at) => (
          <circle
            key={`${key} ${at}`}
            cx={bandCenter(bands, at)}
            cy={top(valueAt(data.points[at], key) ?? 0)}
            r={2.5}
            className={dotFill(key, index)}
          />
        )),
      )}
      {point !== undefined &&
        data.series.map(({ key }, index) => {
          const value = valueAt(point, key)
          if (value === undefined) return null
          const looks = `stroke-surface ${dotFill(key, index)}`
          return <circle key={key} cx={x} cy={top(value)} r={4} strokeWidth={2} className={looks} />
        })}
    </>
  )
}
