/**
 * Periods of reports, as the address of a page says them and as the API takes them. Days and months are those of UTC, by
 * which amounts are booked, or of the viewer's time zone where a page is about requests one by one.
 */
import { formatDate, formatTime, monthName, startOfDay, type Zone } from './time.ts'

export const RANGES = ['1h', 'today', '24h', '7d', '30d', 'month', 'custom'] as const
export type Range = (typeof RANGES)[number]

/** In an address. `from` and `to` are days (`2026-11-22`) or UTC times; a day as `to` is part of the period. */
export interface PeriodSearch {
  readonly range?: Range
  readonly from?: string
  readonly to?: string
}

export interface Period {
  /** ISO 8601, UTC. */
  readonly start: string
  /** Not included. */
  readonly end: string
  readonly range: Range
  readonly label: string
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const DAY_PATTERN = /^\d{4}-\d{2}-\d{2}$/
const TIME_PATTERN = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/

/** The period of an address, without what cannot be read. `from` or `to` alone make it a custom one. */
export function readPeriodSearch(raw: Readonly<Record<string, unknown>>): PeriodSearch {
  const from = readMoment(raw['from'])
  const to = readMoment(raw['to'])
  const hasBounds = from !== undefined || to !== undefined
  const range = RANGES.find((known) => known === raw['range']) ?? (hasBounds ? 'custom' : undefined)
  if (range === undefined) return {}
  if (range !== 'custom') return { range }
  return { range, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

function readMoment(value: unknown): string | undefined {
  if (typeof value !== 'string' || !(DAY_PATTERN.test(value) || TIME_PATTERN.test(value))) return undefined
  const at = Date.parse(value)
  // A day that the calendar does not have, as February 30, would be read as another.
  return Number.isNaN(at) || !new Date(at).toISOString().startsWith(value.slice(0, 10)) ? undefined : value
}

/**
 * The period's bounds. Those that move with time move by whole minutes (`1h`), hours (`24h`) or days, so that the same
 * question is asked for a while; `7d` and `30d` are days with today as the last.
 * @param now Unix milliseconds.
 * @param fallback Where the address names none, or a custom one without a day to begin with.
 * @param zone Of days and months that move with time; days of an address are always of UTC, as links write them.
 */
export function resolvePeriod(
  search: PeriodSearch,
  now: number,
  fallback: Exclude<Range, 'custom'>,
  zone: Zone = 'utc',
): Period {
  const range = search.range ?? fallback
  const custom = range === 'custom' ? customPeriod(search, now, zone) : undefined
  return custom ?? movingPeriod(range === 'custom' ? fallback : range, now, zone)
}

function movingPeriod(range: Exclude<Range, 'custom'>, now: number, zone: Zone): Period {
  const day = (days: number) => startOfDay(now, zone, { days })
  const nextMinute = Math.ceil(now / MINUTE) * MINUTE
  const nextHour = Math.ceil(now / HOUR) * HOUR
  switch (range) {
    case '1h':
      return period(range, nextMinute - HOUR, nextMinute, 'Last hour')
    case 'today':
      return period(range, day(0), day(1), 'Today')
    case '24h':
      return period(range, nextHour - DAY, nextHour, 'Last 24 hours')
    case '7d':
      return period(range, day(-6), day(1), 'Last 7 days')
    case '30d':
      return period(range, day(-29), day(1), 'Last 30 days')
    case 'month': {
      const start = startOfDay(now, zone, { months: 0 })
      return period(range, start, startOfDay(now, zone, { months: 1 }), monthName(new Date(start + DAY).toISOString()))
    }
  }
}

function period(range: Range, start: number, end: number, label: string): Period {
  return { start: new Date(start).toISOString(), end: new Date(end).toISOString(), range, label }
}

/** From the earlier to the later of the two, in whichever order they are given; without an end, to the end of today. */
function customPeriod({ from, to }: PeriodSearch, now: number, zone: Zone): Period | undefined {
  if (from === undefined) return undefined
  const last = to ?? new Date(Math.max(now, Date.parse(from))).toISOString().slice(0, 10)
  const [first, second] = Date.parse(from) <= Date.parse(last) ? [from, last] : [last, from]
  const start = Date.parse(first)
  const end = DAY_PATTERN.test(second) ? Date.parse(second) + DAY : Date.parse(second)
  return end > start ? period('custom', start, end, customLabel(start, end, zone)) : undefined
}

/** The period from the first to the last day of a zone, both part of it. @param from `2026-11-03`, as is `to`. */
export function daysSearch(from: string, to: string, zone: Zone): PeriodSearch {
  if (zone === 'utc') return { range: 'custom', from, to }
  const start = Date.parse(`${from}T00:00:00`) // without a zone, it is the local one
  const end = startOfDay(Date.parse(`${to}T00:00:00`), zone, { days: 1 })
  return { range: 'custom', from: new Date(start).toISOString(), to: new Date(end).toISOString() }
}

/** `2026-11-03` */
export function dayOf(at: number, zone: Zone): string {
  const date = new Date(at)
  const local = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate())
  return new Date(zone === 'utc' ? at : local).toISOString().slice(0, 10)
}

/** `Nov 3 – 9, 2026`, with ` UTC` where the reader has other days, and with times where it is not whole days. */
function customLabel(start: number, end: number, zone: Zone): string {
  const isDay = (at: number) => startOfDay(at, zone, { days: 0 }) === at
  if (isDay(start) && isDay(end)) return daysLabel(start, startOfDay(end, zone, { days: -1 }), zone)
  const from = new Date(start).toISOString()
  const to = new Date(end).toISOString()
  if (start % DAY === 0 && end % DAY === 0) return `${daysLabel(start, end - DAY, 'utc')} UTC`
  const endDay = formatDate(to, 'utc') === formatDate(from, 'utc') ? '' : `${formatDate(to, 'utc')}, `
  return `${formatDate(from, 'utc')}, ${formatTime(from, 'utc')} – ${endDay}${formatTime(to, 'utc')} UTC`
}

function daysLabel(first: number, last: number, zone: Zone): string {
  const format = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', ...(zone === 'utc' && { timeZone: 'UTC' }) })
  // The locale data has thin spaces around its dash, which not every font has.
  return format.formatRange(first, last).replaceAll(/[\u2009\u202f]/g, ' ')
}

/**
 * What to compare a period with: the one of the same length directly before it, for a calendar month the month before.
 * @param now With it, of a period that is not over only as much is compared as has passed of it.
 */
export function previousPeriod({ start, end, range }: Period, now?: number): Period {
  const first = Date.parse(start)
  const last = Date.parse(end)
  const before = range === 'month' ? startOfDay(first, 'utc', { months: -1 }) : first - (last - first)
  const passed = now === undefined ? last - first : Math.max(0, Math.min(now, last) - first)
  const isWhole = passed >= last - first
  return period('custom', before, isWhole ? first : Math.min(before + passed, first), 'Previous period')
}
