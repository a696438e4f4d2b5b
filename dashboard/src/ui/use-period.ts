import { type Period, type PeriodSearch, type Range, resolvePeriod } from '../lib/period.ts'
import { useNow } from './time-zone.ts'

const MINUTE_MS = 60_000
const STEP_MS = 5 * MINUTE_MS

/** Just behind the beginning of the minute: bounds that end with the next one do so from its first moment on. */
export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS) * MINUTE_MS + 1
}

/** The period of the address as time goes by; and until when to compare it with another, in steps of five minutes. */
export function usePeriod(
  search: PeriodSearch,
  fallback: Exclude<Range, 'custom'>,
): { readonly period: Period; readonly comparedUntil: number } {
  const now = useNow()
  return {
    period: resolvePeriod(search, minuteOf(now), fallback),
    comparedUntil: Math.floor(now / STEP_MS) * STEP_MS,
  }
}
