import { linePath } from './geometry.ts'
import { heightScale } from './scale.ts'

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
