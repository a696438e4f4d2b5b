/**
 * What a batch contributes to the rollups: it adds up the hourly and daily sums, so that each row is written once, and
 * copies what the sums by dimension (`features/usage/dimension-sums.ts`) have already passed. A job adds completions
 * to those up to `summed_until`, which is an hour ago at least; what is written or corrected behind that is copied,
 * and the job adds the copies.
 */
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

/** Completions that are younger than this cannot be summed yet: they need no copy. */
export const LATE_AFTER_MS = 30 * 60_000

const COPIED = [
  ...['created_at', 'key_id', 'team_id', 'model', 'provider', 'session_id', 'end_user', 'tags', 'client_request_id'],
  ...['request_id', 'prompt_tokens', 'completion_tokens', 'cost_nano_usd', 'provider_cost_nano_usd'],
]

/**
 * Copies completions that the sums are past.
 * @param which What follows `from completion`: a join or a condition that selects them.
 */
export function copyLate(sign: '1' | '-1', which: { readonly join?: string; readonly where?: string }): string {
  const { join = '', where = 'true' } = which
  return `insert into usage_late (account_id, id, part, sign, ${COPIED.join(', ')})
select completion.account_id, completion.id,
  (select coalesce(max(part), -1) + 1 from usage_late as known
    where known.account_id = completion.account_id and known.id = completion.id),
  ${sign}, ${COPIED.map((name) => `completion.${name}`).join(', ')}
from completion ${join}
join usage_progress on usage_progress.account_id = completion.account_id
where completion.created_at < usage_progress.summed_until and ${where}`
}

/* Exports of completions (`features/exports/jobs.ts`) are at least twice as far behind. */

/** Completions that are younger than this are not exported yet: they need no mark. */
export const MARKED_AFTER_MS = 5 * 60_000

/**
 * Marks completions for every export, which may be past them; it is not compared how far each is, since a transaction that
 * moves it may run at the same time. A mark that is there is counted: its completion may have been read already.
 * @param which As of `copyLate`.
 */
export function markLate({ join = '', where = 'true' }: Parameters<typeof copyLate>[1]): string {
  return `insert into analytics_export_late (export, account_id, id, marks)
select analytics_export.name, completion.account_id, completion.id, 1
from completion ${join} cross join analytics_export where ${where}
on conflict (account_id, id, export) do update set marks = analytics_export_late.marks + 1`
}
