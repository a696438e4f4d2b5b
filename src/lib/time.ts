// `[0-9]` instead of `\d`, which has digits of other scripts outside JavaScript: clients read these patterns, too.
const DAY = '(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)'
const TIME = 'T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\\.[0-9]{1,9})?)?'
const OFFSET = '(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])'
const LEAP_IN_CENTURY = '(?:0[48]|[2468][048]|[13579][26])'

const patternOf = (year: string, leapYear: string): string =>
  `^(?:${year}-${DAY}|${leapYear}-02-29)(?:${TIME}${OFFSET})?$`

/** Regular expression of an ISO 8601 date, or date and time with its offset. Days that do not exist do not match. */
export const ISO_TIME_PATTERN = patternOf('[0-9]{4}', `(?:[0-9]{2}${LEAP_IN_CENTURY}|(?:[02468][048]|[13579][26])00)`)

/** The same, of the years 1970 to 9999. */
export const ISO_TIME_SINCE_1970_PATTERN = patternOf(
  '(?:19[7-9][0-9]|[2-9][0-9]{3})',
  `(?:19(?:7[26]|8[048]|9[26])|[2-9][0-9]${LEAP_IN_CENTURY}|(?:[2468][048]|[3579][26])00)`,
)

const ISO_TIME = new RegExp(ISO_TIME_PATTERN)

/**
 * Unix milliseconds of an ISO 8601 date (midnight UTC) or date and time with its offset.
 * @returns undefined for anything else, days that do not exist included.
 */
export function parseIsoTime(text: string): number | undefined {
  const time = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a whole number with a unit: `90s`, `15m`, `12h`, `30d`. Undefined for anything else, and for zero. */
export function parseDurationMs(text: string): number | undefined {
  const [, amount = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text.trim()) ?? []
  const durationMs = Number(amount) * (UNIT_MS[unit] ?? 0)
  return durationMs > 0 ? durationMs : undefined
}

/** @param ms Unix milliseconds. @returns ISO 8601 UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms)
}

/* Calendar months, UTC, by number from 1970-01: periods of budgets and allowances. */

/** @param now Unix milliseconds. */
export function monthNumber(now: number): number {
  const date = new Date(now)
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
}

/** Unix milliseconds of the start of a month. */
export function monthStart(month: number): number {
  return Date.UTC(1970, month, 1)
}

/**
 * Reads `Retry-After` (RFC 9110, 10.2.3: delay in seconds, or an HTTP date). Fractions of a second are accepted too.
 * @param now Unix milliseconds.
 * @returns Milliseconds from `now`, at least 0; undefined when absent or unreadable. Never throws.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const text = value.trim()
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000)
  if (!/^[A-Za-z]/.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

/**
 * Reads the wait that a response requests: `retry-after-ms` (milliseconds, a convention of several API hosts) where it is
 * valid, else `retry-after`.
 * @param headers Lower-case names.
 * @param now Unix milliseconds.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const precise = headers['retry-after-ms']?.trim()
  if (precise !== undefined && /^\d{1,12}(\.\d+)?$/.test(precise)) return Math.round(Number(precise))
  return parseRetryAfter(headers['retry-after'], now)
}

/** How far a wall clock may be ahead of the time that has passed since it was last accepted. */
const TOLERANCE_MS = 1_000
/** A clock that stays ahead for so long was corrected, or the machine was suspended. */
const ACCEPTED_AFTER_MS = 30_000

/**
 * A wall clock that delays forward jumps: a momentary wrong time would affect all later records, which must not have an
 * earlier one. Backward jumps take effect at once.
 * @param wall Unix milliseconds. @param monotonic Milliseconds.
 * @returns Unix milliseconds.
 */
export function createSteadyClock(wall: () => number, monotonic: () => number): () => number {
  let accepted = { wall: wall(), monotonic: monotonic() }
  let aheadSince: number | undefined
  return () => {
    const read = { wall: wall(), monotonic: monotonic() }
    const expected = accepted.wall + Math.floor(read.monotonic - accepted.monotonic)
    const isAhead = read.wall > expected + TOLERANCE_MS
    if (isAhead) aheadSince ??= read.monotonic
    if (isAhead && read.monotonic - (aheadSince ?? 0) < ACCEPTED_AFTER_MS) return expected
    aheadSince = undefined
    accepted = read
    return read.wall
  }
}
