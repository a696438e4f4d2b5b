/** Writes what a batch has come to: a statement for each table, however many rows. They go out together. */
import type { PostgresClient } from '../../../../db/postgres/client.ts'
import { attemptLogText, type CompletionRecord } from '../../../../domain/completion.ts'
import type { RunningEstimate } from '../../../../domain/credit.ts'
import { usageDetailText } from '../../../../domain/price/price.ts'
import { firstEstimate } from '../apply-batch.ts'
import { ancestorsText, boundedFlag, storedSource } from '../rows.ts'
import type { AlertRow, LedgerRow } from '../state.ts'
import type { HoldKey, LoadedAccount } from '../transaction.ts'
import type { EntryKey, KeyedEntry } from '../unit.ts'
import { daysOf, type UsageSum } from '../usage-sums.ts'
import { type Sent, sendAll, writeAccounts } from './accounts.ts'
import type { BatchWrites, OfAccount, OpenHold } from './memory.ts'
import {
  type Column,
  type Insertion,
  insertion,
  insertionsTogether,
  listsOf,
  type RowsStatement,
  rowsOf,
  send,
  text,
  whole,
} from './statement.ts'

const HOLD_KEY_COLUMNS: readonly Column<HoldKey>[] = [
  text('account_id', ({ accountId }) => accountId),
  text('id', ({ id }) => id),
]

/** Found one by one, by their keys, as they are read; a join might go through the whole table. */
const DELETE_HOLDS: RowsStatement<HoldKey> = {
  columns: HOLD_KEY_COLUMNS,
  sql: `delete from hold where hold.ctid = any(array(
  select found.ctid from ${rowsOf(HOLD_KEY_COLUMNS, 'taken')}
  cross join lateral (select hold.ctid from hold
    where hold.account_id = taken.account_id and hold.id = taken.id limit 1) as found))`,
}

const HOLD_COLUMNS: readonly Column<OpenHold>[] = [
  ...HOLD_KEY_COLUMNS,
  text('key_id', ({ keyId }) => keyId),
  text('instance_id', ({ unit }) => unit?.instanceId),
  whole('amount_nano_usd', ({ amount }) => amount),
  whole('of_key_budget', ({ ofKeyBudget }) => ofKeyBudget),
  text('model', ({ unit }) => unit?.model),
  text('provider', ({ unit }) => unit?.provider),
  whole('stream', ({ unit }) => unit?.stream),
  text('price_version', ({ unit }) => unit?.priceVersion),
  whole('prompt_tokens', ({ unit }) => unit?.promptTokens),
  whole('completion_tokens', () => 0),
  whole('estimate_nano_usd', ({ unit }) => unit && firstEstimate(unit)),
  whole('created_at', ({ unit }) => unit?.createdAt),
  text('client_request_id', ({ unit }) => unit?.clientRequestId),
  text('ancestors', ({ ancestors }) => ancestorsText(ancestors)),
]

const INSERT_HOLDS = insertion({ table: 'hold', columns: HOLD_COLUMNS })

const RAISE_COLUMNS: readonly Column<OpenHold>[] = [
  ...HOLD_KEY_COLUMNS,
  whole('amount_nano_usd', ({ amount }) => amount),
]

const RAISE_HOLDS: RowsStatement<OpenHold> = {
  columns: RAISE_COLUMNS,
  sql: `update hold set amount_nano_usd = raised.amount_nano_usd from ${rowsOf(RAISE_COLUMNS, 'raised')}
where hold.account_id = raised.account_id and hold.id = raised.id`,
}

const ESTIMATE_COLUMNS: readonly Column<RunningEstimate>[] = [
  ...HOLD_KEY_COLUMNS,
  text('provider', ({ provider }) => provider),
  whole('prompt_tokens', ({ promptTokens }) => promptTokens),
  whole('completion_tokens', ({ completionTokens }) => completionTokens),
  whole('estimate_nano_usd', ({ costNanoUsd }) => costNanoUsd),
]

/** Accounts are not locked for estimates: whose hold another process is just taking needs none, and nobody waits. */
const SET_ESTIMATES: RowsStatement<RunningEstimate> = {
  columns: ESTIMATE_COLUMNS,
  sql: `update hold set provider = noted.provider, prompt_tokens = noted.prompt_tokens,
  completion_tokens = noted.completion_tokens, estimate_nano_usd = noted.estimate_nano_usd
from (select noted.* from ${rowsOf(ESTIMATE_COLUMNS, 'noted')}
  join hold on hold.account_id = noted.account_id and hold.id = noted.id for update of hold skip locked) as noted
where hold.account_id = noted.account_id and hold.id = noted.id`,
}

/** A completion that is there already is refused: it is charged once. */
const COMPLETION_COLUMNS: readonly Column<CompletionRecord>[] = [
  ...HOLD_KEY_COLUMNS,
  text('key_id', ({ keyId }) => keyId),
  text('model', ({ model }) => model),
  text('provider', ({ provider }) => provider),
  text('status', ({ status }) => status),
  whole('stream', ({ stream }) => stream),
  text('finish_reason', ({ finishReason }) => finishReason),
  whole('prompt_tokens', ({ promptTokens }) => promptTokens),
  whole('completion_tokens', ({ completionTokens }) => completionTokens),
  whole('cached_tokens', ({ cachedTokens }) => cachedTokens),
  whole('cache_write_tokens', ({ cacheWriteTokens }) => cacheWriteTokens),
  whole('reasoning_tokens', ({ reasoningTokens }) => reasoningTokens),
  whole('cost_nano_usd', ({ costNanoUsd }) => costNanoUsd),
  text('price_version', ({ priceVersion }) => priceVersion),
  text('usage_source', storedSource),
  whole('created_at', ({ createdAt }) => createdAt),
  whole('duration_ms', ({ durationMs }) => Math.round(durationMs)),
  whole('first_byte_ms', ({ firstByteMs }) => (firstByteMs === undefined ? undefined : Math.round(firstByteMs))),
  whole('attempts', ({ attempts }) => attempts),
  text('client_request_id', ({ clientRequestId }) => clientRequestId),
  whole('usage_bounded', boundedFlag),
  whole('unbilled_nano_usd', ({ unbilledNanoUsd }) => unbilledNanoUsd),
  text('attempt_log', ({ attemptLog }) => attemptLogText(attemptLog)),
  text('usage_detail', ({ usageDetail }) => usageDetailText(usageDetail)),
  text('price_rule', ({ priceRule }) => priceRule),
]

const ADDED = ['requests', 'prompt_tokens', 'completion_tokens', 'cost_nano_usd']

function sumColumns(unit: 'hour' | 'day'): readonly Column<UsageSum>[] {
  return [
    text('account_id', (sum) => sum.accountId),
    whole(unit, (sum) => sum.unit),
    text('key_id', (sum) => sum.keyId),
    text('model', (sum) => sum.model),
    whole('requests', (sum) => sum.requests),
    whole('prompt_tokens', (sum) => sum.promptTokens),
    whole('completion_tokens', (sum) => sum.completionTokens),
    whole('cost_nano_usd', (sum) => sum.costNanoUsd),
  ]
}

function sumsBy(table: string, unit: 'hour' | 'day'): Insertion<UsageSum> {
  const changes = ADDED.map((name) => `${name} = ${table}.${name} + excluded.${name}`)
  return {
    table,
    columns: sumColumns(unit),
    rest: `on conflict (account_id, ${unit}, key_id, model) do update set ${changes.join(', ')}`,
  }
}

const HOURS = sumsBy('usage_hour', 'hour')
const DAYS = sumsBy('usage_rollup', 'day')

const LEDGER_COLUMNS: readonly Column<OfAccount<LedgerRow>>[] = [
  text('account_id', ({ accountId }) => accountId),
  whole('number', ({ row }) => row.number),
  text('kind', ({ row }) => row.kind),
  text('debit', ({ row }) => row.debit),
  text('credit', ({ row }) => row.credit),
  whole('amount_nano_usd', ({ row }) => row.amount),
  whole('balance_nano_usd', ({ row }) => row.balance),
  text('completion_id', ({ row }) => row.completionId),
  text('key_id', ({ row }) => row.keyId),
  text('price_version', ({ row }) => row.priceVersion),
  whole('adjusts', ({ row }) => row.adjusts),
  text('note', ({ row }) => row.note),
  whole('created_at', ({ row }) => row.createdAt),
]

const DELETE_COMPLETIONS: RowsStatement<HoldKey> = {
  columns: HOLD_KEY_COLUMNS,
  sql: `delete from completion using ${rowsOf(HOLD_KEY_COLUMNS, 'replaced')}
where completion.account_id = replaced.account_id and completion.id = replaced.id`,
}

/** What corrections change of sums that are there. */
function changesBy(table: string, unit: 'hour' | 'day'): RowsStatement<UsageSum> {
  const columns = sumColumns(unit)
  const changes = ADDED.map((name) => `${name} = ${table}.${name} + changed.${name}`)
  return {
    columns,
    sql: `update ${table} set ${changes.join(', ')} from ${rowsOf(columns, 'changed')}
where ${table}.account_id = changed.account_id and ${table}.${unit} = changed.${unit}
  and ${table}.key_id = changed.key_id and ${table}.model = changed.model`,
  }
}

const CHANGE_HOURS = changesBy('usage_hour', 'hour')
const CHANGE_DAYS = changesBy('usage_rollup', 'day')

/** What a charge writes, in one statement: each more would cost every batch as much again. */
const INSERT_CHARGES = insertionsTogether([
  { table: 'completion', columns: COMPLETION_COLUMNS },
  { table: 'ledger', columns: LEDGER_COLUMNS },
  HOURS,
  DAYS,
])

const INSERT_ALERTS = insertion<OfAccount<AlertRow>>({
  table: 'usage_alert',
  columns: [
    text('account_id', ({ accountId }) => accountId),
    whole('month', ({ row }) => row.month),
    text('event', ({ row }) => row.event),
    text('basis', ({ row }) => row.basis),
    whole('threshold', ({ row }) => row.threshold),
    whole('spent_nano_usd', ({ row }) => row.spent),
    whole('limit_nano_usd', ({ row }) => row.limit),
    whole('created_at', ({ row }) => row.createdAt),
    whole('told', () => 0),
  ],
  rest: 'on conflict do nothing',
})

const INSERT_ENTRY_KEYS = insertion<KeyedEntry & EntryKey>({
  table: 'ledger_entry_key',
  columns: [
    text('account_id', ({ entry }) => entry.accountId),
    text('key', ({ key }) => key),
    text('fingerprint', ({ fingerprint }) => fingerprint),
    whole('number', ({ entry }) => entry.number),
  ],
})

interface EndedAnswer {
  readonly answer: BatchWrites['answers'][number]
  /** Unix milliseconds. */
  readonly now: number
}

const ANSWER_COLUMNS: readonly Column<EndedAnswer>[] = [
  text('account_id', ({ answer }) => answer.kept.accountId),
  text('endpoint', ({ answer }) => answer.kept.endpoint),
  text('key', ({ answer }) => answer.kept.key),
  text('subject_id', ({ answer }) => answer.subjectId),
  text('state', ({ answer }) => (answer.kept.answer === undefined ? 'too_large' : 'kept')),
  whole('status', ({ answer }) => answer.kept.answer?.status),
  text('headers', ({ answer: { kept } }) => kept.answer && JSON.stringify(kept.answer.headers)),
  text('body', ({ answer }) => answer.kept.answer?.body),
  whole('ended_at', ({ now }) => now),
]

const SAVE_ANSWERS: RowsStatement<EndedAnswer> = {
  columns: ANSWER_COLUMNS,
  sql: `update idempotency set state = kept.state, status = kept.status, headers = kept.headers, body = kept.body,
  ended_at = kept.ended_at
from ${rowsOf(ANSWER_COLUMNS, 'kept')}
where idempotency.account_id = kept.account_id and idempotency.endpoint = kept.endpoint and idempotency.key = kept.key
  and idempotency.subject_id = kept.subject_id and idempotency.state = 'running'`,
}

export interface BatchEnd {
  readonly written: BatchWrites
  readonly accounts: Iterable<LoadedAccount>
  /** Unix milliseconds. */
  readonly now: number
}

/** Rejects when the database refuses any of it, with `WriteConflict` when something is not as it was read: then nothing may be committed. */
export async function writeBatch(client: PostgresClient, { written, accounts, now }: BatchEnd): Promise<void> {
  const { taken, made, raised, estimates, alerts, answers, entries, replaced, corrections } = written
  await inOrder([
    ...writeAccounts(client, accounts),
    sendAll(client, DELETE_HOLDS, taken),
    sendAll(client, INSERT_HOLDS, [...made.values()]),
    sendAll(client, RAISE_HOLDS, [...raised.values()]),
    sendSome(client, SET_ESTIMATES, [...estimates.values()]),
    sendAll(client, DELETE_COMPLETIONS, replaced),
    sendCharges(client, written),
    sendAll(client, CHANGE_HOURS, [...corrections.values()]),
    sendAll(client, CHANGE_DAYS, [...daysOf(corrections).values()]),
    sendSome(client, INSERT_ENTRY_KEYS, [...entries.values()]),
    sendSome(client, INSERT_ALERTS, alerts),
    sendSome(
      client,
      SAVE_ANSWERS,
      answers.map((answer) => ({ answer, now })),
    ),
  ])
}

function sendCharges(client: PostgresClient, { completions, rows, hours }: BatchWrites): Sent {
  if (completions.length === 0 && rows.length === 0) return undefined
  return client.query(INSERT_CHARGES, [
    ...listsOf(COMPLETION_COLUMNS, completions),
    ...listsOf(LEDGER_COLUMNS, rows),
    ...listsOf(HOURS.columns, [...hours.values()]),
    ...listsOf(DAYS.columns, [...daysOf(hours).values()]),
  ])
}

/** Rejects as the first of them did: what comes after it fails because of it. */
async function inOrder(statements: readonly Sent[]): Promise<void> {
  const ends = await Promise.allSettled(statements)
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** Rows that the database may leave out. */
function sendSome<Row>(client: PostgresClient, statement: RowsStatement<Row>, rows: readonly Row[]): Sent {
  return rows.length === 0 ? undefined : send(client, statement, rows)
}
