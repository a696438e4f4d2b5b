/** What is said of credentials that let nobody in: the same for keys, tokens and sessions, whatever is wrong with them. */
import { GatewayError } from './errors.ts'

export function invalidCredential(): GatewayError {
  return new GatewayError('invalid_credential', 'The credential is not valid: it is wrong, expired or revoked.')
}

export function missingCredential(): GatewayError {
  const message = "Send an API key: 'Authorization: Bearer <key>', or Basic with the key as user name."
  return new GatewayError('missing_credential', message)
}
