/** Months of the UTC calendar as the address and the API name them: `2026-11`. */

/** What a list of months has at most. */
const MAX_MONTHS = 60

/** The month of the text; undefined for anything else. */
export function readMonth(value: unknown): string | undefined {
  return typeof value === 'string' && /^(19|2\d)\d\d-(0[1-9]|1[0-2])$/.test(value) ? value : undefined
}

/** @param at Unix milliseconds. */
export function monthAt(at: number): string {
  return new Date(at).toISOString().slice(0, 7)
}

/** @param months How many later; below zero: earlier. */
export function addMonths(month: string, months: number): string {
  const [year, number] = partsOf(month)
  return monthAt(Date.UTC(year, number - 1 + months))
}

export interface MonthBounds {
  /** `2026-11-01` */
  readonly start: string
  /** The first of the next, not included. */
  readonly end: string
  /** `2026-11-30` */
  readonly lastDay: string
}

export function boundsOf(month: string): MonthBounds {
  const [year, number] = partsOf(month)
  const lastDay = new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10)
  return { start: `${month}-01`, end: `${addMonths(month, 1)}-01`, lastDay }
}

/** From `latest` back to `earliest`, both included; the newest five years at most. */
export function monthsBack(latest: string, earliest: string): readonly string[] {
  const months = [latest]
  for (let month = latest; month > earliest && months.length < MAX_MONTHS; ) {
    month = addMonths(month, -1)
    months.push(month)
  }
  return months
}

function partsOf(month: string): readonly [year: number, month: number] {
  const [year = '', number = ''] = month.split('-')
  return [Number(year), Number(number)]
}
