/** Parameters of a request, from a form or from JSON alike. */
import { isRecord } from '../../lib/json.ts'
import { OAuthError } from './oauth-error.ts'

const MAX_LENGTH = 2_048

export interface Parameters {
  /** Undefined when it was not sent, or sent empty (RFC 6749, 3.1). Throws `invalid_request` for what is no single text. */
  optional(name: string): string | undefined
  /** Throws `invalid_request` when it was not sent. */
  required(name: string): string
}

/** Those that nobody asks for are ignored (RFC 6749, 3.2). */
export function readParameters(body: unknown): Parameters {
  const fields = isRecord(body) ? body : {}
  const optional = (name: string): string | undefined => {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (value === undefined || value === '') return undefined
    if (Array.isArray(value)) throw new OAuthError('invalid_request', `The parameter '${name}' came more than once.`)
    if (typeof value !== 'string') throw new OAuthError('invalid_request', `The parameter '${name}' must be text.`)
    if (value.length > MAX_LENGTH) throw new OAuthError('invalid_request', `The parameter '${name}' is too long.`)
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
