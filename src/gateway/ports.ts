/**
 * The ports of the data plane: everything that it needs from the control plane. `src/app` connects them to features;
 * tests pass literals. The gateway itself knows no SQL, no HTTP server and no feature.
 */
import type { AccountCredentialsPort } from '../domain/account-credential.ts'
import type { CapturePort, CompletionSignal } from '../domain/completion.ts'
import type { CreditPort, IdempotencyPort } from '../domain/credit.ts'
import type { GuardrailsPort } from '../domain/guardrails/guard.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { IdSource } from '../domain/ids.ts'
import type { LimitStates } from '../domain/limits.ts'
import type { ModelBook } from '../domain/model.ts'
import type { Health } from './routing/health.ts'
import type { UpstreamProvider } from './upstream/transport.ts'

export type { ClientConnection } from '../domain/completion.ts'
export type { ModelBook } from '../domain/model.ts'

export interface Admission extends LimitStates {
  /** Releases the concurrency of the request. Only the first call has an effect. */
  release(): void
  /** Reports the tokens that the request used. Only the first call has an effect. */
  settle(tokens: number): void
}

/**
 * Stores an answer before its last byte is sent. Never rejects.
 * @param answer The complete JSON text.
 * @returns whether the answer is stored, for every process.
 */
export type StoreAnswer = (answer: string) => Promise<boolean>

export interface GatewayPorts {
  /**
   * Throws or rejects with `GatewayError` when a rate limit is reached. Returns a promise only if limits are counted
   * in Redis.
   * @param worstTokens The most tokens that the request can use.
   */
  readonly admit: (caller: Caller, worstTokens: () => number) => Admission | Promise<Admission>
  /** At the prices of the caller's plan. */
  readonly models: (plan: string) => ModelBook
  readonly provider: (name: string) => UpstreamProvider | undefined
  /** The health of providers, deployments and credentials. */
  readonly health: Health
  /** The accounts' own credentials at providers. Undefined if no account has any. */
  readonly byok?: AccountCredentialsPort
  /** The rules about the content of prompts and answers. Undefined if no account has any. */
  readonly guardrails?: GuardrailsPort
  /** Stores prompts and answers of accounts that want it; undefined: nothing is stored. */
  readonly capture?: CapturePort | undefined
  readonly credit: CreditPort
  readonly idempotency: IdempotencyPort
  /** Reports the outcome of a completion. Must neither throw nor block. */
  readonly report: (signal: CompletionSignal) => void
  /** Counts the tokens of text off the event loop. */
  readonly countTokens: (text: string) => Promise<number>
  /** Counts the tokens of the whole text, at least until there are `enough`. Undefined if they cannot be counted in time. */
  readonly countWhole: (text: string, timeoutMs: number, enough?: number) => Promise<number | undefined>
  readonly ids: IdSource
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Returns a number from 0 to 1. */
  readonly random: () => number
}
