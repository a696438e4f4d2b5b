/** Credentials that are not written in the configuration but asked for: from a token service, a file, the machine. */
import { ProviderError } from '../../protocols/protocol.ts'

/** Longer than this nobody waits for a credential, in milliseconds. */
export const MAX_CREDENTIAL_WAIT_MS = 10_000

/** Rejects with `ProviderError` of kind `credentials` when there is none, or none in time; the cause says why. */
export async function obtainCredential<Credential>(obtain: () => Promise<Credential>): Promise<Credential> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), MAX_CREDENTIAL_WAIT_MS)
  try {
    return await Promise.race([obtain(), late.promise])
  } catch (cause) {
    const message = 'No credential for the provider could be had.'
    throw new ProviderError({ kind: 'credentials', message, status: 0 }, { cause })
  } finally {
    clearTimeout(timer)
  }
}
