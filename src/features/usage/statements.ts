/** Completions as rows, and their sums by hour and by day. */
import { type Kysely, sql } from 'kysely'
import type { BatchStatement } from '../../db/open.ts'
import type { Database } from '../../db/schema.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AccountId, CompletionId, KeyId } from '../../domain/ids.ts'
import { DAY_MS, HOUR_MS } from './period.ts'

/** Makes the statements that record completions: the rows in their order, then one change of each sum they belong to. */
export type WriteCompletions = (records: readonly CompletionRecord[]) => readonly BatchStatement[]

/** Compiles its statements once: only their parameters change. */
export function completionWriter(db: Kysely<Database>): WriteCompletions {
  const insertSql = db.insertInto('completion').values(EXAMPLE_ROW).compile().sql
  const hourSql = sumUpsert(db, 'usage_hour', 'hour')
  const daySql = sumUpsert(db, 'usage_rollup', 'day')
  return (records) => {
    const hours = merge(records.map(ofOneHour))
    return [
      ...records.map((record) => ({ sql: insertSql, parameters: completionParameters(record) })),
      ...hours.map((sum) => ({ sql: hourSql, parameters: sumParameters(sum) })),
      ...merge(hours.map(ofItsDay)).map((sum) => ({ sql: daySql, parameters: sumParameters(sum) })),
    ]
  }
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

/** Parameters: account, day or hour, key, model, requests, prompt tokens, completion tokens, cost. */
function sumUpsert(db: Kysely<Database>, table: 'usage_rollup' | 'usage_hour', unit: 'day' | 'hour'): string {
  return sql`
    insert into ${sql.table(table)}
      (account_id, ${sql.ref(unit)}, key_id, model, requests, prompt_tokens, completion_tokens, cost_nano_usd)
    values (${''}, ${0}, ${''}, ${''}, ${0}, ${0}, ${0}, ${0n})
    on conflict (account_id, ${sql.ref(unit)}, key_id, model) do update set
      requests = ${sql.table(table)}.requests + excluded.requests,
      prompt_tokens = ${sql.table(table)}.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = ${sql.table(table)}.completion_tokens + excluded.completion_tokens,
      cost_nano_usd = ${sql.table(table)}.cost_nano_usd + excluded.cost_nano_usd`.compile(db).sql
}

interface Sum extends Pick<CompletionRecord, 'accountId' | 'keyId' | 'model'> {
  /** The day or hour since 1970-01-01 UTC. */
  readonly unit: number
  requests: number
  promptTokens: number
  completionTokens: number
  costNanoUsd: bigint
}

/** Parts are taken over and changed: whoever calls makes them for this. */
function merge(parts: readonly Sum[]): readonly Sum[] {
  const sums = new Map<string, Sum>()
  for (const part of parts) {
    const key = `${part.accountId} ${part.unit} ${part.keyId} ${part.model}`
    const sum = sums.get(key)
    if (sum === undefined) {
      sums.set(key, part)
      continue
    }
    sum.requests += part.requests
    sum.promptTokens += part.promptTokens
    sum.completionTokens += part.completionTokens
    sum.costNanoUsd += part.costNanoUsd
  }
  return [...sums.values()]
}

function ofOneHour(record: CompletionRecord): Sum {
  return {
    accountId: record.accountId,
    keyId: record.keyId,
    model: record.model,
    unit: Math.floor(record.createdAt / HOUR_MS),
    requests: 1,
    promptTokens: record.promptTokens,
    completionTokens: record.completionTokens,
    costNanoUsd: record.costNanoUsd,
  }
}

function ofItsDay(hour: Sum): Sum {
  return { ...hour, unit: Math.floor((hour.unit * HOUR_MS) / DAY_MS) }
}

function sumParameters({ accountId, unit, keyId, model, ...sum }: Sum): readonly unknown[] {
  return [accountId, unit, keyId, model, sum.requests, sum.promptTokens, sum.completionTokens, sum.costNanoUsd]
}
