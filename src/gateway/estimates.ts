import type { RunningEstimate } from '../domain/credit.ts'
import type { Completion } from './completion.ts'
import { boundsOf, costOf } from './settle.ts'
import { measureRoughly } from './tally.ts'

/**
 * What completions under way have come to, should this process die: the provider's figures, else four characters a token.
 * Those that a provider may have begun with, and for which something changed since they were last told.
 */
export function runningEstimates(completions: readonly Completion[]): readonly RunningEstimate[] {
  const changed: RunningEstimate[] = []
  for (const completion of completions) {
    if (!completion.dispatched || completion.record !== undefined) continue
    const estimate = estimateOf(completion)
    if (isTold(completion, estimate)) continue
    completion.told = estimate
    changed.push(estimate)
  }
  return changed
}

function estimateOf(completion: Completion): RunningEstimate {
  const usage = measureRoughly(completion.branches, boundsOf(completion))
  return {
    accountId: completion.caller.accountId,
    id: completion.id,
    provider: completion.target?.upstream.name ?? '',
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    costNanoUsd: costOf(completion, usage),
  }
}

/** The hold itself tells the first provider and the prompt. */
function isTold({ told, targets, promptTokens }: Completion, estimate: RunningEstimate): boolean {
  if (told !== undefined) {
    const isSame = told.promptTokens === estimate.promptTokens && told.completionTokens === estimate.completionTokens
    return isSame && told.provider === estimate.provider
  }
  const isFirst = estimate.provider === targets[0]?.upstream.name
  return isFirst && estimate.promptTokens === promptTokens && estimate.completionTokens === 0
}
