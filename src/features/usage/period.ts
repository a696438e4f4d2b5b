/** Spans of time that usage is asked for, and how they fall into days and hours. */
import { GatewayError } from '../../domain/errors.ts'
import { parseIsoTime } from '../../lib/iso-time.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** Unix milliseconds; the end is not part of it. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** Anything after it has no four-digit year. */
const LATEST = Date.UTC(9999, 11, 31)

export const ALL_TIME: Period = { start: 0, end: LATEST }

/**
 * What is not said is `fallback`'s.
 * Throws 400 with `param` for what is not an ISO 8601 time, and for an end before the start.
 */
export function parsePeriod(
  query: { readonly period_start?: unknown; readonly period_end?: unknown },
  fallback: Period,
): Period {
  const start = parseTime('period_start', query.period_start) ?? fallback.start
  const end = parseTime('period_end', query.period_end) ?? fallback.end
  if (start <= end) return { start, end }
  const param = query.period_end === undefined ? 'period_start' : 'period_end'
  throw new GatewayError('invalid_value', "'period_end' is before 'period_start'.", { param })
}

/** From the first of the month of `now` to the first of the next, UTC. */
export function monthOf(now: number): Period {
  return { start: firstOfMonth(now, 0), end: firstOfMonth(now, 1) }
}

/** The whole units of `unitMs` in a period, numbered from 1970-01-01 UTC, and what sticks out on either side. */
export function splitPeriod({ start, end }: Period, unitMs: number) {
  const units: Period = { start: Math.ceil(start / unitMs), end: Math.floor(end / unitMs) }
  if (units.start >= units.end) return { units: EMPTY, head: { start, end }, tail: EMPTY }
  return { units, head: { start, end: units.start * unitMs }, tail: { start: units.end * unitMs, end } }
}

const EMPTY: Period = { start: 0, end: 0 }

function parseTime(param: string, text: unknown): number | undefined {
  if (text === undefined) return undefined
  const time = typeof text === 'string' ? parseIsoTime(text) : undefined
  if (time !== undefined && time >= 0 && time <= LATEST) return time
  const message = `'${param}' must be an ISO 8601 time in UTC, such as 2026-01-31T00:00:00Z.`
  throw new GatewayError('invalid_value', message, { param })
}

function firstOfMonth(now: number, monthsLater: number): number {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1)
}
