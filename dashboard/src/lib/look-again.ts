/** How long what is under way may stay unlooked at. */

interface UnderWay {
  readonly status: string
  /** ISO 8601; null: there is no further attempt. */
  readonly next_attempt_at: string | null
}

const SOON_MS = 3_000
const LATER_MS = 30_000

/**
 * A delivery that is being tried, or will be in a moment, is looked at every few seconds; one that waits for a retry now
 * and then; what has ended no more.
 * @param now Unix milliseconds.
 */
export function lookAgainMs(deliveries: readonly UnderWay[], now: number): number | false {
  const pending = deliveries.filter(({ status }) => status === 'pending')
  if (pending.length === 0) return false
  const isSoon = pending.some(({ next_attempt_at: at }) => at === null || Date.parse(at) <= now + LATER_MS)
  return isSoon ? SOON_MS : LATER_MS
}
