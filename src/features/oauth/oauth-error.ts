/** Errors as RFC 6749, 5.2 wants them, for every path of the authorization server. */
import type { GatewayError } from '../../domain/errors.ts'

export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unsupported_grant_type'
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'temporarily_unavailable'
  | 'server_error'

export interface OAuthErrorOptions {
  /** 400 unless said. */
  readonly status?: number
  readonly retryAfterSeconds?: number
}

export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: OAuthErrorCode
  readonly status: number
  readonly retryAfterSeconds: number | undefined

  /** @param description Shown to clients: ASCII without quotes and backslashes (RFC 6749, 5.2), and without secrets. */
  constructor(code: OAuthErrorCode, description: string, { status = 400, retryAfterSeconds }: OAuthErrorOptions = {}) {
    super(description)
    this.code = code
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** What a client of the authorization server is told of any error. */
export function toOAuthError(error: unknown, ours: GatewayError): OAuthError {
  if (error instanceof OAuthError) return error
  const { status } = ours
  const message = PLAIN[ours.code] ?? plain(ours.message)
  if (status === 500) return new OAuthError('server_error', message, { status })
  if (status > 500) return new OAuthError('temporarily_unavailable', message, { status, retryAfterSeconds: 1 })
  // A body that is too large may not be read to its end; everything else about a request is 400 here.
  return new OAuthError('invalid_request', message, { status: status === 413 ? 413 : 400 })
}

const PLAIN: Readonly<Record<string, string>> = {
  unsupported_media_type: 'The body must be application/x-www-form-urlencoded or application/json.',
  invalid_json: 'The body is not valid JSON.',
}

/** The characters that a description may have. */
function plain(text: string): string {
  return text.replaceAll('"', "'").replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
}
