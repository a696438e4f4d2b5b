import { ProviderError } from './protocol.ts'

/**
 * For what can no longer be an answer.
 * @param message Shown to operators; must quote nothing of the answer.
 */
export function brokenAnswer(message: string, cause?: unknown): ProviderError {
  return new ProviderError({ kind: 'failed', message, status: 0 }, cause === undefined ? undefined : { cause })
}
