import type { UpstreamTimeouts } from './registry.ts'

/** Which wait ran out. */
export type TimeoutKind = 'first_byte' | 'idle' | 'total'

export interface Deadline {
  /** A data event came: the wait for the first one is over, the idle wait starts anew. Comments do not count. */
  progress(): void
  /** We are not listening (the client reads slowly): until `resume` or progress only the total counts. */
  suspend(): void
  /** We listen again: the wait starts anew. Without a `suspend` before, nothing changes. */
  resume(): void
  /** Nothing is awaited any more, whatever still comes. */
  clear(): void
  /** Which wait has run out, if one has. */
  expired(): TimeoutKind | undefined
}

interface DeadlineOptions {
  readonly timeouts: UpstreamTimeouts
  /** An answer that is not streamed: its first byte comes when all of it is there. */
  readonly whole?: boolean
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** From when the total counts: what the request waited for before is not given to it again. Now by default. */
  readonly receivedAt?: number | undefined
  readonly onExpire: (kind: TimeoutKind) => void
}

/**
 * The waits of one call, on one timer: progress only notes the time, and the timer, when it fires early, is set anew
 * for the rest. A timer per data event would cost more than the event.
 */
export function startDeadline(options: DeadlineOptions): Deadline {
  const { timeouts, whole = false, clock, onExpire } = options
  let lastAt = clock()
  const endsAt = (options.receivedAt ?? lastAt) + timeouts.total
  let waitMs = whole ? timeouts.wholeAnswer : timeouts.firstByte
  let started = false
  let suspended = false
  let cleared = false
  let expired: TimeoutKind | undefined
  let timer = setTimeout(check, Math.min(endsAt - lastAt, waitMs))

  function check(): void {
    const now = clock()
    const total = endsAt - now
    const wait = suspended ? waitMs : lastAt + waitMs - now
    if (total > 0.5 && wait > 0.5) {
      timer = setTimeout(check, Math.min(total, wait))
      return
    }
    expired = total <= 0.5 ? 'total' : started ? 'idle' : 'first_byte'
    onExpire(expired)
  }

  return {
    progress() {
      lastAt = clock()
      suspended = false
      if (started || cleared) return
      started = true
      waitMs = timeouts.idle
      clearTimeout(timer)
      check()
    },
    suspend() {
      suspended = true
    },
    resume() {
      if (!suspended) return
      suspended = false
      lastAt = clock()
    },
    clear() {
      cleared = true
      clearTimeout(timer)
    },
    expired: () => expired,
  }
}
