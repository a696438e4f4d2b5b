/** What a call's failures are called that no provider told: in errors, and in one word in `x-turnpike-route`. */
import { ProviderError } from '../protocols/protocol.ts'
import type { TimeoutKind } from './deadline.ts'
import { withoutCredential } from './redact.ts'

export const TOO_LARGE_MESSAGE = 'The answer is larger than the gateway accepts.'
export const CUT_MESSAGE = 'The connection to the provider broke before the end of the answer.'
export const UNFINISHED_MESSAGE = 'The provider answered without a finish reason.'
export const CONNECTION_MESSAGE = 'The connection to the provider failed.'
export const TIMEOUT_MESSAGES: Readonly<Record<TimeoutKind, string>> = {
  first_byte: 'The provider did not start to answer in time.',
  idle: 'The provider stopped sending.',
  total: 'The answer took longer than the total time allowed.',
}

const WORDS: Readonly<Record<string, string>> = {
  [TOO_LARGE_MESSAGE]: 'too_large',
  [CUT_MESSAGE]: 'cut',
  [UNFINISHED_MESSAGE]: 'cut',
  [CONNECTION_MESSAGE]: 'connection',
  [TIMEOUT_MESSAGES.first_byte]: 'timeout',
  [TIMEOUT_MESSAGES.idle]: 'timeout',
  [TIMEOUT_MESSAGES.total]: 'timeout',
}

/** Of a failure without a status: what is not listed was an answer that could not be read. */
export function failureWord({ failure }: ProviderError): string {
  return WORDS[failure.message] ?? 'malformed'
}

export function failed(message: string, cause?: unknown): ProviderError {
  return new ProviderError({ kind: 'failed', message, status: 0 }, { cause })
}

interface Circumstances {
  readonly expired: TimeoutKind | undefined
  readonly credential: string
}

/** What a failure is called depends on who caused it: a deadline's abort must not look like the provider's. */
export function nameFailure(error: unknown, { expired, credential }: Circumstances): ProviderError {
  if (expired !== undefined) return failed(TIMEOUT_MESSAGES[expired], error)
  if (error instanceof ProviderError) return withoutCredential(error, credential)
  return failed(CONNECTION_MESSAGE, error)
}
