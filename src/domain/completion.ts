import { isRecord, parseJson } from '../lib/json.ts'
import type { FinishReason } from './chat.ts'
import type { AccountId, CompletionId, KeyId } from './ids.ts'
import type { NanoUsd } from './money.ts'
import type { UsageDetail } from './price/price.ts'

/**
 * `completed`: the client got a whole answer. `failed`: nothing was generated for it. `incomplete`: the provider
 * broke off. `client_left`: the client did.
 */
export type CompletionStatus = 'completed' | 'failed' | 'client_left' | 'incomplete'

/**
 * Whether the provider counted the tokens or we did. `bounded`: the provider reported what cannot be, and the nearest
 * possible figures are charged.
 */
export type UsageSource = 'provider' | 'estimated' | 'bounded'

/**
 * What became of one call to a provider: `answered`, or why another was tried. `abandoned`: the client left, or the
 * gateway ended the request.
 */
export type AttemptOutcome =
  | 'answered'
  | 'abandoned'
  | 'rejected'
  | 'credentials'
  | 'quota'
  | 'rate_limited'
  | 'not_found'
  | 'overloaded'
  | 'failed'
  | 'cut'

/** One call of a request, in the order they were made. */
export interface AttemptNote {
  /** The operator's name for the provider. */
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly outcome: AttemptOutcome
  /** HTTP status of the provider's answer; 0 where there was none. */
  readonly status: number
  /** Milliseconds since the request's arrival. */
  readonly startedMs: number
  /** To the first event of the answer, or to the failure. */
  readonly durationMs: number
}

/** The one row that every completion that reached a provider leaves behind. */
export interface CompletionRecord {
  readonly id: CompletionId
  readonly accountId: AccountId
  readonly keyId: KeyId
  /** The model ID after aliases are resolved. */
  readonly model: string
  readonly provider: string
  readonly status: CompletionStatus
  readonly stream: boolean
  readonly finishReason: FinishReason | undefined
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  /** Seldom classes of usage; absent: there are none. */
  readonly usageDetail?: UsageDetail | undefined
  /** What is charged. */
  readonly costNanoUsd: NanoUsd
  /** What its tokens cost beyond that, because the account's overrun cap was reached. Set by the ledger. */
  readonly unbilledNanoUsd?: NanoUsd | undefined
  readonly priceVersion: string
  /** What of the price applied, see `priceUsage`; absent: the price itself. */
  readonly priceRule?: string | undefined
  readonly usageSource: UsageSource
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly durationMs: number
  /** From the request's arrival to the first byte written to the client; undefined if none was. */
  readonly firstByteMs: number | undefined
  /** Calls made to providers. */
  readonly attempts: number
  /** What became of each, where there was more than one, or one that did not answer; the newest 10. */
  readonly attemptLog: readonly AttemptNote[] | undefined
  readonly clientRequestId: string | undefined
}

/** The newest ones. */
const MAX_NOTES = 10
/** Of a provider or a model: the configuration sets its names no limit. */
const MAX_NAME_LENGTH = 200

export function boundedAttempts(log: readonly AttemptNote[]): readonly AttemptNote[] {
  return log.slice(-MAX_NOTES).map(({ provider, model, outcome, status, startedMs, durationMs }) => ({
    provider: provider.slice(0, MAX_NAME_LENGTH),
    model: model.slice(0, MAX_NAME_LENGTH),
    outcome,
    status,
    startedMs: Math.round(startedMs),
    durationMs: Math.round(durationMs),
  }))
}

/** JSON, as it is in the database. */
export function attemptLogText(log: readonly AttemptNote[] | undefined): string | undefined {
  return log === undefined ? undefined : JSON.stringify(boundedAttempts(log))
}

/** @returns undefined for null, and for what `attemptLogText` has not written. */
export function parseAttemptLog(text: string | null): readonly AttemptNote[] | undefined {
  const list = text === null ? undefined : parseJson(text)
  if (!Array.isArray(list) || !list.every(isRecord)) return undefined
  return list as unknown as readonly AttemptNote[] // only `attemptLogText` writes the column
}

/**
 * What the data plane publishes: names of `node:diagnostics_channel` channels, and their messages.
 * The data plane knows no log, no metric and no trace.
 */
export const COMPLETION_CHANNEL = 'turnpike:completion'

export interface CompletionSignal {
  readonly record: CompletionRecord
  /** Milliseconds that were ours, not the provider's, until the first byte; undefined where nothing was answered. */
  readonly overheadMs: number | undefined
  /** What the provider reported, where that was outside what can have been used; undefined otherwise. */
  readonly reported?: ReportedTotals | undefined
}

/** Tokens. */
export interface ReportedTotals {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** Result of the last audit of the whole ledger. */
export interface LastAudit {
  readonly findings: number
  /** Unix milliseconds. */
  readonly endedAt: number
}
