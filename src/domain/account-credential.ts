/**
 * The accounts' own provider credentials (bring your own key), which replace the operator's; see
 * docs/provider-credentials.md.
 */
import type { Caller } from './identity/caller.ts'
import type { ProviderCredentialId } from './ids.ts'

/**
 * A credential of an account. Routing keeps its health as long as this object exists; a rotated credential is another
 * object.
 */
export interface AccountCredential {
  readonly id: ProviderCredentialId
  /** The operator's name of the provider. */
  readonly provider: string
  readonly secret: string
  /** Whether the operator's credentials are the fallback of this one. */
  readonly allowFallback: boolean
}

/** The credentials that apply to a caller. The same object as long as they do not change. */
export interface AccountCredentials {
  /** The credentials by the operator's name of the provider, at least one. */
  readonly byProvider: ReadonlyMap<string, AccountCredential>
}

/** Implemented by `features/provider-credentials`. */
export interface AccountCredentialsPort {
  /** Undefined if the caller has none. A promise if they must be read first; it rejects with `database_unavailable`. */
  credentialsOf(caller: Caller): AccountCredentials | undefined | Promise<AccountCredentials | undefined>
  /** Returns the share of the cost, in millionths, that is charged for calls with these credentials. */
  feePpm(plan: string): number
}
