/** Spans of time that usage is asked for, and how they fall into days and hours. */
import type { Period } from '../../http/period.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** From the first of the month of `now` to the first of the next, UTC. */
export function monthOf(now: number): Period {
  return { start: firstOfMonth(now, 0), end: firstOfMonth(now, 1) }
}

/** The whole units of `unitMs` in a period, numbered from 1970-01-01 UTC, and what sticks out on either side. */
export function splitPeriod({ start, end }: Period, unitMs: number) {
  const units: Period = { start: Math.ceil(start / unitMs), end: Math.floor(end / unitMs) }
  if (units.start >= units.end) return { units: NEVER, head: { start, end }, tail: NEVER }
  return { units, head: { start, end: units.start * unitMs }, tail: { start: units.end * unitMs, end } }
}

/** Nothing is in it. */
export const NEVER: Period = { start: 0, end: 0 }

function firstOfMonth(now: number, monthsLater: number): number {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1)
}
