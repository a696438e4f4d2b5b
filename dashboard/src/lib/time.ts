/** Instants and days as people read them: US English, 24 hours. */
import { DASH } from './format.ts'

export type Zone = 'local' | 'utc'

const LOCALE = 'en-US'
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Up to here an instant is told by its distance from now. */
const RELATIVE_UNTIL_DAYS = 30

const DATE: Intl.DateTimeFormatOptions = { year: 'numeric', month: 'short', day: 'numeric' }
const TIME: Intl.DateTimeFormatOptions = {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
}

function written(iso: string, zone: Zone, options: Intl.DateTimeFormatOptions): string | undefined {
  const at = Date.parse(iso)
  if (Number.isNaN(at)) return undefined
  return new Intl.DateTimeFormat(LOCALE, zone === 'utc' ? { ...options, timeZone: 'UTC' } : options).format(at)
}

/** `Nov 22, 2026, 11:40:35`, with ` UTC` where it is that; a dash for what is no time. */
export function formatDateTime(iso: string, zone: Zone = 'local'): string {
  const text = written(iso, zone, { ...DATE, ...TIME })
  if (text === undefined) return DASH
  return zone === 'utc' ? `${text} UTC` : text
}

/** `Nov 22, 2026`. A date without a time (`2026-11-22`) is that day wherever one reads it. */
export function formatDate(iso: string, zone: Zone = 'local'): string {
  return written(iso, isDay(iso) ? 'utc' : zone, DATE) ?? DASH
}

/** `11:40` */
export function formatTime(iso: string, zone: Zone = 'local'): string {
  return written(iso, zone, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }) ?? DASH
}

function isDay(iso: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(iso)
}

/** The month of a UTC time, a day or a month (`2026-11`): `November 2026`. */
export function monthName(iso: string): string {
  return written(iso, 'utc', { year: 'numeric', month: 'long' }) ?? DASH
}

/**
 * `just now`, `3 min ago`, `in 2 h`, `yesterday`, `12 days ago`; the date from a month on. Days are those of the reader's
 * calendar.
 * @param now Unix milliseconds.
 */
export function relativeTime(iso: string, now: number): string {
  const at = Date.parse(iso)
  if (Number.isNaN(at)) return DASH
  const distance = Math.abs(at - now)
  if (distance < MINUTE) return 'just now'
  if (distance < HOUR) return directed(at > now, `${Math.floor(distance / MINUTE)} min`)
  if (distance < DAY) return directed(at > now, `${Math.floor(distance / HOUR)} h`)
  const days = Math.abs(calendarDay(at) - calendarDay(now))
  if (days <= 1) return at > now ? 'tomorrow' : 'yesterday'
  return days <= RELATIVE_UNTIL_DAYS ? directed(at > now, `${days} days`) : formatDate(iso)
}

function directed(isFuture: boolean, text: string): string {
  return isFuture ? `in ${text}` : `${text} ago`
}

/** Days of the local calendar since 1970, whatever the lengths of those days are. */
function calendarDay(at: number): number {
  const date = new Date(at)
  return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / DAY
}

interface BucketScale {
  readonly interval: 'minute' | 'hour' | 'day'
  /** Whether all of them are in one day, which then need not be said. */
  readonly isOneDay: boolean
  readonly zone: Zone
}

/** So many days or months from the one that `at` lies in; its first moment, in Unix milliseconds. */
export function startOfDay(
  at: number,
  zone: Zone,
  by: { readonly days: number } | { readonly months: number },
): number {
  const date = new Date(at)
  const [year, month, day] =
    zone === 'utc'
      ? [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
      : [date.getFullYear(), date.getMonth(), date.getDate()]
  const parts = 'days' in by ? ([year, month, day + by.days] as const) : ([year, month + by.months, 1] as const)
  return zone === 'utc' ? Date.UTC(...parts) : new Date(...parts).getTime()
}

/** When a bucket of time begins: `Nov 22`, `11:00`, `Nov 22, 11:00`. Days are those of UTC. */
export function bucketLabel(at: number, { interval, isOneDay, zone }: BucketScale): string {
  const day = { month: 'short', day: 'numeric' } as const
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const options: Intl.DateTimeFormatOptions = interval === 'day' ? day : { ...(isOneDay ? {} : day), ...time }
  const isUtc = interval === 'day' || zone === 'utc'
  return new Intl.DateTimeFormat(LOCALE, isUtc ? { ...options, timeZone: 'UTC' } : options).format(at)
}
