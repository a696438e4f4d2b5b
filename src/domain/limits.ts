import type { Caller } from './identity/caller.ts'

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
  /** Its body was read. Only the first call counts. */
  read(): void
  /** It was answered with an error. Only the first call counts. @param isRejected Because the request is invalid. */
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
