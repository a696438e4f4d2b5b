/** Completions as rows, and their sums by hour and by day: written where they are charged, in the database's thread. */
import type { ProgramConnection } from '../../../../db/sqlite/connection.ts'
import { attemptLogText, type CompletionRecord } from '../../../../domain/completion.ts'
import { usageDetailText } from '../../../../domain/price/price.ts'
import { boundedFlag, storedSource } from '../rows.ts'
import { addCorrection, type CountedUsage, daysOf, type UsageSum, type UsageSums } from '../usage-sums.ts'

/** In the order of the table's columns. */
const INSERT_COMPLETION = `insert into completion
  (account_id, id, key_id, model, provider, status, stream, finish_reason, prompt_tokens, completion_tokens,
   cached_tokens, cache_write_tokens, reasoning_tokens, cost_nano_usd, price_version, usage_source, created_at,
   duration_ms, first_byte_ms, attempts, client_request_id, usage_bounded, unbilled_nano_usd,
   attempt_log, usage_detail, price_rule)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Throws when the completion is there already: a completion is charged once. */
export function insertCompletion(connection: ProgramConnection, record: CompletionRecord): void {
  connection
    .prepare(INSERT_COMPLETION)
    .run(
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
      storedSource(record),
      record.createdAt,
      Math.round(record.durationMs),
      record.firstByteMs === undefined ? null : Math.round(record.firstByteMs),
      record.attempts,
      record.clientRequestId ?? null,
      boundedFlag(record) ?? null,
      record.unbilledNanoUsd ?? null,
      attemptLogText(record.attemptLog) ?? null,
      usageDetailText(record.usageDetail) ?? null,
      record.priceRule ?? null,
    )
}

const DELETE_COMPLETION = 'delete from completion where account_id = ? and id = ?'

/** The row that is there makes room for the one of `record`; the sums must have been written before. */
export function replaceCompletion(connection: ProgramConnection, record: CompletionRecord, before: CountedUsage): void {
  connection.prepare(DELETE_COMPLETION).run(record.accountId, record.id)
  insertCompletion(connection, record)
  const hours: UsageSums = new Map()
  addCorrection(hours, record, before)
  for (const change of hours.values()) changeSum(connection, CHANGE_HOUR, change)
  for (const change of daysOf(hours).values()) changeSum(connection, CHANGE_DAY, change)
}

const CHANGE_HOUR = changeOfSum('usage_hour', 'hour')
const CHANGE_DAY = changeOfSum('usage_rollup', 'day')

function changeOfSum(table: string, unit: string): string {
  return `update ${table} set prompt_tokens = prompt_tokens + ?, completion_tokens = completion_tokens + ?,
  cost_nano_usd = cost_nano_usd + ?
where account_id = ? and ${unit} = ? and key_id = ? and model = ?`
}

function changeSum(connection: ProgramConnection, sql: string, change: UsageSum): void {
  const { accountId, unit, keyId, model, promptTokens, completionTokens, costNanoUsd } = change
  const changes = connection
    .prepare(sql)
    .run(promptTokens, completionTokens, costNanoUsd, accountId, unit, keyId, model)
  if (changes !== 1) throw new Error(`A completion of ${accountId} is missing from the rollups.`)
}

/** Afterwards there is nothing left to write. */
export function writeSums(connection: ProgramConnection, hours: UsageSums): void {
  for (const sum of hours.values()) writeSum(connection, ADD_TO_HOUR, sum)
  for (const sum of daysOf(hours).values()) writeSum(connection, ADD_TO_DAY, sum)
  hours.clear()
}

const ADD_TO_HOUR = addToSum('usage_hour', 'hour')
const ADD_TO_DAY = addToSum('usage_rollup', 'day')

function addToSum(table: string, unit: string): string {
  return `insert into ${table}
  (account_id, ${unit}, key_id, model, requests, prompt_tokens, completion_tokens, cost_nano_usd)
values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict (account_id, ${unit}, key_id, model) do update set
  requests = ${table}.requests + excluded.requests,
  prompt_tokens = ${table}.prompt_tokens + excluded.prompt_tokens,
  completion_tokens = ${table}.completion_tokens + excluded.completion_tokens,
  cost_nano_usd = ${table}.cost_nano_usd + excluded.cost_nano_usd`
}

function writeSum(connection: ProgramConnection, sql: string, sum: UsageSum): void {
  const { accountId, unit, keyId, model, requests, promptTokens, completionTokens, costNanoUsd } = sum
  connection.prepare(sql).run(accountId, unit, keyId, model, requests, promptTokens, completionTokens, costNanoUsd)
}
