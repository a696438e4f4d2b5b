import type { Period } from '../../lib/period.ts'

/** Further back than this, one looks at Billing itself. */
const MAX_MONTHS = 3

/** The months that a period has a part of, the newest first: `2026-11`. */
export function monthsOf({ start, end }: Pick<Period, 'start' | 'end'>): readonly string[] {
  const last = new Date(Date.parse(end) - 1)
  const months = Array.from({ length: MAX_MONTHS }, (_, back) =>
    new Date(Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  )
  return months.filter((month) => month >= start.slice(0, 7))
}
