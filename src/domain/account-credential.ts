/** Provider credentials of accounts' own (bring your own key): used in place of the operator's, see docs/provider-credentials.md. */
import type { Caller } from './identity/caller.ts'
import type { ProviderCredentialId } from './ids.ts'

/** A credential of an account. What routing knows of its health is kept as long as this object: a rotated one is another. */
export interface AccountCredential {
  readonly id: ProviderCredentialId
  /** The operator's name of the provider. */
  readonly provider: string
  readonly secret: string
  /** Whether the operator's credentials may be used when this one cannot. */
  readonly allowFallback: boolean
}

/** The credentials that apply to a caller. The same object as long as they do not change. */
export interface AccountCredentials {
  /** By the operator's name of the provider; at least one. */
  readonly byProvider: ReadonlyMap<string, AccountCredential>
}

/** Implemented by `features/provider-credentials`. */
export interface AccountCredentialsPort {
  /** Undefined: none. A promise where they must be read first; it rejects with `database_unavailable`. */
  credentialsOf(caller: Caller): AccountCredentials | undefined | Promise<AccountCredentials | undefined>
  /** Share of the cost that is charged for calls with them, in millionths. */
  feePpm(plan: string): number
}
