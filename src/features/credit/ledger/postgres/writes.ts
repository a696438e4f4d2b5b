/** Writes what a batch has come to: a statement for each table, however many rows. They go out together. */
import type { PostgresClient, PostgresRows } from '../../../../db/postgres/client.ts'
import type { RunningEstimate } from '../../../../domain/credit.ts'
import type { AccountId } from '../../../../domain/ids.ts'
import { type HoldKey, type LoadedAccount, type LoadedKey, WriteConflict } from '../apply-batch.ts'
import { copyLate, daysOf, LATE_AFTER_MS, MARKED_AFTER_MS, markLate, type UsageSum } from '../rollups.ts'
import {
  ACCOUNT_COLUMNS,
  ALERTS,
  BUDGET_ALERTS,
  COMPLETIONS,
  type Column,
  DAYS,
  ENTRY_KEYS,
  HOLDS,
  HOURS,
  type Insertion,
  LEDGER_ROWS,
  type NewHold,
  STATE_COLUMNS,
  SUMMED,
  text,
  whole,
} from '../rows.ts'
import { type AccountState, CREATED, type KeyState } from '../state.ts'
import { CREATE_WINDOWS, movedWindows, UPDATE_WINDOWS_IF_UNCHANGED } from './budgets.ts'
import type { BatchWrites, OpenHold } from './memory.ts'
import { insertion, insertionsTogether, listsOf, type RowsStatement, rowsOf, send } from './statement.ts'

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

const INSERT_HOLDS = insertion<NewHold>(HOLDS)

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
  text('model', ({ fallback }) => fallback?.model),
  text('price_version', ({ fallback }) => fallback?.priceVersion),
  whole('byok_fee_ppm', ({ byokFeePpm }) => byokFeePpm),
]

/** Accounts are not locked for estimates: whose hold another process is just taking needs none, and nobody waits. */
const SET_ESTIMATES: RowsStatement<RunningEstimate> = {
  columns: ESTIMATE_COLUMNS,
  sql: `update hold set provider = noted.provider, prompt_tokens = noted.prompt_tokens,
  completion_tokens = noted.completion_tokens, estimate_nano_usd = noted.estimate_nano_usd,
  model = coalesce(noted.model, hold.model), price_version = coalesce(noted.price_version, hold.price_version),
  byok_fee_ppm = noted.byok_fee_ppm
from (select noted.* from ${rowsOf(ESTIMATE_COLUMNS, 'noted')}
  join hold on hold.account_id = noted.account_id and hold.id = noted.id for update of hold skip locked) as noted
where hold.account_id = noted.account_id and hold.id = noted.id`,
}

const DELETE_COMPLETIONS: RowsStatement<HoldKey> = {
  columns: HOLD_KEY_COLUMNS,
  sql: `delete from completion using ${rowsOf(HOLD_KEY_COLUMNS, 'replaced')}
where completion.account_id = replaced.account_id and completion.id = replaced.id`,
}

/** Before completions are copied: the job that adds them to sums waits, or has ended, so that each is summed once. */
const LOCK_PROGRESS: RowsStatement<HoldKey> = {
  columns: HOLD_KEY_COLUMNS,
  sql: `select 1 from ${rowsOf(HOLD_KEY_COLUMNS, 'late')}
join usage_progress on usage_progress.account_id = late.account_id for share of usage_progress`,
}

const THESE_COMPLETIONS = {
  join: `join ${rowsOf(HOLD_KEY_COLUMNS, 'late')} on late.account_id = completion.account_id and late.id = completion.id`,
}
const COPY_LATE: RowsStatement<HoldKey> = { columns: HOLD_KEY_COLUMNS, sql: copyLate('1', THESE_COMPLETIONS) }
const MARK_LATE: RowsStatement<HoldKey> = { columns: HOLD_KEY_COLUMNS, sql: markLate(THESE_COMPLETIONS) }
const COPY_REPLACED: RowsStatement<HoldKey> = { columns: HOLD_KEY_COLUMNS, sql: copyLate('-1', THESE_COMPLETIONS) }

/** What corrections change of sums that are there. */
function changesOf({ table, columns }: Insertion<UsageSum>): RowsStatement<UsageSum> {
  const [account, unit, key, model] = columns.map(({ name }) => `${table}.${name} = changed.${name}`)
  const changes = SUMMED.map((name) => `${name} = ${table}.${name} + changed.${name}`)
  return {
    columns,
    sql: `update ${table} set ${changes.join(', ')} from ${rowsOf(columns, 'changed')}
where ${account} and ${unit} and ${key} and ${model}`,
  }
}

const CHANGE_HOURS = changesOf(HOURS)
const CHANGE_DAYS = changesOf(DAYS)

/** What a charge writes, in one statement: each more would cost every batch as much again. */
const INSERT_CHARGES = insertionsTogether([COMPLETIONS, LEDGER_ROWS, HOURS, DAYS])
const INSERT_ALERTS = insertion(ALERTS)
const INSERT_BUDGET_ALERTS = insertion(BUDGET_ALERTS)
const INSERT_ENTRY_KEYS = insertion(ENTRY_KEYS)

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
  const moved = [...accounts]
  const windows = movedWindows(moved)
  const marked = written.completions.filter(({ createdAt }) => createdAt < now - MARKED_AFTER_MS)
  const late = marked.filter(({ createdAt }) => createdAt < now - LATE_AFTER_MS)
  await inOrder([
    ...writeAccounts(client, moved),
    sendAll(client, CREATE_WINDOWS, windows.created),
    sendAll(client, UPDATE_WINDOWS_IF_UNCHANGED, windows.moved),
    sendAll(client, DELETE_HOLDS, taken),
    sendAll(client, INSERT_HOLDS, [...made.values()]),
    sendAll(client, RAISE_HOLDS, [...raised.values()]),
    sendSome(client, SET_ESTIMATES, [...estimates.values()]),
    sendSome(client, LOCK_PROGRESS, late),
    sendSome(client, COPY_REPLACED, replaced),
    sendAll(client, DELETE_COMPLETIONS, replaced),
    sendCharges(client, written),
    sendSome(client, COPY_LATE, late),
    sendSome(client, MARK_LATE, marked),
    sendAll(client, CHANGE_HOURS, [...corrections.values()]),
    sendAll(client, CHANGE_DAYS, [...daysOf(corrections).values()]),
    sendSome(client, INSERT_ENTRY_KEYS, [...entries.values()]),
    sendSome(client, INSERT_ALERTS, alerts),
    sendSome(client, INSERT_BUDGET_ALERTS, written.budgetAlerts),
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
    ...listsOf(COMPLETIONS.columns, completions),
    ...listsOf(LEDGER_ROWS.columns, rows),
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

/** A statement under way; undefined: there was nothing to send. */
type Sent = Promise<unknown> | undefined

/** Every row must be taken by the database. */
function sendAll<Row>(client: PostgresClient, statement: RowsStatement<Row>, rows: readonly Row[]): Sent {
  return rows.length === 0 ? undefined : send(client, statement, rows).then((answer) => assertAll(answer, rows.length))
}

function assertAll({ changes }: PostgresRows<never>, count: number): void {
  if (changes !== count) throw new WriteConflict(`${count - changes} of ${count} rows changed since they were read.`)
}

/* Accounts and keys: each is written on the condition that it is still as it was read. */

interface MovedAccount {
  readonly account: LoadedAccount
  readonly from: AccountState
  readonly to: AccountState
}

interface MovedKey {
  readonly accountId: AccountId
  readonly key: LoadedKey
  readonly from: KeyState | undefined
  readonly to: KeyState
}

const MOVED_COLUMNS: readonly Column<MovedAccount>[] = [
  text('account_id', ({ account }) => account.id),
  ...STATE_COLUMNS.map(({ value, ...column }) => ({ ...column, value: ({ to }: MovedAccount) => value(to) })),
]

/** Who makes the row first has it: the others read it and try again. */
const CREATE_ACCOUNTS = insertion<MovedAccount>({
  table: 'credit',
  columns: [...MOVED_COLUMNS, whole('retired_nano_usd', () => 0)],
  rest: 'on conflict do nothing',
})

const MOVE_COLUMNS: readonly Column<MovedAccount>[] = [
  ...MOVED_COLUMNS,
  whole('needed', ({ account }) => account.neededNanoUsd),
  whole('balance_read', ({ from }) => from.balance),
  whole('held_read', ({ from }) => from.held),
  whole('spent_read', ({ from }) => from.spent),
  whole('entries_read', ({ from }) => from.entries),
  whole('granted_month_read', ({ from }) => from.grantedMonth),
]

/**
 * The one movement of each account in a batch: it holds only what is there, whatever was decided (LED-3). The lock keeps
 * others away; the conditions keep the promise where somebody writes without one.
 */
const UPDATE_ACCOUNTS_IF_UNCHANGED: RowsStatement<MovedAccount> = {
  columns: MOVE_COLUMNS,
  sql: `update credit set (${ACCOUNT_COLUMNS}) = row(${STATE_COLUMNS.map(({ name }) => `moved.${name}`).join(', ')})
from ${rowsOf(MOVE_COLUMNS, 'moved')}
where credit.account_id = moved.account_id
  and credit.balance_nano_usd - credit.held_nano_usd >= moved.needed
  and credit.entries = moved.entries_read and credit.balance_nano_usd = moved.balance_read
  and credit.held_nano_usd = moved.held_read and credit.spent_nano_usd = moved.spent_read
  and credit.granted_month = moved.granted_month_read`,
}

const KEY_COLUMNS: readonly Column<MovedKey>[] = [
  text('account_id', ({ accountId }) => accountId),
  text('key_id', ({ key }) => key.id),
  whole('month', ({ to }) => to.month),
  whole('spent_nano_usd', ({ to }) => to.spent),
  whole('held_nano_usd', ({ to }) => to.held),
]

const CREATE_KEYS = insertion({ table: 'key_spending', columns: KEY_COLUMNS, rest: 'on conflict do nothing' })

const MOVE_KEY_COLUMNS: readonly Column<MovedKey>[] = [
  ...KEY_COLUMNS,
  whole('month_read', ({ from }) => from?.month),
  whole('spent_read', ({ from }) => from?.spent),
  whole('held_read', ({ from }) => from?.held),
]

const UPDATE_KEYS_IF_UNCHANGED: RowsStatement<MovedKey> = {
  columns: MOVE_KEY_COLUMNS,
  sql: `update key_spending set month = moved.month, spent_nano_usd = moved.spent_nano_usd,
  held_nano_usd = moved.held_nano_usd
from ${rowsOf(MOVE_KEY_COLUMNS, 'moved')}
where key_spending.account_id = moved.account_id and key_spending.key_id = moved.key_id
  and key_spending.month = moved.month_read and key_spending.spent_nano_usd = moved.spent_read
  and key_spending.held_nano_usd = moved.held_read`,
}

/**
 * To be sent before all else: where two processes make the same account, one waits here for the other.
 * @returns Those reject with `WriteConflict` where an account or a key changed since it was read, or does not cover its holds.
 */
function writeAccounts(client: PostgresClient, accounts: Iterable<LoadedAccount>): readonly Sent[] {
  const created: MovedAccount[] = []
  const moved: MovedAccount[] = []
  const keysCreated: MovedKey[] = []
  const keysMoved: MovedKey[] = []
  for (const account of accounts) {
    const { read, state: to } = account
    if (to !== undefined && to !== read)
      (read === undefined ? created : moved).push({ account, from: read ?? CREATED, to })
    for (const key of account.keys.values()) {
      if (key.state === undefined || key.state === key.read) continue
      const move = { accountId: account.id, key, from: key.read, to: key.state }
      ;(key.read === undefined ? keysCreated : keysMoved).push(move)
    }
  }
  created.sort((a, b) => (a.account.id < b.account.id ? -1 : 1))
  return [
    sendAll(client, CREATE_ACCOUNTS, created),
    sendAll(client, UPDATE_ACCOUNTS_IF_UNCHANGED, moved),
    sendAll(client, CREATE_KEYS, keysCreated),
    sendAll(client, UPDATE_KEYS_IF_UNCHANGED, keysMoved),
  ]
}
