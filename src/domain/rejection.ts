/** A request to a model that was rejected before a provider was called, for an error of the client or a limit. */
import type { ErrorCode } from './errors.ts'
import type { AccountId, KeyId } from './ids.ts'

export interface Rejection {
  /** Undefined if the request had no valid credential. */
  readonly caller: { readonly accountId: AccountId; readonly keyId: KeyId } | undefined
  readonly requestId: string
  /** The path of the route: `/v1/chat/completions`. */
  readonly endpoint: string
  /** Undefined if the body names no model or was not parsed. */
  readonly model: string | undefined
  /** The status of the answer. */
  readonly status: number
  readonly code: ErrorCode
}
