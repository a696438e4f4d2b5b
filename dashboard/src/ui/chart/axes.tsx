import { type Bands, labelWidth, placedLabels } from './geometry.ts'
import type { ChartPoint } from './series.ts'

export const AXIS_HEIGHT = 24
const LABEL_GAP = 8

/** The width that the labels of the value axis take, in CSS pixels. */
export function gutterOf(ticks: readonly number[], format: (value: number) => string): number {
  return Math.ceil(Math.max(0, ...ticks.map((tick) => labelWidth(format(tick))))) + LABEL_GAP
}

export interface ValueAxisProps {
  readonly ticks: readonly number[]
  readonly format: (value: number) => string
  readonly height: (value: number) => number
  readonly width: number
}

/** Lines across the plot at round values, the one at zero stronger, with labels to their left. */
export function ValueAxis({ ticks, format, height, width }: ValueAxisProps) {
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

export interface PointAxisProps {
  readonly points: readonly ChartPoint[]
  readonly bands: Bands
  readonly top: number
}

/** The names of the points, as many as have room. */
export function PointAxis({ points, bands, top }: PointAxisProps) {
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
