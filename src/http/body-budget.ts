/**
 * The memory budget of request bodies, from the first byte until the request is complete, by owner and in total. A body that
 * exceeds it is rejected before it is read.
 */
import { GatewayError } from '../domain/errors.ts'

/** Of the heap limit. A body may be in memory several times: received, parsed, and rendered. */
const HEAP_SHARE = 1 / 8
const ACCOUNT_SHARE = 1 / 2
const KEY_SHARE = 3 / 8
/** Bodies of the largest size that fit, however small the heap is. */
const LEAST_BODIES = 4

export interface BodyCaps {
  /** Bytes of all owners, of an account or address, of a key. */
  readonly process: number
  readonly account: number
  readonly key: number
}

export function bodyCaps(heapLimitBytes: number, largestBodyBytes: number): BodyCaps {
  const process = Math.max(Math.floor(heapLimitBytes * HEAP_SHARE), LEAST_BODIES * largestBodyBytes)
  return {
    process,
    account: Math.floor(process * ACCOUNT_SHARE),
    key: Math.max(Math.floor(process * KEY_SHARE), largestBodyBytes),
  }
}

export interface BodyOwner {
  /** An account, or the address of a client without one. */
  readonly account: string
  readonly key: string | undefined
}

export interface BodyReservation {
  /** Reserves more bytes. Throws as `reserve` does, without effect. */
  grow(bytes: number): void
  /** Only the first call counts. */
  release(): void
}

export interface BodyBudget {
  /** Throws 429 `rate_limit_exceeded` at the owner's limit, 503 `overloaded` at the process's. */
  reserve(owner: BodyOwner, bytes: number): BodyReservation
  /** Bytes in memory, of all. */
  readonly used: number
}

const RETRY_AFTER_MS = 1_000

export function createBodyBudget(most: BodyCaps): BodyBudget {
  const owned = new Map<string, number>()
  let used = 0
  function add({ account, key }: BodyOwner, bytes: number): void {
    used += bytes
    change(owned, account, bytes)
    if (key !== undefined) change(owned, key, bytes)
  }
  function check({ account, key }: BodyOwner, bytes: number): void {
    if (key !== undefined && (owned.get(key) ?? 0) + bytes > most.key) throw tooMany('key', most.key)
    if ((owned.get(account) ?? 0) + bytes > most.account) throw tooMany('account', most.account)
    if (used + bytes <= most.process) return
    throw new GatewayError('overloaded', 'The gateway has no memory for another request body.', {
      retryAfterMs: RETRY_AFTER_MS,
    })
  }
  return {
    reserve(owner, first) {
      let bytes = 0
      const grow = (more: number): void => {
        check(owner, more)
        add(owner, more)
        bytes += more
      }
      grow(first)
      return {
        grow,
        release() {
          add(owner, -bytes)
          bytes = 0
        },
      }
    },
    get used() {
      return used
    },
  }
}

function change(owned: Map<string, number>, id: string, bytes: number): void {
  const sum = (owned.get(id) ?? 0) + bytes
  if (sum === 0) owned.delete(id)
  else owned.set(id, sum)
}

function tooMany(owner: string, limit: number): GatewayError {
  const message = `Request bodies in memory exceed ${limit} bytes for this ${owner}.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfterMs: RETRY_AFTER_MS })
}
