/** The `usage` object of answers, whole and streamed. */
import type { Usage } from '../../../domain/chat.ts'

/** Usage that can be shown: both totals are known, from the provider or by our own count. */
export interface CountedUsage extends Usage {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** What is only known at the end of a completion. */
export interface Bill {
  readonly usage: CountedUsage
  /** Undefined: `cost` is left out. */
  readonly costUsd: number | undefined
}

/** As JSON text. */
export function renderUsage(bill: Bill): string {
  return JSON.stringify(usageObject(bill))
}

/** Details appear only when they were reported: absent is not zero. */
export function usageObject({ usage, costUsd }: Bill): unknown {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage
  const hasPromptDetails = cachedTokens !== undefined || cacheWriteTokens !== undefined
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: hasPromptDetails
      ? { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens }
      : undefined,
    completion_tokens_details: reasoningTokens === undefined ? undefined : { reasoning_tokens: reasoningTokens },
    cost: costUsd,
  }
}
