import { useId } from 'react'
import { classNames } from '../class-names.ts'
import { type Bands, bandCenter } from './geometry.ts'
import { useReading } from './use-reading.ts'
import { useWidth } from './use-width.ts'

export type StripTone = 'good' | 'warn' | 'bad' | 'neutral'

export interface StripCell {
  /** `11:00: 99.2% of 300 requests` */
  readonly label: string
  readonly tone: StripTone
}

export interface StripChartProps {
  readonly label: string
  /** From the oldest to the newest. */
  readonly cells: readonly StripCell[]
  /** In CSS pixels. */
  readonly height?: number | undefined
  /** What the tones mean here. */
  readonly words?: Readonly<Record<StripTone, string>> | undefined
  readonly className?: string | undefined
}

const WORDS = { good: 'good', warn: 'degraded', bad: 'failing', neutral: 'no data' } as const

/**
 * States side by side, told by shape and by color: good fills the height, degraded half of it, failing is an outline with a
 * cross, and no data is a line at the bottom.
 */
export function StripChart({ label, cells, height = 24, words = WORDS, className }: StripChartProps) {
  const id = useId()
  const [ref, width] = useWidth()
  const bands = { count: cells.length, width }
  const { index, handlers, onPointerLeave } = useReading({ bands, left: 0, onSelect: undefined })
  const cell = index === null ? undefined : cells[index]
  const text = cell && `${cell.label}, ${words[cell.tone]}`
  if (cells.length === 0) return <p className="text-sm text-soft">No data yet.</p>
  return (
    <div ref={ref} className={classNames('relative', className)} onPointerLeave={onPointerLeave}>
      <p id={id} className="sr-only">
        {countsText(cells, words)}
      </p>
      <div
        {...handlers}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-roledescription="chart"
        aria-describedby={id}
        aria-orientation="horizontal"
        aria-readonly
        aria-valuemin={1}
        aria-valuemax={cells.length}
        aria-valuenow={(index ?? cells.length - 1) + 1}
        aria-valuetext={text ?? countsText(cells, words)}
        style={{ height: Math.max(24, height) }}
        className="flex touch-pan-y items-center rounded-md"
      >
        <svg aria-hidden="true" width={width} height={height} className="keep-colors block">
          {cells.map(({ tone }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
            <Cell key={at} tone={tone} bands={bands} index={at} height={height} isRead={at === index} />
          ))}
        </svg>
      </div>
      {index !== null && text !== undefined && <CellTooltip text={text} bands={bands} index={index} />}
    </div>
  )
}

/** `22 good, 1 degraded, 1 failing` */
function countsText(cells: readonly StripCell[], words: Readonly<Record<StripTone, string>>): string {
  const tones: readonly StripTone[] = ['good', 'warn', 'bad', 'neutral']
  return tones
    .map((tone) => ({ tone, count: cells.filter((cell) => cell.tone === tone).length }))
    .filter(({ count }) => count > 0)
    .map(({ tone, count }) => `${count} ${words[tone]}`)
    .join(', ')
}

interface CellProps {
  readonly tone: StripTone
  readonly bands: Bands
  readonly index: number
  readonly height: number
  readonly isRead: boolean
}

function Cell({ tone, bands, index, height, isRead }: CellProps) {
  const share = bands.width / bands.count
  const wide = Math.max(1, share - Math.min(2, share / 4))
  const left = bandCenter(bands, index) - wide / 2
  const radius = Math.min(2, wide / 2)
  const half = height / 2
  return (
    <g transform={`translate(${left} 0)`}>
      {tone === 'good' && <rect width={wide} height={height} rx={radius} className="fill-good" />}
      {tone === 'warn' && <rect y={half} width={wide} height={half} rx={radius} className="fill-warn" />}
      {tone === 'bad' && (
        <g className="fill-bad-soft stroke-bad">
          <rect x={0.5} y={0.5} width={Math.max(0.5, wide - 1)} height={height - 1} rx={radius} />
          <path
            d={`M1 ${half - wide / 2 + 1}L${wide - 1} ${half + wide / 2 - 1}M${wide - 1} ${half - wide / 2 + 1}L1 ${half + wide / 2 - 1}`}
          />
        </g>
      )}
      {tone === 'neutral' && <rect y={height - 2} width={wide} height={2} className="fill-strong" />}
      {isRead && <rect x={-1} y={0} width={wide + 2} height={height} rx={radius} className="fill-ink/20" />}
    </g>
  )
}

function CellTooltip({ text, bands, index }: { readonly text: string; readonly bands: Bands; readonly index: number }) {
  const center = bandCenter(bands, index)
  const isRight = center > bands.width / 2
  return (
    <div
      aria-hidden="true"
      style={isRight ? { right: Math.max(0, bands.width - center - 12) } : { left: Math.max(0, center - 12) }}
      className="absolute top-full z-10 w-max max-w-64 rounded-lg border border-line bg-surface px-2.5 py-1.5 text-sm text-ink shadow-popup"
    >
      {text}
    </div>
  )
}
