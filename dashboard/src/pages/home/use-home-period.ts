import { type Period, previousPeriod, resolvePeriod } from '../../lib/period.ts'
import { useNow } from '../../ui/time-zone.ts'
import type { HomeRange } from './search.ts'

const STEP_MS = 5 * 60_000
const DAY_MS = 86_400_000
/** The API measures no longer periods. */
const MOST_MS = 7 * DAY_MS

export interface HomePeriods {
  readonly period: Period
  /** As much of the one before as has passed of this one; it moves every five minutes. */
  readonly before: Period
  /** Unix milliseconds. */
  readonly now: number
}

export function useHomePeriods(range: HomeRange): HomePeriods {
  const now = useNow()
  const period = resolvePeriod({ range }, now, '24h')
  return { period, before: previousPeriod(period, Math.ceil(now / STEP_MS) * STEP_MS), now }
}

/** What of the period is measured, and what it is compared with. */
export function measuredPeriods({ period, before, now }: HomePeriods): Pick<HomePeriods, 'period' | 'before'> {
  if (Date.parse(period.end) - Date.parse(period.start) <= MOST_MS) return { period, before }
  const start = new Date(Date.parse(period.end) - MOST_MS).toISOString()
  const shorter: Period = { ...period, start, range: '7d', label: 'Last 7 days' }
  return { period: shorter, before: previousPeriod(shorter, Math.ceil(now / DAY_MS) * DAY_MS) }
}
