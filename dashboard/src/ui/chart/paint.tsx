/** What distinguishes series: colors, and also dashes for lines. Bars have textures in high-contrast modes alone. */
import type { ReactNode } from 'react'
import { classNames } from '../class-names.ts'
import { type ChartSeries, OTHER_KEY } from './series.ts'

const FILLS = [
  'fill-chart-1',
  'fill-chart-2',
  'fill-chart-3',
  'fill-chart-4',
  'fill-chart-5',
  'fill-chart-6',
  'fill-chart-7',
  'fill-chart-8',
] as const
const STROKES = [
  'stroke-chart-1',
  'stroke-chart-2',
  'stroke-chart-3',
  'stroke-chart-4',
  'stroke-chart-5',
  'stroke-chart-6',
  'stroke-chart-7',
  'stroke-chart-8',
] as const
const DASHES = ['', '7 4', '2 4', '10 3 2 3', '4 2', '1 3', '12 4', '6 2 1 2 1 2'] as const
/** Within a tile of 6 by 6; the first series is plain. */
const TEXTURES = [
  '',
  'M-1 7L7 -1M-1 1L1 -1M5 7L7 5',
  'M0 3H6',
  'M3 1.5v3M1.5 3h3',
  'M-1 -1L7 7M5 -1L7 1M-1 5L1 7',
  'M3 0V6',
  'M0 0L6 6M6 0L0 6',
  'M0 1.5H6M0 4.5H6',
] as const
/** Below its texture, `strong` would hide it. */
const OTHER_FILL = 'fill-strong contrast-more:fill-sunken forced-colors:fill-sunken'
const HIGH_CONTRAST_ONLY = 'hidden contrast-more:inline forced-colors:inline'

function place(key: string, index: number): number {
  return key === OTHER_KEY ? FILLS.length : index % FILLS.length
}

/** What fills the bars of a series. @param id Of the chart, which also has the `PaintPatterns`. */
export function fillOf(id: string, key: string, index: number): string {
  return `url(#${id}-${place(key, index)})`
}

export interface LineLooks {
  readonly className: string
  readonly strokeDasharray: string | undefined
}

export function lineLooks(key: string, index: number): LineLooks {
  const at = place(key, index)
  return { className: STROKES[at] ?? 'stroke-strong', strokeDasharray: DASHES[at] || undefined }
}

/** The color alone, for dots. */
export function dotFill(key: string, index: number): string {
  return FILLS[place(key, index)] ?? 'fill-strong'
}

/** Goes into the `<svg>` of a chart. */
export function PaintPatterns({ id, series }: { readonly id: string; readonly series: readonly ChartSeries[] }) {
  return (
    <defs>
      {series.map(({ key }, index) => {
        const at = place(key, index)
        const isOther = at === FILLS.length
        return (
          <pattern key={key} id={`${id}-${at}`} width={6} height={6} patternUnits="userSpaceOnUse">
            <rect width={6} height={6} className={isOther ? OTHER_FILL : FILLS[at]} />
            <path
              d={isOther ? TEXTURES[1] : TEXTURES[at]}
              className={classNames(HIGH_CONTRAST_ONLY, isOther ? 'stroke-strong' : 'stroke-surface')}
              strokeWidth={isOther ? 1.5 : 1}
              strokeOpacity={isOther ? 1 : 0.55}
            />
          </pattern>
        )
      })}
    </defs>
  )
}

export interface SwatchProps {
  readonly kind: 'bars' | 'lines'
  readonly chartId: string
  readonly seriesKey: string
  readonly index: number
}

/** The sample of a series beside its name. */
export function Swatch({ kind, chartId, seriesKey, index }: SwatchProps): ReactNode {
  if (kind === 'bars')
    return (
      <svg aria-hidden="true" width={12} height={12} className="keep-colors shrink-0">
        <rect width={12} height={12} rx={3} fill={fillOf(chartId, seriesKey, index)} />
      </svg>
    )
  return (
    <svg aria-hidden="true" width={20} height={8} className="keep-colors shrink-0">
      <line x1={1} x2={19} y1={4} y2={4} strokeWidth={2} {...lineLooks(seriesKey, index)} />
    </svg>
  )
}
