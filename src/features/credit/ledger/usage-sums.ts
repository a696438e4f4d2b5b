/** Adds up what a batch contributes to the hourly and daily rollups, so that each row is written once. */
import type { CompletionRecord } from '../../../domain/completion.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { marginOf } from '../../../domain/price/tariff.ts'

const HOUR_MS = 3_600_000
const HOURS_A_DAY = 24

export interface UsageSum extends Pick<CompletionRecord, 'accountId' | 'keyId' | 'model'> {
  /** The day or hour since 1970-01-01 UTC. */
  readonly unit: number
  requests: number
  promptTokens: number
  completionTokens: number
  costNanoUsd: NanoUsd
  marginNanoUsd: NanoUsd
}

/** By dimension. */
export type UsageSums = Map<string, UsageSum>

export function addToHours(hours: UsageSums, record: CompletionRecord): void {
  const { accountId, keyId, model, promptTokens, completionTokens, costNanoUsd } = record
  const unit = Math.floor(record.createdAt / HOUR_MS)
  const marginNanoUsd = marginOf(record)
  add(hours, { accountId, keyId, model, unit, requests: 1, promptTokens, completionTokens, costNanoUsd, marginNanoUsd })
}

/** Returns how a correction changes the rollups of its completion; parts may be negative. */
export function addCorrection(changes: UsageSums, record: CompletionRecord, before: CountedUsage): void {
  const { accountId } = record
  const { keyId, model, createdAt } = before
  add(changes, {
    accountId,
    keyId,
    model,
    unit: Math.floor(createdAt / HOUR_MS),
    requests: 0,
    promptTokens: record.promptTokens - before.promptTokens,
    completionTokens: record.completionTokens - before.completionTokens,
    costNanoUsd: record.costNanoUsd - before.costNanoUsd,
    marginNanoUsd: marginOf(record) - marginOf(before),
  })
}

export type CountedUsage = Pick<
  CompletionRecord,
  'keyId' | 'model' | 'createdAt' | 'promptTokens' | 'completionTokens' | 'costNanoUsd' | 'providerCostNanoUsd'
>

export function daysOf(hours: UsageSums): UsageSums {
  const days: UsageSums = new Map()
  for (const sum of hours.values()) add(days, { ...sum, unit: Math.floor(sum.unit / HOURS_A_DAY) })
  return days
}

/** Takes ownership of the part and may change it. */
function add(sums: UsageSums, part: UsageSum): void {
  const name = `${part.accountId} ${part.unit} ${part.keyId} ${part.model}`
  const sum = sums.get(name)
  if (sum === undefined) {
    sums.set(name, part)
    return
  }
  sum.requests += part.requests
  sum.promptTokens += part.promptTokens
  sum.completionTokens += part.completionTokens
  sum.costNanoUsd += part.costNanoUsd
  sum.marginNanoUsd += part.marginNanoUsd
}
