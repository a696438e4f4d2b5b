/** Spans of time as people say them. */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** @returns Such as `2 minutes ago`. Clocks of two machines differ: what is yet to come is now. */
export function ago(ms: number): string {
  if (ms < MINUTE_MS) return 'just now'
  if (ms < HOUR_MS) return `${count(Math.floor(ms / MINUTE_MS), 'minute')} ago`
  if (ms < DAY_MS) return `${count(Math.floor(ms / HOUR_MS), 'hour')} ago`
  return `${count(Math.floor(ms / DAY_MS), 'day')} ago`
}

/** @returns Such as `10 minutes`, rounded up, at least one. */
export function minutes(ms: number): string {
  return count(Math.max(1, Math.ceil(ms / MINUTE_MS)), 'minute')
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`
}
