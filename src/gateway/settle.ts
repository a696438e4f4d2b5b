/**
 * Money at the end of a completion: what it used and costs, its one row, and the end of its hold. Exactly once, however
 * it ends.
 */
import type { ChatRequest, FinishReason } from '../domain/chat.ts'
import type { CompletionRecord, CompletionStatus } from '../domain/completion.ts'
import type { KeptResult } from '../domain/credit.ts'
import type { NanoUsd } from '../domain/money.ts'
import { BASE_RULE, type ChargeableUsage, chargeByRule, chargeNanoUsd } from '../domain/price.ts'
import { usageDetailOf } from '../domain/usage-detail.ts'
import { type Completion, endDrain } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { type Branch, generatedAnything, type Measured, measure, measureRoughly } from './tally.ts'
import type { Bounds, CountedUsage } from './usage-bounds.ts'

/** What is no text of a prompt is media, beyond what templates of messages and tools come to. */
const TEMPLATE_TOKENS = 2_000

/** What a provider may add to a prompt that nobody knows of: instructions of its own. */
const PROVIDER_TOKENS = 1024

/** What a completion used and costs. */
export interface Settlement extends Measured {
  readonly costNanoUsd: NanoUsd
  /** What of the price applied. */
  readonly rule: string
}

/** Sync where the provider reported everything, which is nearly always. */
export function priceAnswer(completion: Completion, { countTokens }: GatewayPorts): Settlement | Promise<Settlement> {
  const { branches, request } = completion
  const measured = measure({ branches, request, bounds: boundsOf(completion), countTokens })
  return measured instanceof Promise
    ? measured.then((result) => withCost(completion, result))
    : withCost(completion, measured)
}

/** What the figures of this completion's provider are held against. */
export function boundsOf({ promptTokens, outputTokens, request: { n }, model, worst }: Completion): Bounds {
  const { images, hasAudio, otherTokens } = worst.bound
  const hasMedia = images > 0 || hasAudio || otherTokens > TEMPLATE_TOKENS
  return {
    promptTokens,
    mediaTokens: hasMedia ? otherTokens : 0,
    promptLimit: worst.promptTokens + PROVIDER_TOKENS,
    windowTokens: model.contextWindow * n,
    outputTokens: (outputTokens + worst.reasoningTokens) * n,
  }
}

/** What usage costs at the price of the admission (LED-9). */
export function costOf(completion: Completion, usage: CountedUsage): NanoUsd {
  return chargeNanoUsd(chargeableOf(completion, usage), completion.price)
}

function chargeableOf({ branches, request, price, createdAt }: Completion, usage: CountedUsage): ChargeableUsage {
  return {
    prompt: usage.promptTokens,
    completion: usage.completionTokens,
    cached: usage.cachedTokens,
    cacheWrite: usage.cacheWriteTokens,
    cacheWrite1h: usage.cacheWrite1hTokens,
    cacheWrite12h: usage.cacheWrite12hTokens,
    audioInput: usage.audioInputTokens,
    cachedAudio: usage.cachedAudioTokens,
    audioOutput: usage.audioOutputTokens,
    imageOutput: usage.imageOutputTokens,
    reasoning: usage.reasoningTokens,
    serverTools: usage.serverToolUses,
    serviceTier: usage.serviceTier,
    calls: Math.max(1, branches.length),
    images: price.perImageNanoUsd === undefined ? undefined : imagesIn(request) * Math.max(1, branches.length),
    at: createdAt,
  }
}

/** Images that a call of the request sends. */
function imagesIn({ messages }: ChatRequest): number {
  let images = 0
  for (const { content } of messages) {
    if (Array.isArray(content)) for (const { type } of content) if (type === 'image_url') images++
  }
  return images
}

export interface Outcome {
  readonly settlement: Settlement
  readonly status: CompletionStatus
  /** The answer that is kept for repeats, in the same transaction. */
  readonly kept?: KeptResult | undefined
}

/**
 * Charges a completion and ends its hold; a second call does nothing. When it returns the charge outlives this process,
 * so it comes before the answer's last byte; when what it returns resolves the charge is committed.
 */
export function settle(completion: Completion, ports: GatewayPorts, outcome: Outcome): Promise<void> | undefined {
  const { hold } = completion
  if (hold === undefined || completion.record !== undefined) return undefined
  const { settlement, status, kept } = outcome
  const record = recordOf(completion, { settlement, status, endedAt: ports.clock() })
  completion.record = record
  completion.reported = settlement.reported
  completion.admission.settle(record.promptTokens + record.completionTokens)
  return ports.credit.settle(hold, record, kept)
}

/** The end of every request: what it still holds is given back, and who watches is told. */
export function conclude(completion: Completion, ports: GatewayPorts): void {
  const { admission, hold, record, reported } = completion
  endDrain(completion)
  admission.release()
  admission.settle(0)
  if (record !== undefined) ports.report(record, overheadMs(completion), reported)
  else if (hold !== undefined) ports.credit.release(hold)
}

/** How a completion ended that did not come to its end. */
export function brokenStatus({ abandoned, branches }: Completion): CompletionStatus {
  if (abandoned) return 'client_left'
  return generatedAnything(branches) ? 'incomplete' : 'failed'
}

/** What a request that did not end well used. Nothing is charged unless something was generated or is owed for. */
export async function priceBroken(completion: Completion, ports: GatewayPorts): Promise<Settlement> {
  const { branches, abandoned, answering, sent } = completion
  const owed = generatedAnything(branches) || (abandoned && answering !== undefined && sent)
  if (!owed)
    return { usage: { promptTokens: 0, completionTokens: 0 }, source: 'provider', costNanoUsd: 0n, rule: BASE_RULE }
  try {
    return await priceAnswer(completion, ports)
  } catch {
    // Whatever went wrong with counting, what was generated is not given away.
    return withCost(completion, { usage: measureRoughly(branches, boundsOf(completion)), source: 'estimated' })
  }
}

function overheadMs({ firstByteAt, receivedAt, upstreamMs }: Completion): number | undefined {
  return firstByteAt === undefined ? undefined : Math.max(0, firstByteAt - receivedAt - upstreamMs)
}

function withCost(completion: Completion, measured: Measured): Settlement {
  const { nanoUsd, rule } = chargeByRule(chargeableOf(completion, measured.usage), completion.price)
  return { ...measured, costNanoUsd: nanoUsd, rule }
}

interface Ending extends Pick<Outcome, 'settlement' | 'status'> {
  /** Monotonic milliseconds. */
  readonly endedAt: number
}

function recordOf(completion: Completion, { settlement, status, endedAt }: Ending): CompletionRecord {
  const { usage, source, costNanoUsd, rule } = settlement
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
    usageDetail: usageDetailOf(chargeableOf(completion, usage)),
    costNanoUsd,
    priceVersion: completion.priceVersion,
    priceRule: rule === BASE_RULE ? undefined : rule,
    usageSource: source,
    createdAt: completion.createdAt,
    durationMs: Math.round(endedAt - receivedAt),
    firstByteMs: firstByteAt === undefined ? undefined : Math.round(firstByteAt - receivedAt),
    attempts: completion.attempts,
    attemptLog: completion.attemptLog.length === 0 ? undefined : completion.attemptLog,
    clientRequestId: completion.clientRequestId,
  }
}

/** Of several choices, the first one's. */
function finishReasonOf([branch]: readonly Branch[]): FinishReason | undefined {
  return branch?.finishes.get(0) ?? branch?.finishes.values().next().value
}
