/**
 * What the data plane needs from the rest of the house. `app.ts` connects these to features; tests give literals.
 * The gateway itself knows no SQL, no HTTP server and no feature.
 */
import type { Caller } from '../domain/caller.ts'
import type { CompletionRecord } from '../domain/completion.ts'
import type { CreditPort, IdempotencyPort } from '../domain/credit.ts'
import type { IdSource } from '../domain/ids.ts'
import type { LimitStates } from '../domain/limits.ts'
import type { Model } from '../domain/model.ts'
import type { Provider, Transport } from '../providers/provider.ts'
import type { Health } from './routing/health.ts'
import type { CountedUsage } from './usage-bounds.ts'

/** A configured provider: the registry's facts under the operator's settings. */
export interface UpstreamProvider {
  /** The operator's name for it. */
  readonly name: string
  readonly provider: Provider
  readonly transport: Transport
  /** Without trailing slash. */
  readonly baseUrl: string
  /** The keys to spread calls over; [''] for hosts without one. */
  readonly credentials: readonly string[]
  readonly timeouts: UpstreamTimeouts
  readonly onDisconnect: 'cancel' | 'drain'
  /** Whether body fields that nobody here knows are sent as they are; false unless said. */
  readonly forwardUnknown?: boolean | undefined
  /** Calls at once; undefined: no limit of its own. */
  readonly maxInFlight: number | undefined
}

/** Where a request goes. */
export interface Target {
  readonly upstream: UpstreamProvider
  /** The provider's own name of the model. */
  readonly model: string
  readonly credential: string
}

/** All in milliseconds. `firstByte` and `idle` are waits for data events; comments do not count. */
export interface UpstreamTimeouts {
  readonly connect: number
  readonly firstByte: number
  /** Of an answer that is not streamed, whose first byte comes when all of it is there. */
  readonly wholeAnswer: number
  readonly idle: number
  readonly total: number
}

/** The models as they are now; replaced as a whole on reload. */
export interface ModelBook {
  /** By ID or alias. */
  find(id: string): Model | undefined
  /** The `count` nearest IDs, nearest first, for error messages. */
  nearest(id: string, count: number): readonly string[]
  readonly all: readonly Model[]
}

export interface Admission extends LimitStates {
  /** Nothing runs for the request any more; only the first call counts. */
  release(): void
  /** What the request really used, in tokens; only the first call counts. */
  settle(tokens: number): void
}

export interface GatewayPorts {
  /**
   * Throws or rejects with `GatewayError` when a rate limit is reached. A promise only where limits are counted elsewhere.
   * @param worstTokens What the request may use at most.
   */
  readonly admit: (caller: Caller, worstTokens: () => number) => Admission | Promise<Admission>
  readonly models: () => ModelBook
  readonly provider: (name: string) => UpstreamProvider | undefined
  /** How providers fare. */
  readonly health: Health
  readonly credit: CreditPort
  readonly idempotency: IdempotencyPort
  /**
   * Tells whoever watches how a completion ended. Must not throw and must not block.
   * @param overheadMs What of the time to the first byte was ours; undefined where nothing was answered.
   * @param reported The provider's figures, where they were outside what can have been used.
   */
  readonly report: (record: CompletionRecord, overheadMs: number | undefined, reported?: CountedUsage) => void
  /** Counts the tokens of text off the event loop. */
  readonly countTokens: (text: string) => Promise<number>
  /** The same for all of a text, or undefined where it cannot be counted in time. */
  readonly countWhole: (text: string, timeoutMs: number) => Promise<number | undefined>
  readonly ids: IdSource
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Between 0 and 1. */
  readonly random: () => number
}
