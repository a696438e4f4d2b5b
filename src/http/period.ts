/** Query parameters `period_start` and `period_end` of lists and reports. */
import { type TOptional, type TString, Type } from 'typebox'
import { GatewayError } from '../domain/errors.ts'
import { ISO_TIME_SINCE_1970_PATTERN, parseIsoTime } from '../lib/time.ts'

/** Unix milliseconds; the end is exclusive. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** The latest day with a four-digit year. */
const LATEST = Date.UTC(9999, 11, 31)

const SINCE_1970 = new RegExp(ISO_TIME_SINCE_1970_PATTERN)

/** An optional parameter of a query string that is a time: ISO 8601, of the years 1970 to 9999. */
export function timeParameter(description: string): TOptional<TString> {
  return Type.Optional(
    Type.String({
      pattern: ISO_TIME_SINCE_1970_PATTERN,
      maxLength: 64,
      description,
      examples: ['2026-01-01T00:00:00Z'],
    }),
  )
}

export const ALL_TIME: Period = { start: 0, end: LATEST }

/**
 * Absent bounds default to `fallback`'s.
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

/**
 * Throws 400 with `param` unless the text is an ISO 8601 time of the years 1970 to 9999.
 * @returns Unix milliseconds.
 */
export function parseTime(param: string, text: unknown): number | undefined {
  if (text === undefined) return undefined
  const time = typeof text === 'string' ? parseIsoTime(text) : undefined
  if (time !== undefined && SINCE_1970.test(String(text))) return Math.min(Math.max(time, 0), LATEST)
  const message = `'${param}' must be an ISO 8601 time in UTC, such as 2026-01-31T00:00:00Z.`
  throw new GatewayError('invalid_value', message, { param })
}
