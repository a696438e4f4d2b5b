/**
 * The generic cell rate algorithm with a burst of the whole limit: a rested client may spend `limit` at once, and never
 * more than `2 × limit` in any window. The state is one number: when the client would be rested again.
 */

export interface GcraLimit {
  /** What may be spent in a window. */
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

export interface GcraDemand extends GcraLimit {
  /** Not negative. What costs more than the whole limit is allowed to a rested client, and empties the limit. */
  readonly cost: number
}

/** Sums of intervals round; that must not cost the last request. */
const TOLERANCE_MS = 1e-6

/** Spends `cost` at `now`. @param restedAt The state before; undefined for a client never seen. */
export function spend({ limit, windowMs, cost }: GcraDemand, restedAt: number | undefined, now: number): GcraResult {
  const interval = windowMs / limit
  const before = Math.max(restedAt ?? now, now)
  const after = before + interval * Math.min(cost, limit)
  const excess = after - now - windowMs
  if (excess > TOLERANCE_MS) {
    const left = remaining(before - now, { limit, windowMs })
    return { allowed: false, restedAt: before, remaining: left, resetMs: before - now, retryAfterMs: excess }
  }
  const left = remaining(after - now, { limit, windowMs })
  return { allowed: true, restedAt: after, remaining: left, resetMs: after - now, retryAfterMs: 0 }
}

/** The state after what was spent turns out to have cost `less` than was said; negative: more. */
export function correct({ limit, windowMs }: GcraLimit, restedAt: number, less: number): number {
  return restedAt - (windowMs / limit) * less
}

function remaining(owedMs: number, { limit, windowMs }: GcraLimit): number {
  return Math.max(0, Math.floor(((windowMs - owedMs) * limit) / windowMs + TOLERANCE_MS))
}
