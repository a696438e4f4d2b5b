import { classNames } from '../../ui/class-names.ts'

interface UsedBarProps {
  /** 1: all of it. More is shown as all. */
  readonly share: number
  readonly className?: string
}

const NEARLY = 0.8

/** How much of something is used, for the eye: the number itself stands beside it. */
export function UsedBar({ share, className }: UsedBarProps) {
  const shown = Math.min(1, Math.max(0, share))
  return (
    <span
      aria-hidden
      className={classNames('block h-1.5 overflow-hidden rounded-full border border-line bg-sunken', className)}
    >
      <span
        style={{ width: `${shown * 100}%` }}
        className={classNames('keep-colors block h-full rounded-full', toneOf(share))}
      />
    </span>
  )
}

function toneOf(share: number): string {
  if (share >= 1) return 'bg-bad'
  return share >= NEARLY ? 'bg-warn' : 'bg-accent'
}
