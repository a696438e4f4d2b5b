/** A request to a model that was rejected before a provider was called: the client's mistake, or a limit of it. */
import type { ErrorCode } from './errors.ts'
import type { AccountId, KeyId } from './ids.ts'

export interface Rejection {
  /** Undefined: the request had no valid credential. */
  readonly caller: { readonly accountId: AccountId; readonly keyId: KeyId } | undefined
  readonly requestId: string
  /** The path of the route: `/v1/chat/completions`. */
  readonly endpoint: string
  /** Undefined: the body names none, or was not parsed. */
  readonly model: string | undefined
  /** Of the answer. */
  readonly status: number
  readonly code: ErrorCode
}
