/** What distinguishes series: colors, and also dashes for lines. Bars have textures in high-contrast modes alone. */
import type { ReactNode } from 'react'
import type { Tone } from '../../lib/tones.ts'
import { classNames } from '../class-names.ts'
import { type ChartSeries, OTHER_KEY } from './series.ts'

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

const TONE_FILLS: Readonly<Record<Tone, string>> = {
  good: 'fill-good',
  warn: 'fill-warn',
  bad: 'fill-bad',
  info: 'fill-info',
  neutral: 'fill-faint',
}
const TONE_STROKES: Readonly<Record<Tone, string>> = {
  good: 'stroke-good',
  warn: 'stroke-warn',
  bad: 'stroke-bad',
  info: 'stroke-info',
  neutral: 'stroke-soft',
}
/** Of a tone, its texture and dash. */
const TONE_PLACES: Readonly<Record<Tone, number>> = { good: 0, warn: 1, bad: 4, info: 2, neutral: 3 }

interface Paint {
  readonly name: string
  readonly fill: string
  readonly stroke: string
  /** Of its texture and its dash. */
  readonly place: number
}

/** @param series As `painted` gives it. */
function paintOf({ key, paint = 0, pattern = 0 }: ChartSeries): Paint {
  if (key === OTHER_KEY) return { name: 'other', fill: OTHER_FILL, stroke: 'stroke-strong', place: 1 }
  if (typeof paint === 'string')
    return { name: paint, fill: TONE_FILLS[paint], stroke: TONE_STROKES[paint], place: TONE_PLACES[paint] }
  const token = `chart-${paint + 1}`
  return { name: String(paint), fill: `fill-${token}`, stroke: `stroke-${token}`, place: pattern }
}

/** What fills the bars of a series. @param id Of the chart, which also has the `PaintPatterns`. */
export function fillOf(id: string, series: ChartSeries): string {
  return `url(#${id}-${paintOf(series).name})`
}

export interface LineLooks {
  readonly className: string
  readonly strokeDasharray: string | undefined
}

export function lineLooks(series: ChartSeries): LineLooks {
  const { stroke, place } = paintOf(series)
  return { className: stroke, strokeDasharray: DASHES[place] || undefined }
}

/** The color alone, for dots. */
export function dotFill(series: ChartSeries): string {
  return paintOf(series).fill
}

/** Goes into the `<svg>` of a chart. */
export function PaintPatterns({ id, series }: { readonly id: string; readonly series: readonly ChartSeries[] }) {
  return (
    <defs>
      {series.map((each) => {
        const { name, fill, place } = paintOf(each)
        const isOther = each.key === OTHER_KEY
        return (
          <pattern key={each.key} id={`${id}-${name}`} width={6} height={6} patternUnits="userSpaceOnUse">
            <rect width={6} height={6} className={fill} />
            <path
              d={TEXTURES[place]}
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
  readonly series: ChartSeries
}

/** The sample of a series beside its name. */
export function Swatch({ kind, chartId, series }: SwatchProps): ReactNode {
  if (kind === 'bars')
    return (
      <svg aria-hidden="true" width={12} height={12} className="keep-colors shrink-0">
        <rect width={12} height={12} rx={3} fill={fillOf(chartId, series)} />
      </svg>
    )
  return (
    <svg aria-hidden="true" width={20} height={8} className="keep-colors shrink-0">
      <line x1={1} x2={19} y1={4} y2={4} strokeWidth={2} {...lineLooks(series)} />
    </svg>
  )
}
