/**
 * The generic cell rate algorithm with a burst of the whole limit: a rested client may send `limit` requests at once,
 * and never more than `2 × limit` in any window. The state is one number: when the client would be rested again.
 */

export interface GcraLimit {
  /** Requests a window. */
  readonly limit: number
  readonly windowMs: number
}

export interface GcraResult {
  readonly allowed: boolean
  /** The new state; unchanged when refused. Milliseconds on the clock of `now`. */
  readonly restedAt: number
  readonly remaining: number
  /** Until the limit is whole again. */
  readonly resetMs: number
  /** 0 when allowed. */
  readonly retryAfterMs: number
}

/** Counts one request at `now`. @param restedAt The state before; undefined for a client never seen. */
export function countRequest({ limit, windowMs }: GcraLimit, restedAt: number | undefined, now: number): GcraResult {
  const interval = windowMs / limit
  const before = Math.max(restedAt ?? now, now)
  const after = before + interval
  const excess = after - now - windowMs
  // A rounding error of the sum of intervals must not cost the last request.
  if (excess > 1e-6)
    return { allowed: false, restedAt: before, remaining: 0, resetMs: before - now, retryAfterMs: excess }
  const remaining = Math.floor((windowMs - (after - now)) / interval + 1e-6)
  return { allowed: true, restedAt: after, remaining, resetMs: after - now, retryAfterMs: 0 }
}
