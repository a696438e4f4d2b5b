import { type CompletionId, completionIdFloor } from '../../domain/ids.ts'
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

/** The ids strictly between the two. */
export interface IdRange {
  readonly above: CompletionId
  readonly below: CompletionId
}

/** An id is born together with its completion's `created_at`; a clock that is being set may come between. */
export const ID_TOLERANCE_MS = 60_000

/** Ids of later milliseconds would start again: the year 8889. */
const LAST_ID_MS = 62 ** 8 - 1

/** Holds every id of a completion created in the period, and those of the minute before and after. */
export function idsBornIn({ start, end }: Period): IdRange {
  return { above: floorOf(start - ID_TOLERANCE_MS), below: floorOf(end + ID_TOLERANCE_MS) }
}

/** Before every agent that was made too late to have a completion in the period. */
export function firstAgentAfter({ end }: Period): string {
  return floorOf(end + ID_TOLERANCE_MS).replace(/^chatcmpl-/, 'agt_')
}

/** What is left of a range behind an id, in the order of reading; undefined: nothing. */
export function rangeAfter(range: IdRange, id: CompletionId | undefined, order: 'asc' | 'desc'): IdRange | undefined {
  if (id === undefined) return range
  const rest =
    order === 'asc'
      ? { above: id > range.above ? id : range.above, below: range.below }
      : { above: range.above, below: id < range.below ? id : range.below }
  return rest.above < rest.below ? rest : undefined
}

function floorOf(ms: number): CompletionId {
  return completionIdFloor(Math.min(Math.max(0, ms), LAST_ID_MS))
}
