import { classNames } from './class-names.ts'

interface UsedBarProps {
  /** 1: all of it. More is shown as all. */
  readonly share: number
  /** What is promised besides, in another color. */
  readonly held?: number
  readonly className?: string
}

const NEARLY = 0.8
/** Percent of what is too little to be seen. */
const LEAST = 2

/** How much of something is used, for the eye: the number itself stands beside it. */
export function UsedBar({ share, held = 0, className }: UsedBarProps) {
  const used = widthOf(share)
  return (
    <span
      aria-hidden
      className={classNames('flex h-1.5 overflow-hidden rounded-full border border-line bg-sunken', className)}
    >
      <span style={{ width: `${used}%` }} className={classNames('keep-colors block h-full', toneOf(share))} />
      <span
        style={{ width: `${Math.min(100 - used, widthOf(held))}%` }}
        className="keep-colors block h-full bg-chart-2 opacity-60"
      />
    </span>
  )
}

function widthOf(share: number): number {
  return share <= 0 ? 0 : Math.min(100, Math.max(LEAST, share * 100))
}

function toneOf(share: number): string {
  if (share >= 1) return 'bg-bad'
  return share >= NEARLY ? 'bg-warn' : 'bg-accent'
}
