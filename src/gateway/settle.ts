import type { FinishReason } from '../domain/chat.ts'
import type { CompletionRecord, CompletionStatus } from '../domain/completion.ts'
import { chargeNanoUsd, type NanoUsd } from '../domain/money.ts'
import type { Completion } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { type Branch, generatedAnything, type Measured, measure } from './tally.ts'

/** What a completion used and costs. */
export interface Settlement extends Measured {
  readonly costNanoUsd: NanoUsd
}

/** Sync where the provider reported everything, which is nearly always. */
export function priceAnswer(completion: Completion, ports: GatewayPorts): Settlement | Promise<Settlement> {
  const { branches, request } = completion
  const measured = measure({ branches, request, countTokens: ports.countTokens })
  return measured instanceof Promise
    ? measured.then((result) => withCost(completion, result))
    : withCost(completion, measured)
}

/** What a request that did not end well used. Nothing is charged unless something was generated or is owed for. */
export async function priceBrokenAnswer(
  completion: Completion,
  ports: GatewayPorts,
  status: CompletionStatus,
): Promise<Settlement> {
  const owed =
    generatedAnything(completion.branches) || (status === 'client_left' && completion.answering !== undefined)
  if (owed) return await priceAnswer(completion, ports)
  return { usage: { promptTokens: 0, completionTokens: 0 }, source: 'provider', costNanoUsd: 0n }
}

/** Hands the one row of this completion to the meter; a second call does nothing. */
export function meterCompletion(
  completion: Completion,
  ports: GatewayPorts,
  { settlement, status }: { settlement: Settlement; status: CompletionStatus },
): void {
  if (completion.metered) return
  completion.metered = true
  completion.admission.settle(settlement.usage.promptTokens + settlement.usage.completionTokens)
  ports.meter(recordOf(completion, { settlement, status, endedAt: ports.clock() }), overheadMs(completion))
}

function overheadMs({ firstByteAt, receivedAt, upstreamMs }: Completion): number | undefined {
  return firstByteAt === undefined ? undefined : Math.max(0, firstByteAt - receivedAt - upstreamMs)
}

function withCost(completion: Completion, measured: Measured): Settlement {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens } = measured.usage
  const { price } = completion.model
  const tokens = {
    prompt: promptTokens,
    completion: completionTokens,
    cached: cachedTokens,
    cacheWrite: cacheWriteTokens,
  }
  return { ...measured, costNanoUsd: price === undefined ? 0n : chargeNanoUsd(tokens, price) }
}

function recordOf(
  completion: Completion,
  { settlement, status, endedAt }: { settlement: Settlement; status: CompletionStatus; endedAt: number },
): CompletionRecord {
  const { usage, source, costNanoUsd } = settlement
  const { caller, model, request, receivedAt, firstByteAt } = completion
  return {
    id: completion.id,
    accountId: caller.accountId,
    keyId: caller.keyId,
    model: model.aliasOf ?? model.id,
    provider: completion.target?.upstream.name ?? '',
    status,
    stream: request.stream,
    finishReason: finishReasonOf(completion.branches),
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    cachedTokens: usage.cachedTokens ?? 0,
    cacheWriteTokens: usage.cacheWriteTokens ?? 0,
    reasoningTokens: usage.reasoningTokens ?? 0,
    costNanoUsd,
    priceVersion: model.priceVersion ?? '',
    usageSource: source,
    createdAt: completion.createdAt,
    durationMs: Math.round(endedAt - receivedAt),
    firstByteMs: firstByteAt === undefined ? undefined : Math.round(firstByteAt - receivedAt),
    attempts: completion.attempts,
    clientRequestId: completion.clientRequestId,
  }
}

/** Of several choices, the first one's. */
function finishReasonOf([branch]: readonly Branch[]): FinishReason | undefined {
  return branch?.finishes.get(0) ?? branch?.finishes.values().next().value
}
