/** Calendar months, UTC, by number from 1970-01: what budgets and allowances are of. */

/** @param now Unix milliseconds. */
export function monthNumber(now: number): number {
  const date = new Date(now)
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
}

/** Unix milliseconds of the month's first moment. */
export function monthStart(month: number): number {
  return Date.UTC(1970, month, 1)
}
