/** Writes accounts and keys, each on the condition that it still is as it was read. */
import type { PostgresClient, PostgresRows } from '../../../../db/postgres/client.ts'
import type { AccountId } from '../../../../domain/ids.ts'
import { ACCOUNT_COLUMNS, CREATED, thresholdsText } from '../rows.ts'
import type { AccountState, KeyState } from '../state.ts'
import { type LoadedAccount, type LoadedKey, WriteConflict } from '../transaction.ts'
import { type Column, insertion, type RowsStatement, rowsOf, send, text, whole } from './statement.ts'

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

/** In the order of `ACCOUNT_COLUMNS`. */
const STATE_COLUMNS: readonly Column<MovedAccount>[] = [
  text('account_id', ({ account }) => account.id),
  whole('balance_nano_usd', ({ to }) => to.balance),
  whole('held_nano_usd', ({ to }) => to.held),
  whole('allowance_nano_usd', ({ to }) => to.allowance),
  whole('month', ({ to }) => to.month),
  whole('granted_month', ({ to }) => to.grantedMonth),
  whole('spent_nano_usd', ({ to }) => to.spent),
  whole('entries', ({ to }) => to.entries),
  whole('entered_at', ({ to }) => to.enteredAt),
  whole('monthly_budget_nano_usd', ({ to }) => to.monthlyBudget),
  whole('max_overrun_nano_usd', ({ to }) => to.maxOverrun),
  text('alert_thresholds', ({ to }) => thresholdsText(to.thresholds)),
]

/** Who makes the row first has it: the others read it and try again. */
const CREATE_ACCOUNTS = insertion<MovedAccount>({
  table: 'credit',
  columns: [...STATE_COLUMNS, whole('retired_nano_usd', () => 0)],
  rest: 'on conflict do nothing',
})

const MOVE_COLUMNS: readonly Column<MovedAccount>[] = [
  ...STATE_COLUMNS,
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
const MOVE_ACCOUNTS: RowsStatement<MovedAccount> = {
  columns: MOVE_COLUMNS,
  sql: `update credit set (${ACCOUNT_COLUMNS}) = row(${ACCOUNT_COLUMNS.split(/,\s*/)
    .map((name) => `moved.${name}`)
    .join(', ')})
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

const MOVE_KEYS: RowsStatement<MovedKey> = {
  columns: MOVE_KEY_COLUMNS,
  sql: `update key_spending set month = moved.month, spent_nano_usd = moved.spent_nano_usd,
  held_nano_usd = moved.held_nano_usd
from ${rowsOf(MOVE_KEY_COLUMNS, 'moved')}
where key_spending.account_id = moved.account_id and key_spending.key_id = moved.key_id
  and key_spending.month = moved.month_read and key_spending.spent_nano_usd = moved.spent_read
  and key_spending.held_nano_usd = moved.held_read`,
}

/**
 * To be asked for before all else: where two processes make the same account, one waits here for the other.
 * @returns Those reject with `WriteConflict` where an account or a key changed since it was read, or does not cover its holds.
 */
export function writeAccounts(client: PostgresClient, accounts: Iterable<LoadedAccount>): readonly Sent[] {
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
    sendAll(client, MOVE_ACCOUNTS, moved),
    sendAll(client, CREATE_KEYS, keysCreated),
    sendAll(client, MOVE_KEYS, keysMoved),
  ]
}

/** A statement under way; undefined: there was nothing to send. */
export type Sent = Promise<unknown> | undefined

/** Every row must be taken by the database. */
export function sendAll<Row>(client: PostgresClient, statement: RowsStatement<Row>, rows: readonly Row[]): Sent {
  return rows.length === 0 ? undefined : send(client, statement, rows).then((answer) => assertAll(answer, rows.length))
}

function assertAll({ changes }: PostgresRows<never>, count: number): void {
  if (changes !== count) throw new WriteConflict(`${count - changes} of ${count} rows changed since they were read.`)
}
