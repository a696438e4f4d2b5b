import { ProviderError } from '../protocols/protocol.ts'

/** What is shorter than a secret is a word like any other: `none`, `ollama`. */
const SHORTEST_SECRET = 8
const REDACTED = '[redacted]'

/** The same failure without the credential, whole or cut off where the message was: some hosts quote what they were sent. */
export function withoutCredential(error: ProviderError, credential: string): ProviderError {
  const { failure, cause } = error
  if (credential.length < SHORTEST_SECRET) return error
  const message = redact(failure.message, credential)
  const param = failure.param && redact(failure.param, credential)
  if (message === failure.message && param === failure.param) return error
  return new ProviderError({ ...failure, message, ...(param === undefined ? {} : { param }) }, { cause })
}

function redact(text: string, credential: string): string {
  const whole = text.replaceAll(credential, REDACTED)
  if (!whole.endsWith('…')) return whole
  const kept = whole.slice(0, -1)
  for (let length = credential.length - 1; length >= SHORTEST_SECRET; length--) {
    if (kept.endsWith(credential.slice(0, length))) return `${kept.slice(0, -length)}${REDACTED}…`
  }
  return whole
}
