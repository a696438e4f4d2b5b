import type { FinishReason } from './chat.ts'
import type { AccountId, CompletionId, KeyId } from './ids.ts'
import type { NanoUsd } from './money.ts'

/**
 * `completed`: the client got a whole answer. `failed`: nothing was generated for it. `incomplete`: the provider
 * broke off. `client_left`: the client did.
 */
export type CompletionStatus = 'completed' | 'failed' | 'client_left' | 'incomplete'

/** Whether the provider counted the tokens or we did. */
export type UsageSource = 'provider' | 'estimated'

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
  readonly costNanoUsd: NanoUsd
  readonly priceVersion: string
  readonly usageSource: UsageSource
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly durationMs: number
  /** From the request's arrival to the first byte written to the client; undefined if none was. */
  readonly firstByteMs: number | undefined
  /** Calls made to providers. */
  readonly attempts: number
  readonly clientRequestId: string | undefined
}
