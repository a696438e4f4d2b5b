/** Rate limits: the algorithm, the state of a limit as response headers, and the port that counts requests. */
import type { Caller } from './identity/caller.ts'

/**
 * The generic cell rate algorithm with a burst of the whole limit: an idle client may spend `limit` at once, and never more
 * than `2 × limit` in any window. The state is one number: the time at which the limit is full again.
 */
export interface GcraLimit {
  /** Allowed cost in a window. */
  readonly limit: number
  readonly windowMs: number
}

export interface GcraResult {
  readonly allowed: boolean
  /** The new state; unchanged when rejected. Milliseconds on the clock of `now`. */
  readonly restedAt: number
  readonly remaining: number
  /** The time until the limit is full again. */
  readonly resetMs: number
  /** 0 when allowed. */
  readonly retryAfterMs: number
}

interface GcraDemand extends GcraLimit {
  /** Not negative. An idle client may exceed the whole limit once, which empties it. */
  readonly cost: number
}

/** Rounding of sums must not reject the last request. */
const TOLERANCE_MS = 1e-6

/** Spends `cost` at `now`. @param restedAt The state before; undefined for a new client. */
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

/** Returns the state after a correction: the cost was lower by `less`; negative: higher. */
export function correct({ limit, windowMs }: GcraLimit, restedAt: number, less: number): number {
  return restedAt - (windowMs / limit) * less
}

function remaining(owedMs: number, { limit, windowMs }: GcraLimit): number {
  return Math.max(0, Math.floor(((windowMs - owedMs) * limit) / windowMs + TOLERANCE_MS))
}

/** The state of one limit after a request was counted. */
export interface LimitState {
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}

export interface LimitStates {
  readonly requests: LimitState | undefined
  readonly tokens: LimitState | undefined
}

/** The states as response headers, under OpenAI's names. */
export function limitHeaders({ requests, tokens }: LimitStates): Record<string, string> {
  const headers: Record<string, string> = {}
  if (requests !== undefined) addLimit(headers, 'requests', requests)
  if (tokens !== undefined) addLimit(headers, 'tokens', tokens)
  return headers
}

/** A duration as OpenAI writes it: `0s`, `12ms`, `1.5s`, `6m0s`, `1h0m0s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds <= 0) return '0s'
  if (milliseconds < 1000) return `${Math.ceil(milliseconds)}ms`
  const seconds = Math.ceil(milliseconds) / 1000
  if (seconds < 60) return `${seconds}s`
  const whole = Math.ceil(seconds)
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes}m${whole % 60}s`
  return `${Math.floor(minutes / 60)}h${minutes % 60}m${whole % 60}s`
}

function addLimit(headers: Record<string, string>, kind: string, { limit, remaining, resetMs }: LimitState): void {
  headers[`x-ratelimit-limit-${kind}`] = String(limit)
  headers[`x-ratelimit-remaining-${kind}`] = String(remaining)
  headers[`x-ratelimit-reset-${kind}`] = formatDuration(resetMs)
}

/** One request between its headers and its outcome. */
export interface RequestEntry {
  /** The body was read. Only the first call counts. */
  read(): void
  /** The response is an error. Only the first call counts. @param isRejected Because the request is invalid. */
  failed(isRejected: boolean): void
}

/** Counts requests before their bodies are read. */
export interface RequestGate {
  /**
   * Throws `rate_limit_exceeded`, with nothing counted.
   * @param isMetered Whether the requests a minute of the plan and key count it.
   */
  enter(caller: Caller, isMetered: boolean): RequestEntry
}
