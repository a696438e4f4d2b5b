/** Why somebody was not signed in, as the page tells it and the log notes it. */

export type FailureKind =
  | 'cancelled'
  | 'refused by provider'
  | 'expired'
  | 'mismatch'
  | 'unavailable'
  | 'busy'
  | 'untrusted'
  | 'misregistered'
  | 'no e-mail'

export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly kind: FailureKind
  /** Of the provider's own words at most an error code; never a token, a code, a state. */
  readonly reason: string

  constructor(kind: FailureKind, reason: string) {
    super(`${kind}: ${reason}`)
    this.kind = kind
    this.reason = reason
  }
}

/** What OAuth's error codes look like; anything else is not repeated, on no page and in no log. */
const ERROR_CODE = /^[a-z_]{1,40}$/

export function safeCode(code: unknown): string {
  return typeof code === 'string' && ERROR_CODE.test(code) ? code : 'unreadable error code'
}
