import { ProviderError } from '../protocols/protocol.ts'

/** What is shorter than a secret is a word like any other: `none`, `ollama`. */
const SHORTEST_SECRET = 8

/** The same failure without the credential: some hosts quote what they were sent. */
export function withoutCredential(error: ProviderError, credential: string): ProviderError {
  const { failure, cause } = error
  const { message, param } = failure
  if (credential.length < SHORTEST_SECRET || !(message.includes(credential) || param?.includes(credential) === true))
    return error
  const redact = (text: string): string => text.replaceAll(credential, '[redacted]')
  return new ProviderError({ ...failure, message: redact(message), param: param && redact(param) }, { cause })
}
