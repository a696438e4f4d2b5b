import { useMemo } from 'react'
import { bandCenter, barsPath, barWidth, niceTicks } from './geometry.ts'
import { fillOf } from './paint.tsx'
import { NothingToPlot, Plot, type PlotArea, type SeriesChartProps } from './plot.tsx'
import { type ChartData, isEmpty, isWholeNumbers, painted, stackedDomain, topSeries, totalOf } from './series.ts'

const TICKS = 4
/** Below this width of a bar, in CSS pixels, lines between its parts would be all that one sees. */
const SEPARATED_FROM = 4

interface StackedBarsProps extends SeriesChartProps {
  /** Of the sums in the legend; `format` unless given. */
  readonly formatTotal?: ((value: number) => string) | undefined
}

/** Amounts that add up, point by point: spend, requests, tokens. Of more than eight series the smallest become "Other". */
export function StackedBars({ series, points, formatTotal, ...rest }: StackedBarsProps) {
  const data = useMemo(() => {
    const top = topSeries({ series, points })
    return { ...top, series: painted(top.series) }
  }, [series, points])
  const ticks = useMemo(() => niceTicks(stackedDomain(data), TICKS, isWholeNumbers(data)), [data])
  if (isEmpty(data, 'bars')) return <NothingToPlot {...rest} />
  const totals = (key: string): string => (formatTotal ?? rest.format)(totalOf(data.points, key))
  return (
    <Plot {...rest} kind="bars" data={data} ticks={ticks} totalText={totals}>
      {(area) => <Bars {...area} data={data} />}
    </Plot>
  )
}

function Bars({ chartId, data, bands, top, plotHeight, reading }: PlotArea & { readonly data: ChartData }) {
  const isSeparated = barWidth(bands) >= SEPARATED_FROM && data.series.length > 1
  const share = bands.width / bands.count
  return (
    <>
      {reading !== null && (
        <rect x={bandCenter(bands, reading) - share / 2} width={share} height={plotHeight} className="fill-ink/8" />
      )}
      {data.series.map((each, index) => (
        <path
          key={each.key}
          d={barsPath(data, index, bands, top)}
          fill={fillOf(chartId, each)}
          shapeRendering={barWidth(bands) === share ? 'crispEdges' : undefined}
          className={isSeparated ? 'stroke-surface' : undefined}
        />
      ))}
    </>
  )
}
