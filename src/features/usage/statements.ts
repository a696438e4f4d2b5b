/** Completions as rows, and their sums by day. */
import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../db/open.ts'
import type { Database } from '../../db/schema.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AccountId, CompletionId, KeyId } from '../../domain/ids.ts'

export const DAY_MS = 86_400_000

/** Makes the statements that record completions: the rows in their order, then one change of each sum they belong to. */
export type WriteCompletions = (records: readonly CompletionRecord[]) => readonly BatchStatement[]

/** Compiles both statements once: only their parameters change. */
export function completionWriter(db: Kysely<Database>): WriteCompletions {
  const insertSql = db.insertInto('completion').values(EXAMPLE_ROW).compile().sql
  const rollupSql = rollupUpsert(db).sql
  return (records) => [
    ...records.map((record) => ({ sql: insertSql, parameters: completionParameters(record) })),
    ...sumByDay(records).map((parameters) => ({ sql: rollupSql, parameters })),
  ]
}

const EXAMPLE_ROW = {
  account_id: '' as AccountId,
  id: '' as CompletionId,
  key_id: '' as KeyId,
  model: '',
  provider: '',
  status: 'completed',
  stream: 0,
  finish_reason: null,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  cost_nano_usd: 0n,
  price_version: '',
  usage_source: 'provider',
  created_at: 0,
  duration_ms: 0,
  first_byte_ms: null,
  attempts: 0,
  client_request_id: null,
} as const

/** In the order of `EXAMPLE_ROW`'s columns. */
function completionParameters(record: CompletionRecord): readonly unknown[] {
  return [
    record.accountId,
    record.id,
    record.keyId,
    record.model,
    record.provider,
    record.status,
    record.stream ? 1 : 0,
    record.finishReason ?? null,
    record.promptTokens,
    record.completionTokens,
    record.cachedTokens,
    record.cacheWriteTokens,
    record.reasoningTokens,
    record.costNanoUsd,
    record.priceVersion,
    record.usageSource,
    record.createdAt,
    Math.round(record.durationMs),
    record.firstByteMs === undefined ? null : Math.round(record.firstByteMs),
    record.attempts,
    record.clientRequestId ?? null,
  ]
}

/** Parameters: account, day, key, model, requests, prompt tokens, completion tokens, cost. */
function rollupUpsert(db: Kysely<Database>): BatchStatement {
  return db
    .insertInto('usage_rollup')
    .values({
      account_id: EXAMPLE_ROW.account_id,
      day: 0,
      key_id: EXAMPLE_ROW.key_id,
      model: '',
      requests: 1,
      prompt_tokens: 0,
      completion_tokens: 0,
      cost_nano_usd: 0n,
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'day', 'key_id', 'model']).doUpdateSet((row) => ({
        requests: row('usage_rollup.requests', '+', row.ref('excluded.requests')),
        prompt_tokens: row('usage_rollup.prompt_tokens', '+', row.ref('excluded.prompt_tokens')),
        completion_tokens: row('usage_rollup.completion_tokens', '+', row.ref('excluded.completion_tokens')),
        cost_nano_usd: row('usage_rollup.cost_nano_usd', '+', row.ref('excluded.cost_nano_usd')),
      })),
    )
    .compile()
}

interface DaySum {
  readonly first: CompletionRecord
  readonly day: number
  requests: number
  promptTokens: number
  completionTokens: number
  costNanoUsd: bigint
}

function sumByDay(records: readonly CompletionRecord[]): readonly (readonly unknown[])[] {
  const sums = new Map<string, DaySum>()
  for (const record of records) {
    const day = Math.floor(record.createdAt / DAY_MS)
    const key = `${record.accountId} ${day} ${record.keyId} ${record.model}`
    let sum = sums.get(key)
    if (sum === undefined) {
      sum = { first: record, day, requests: 0, promptTokens: 0, completionTokens: 0, costNanoUsd: 0n }
      sums.set(key, sum)
    }
    sum.requests++
    sum.promptTokens += record.promptTokens
    sum.completionTokens += record.completionTokens
    sum.costNanoUsd += record.costNanoUsd
  }
  return [...sums.values()].map(({ first: { accountId, keyId, model }, day, ...sum }) => [
    ...[accountId, day, keyId, model],
    ...[sum.requests, sum.promptTokens, sum.completionTokens, sum.costNanoUsd],
  ])
}
