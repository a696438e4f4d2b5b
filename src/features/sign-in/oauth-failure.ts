import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client'
import { type FailureKind, SignInError, safeCode } from './failure.ts'

/** What the errors of an authorization response mean (RFC 6749, 4.1.2.1); all others are the provider's refusal. */
const RESPONSE_ERRORS: ReadonlyMap<string, FailureKind> = new Map([
  ['access_denied', 'cancelled'],
  ['temporarily_unavailable', 'unavailable'],
  ['server_error', 'unavailable'],
  ['unauthorized_client', 'misregistered'],
  ['invalid_client', 'misregistered'],
])
/** The same of the token endpoint (RFC 6749, 5.2). A code that is no longer good was used before, or took too long. */
const TOKEN_ERRORS: ReadonlyMap<string, FailureKind> = new Map([
  ['invalid_grant', 'expired'],
  ['invalid_client', 'misregistered'],
  ['unauthorized_client', 'misregistered'],
])

/** What `openid-client` threw, without what it holds on to: bodies, claims and parameters are in its causes. */
export function toSignInError(error: unknown): SignInError {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof SignInError) return at
  if (error instanceof AuthorizationResponseError) {
    return new SignInError(RESPONSE_ERRORS.get(error.error) ?? 'refused by provider', safeCode(error.error))
  }
  if (error instanceof ResponseBodyError) {
    return new SignInError(TOKEN_ERRORS.get(error.error) ?? 'untrusted', safeCode(error.error))
  }
  if (error instanceof WWWAuthenticateChallengeError) return new SignInError('misregistered', 'credentials refused')
  return new SignInError('untrusted', reasonOf(error))
}

/** The library's own sentences are constant, and have a code; what the provider sent is in the causes below them only. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (!('code' in error)) return error.name
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? `${error.message} (${cause.message})` : error.message
}
