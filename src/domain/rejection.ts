/** A request to a model that was rejected before a provider was called, for an error of the client or a limit. */
import type { ErrorCode } from './errors.ts'
import type { AccountId, KeyId } from './ids.ts'

export interface RejectedCaller {
  readonly accountId: AccountId
  readonly keyId: KeyId
}

export interface Rejection {
  /** Undefined if the request had no valid credential. */
  readonly caller: RejectedCaller | undefined
  readonly requestId: string
  /** Undefined if the request is not traced. */
  readonly traceId?: string | undefined
  /** The path of the route: `/v1/chat/completions`. */
  readonly endpoint: string
  /** Undefined if the body names no model or was not parsed. */
  readonly model: string | undefined
  /** The status of the answer. */
  readonly status: number
  readonly code: ErrorCode
}

const OWNERS = new WeakMap<object, RejectedCaller>()

/** Records the owner of the credential that an error refuses. The request has no caller, but its account sees the rejection. */
export function withOwner<Failure extends object>(error: Failure, { accountId, keyId }: RejectedCaller): Failure {
  OWNERS.set(error, { accountId, keyId })
  return error
}

/** Returns the owner of the refused credential. Undefined if the error refuses none or its owner is unknown. */
export function ownerOf(error: object): RejectedCaller | undefined {
  return OWNERS.get(error)
}
