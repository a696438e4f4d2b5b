/** How often pending deliveries are refreshed. */

interface PendingDelivery {
  readonly status: string
  /** ISO 8601; null: there is no further attempt. */
  readonly next_attempt_at: string | null
}

const SOON_MS = 3_000
const LATER_MS = 30_000

/**
 * Every few seconds during an attempt or just before one, less often before a later retry, never after the end.
 * @param now Unix milliseconds.
 */
export function refreshIntervalMs(deliveries: readonly PendingDelivery[], now: number): number | false {
  const pending = deliveries.filter(({ status }) => status === 'pending')
  if (pending.length === 0) return false
  const isSoon = pending.some(({ next_attempt_at: at }) => at === null || Date.parse(at) <= now + LATER_MS)
  return isSoon ? SOON_MS : LATER_MS
}
