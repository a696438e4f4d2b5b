/** Errors of the authorization server as RFC 6749, 5.2 defines them, and the request parameters that they are about. */
import type { GatewayError } from '../../domain/errors.ts'
import { isRecord } from '../../lib/json.ts'

const MAX_PARAMETER_LENGTH = 2_048

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
  /** 400 unless set. */
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

/** Converts any error for clients of the authorization server. */
export function toOAuthError(error: unknown, ours: GatewayError): OAuthError {
  if (error instanceof OAuthError) return error
  const { status } = ours
  const message = DESCRIPTIONS[ours.code] ?? withoutQuotes(ours.message)
  if (status === 500) return new OAuthError('server_error', message, { status })
  if (status > 500) return new OAuthError('temporarily_unavailable', message, { status, retryAfterSeconds: 1 })
  // A body that is too large may not be read to its end; everything else about a request is 400 here.
  return new OAuthError('invalid_request', message, { status: status === 413 ? 413 : 400 })
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  unsupported_media_type: 'The body must be application/x-www-form-urlencoded or application/json.',
  invalid_json: 'The body is not valid JSON.',
}

/** The characters that a description may have. */
function withoutQuotes(text: string): string {
  return text.replaceAll('"', "'").replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
}

export interface Parameters {
  /** Undefined when the parameter is absent or empty (RFC 6749, 3.1). Throws `invalid_request` unless it is one string. */
  optional(name: string): string | undefined
  /** Throws `invalid_request` when the parameter is absent. */
  required(name: string): string
}

/** Reads a form or JSON alike. Unknown parameters are ignored (RFC 6749, 3.2). */
export function readParameters(body: unknown): Parameters {
  const fields = isRecord(body) ? body : {}
  const optional = (name: string): string | undefined => {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (value === undefined || value === '') return undefined
    if (Array.isArray(value))
      throw new OAuthError('invalid_request', `The parameter '${name}' was sent more than once.`)
    if (typeof value !== 'string') throw new OAuthError('invalid_request', `The parameter '${name}' must be a string.`)
    if (value.length > MAX_PARAMETER_LENGTH)
      throw new OAuthError('invalid_request', `The parameter '${name}' is too long.`)
    return value
  }
  return {
    optional,
    required(name) {
      const value = optional(name)
      if (value === undefined) throw new OAuthError('invalid_request', `The parameter '${name}' is missing.`)
      return value
    },
  }
}
