import type { Completion } from './completion.ts'
import type { Admission, GatewayPorts, LimitState } from './ports.ts'

/** What a completion's head tells beside its body. */
export function completionHeaders(completion: Completion, { clock }: GatewayPorts): Record<string, string> {
  const headers = limitHeaders(completion.admission)
  const { target, attempts, answering, upstreamMs, receivedAt } = completion
  if (target !== undefined) headers['x-turnpike-provider'] = target.upstream.name
  headers['x-turnpike-attempts'] = String(attempts)
  headers['x-turnpike-overhead-ms'] = Math.max(0, clock() - receivedAt - upstreamMs).toFixed(3)
  const warnings = answering?.calls[0]?.warnings
  if (warnings !== undefined && warnings.length > 0) headers['x-turnpike-warnings'] = warnings.join(', ')
  return headers
}

/** The state of the limits after this request was counted, in OpenAI's header names. */
export function limitHeaders({ requests, tokens }: Pick<Admission, 'requests' | 'tokens'>): Record<string, string> {
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
