/** Accounts and keys in SQLite: how they are read, and written on the condition that they still are as they were read. */
import type { ProgramConnection } from '../../db/program.ts'
import type { KeySpendingTable } from '../../db/schema.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  accountState,
  CREATED,
  DEFAULT_THRESHOLDS_TEXT,
  type KnownAccount,
  type KnownKey,
  RaceLost,
  thresholdsText,
} from './known-accounts.ts'
import type { AccountState, KeyState } from './rules.ts'

const SELECT_ACCOUNT = `select ${ACCOUNT_COLUMNS} from credit where account_id = ?`

export function readAccount(connection: ProgramConnection, id: AccountId): AccountState | undefined {
  const row = connection.prepare<AccountRow>(SELECT_ACCOUNT).get(id)
  return row && accountState(row)
}

const SELECT_KEY = 'select month, spent_nano_usd, held_nano_usd from key_spending where account_id = ? and key_id = ?'

export function readKey(connection: ProgramConnection, accountId: AccountId, id: KeyId): KeyState | undefined {
  const row = connection.prepare<KeySpendingTable>(SELECT_KEY).get(accountId, id)
  return row && { month: row.month, spent: row.spent_nano_usd, held: row.held_nano_usd }
}

/** Throws `RaceLost` where the account or one of its keys is not as it was read, or does not cover what was held. */
export function writeAccount(connection: ProgramConnection, account: KnownAccount): void {
  if (account.state !== undefined && account.state !== account.read) moveAccount(connection, account, account.state)
  for (const key of account.keys.values()) {
    if (key.state !== undefined && key.state !== key.read) moveKey(connection, { account, key, to: key.state })
  }
}

const CREATE_ACCOUNT = `insert into credit
  (account_id, balance_nano_usd, held_nano_usd, allowance_nano_usd, month, granted_month, spent_nano_usd, entries,
   entered_at, monthly_budget_nano_usd, alert_thresholds, retired_nano_usd)
values (?, 0, 0, 0, 0, 0, 0, 0, 0, null, '${DEFAULT_THRESHOLDS_TEXT}', 0) on conflict do nothing`

/** One statement for all units of a batch: it holds only what is there, whatever was decided (LED-3). */
const MOVE_ACCOUNT = `update credit set
  balance_nano_usd = ?, held_nano_usd = ?, allowance_nano_usd = ?, month = ?, granted_month = ?, spent_nano_usd = ?,
  entries = ?, entered_at = ?, monthly_budget_nano_usd = ?, max_overrun_nano_usd = ?, alert_thresholds = ?
where account_id = ? and balance_nano_usd - held_nano_usd >= ?
  and entries = ? and balance_nano_usd = ? and held_nano_usd = ? and spent_nano_usd = ? and granted_month = ?
  and monthly_budget_nano_usd is ? and max_overrun_nano_usd is ? and alert_thresholds = ?`

function moveAccount(connection: ProgramConnection, { id, read, neededNanoUsd }: KnownAccount, to: AccountState): void {
  if (read === undefined) connection.prepare(CREATE_ACCOUNT).run(id)
  const from = read ?? CREATED
  const moved = connection
    .prepare(MOVE_ACCOUNT)
    .run(
      to.balance,
      to.held,
      to.allowance,
      to.month,
      to.grantedMonth,
      to.spent,
      to.entries,
      to.enteredAt,
      to.monthlyBudget ?? null,
      to.maxOverrun ?? null,
      thresholdsText(to.thresholds),
      id,
      neededNanoUsd,
      from.entries,
      from.balance,
      from.held,
      from.spent,
      from.grantedMonth,
      from.monthlyBudget ?? null,
      from.maxOverrun ?? null,
      thresholdsText(from.thresholds),
    )
  if (moved !== 1) throw new RaceLost(`The credit of ${id} is not as it was read, or does not cover what was held.`)
}

const CREATE_KEY = `insert into key_spending (account_id, key_id, month, spent_nano_usd, held_nano_usd)
values (?, ?, ?, ?, ?) on conflict do nothing`

const MOVE_KEY = `update key_spending set month = ?, spent_nano_usd = ?, held_nano_usd = ?
where account_id = ? and key_id = ? and month = ? and spent_nano_usd = ? and held_nano_usd = ?`

function moveKey(
  connection: ProgramConnection,
  { account, key, to }: { readonly account: KnownAccount; readonly key: KnownKey; readonly to: KeyState },
): void {
  const { id, read } = key
  const moved =
    read === undefined
      ? connection.prepare(CREATE_KEY).run(account.id, id, to.month, to.spent, to.held)
      : connection.prepare(MOVE_KEY).run(to.month, to.spent, to.held, account.id, id, read.month, read.spent, read.held)
  if (moved !== 1) throw new RaceLost(`The spending of ${id} is not as it was read.`)
}
