/** `period_start` and `period_end`, which several lists and reports are asked for with. */
import { GatewayError } from '../domain/errors.ts'
import { parseIsoTime } from '../lib/iso-time.ts'

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

function parseTime(param: string, text: unknown): number | undefined {
  if (text === undefined) return undefined
  const time = typeof text === 'string' ? parseIsoTime(text) : undefined
  if (time !== undefined && time >= 0 && time <= LATEST) return time
  const message = `'${param}' must be an ISO 8601 time in UTC, such as 2026-01-31T00:00:00Z.`
  throw new GatewayError('invalid_value', message, { param })
}
