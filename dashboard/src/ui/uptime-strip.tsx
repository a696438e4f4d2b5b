/** How each of the last 24 hours went, told by shape as well as by color. */
import { classNames } from './class-names.ts'
import { cellText, type UptimeCell, type UptimeState, uptimeSentence } from './uptime-strip-cells.ts'

const WIDE = 6
const SHARE = 8
const HEIGHT = 16

export interface UptimeStripProps {
  readonly cells: readonly UptimeCell[]
  readonly className?: string | undefined
}

/** Its name is the sentence; each hour's own figures are seen under the pointer. */
export function UptimeStrip({ cells, className }: UptimeStripProps) {
  const width = cells.length * SHARE
  return (
    <svg
      role="img"
      aria-label={uptimeSentence(cells)}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      width={width}
      height={HEIGHT}
      className={classNames('block max-w-full', className)}
    >
      {cells.map((cell, index) => (
        <g key={cell.at} transform={`translate(${index * SHARE} 0)`}>
          <title>{cellText(cell)}</title>
          <rect width={SHARE} height={HEIGHT} className="fill-transparent" />
          <Shape state={cell.state} />
        </g>
      ))}
    </svg>
  )
}

/** Full, half as high, crossed, hollow. */
function Shape({ state }: { readonly state: UptimeState }) {
  const outline = { x: 0.5, y: 0.5, width: WIDE - 1, height: HEIGHT - 1, rx: 1 }
  switch (state) {
    case 'well':
      return <rect width={WIDE} height={HEIGHT} rx={1.5} className="fill-good" />
    case 'some':
      return <rect y={HEIGHT / 2} width={WIDE} height={HEIGHT / 2} rx={1.5} className="fill-warn" />
    case 'most':
      return (
        <g className="fill-bad-soft stroke-bad">
          <rect {...outline} />
          <path d={`M1 1L${WIDE - 1} ${HEIGHT - 1}M${WIDE - 1} 1L1 ${HEIGHT - 1}`} />
        </g>
      )
    case 'none':
      return <rect {...outline} className="fill-none stroke-strong" />
  }
}

const WORDS: Readonly<Record<UptimeState, string>> = {
  well: 'at most 5% failed',
  some: 'more than 5% failed',
  most: 'more than half failed, or down',
  none: 'no requests',
}
const STATES: readonly UptimeState[] = ['well', 'some', 'most', 'none']

export interface UptimeLegendProps {
  /** Of all strips that it explains. */
  readonly cells: readonly UptimeCell[]
  readonly className?: string | undefined
}

/** What the shapes mean; of a state that is nowhere seen there is nothing to explain. */
export function UptimeLegend({ cells, className }: UptimeLegendProps) {
  const seen = new Set(cells.map(({ state }) => state))
  return (
    <ul className={classNames('flex flex-wrap gap-x-3 gap-y-1 text-xs text-soft', className)}>
      {STATES.filter((state) => seen.has(state)).map((state) => (
        <li key={state} className="flex items-center gap-1.5">
          <svg aria-hidden="true" width={WIDE} height={HEIGHT} className="keep-colors shrink-0">
            <Shape state={state} />
          </svg>
          {WORDS[state]}
        </li>
      ))}
    </ul>
  )
}
