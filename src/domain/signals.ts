import type { CompletionRecord } from './completion.ts'

/**
 * What the data plane tells whoever listens: names of `node:diagnostics_channel` channels and what is published there.
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

/** What the last audit of the whole ledger came to. */
export interface LastAudit {
  readonly findings: number
  /** Unix milliseconds. */
  readonly endedAt: number
}
