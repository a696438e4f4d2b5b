/** Those who listen to streams of events in this process: how many there may be, and how they end. */
import { GatewayError } from '../domain/errors.ts'
import type { AccountId } from '../domain/ids.ts'

const MAX_LISTENERS_OF_ACCOUNT = 10
const MAX_LISTENERS = 200
const RETRY_AFTER_MS = 5_000

export interface Listeners {
  /** Throws 429 where the account, 503 where the process has no place left. */
  enter(accountId: AccountId): Listener
  /** Those who listen are to end, and nobody comes in any more. */
  endAll(): void
}

export interface Listener {
  /** Aborted when it is to end. */
  readonly signal: AbortSignal
  end(): void
  /** Gives its place back. */
  leave(): void
}

/** @param what They listen to, in the words of an error: `the events of an account`. */
export function createListeners(what: string): Listeners {
  const all = new Set<AbortController>()
  const counts = new Map<AccountId, number>()
  let closed = false
  return {
    enter(accountId) {
      if (closed) throw new GatewayError('shutting_down', 'The gateway is shutting down; try again in 1 s.')
      const count = counts.get(accountId) ?? 0
      if (count >= MAX_LISTENERS_OF_ACCOUNT) throw tooManyOfAccount(what)
      if (all.size >= MAX_LISTENERS) throw tooMany(what)
      const controller = new AbortController()
      all.add(controller)
      counts.set(accountId, count + 1)
      return {
        signal: controller.signal,
        end: () => controller.abort(),
        leave() {
          if (!all.delete(controller)) return
          const left = (counts.get(accountId) ?? 1) - 1
          if (left === 0) counts.delete(accountId)
          else counts.set(accountId, left)
        },
      }
    },
    endAll() {
      closed = true
      for (const controller of all) controller.abort()
    },
  }
}

function tooManyOfAccount(what: string): GatewayError {
  const message = `At most ${MAX_LISTENERS_OF_ACCOUNT} may listen to ${what} at a time; end one of them.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfterMs: RETRY_AFTER_MS })
}

function tooMany(what: string): GatewayError {
  return new GatewayError('overloaded', `Too many listen to ${what} at the moment.`, { retryAfterMs: RETRY_AFTER_MS })
}
