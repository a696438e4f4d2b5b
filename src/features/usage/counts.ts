/** Sums of completions: added up, and in JSON. */
import { usdNumber } from '../../domain/money.ts'
import type { Counts } from './queries.ts'

export const NOTHING: Counts = { requests: 0, promptTokens: 0, completionTokens: 0, costNanoUsd: 0n, marginNanoUsd: 0n }

export function plus(one: Counts, other: Counts): Counts {
  return {
    requests: one.requests + other.requests,
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    costNanoUsd: one.costNanoUsd + other.costNanoUsd,
    marginNanoUsd: one.marginNanoUsd + other.marginNanoUsd,
  }
}

export function minus(one: Counts, other: Counts): Counts {
  return {
    requests: one.requests - other.requests,
    promptTokens: one.promptTokens - other.promptTokens,
    completionTokens: one.completionTokens - other.completionTokens,
    costNanoUsd: one.costNanoUsd - other.costNanoUsd,
    marginNanoUsd: one.marginNanoUsd - other.marginNanoUsd,
  }
}

/** @param isOperator Whether the margin is shown. */
export function renderCounts(sum: Counts, isOperator = false) {
  const counts = { tokens: tokensOf(sum), requests: sum.requests, cost_usd: usdNumber(sum.costNanoUsd) }
  return isOperator ? { ...counts, margin_usd: usdNumber(sum.marginNanoUsd) } : counts
}

export function tokensOf({ promptTokens, completionTokens }: Counts): number {
  return promptTokens + completionTokens
}
