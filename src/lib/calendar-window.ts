/**
 * Recurring calendar windows in a time zone: days, weeks, months and quarters that begin at a wall-clock time, whatever
 * daylight-saving changes do to their length. Pure; zones come from the runtime's own data.
 */

export type CalendarUnit = 'day' | 'week' | 'month' | 'quarter' | 'total'

export interface Recurrence {
  readonly unit: CalendarUnit
  /** IANA name. */
  readonly timeZone: string
  /**
   * Unix milliseconds of the start of the first window, whose wall-clock time all others have. Undefined: windows of the
   * calendar, which begin at midnight: weeks on Monday, months on the 1st, quarters in January, April, July and October.
   */
  readonly anchor: number | undefined
}

/** Unix milliseconds. */
export interface CalendarWindow {
  readonly start: number
  /** Exclusive; undefined: it never ends. */
  readonly end: number | undefined
}

const DAY_MS = 86_400_000
/** Wall-clock times are written as the Unix milliseconds that they would be in UTC. */
const FIRST_OF_YEAR = 0
const MONDAY = -3 * DAY_MS
const UNIT_DAYS: Readonly<Partial<Record<CalendarUnit, number>>> = { day: 1, week: 7 }
const QUARTER_MONTHS = 3

/** Windows asked for last, by recurrence: requests come in the same window for a long time. */
const latest = new Map<string, CalendarWindow>()
const MAX_LATEST = 2_000

/** Returns the window that contains a time; undefined before the first. Throws `RangeError` for an unknown zone. */
export function windowAt(recurrence: Recurrence, now: number): CalendarWindow | undefined {
  const { unit, timeZone, anchor } = recurrence
  if (anchor !== undefined && now < anchor) return undefined
  if (unit === 'total') return { start: anchor ?? 0, end: undefined }
  const name = `${unit} ${timeZone} ${anchor}`
  const known = latest.get(name)
  if (known !== undefined && known.start <= now && now < (known.end ?? now)) return known
  const found = findWindow(recurrence, now)
  if (latest.size >= MAX_LATEST) latest.clear()
  latest.set(name, found)
  return found
}

export function isTimeZone(name: string): boolean {
  try {
    offsetAt(name, 0)
    return true
  } catch {
    return false
  }
}

/** Unix milliseconds of midnight of a date in a zone, or of its first moment where midnight is skipped. @param date ISO 8601. */
export function startOfDate(date: string, timeZone: string): number {
  return instantOf(Date.parse(`${date}T00:00:00Z`), timeZone)
}

function findWindow({ unit, timeZone, anchor }: Recurrence, now: number): CalendarWindow {
  const first = anchor === undefined ? calendarAnchor(unit) : wallClock(anchor, timeZone)
  const startOf = (count: number): number => instantOf(addUnits(first, unit, count), timeZone)
  let count = unitsBetween(first, wallClock(now, timeZone), unit)
  while (startOf(count) > now) count--
  while (startOf(count + 1) <= now) count++
  return { start: startOf(count), end: startOf(count + 1) }
}

function calendarAnchor(unit: CalendarUnit): number {
  return unit === 'week' ? MONDAY : FIRST_OF_YEAR
}

/** About how many: at most one too few or too many. */
function unitsBetween(first: number, last: number, unit: CalendarUnit): number {
  const days = UNIT_DAYS[unit]
  if (days !== undefined) return Math.floor((last - first) / (days * DAY_MS))
  const [from, to] = [new Date(first), new Date(last)]
  const months = (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth()
  return Math.floor(months / monthsOf(unit))
}

/** A day that a month does not have is its last. */
function addUnits(wall: number, unit: CalendarUnit, count: number): number {
  const days = UNIT_DAYS[unit]
  if (days !== undefined) return wall + count * days * DAY_MS
  const date = new Date(wall)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + count * monthsOf(unit)]
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const timeOfDay = wall - Math.floor(wall / DAY_MS) * DAY_MS
  return Date.UTC(year, month, Math.min(date.getUTCDate(), lastDay)) + timeOfDay
}

function monthsOf(unit: CalendarUnit): number {
  return unit === 'quarter' ? QUARTER_MONTHS : 1
}

function wallClock(instant: number, timeZone: string): number {
  return instant + offsetAt(timeZone, instant)
}

/** A wall-clock time that occurs twice is its first occurrence; one that is skipped is as much later as clocks are set. */
function instantOf(wall: number, timeZone: string): number {
  const before = offsetAt(timeZone, wall - DAY_MS)
  const after = offsetAt(timeZone, wall + DAY_MS)
  const candidates = [wall - Math.max(before, after), wall - Math.min(before, after)]
  return candidates.find((instant) => wallClock(instant, timeZone) === wall) ?? wall - before
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Milliseconds that a zone's clocks are ahead of UTC. Throws `RangeError` for an unknown zone. */
function offsetAt(timeZone: string, instant: number): number {
  if (timeZone === 'UTC') return 0 // most budgets: parts of a date cost microseconds
  let format = formats.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { ...FIELDS, timeZone })
    formats.set(timeZone, format)
  }
  const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1000) * 1000
}

const FIELDS = {
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const
