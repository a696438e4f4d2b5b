/** What a caller is told of its limits, wherever they are counted. */
import { GatewayError } from '../../domain/errors.ts'
import { type LimitState, limitHeaders } from '../../domain/limits.ts'

export interface Refusal {
  readonly unit: 'requests' | 'tokens'
  readonly state: LimitState
  readonly retryAfterMs: number
}

export function tooMany({ unit, state, retryAfterMs }: Refusal): GatewayError {
  const seconds = Math.min(60, Math.max(1, Math.ceil(retryAfterMs / 1000)))
  const message = `The limit of ${state.limit} ${unit} a minute is reached; try again in ${seconds} s.`
  return new GatewayError('rate_limit_exceeded', message, {
    retryAfterMs,
    headers: limitHeaders({ requests: undefined, tokens: undefined, [unit]: state }),
  })
}

export function tooManyAtOnce(limit: number): GatewayError {
  const message = `${limit} requests of this account are under way, which is its limit; try again in 1 s.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfterMs: 1_000 })
}

/** Of the limits of account and key, the one with less left. */
export function tighter(account: LimitState | undefined, key: LimitState | undefined): LimitState | undefined {
  if (account === undefined || key === undefined) return account ?? key
  return key.remaining < account.remaining ? key : account
}
