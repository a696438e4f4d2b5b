import { type Period, previousPeriod, resolvePeriod } from '../../lib/period.ts'
import { useNow } from '../../ui/time-zone.ts'
import type { HomeRange } from './search.ts'

const STEP_MS = 5 * 60_000

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
