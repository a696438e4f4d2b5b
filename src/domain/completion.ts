import { isRecord, parseJson } from '../lib/json.ts'
import type { TraceContext } from '../lib/trace-context.ts'
import type { Attribution } from './attribution.ts'
import type { FinishReason } from './chat.ts'
import type { AccountId, CompletionId, KeyId, ProviderCredentialId, TeamId, UserId } from './ids.ts'
import type { NanoUsd } from './money.ts'
import type { UsageDetail } from './price/price.ts'

/**
 * `completed`: the client received a complete answer. `failed`: nothing was generated. `incomplete`: the provider
 * broke off.
 * `client_left`: the client disconnected.
 */
export type CompletionStatus = 'completed' | 'failed' | 'client_left' | 'incomplete'

/**
 * Who counted the tokens: the provider, or the gateway by estimate. `bounded`: the provider reported impossible usage,
 * and the nearest possible figures are charged.
 */
export type UsageSource = 'provider' | 'estimated' | 'bounded'

/**
 * Outcome of one call to a provider: `answered`, or the reason for the next attempt. `abandoned`: the client
 * disconnected, or the gateway ended the request.
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

/**
 * The reason why another model may answer instead of a failed one. `overloaded`: 429, 503, 529, or its providers have
 * no capacity left. `server_error`: any other failure of the provider. `unavailable`: its credential or account is
 * refused, it does not know the model, or its breaker is open.
 */
export const FALLBACK_REASONS = [
  'overloaded',
  'server_error',
  'timeout',
  'connection',
  'context_length',
  'content_filter',
  'unavailable',
] as const
export type FallbackReason = (typeof FALLBACK_REASONS)[number]

/** The APIs that clients call, as usage names them. */
export const API_NAMES = ['chat_completions', 'messages', 'responses', 'completions', 'embeddings', 'rerank'] as const
/** Records of chat completions, which are nearly all, have none. */
export type RecordedApi = Exclude<(typeof API_NAMES)[number], 'chat_completions'>

/** One call to a provider. */
export interface AttemptNote {
  /** Configured name of the provider. */
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly outcome: AttemptOutcome
  /** HTTP status of the provider; 0: no response. */
  readonly status: number
  /** Milliseconds since the request's arrival. */
  readonly startedMs: number
  /** Milliseconds to the first event of the answer, or to the failure. */
  readonly durationMs: number
  /** The reason why another model may answer next, for a failure with fallback models. */
  readonly reason?: FallbackReason | undefined
  /** The account's own credential that was used. Absent for the operator's. */
  readonly credentialId?: ProviderCredentialId
  /** The provider's error message, redacted by `redactProviderMessage`. Absent if there is none. */
  readonly message?: string | undefined
}

/** The record of a completion that reached a provider. */
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
  /** Rare classes of usage. Absent if there are none. */
  readonly usageDetail?: UsageDetail | undefined
  /** The charged amount. */
  readonly costNanoUsd: NanoUsd
  /** Cost beyond the charge, above the overrun cap of the account. Set by the ledger. */
  readonly unbilledNanoUsd?: NanoUsd | undefined
  /** The amount that the operator owes to providers. Absent if it equals the charge. */
  readonly providerCostNanoUsd?: NanoUsd | undefined
  readonly priceVersion: string
  /** The rule of the price that applied, see `priceUsage`; absent: the price itself. */
  readonly priceRule?: string | undefined
  readonly usageSource: UsageSource
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly durationMs: number
  /** Milliseconds from the request's arrival to the first byte written to the client. Undefined if none was written. */
  readonly firstByteMs: number | undefined
  /** Calls made to providers. */
  readonly attempts: number
  /** The outcomes in order, if there was more than one call or a failed one. */
  readonly attemptLog: readonly AttemptNote[] | undefined
  readonly clientRequestId: string | undefined
  /** Absent for chat completions. */
  readonly api?: RecordedApi | undefined
  /** Absent without a team. */
  readonly teamId?: TeamId | undefined
  /** Tags, session and end user; absent: none. */
  readonly attribution?: Attribution | undefined
  /** `req_…` of the HTTP request. Absent if unknown. */
  readonly requestId?: string | undefined
}

/** The newest notes are kept. 11 models with 10 attempts each make 110, without calls that a refused credential repeats. */
const MAX_NOTES = 128
/** The length of a provider's or model's name, which the configuration does not limit. */
const MAX_NAME_LENGTH = 200

/** Returns the newest notes without their messages, which only some readers may see. */
export function boundedAttempts(log: readonly AttemptNote[]): readonly AttemptNote[] {
  return log.slice(-MAX_NOTES).map(({ provider, model, outcome, status, startedMs, durationMs, ...more }) => ({
    provider: provider.slice(0, MAX_NAME_LENGTH),
    model: model.slice(0, MAX_NAME_LENGTH),
    outcome,
    status,
    startedMs: Math.round(startedMs),
    durationMs: Math.round(durationMs),
    ...(more.reason !== undefined && { reason: more.reason }),
    ...(more.credentialId !== undefined && { credentialId: more.credentialId }),
  }))
}

/** Renders the JSON for the database. */
export function attemptLogText(log: readonly AttemptNote[] | undefined): string | undefined {
  if (log === undefined) return undefined
  const messages = log.slice(-MAX_NOTES).map(({ message }) => message)
  return JSON.stringify(boundedAttempts(log).map((note, index) => ({ ...note, message: messages[index] })))
}

/** @returns Undefined for null and invalid text. */
export function parseAttemptLog(text: string | null): readonly AttemptNote[] | undefined {
  const list = text === null ? undefined : parseJson(text)
  if (!Array.isArray(list) || !list.every(isRecord)) return undefined
  return list as unknown as readonly AttemptNote[] // only `attemptLogText` writes the column
}

/**
 * The `node:diagnostics_channel` on which the data plane publishes completions; it knows no log, metrics or traces.
 */
export const COMPLETION_CHANNEL = 'turnpike:completion'

export interface CompletionSignal {
  readonly record: CompletionRecord
  /** Milliseconds that the gateway itself needed until the first byte. Undefined without an answer. */
  readonly overheadMs: number | undefined
  /** Usage that the provider reported, if it is outside the possible range. */
  readonly reported?: ReportedTotals | undefined
  /** Undefined if the request is not traced. */
  readonly trace?: TraceContext | undefined
}

/** Totals in tokens. */
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

/**
 * The connection of a client, as the data plane uses it. Methods, no getters: an object literal with a getter has a
 * hidden class of its own, which keeps the object alive until the next full garbage collection.
 */
export interface ClientConnection {
  /** Calls the listener once when the client disconnects before the end of its answer; at once if it already has. */
  onLeave(listener: () => void): void
  /** Returns whether the head of an event stream was sent, so that errors must be reported in the stream. */
  streaming(): boolean
  /**
   * Announces an event stream. Its head waits for the first write or 10 s of silence; then `keepAlive` fills each 10 s
   * of silence.
   * @param keepAlive A whole event or comment; a comment unless set.
   */
  expectStream(headers: () => Record<string, string>, keepAlive?: string): void
  /** @returns a promise to await if the client reads more slowly than the gateway writes, else undefined. */
  write(text: string): Promise<void> | undefined
  endStream(): void
  sendJson(body: string, headers: Record<string, string>): void
}

/** A completion whose prompt and answer are stored. */
export interface CapturedCompletion {
  readonly record: CompletionRecord
  /** The signed-in person. Undefined for an API key. */
  readonly userId: UserId | undefined
  /** The API of the request as `METHOD /path`. */
  readonly endpoint: string
  /** The JSON body of the request, as guardrails left it. */
  readonly body: unknown
  /** The bytes of the received body. Undefined if not measured, in which case it has at most 1 MiB. */
  readonly bodyBytes: number | undefined
  /** Renders the answer as a chat completion, whatever the API. Undefined if there was none. */
  readonly renderAnswer: () => string | undefined
}

/** Stores prompts and answers. */
export interface CapturePort {
  /** Accepts a completion to store. Never waits and never throws. */
  add(captured: CapturedCompletion): void
}
