/**
 * Settles a completion exactly once, however it ends: measures its usage, computes its cost, and submits its record,
 * which ends its hold.
 */
import type { ChatRequest, FinishReason } from '../domain/chat.ts'
import type { CompletionRecord, CompletionSignal, CompletionStatus } from '../domain/completion.ts'
import type { RunningEstimate, SavedResult } from '../domain/credit.ts'
import type { NanoUsd } from '../domain/money.ts'
import { BASE_RULE, chargeByRule, chargeNanoUsd, type UsageDetail, usageDetailOf } from '../domain/price/price.ts'
import type { ByokUsage, ChargeableUsage, Price } from '../domain/price/tariff.ts'
import { type Completion, endDrain, type OutcomeState, type RoutedModel } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { recordSpeed } from './routing/measurements.ts'
import { outputScale, recordOutput } from './usage/hidden-reasoning.ts'
import {
  type Bounds,
  type CountedUsage,
  type Measured,
  measure,
  measureRoughly,
  type OutputScale,
} from './usage/measure.ts'
import { type CallUsage, generatedAnything } from './usage/meter.ts'
import { type Addressed, usesAt } from './worst-case.ts'

/** The tokens of instructions that a provider may add to a prompt. */
const PROVIDER_TOKENS = 1024

/** The usage and the cost of a completion. */
export interface Settlement extends Measured {
  /** Usage classes that few completions have. */
  readonly usageDetail: UsageDetail | undefined
  readonly costNanoUsd: NanoUsd
  /** What the operator owes to providers; undefined: the cost. */
  readonly providerCostNanoUsd?: NanoUsd | undefined
  /** The rule of the price that applied. */
  readonly rule: string
}

/** Computes usage and cost. Synchronous if the provider reported everything, which is the normal case. */
export function priceAnswer(
  completion: Completion,
  { countTokens, clock }: GatewayPorts,
): Settlement | Promise<Settlement> {
  const { current, attempt } = completion
  const scale = (): OutputScale => outputScaleOf(completion, clock())
  const measured = measure({
    usages: attempt.usages,
    request: current.request,
    bounds: boundsOf(completion),
    countTokens,
    scale,
  })
  return measured instanceof Promise
    ? measured.then((result) => withCost(completion, result))
    : withCost(completion, measured)
}

/** Returns the bounds of the usage that this completion's provider may report. */
export function boundsOf({ current, attempt, reservation }: Completion): Bounds {
  const { request, model, price } = current
  const { promptTokens, outputTokens, worst } = reservation
  const { running, usages } = attempt
  const { n } = request
  return {
    promptTokens,
    mediaTokens: Math.min(worst.bound.mediaTokens, promptTokens),
    promptLimit: Math.max(worst.promptTokens + PROVIDER_TOKENS, worst.tools.growsPrompt ? model.contextWindow * n : 0),
    toolUses: believedUses({ price, request, target: running?.target, usages }),
    outputTokens: (outputTokens + worst.reasoningTokens) * n,
  }
}

/** Returns how to convert our own count of the output to the provider's tokens. @param now Monotonic milliseconds. */
export function outputScaleOf({ current, attempt, reservation }: Completion, now: number): OutputScale {
  const { request, model } = current
  return outputScale({ request, model, running: attempt.running, outputTokens: reservation.outputTokens }, now)
}

/** Returns the cost of usage at the price of the admission (LED-9). */
export function costOf(completion: Completion, usage: CountedUsage): NanoUsd {
  return chargeNanoUsd(chargeableOf(completion, usage), completion.current.price)
}

function chargeableOf(completion: Completion, usage: CountedUsage): ChargeableUsage {
  const { admitted, current, attempt } = completion
  const { request, price } = current
  const { usages, running } = attempt
  const calls = Math.max(1, usages.length)
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
    serverTools: chargedUses({ price, request, target: running?.target, usages }, usage.serverToolUses),
    serviceTier: usage.serviceTier,
    calls,
    images: price.perImageNanoUsd === undefined ? undefined : imagesIn(request) * calls,
    at: admitted.createdAt,
    byok: byokOf(completion),
  }
}

/** Undefined if the last attempt used the operator's credential. */
function byokOf({ admitted, attempt }: Completion): ByokUsage | undefined {
  const { byokFeePpm: feePpm } = admitted
  return feePpm === undefined || attempt.running?.target.ownCredential === undefined ? undefined : { feePpm }
}

interface UsedTools {
  readonly price: Price
  readonly request: ChatRequest
  /** The target of the last attempt. */
  readonly target: Addressed | undefined
  /** The usage of its calls. */
  readonly usages: readonly CallUsage[]
}

/**
 * Returns the most uses that a provider may report, by name. Undefined if the price has no fees, so that any number
 * is valid.
 */
function believedUses({ price, request, target, usages }: UsedTools): Readonly<Record<string, number>> | undefined {
  if (price.serverToolNanoUsd === undefined || target === undefined) return undefined
  const calls = Math.max(1, usages.length)
  const believed = Object.entries(usesAt(request, target)).map(([name, { limit: max, counted = 'uses' }]) => {
    const limit = counted === 'uses' ? (max ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
    return [name, limit * calls] as const
  })
  return Object.fromEntries(believed)
}

/** Returns the uses to charge: the reported ones, or the number that the provider bills in any case. */
function chargedUses(
  { price, request, target, usages }: UsedTools,
  reported: Readonly<Record<string, number>> | undefined,
): Readonly<Record<string, number>> | undefined {
  if (price.serverToolNanoUsd === undefined || target === undefined) return reported
  let charged = reported
  for (const [name, { counted, limit = 1 }] of Object.entries(usesAt(request, target))) {
    if (counted === 'always') charged = { ...charged, [name]: limit * Math.max(1, usages.length) }
    if (counted === 'calls' && reported?.[name] !== undefined) {
      charged = { ...charged, [name]: usages.filter(({ usage }) => (usage.serverToolUses?.[name] ?? 0) > 0).length }
    }
  }
  return charged
}

/** Returns the images that a call of the request sends. */
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
  /** The answer to keep for repeats, in the same transaction. */
  readonly kept?: SavedResult | undefined
}

/** Records the time of the first byte that is written to the client. */
export function recordFirstByte(outcome: OutcomeState, clock: GatewayPorts['clock']): void {
  outcome.firstByteAt ??= clock()
}

/**
 * Charges a completion and ends its hold; a second call has no effect. When it returns, the charge survives this
 * process, so call it before the answer's last byte. The returned promise resolves when the charge is committed.
 */
export function settle(completion: Completion, ports: GatewayPorts, ending: Outcome): Promise<void> | undefined {
  const { admitted, outcome, reservation } = completion
  const { hold } = reservation
  if (hold === undefined || outcome.record !== undefined) return undefined
  const { settlement, status, kept } = ending
  const endedAt = ports.clock()
  const record = recordOf(completion, { settlement, status, endedAt })
  if (settlement.source === 'provider' && record.finishReason !== undefined)
    recordOutputMeasure(completion, settlement.usage, endedAt)
  outcome.record = record
  admitted.trace?.steps.push({ name: 'settle', at: endedAt, value: Number(record.costNanoUsd) })
  outcome.reported = settlement.reported
  admitted.limits.settle(record.promptTokens + record.completionTokens)
  return ports.credit.settle(hold, record, kept)
}

function recordOutputMeasure(
  { current, attempt, reservation }: Completion,
  usage: CountedUsage,
  endedAt: number,
): void {
  const { request, model } = current
  const { running, usages } = attempt
  if (running !== undefined && usages.length === 1 && usages[0]?.slowed !== true) {
    const { startedAt, durationMs = 0, candidate } = running
    const ms = endedAt - startedAt - (request.stream ? durationMs : 0)
    recordSpeed(candidate.deployment.measurements, { tokens: usage.completionTokens, ms, now: endedAt })
  }
  recordOutput({ request, model, running, outputTokens: reservation.outputTokens }, { usages, usage, endedAt })
}

/** Ends every request: releases an open hold and reports the record. */
export function endCompletion(completion: Completion, ports: GatewayPorts): void {
  const { admitted, outcome, reservation } = completion
  const { record, reported } = outcome
  endDrain(completion)
  admitted.limits.release()
  admitted.limits.settle(0)
  if (record !== undefined) report(completion, ports, { record, reported })
  else if (reservation.hold !== undefined) ports.credit.release(reservation.hold)
}

function report(
  completion: Completion,
  ports: GatewayPorts,
  { record, reported }: Pick<CompletionSignal, 'record' | 'reported'>,
): void {
  const { trace } = completion.admitted
  if (trace !== undefined) trace.record = record
  ports.report({ record, overheadMs: overheadMs(completion), reported, trace: trace?.context })
}

const UNCHARGED: Settlement = {
  usage: { promptTokens: 0, completionTokens: 0 },
  source: 'provider',
  usageDetail: undefined,
  costNanoUsd: 0n,
  rule: BASE_RULE,
}

/** Returns the status of a completion that broke off. */
export function incompleteStatus({ cancellation, attempt }: Completion): CompletionStatus {
  if (cancellation.abandoned) return 'client_left'
  return generatedAnything(attempt.usages) ? 'incomplete' : 'failed'
}

/**
 * Computes the usage of a completion that broke off. It costs nothing unless text was generated or the provider
 * charges the prompt.
 */
export async function priceIncomplete(completion: Completion, ports: GatewayPorts): Promise<Settlement> {
  const { usages, answering, sent } = completion.attempt
  const isOwed = generatedAnything(usages) || (completion.cancellation.abandoned && answering !== undefined && sent)
  if (!isOwed) {
    const byok = byokOf(completion)
    return byok === undefined ? UNCHARGED : { ...UNCHARGED, usageDetail: { byok: { ...byok, listNanoUsd: '0' } } }
  }
  try {
    return await priceAnswer(completion, ports)
  } catch {
    // The output is charged even if counting failed.
    const usage = measureRoughly(usages, boundsOf(completion), outputScaleOf(completion, ports.clock()))
    return withCost(completion, { usage, source: 'estimated' })
  }
}

function overheadMs({ admitted, attempt, outcome }: Completion): number | undefined {
  const { firstByteAt } = outcome
  return firstByteAt === undefined ? undefined : Math.max(0, firstByteAt - admitted.receivedAt - attempt.upstreamMs)
}

function withCost(completion: Completion, measured: Measured): Settlement {
  const chargeable = chargeableOf(completion, measured.usage)
  const { nanoUsd, rule, listNanoUsd } = chargeByRule(chargeable, completion.current.price)
  const { usage, source, reported } = measured
  const { byok } = chargeable
  const detailed = byok && { ...chargeable, byok: { ...byok, listNanoUsd: String(listNanoUsd) } }
  const usageDetail = usageDetailOf(detailed ?? chargeable)
  const providerCostNanoUsd = providerCostOf(chargeable, completion.current)
  return { usage, source, reported, usageDetail, costNanoUsd: nanoUsd, providerCostNanoUsd, rule }
}

/** Nothing where the account pays the provider itself; undefined: the charge, since the plan has no markup. */
function providerCostOf(usage: ChargeableUsage, { model: { basePrice } }: RoutedModel): NanoUsd | undefined {
  if (usage.byok !== undefined) return 0n
  return basePrice && chargeNanoUsd(usage, basePrice.price)
}

interface Ending extends Pick<Outcome, 'settlement' | 'status'> {
  /** Monotonic milliseconds. */
  readonly endedAt: number
}

function recordOf(completion: Completion, { settlement, status, endedAt }: Ending): CompletionRecord {
  const { usage, source, usageDetail, costNanoUsd, providerCostNanoUsd, rule } = settlement
  const { admitted, current, attempt, outcome } = completion
  const { caller, receivedAt } = admitted
  const { model } = current
  const { firstByteAt } = outcome
  return {
    id: admitted.id,
    accountId: caller.accountId,
    keyId: caller.keyId,
    model: model.aliasOf ?? model.id,
    provider: attempt.running?.target.upstream.name ?? '',
    status,
    stream: admitted.request.stream,
    finishReason: finishReasonOf(attempt.usages),
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    cachedTokens: usage.cachedTokens ?? 0,
    cacheWriteTokens: usage.cacheWriteTokens ?? 0,
    reasoningTokens: usage.reasoningTokens ?? 0,
    usageDetail,
    costNanoUsd,
    providerCostNanoUsd,
    priceVersion: current.priceVersion,
    priceRule: rule === BASE_RULE ? undefined : rule,
    usageSource: source,
    createdAt: admitted.createdAt,
    durationMs: Math.round(endedAt - receivedAt),
    firstByteMs: firstByteAt === undefined ? undefined : Math.round(firstByteAt - receivedAt),
    attempts: attempt.count,
    attemptLog: attempt.log.length === 0 ? undefined : attempt.log,
    clientRequestId: admitted.clientRequestId,
    api: admitted.api.recordedAs,
    teamId: caller.teamId,
    attribution: admitted.attribution,
    requestId: admitted.requestId,
  }
}

/** Returns the finish reason of the first choice. */
function finishReasonOf([usage]: readonly CallUsage[]): FinishReason | undefined {
  return usage?.finishes.get(0) ?? usage?.finishes.values().next().value
}

/**
 * Returns the estimated usage of running completions, in case this process dies: the provider's figures, else four
 * bytes a token; hidden reasoning by time. Omits completions that were not sent and those whose estimate did not
 * change.
 */
export function runningEstimates(completions: readonly Completion[], now: number): readonly RunningEstimate[] {
  const changed: RunningEstimate[] = []
  for (const completion of completions) {
    if (!completion.attempt.dispatched || completion.outcome.record !== undefined) continue
    const estimate = estimateOf(completion, now)
    if (isReported(completion, estimate)) continue
    completion.outcome.lastReported = estimate
    changed.push(estimate)
  }
  return changed
}

function estimateOf(completion: Completion, now: number): RunningEstimate {
  const { admitted, current, attempt } = completion
  const usage = measureRoughly(attempt.usages, boundsOf(completion), outputScaleOf(completion, now))
  return {
    accountId: admitted.caller.accountId,
    id: admitted.id,
    provider: attempt.running?.target.upstream.name ?? '',
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    costNanoUsd: costOf(completion, usage),
    ...(current !== admitted && { fallback: fallbackOf(current) }),
    byokFeePpm: byokOf(completion)?.feePpm,
  }
}

function fallbackOf({ model, priceVersion }: RoutedModel): RunningEstimate['fallback'] {
  return { model: model.aliasOf ?? model.id, priceVersion }
}

/** Returns whether the estimate is recorded already. The hold itself records the first provider and the prompt. */
function isReported({ admitted, outcome, reservation }: Completion, estimate: RunningEstimate): boolean {
  const { lastReported: last } = outcome
  if (last !== undefined) {
    const isSame = last.promptTokens === estimate.promptTokens && last.completionTokens === estimate.completionTokens
    return isSame && last.provider === estimate.provider && last.fallback?.model === estimate.fallback?.model
  }
  const isFirst =
    estimate.fallback === undefined &&
    estimate.provider === admitted.route.candidates[0]?.upstream.name &&
    estimate.byokFeePpm === reservation.worst.byokFeePpm
  return isFirst && estimate.promptTokens === reservation.promptTokens && estimate.completionTokens === 0
}
