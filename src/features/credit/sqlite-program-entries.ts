/** Rows that are written once and never changed: the ledger and the alerts. */
import type { ProgramConnection } from '../../db/program.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { EntryPlace } from './carry-out.ts'
import { ENTRY_OF_KEY, type EntryOfKeyRow, keyedEntryOf } from './keyed-entry.ts'
import type { AlertRow, LedgerRow } from './rules.ts'
import type { EntryKey, KeyedEntry, LedgerEntry } from './unit.ts'

const INSERT_LEDGER_ROW = `insert into ledger
  (account_id, number, kind, debit, credit, amount_nano_usd, balance_nano_usd, completion_id, key_id, price_version,
   adjusts, note, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export function insertLedgerRow(connection: ProgramConnection, accountId: AccountId, row: LedgerRow): void {
  connection
    .prepare(INSERT_LEDGER_ROW)
    .run(
      accountId,
      row.number,
      row.kind,
      row.debit,
      row.credit,
      row.amount,
      row.balance,
      row.completionId ?? null,
      row.keyId ?? null,
      row.priceVersion ?? null,
      row.adjusts ?? null,
      row.note ?? null,
      row.createdAt,
    )
}

const INSERT_ALERT = `insert into usage_alert
  (account_id, month, event, basis, threshold, spent_nano_usd, limit_nano_usd, created_at, told)
values (?, ?, ?, ?, ?, ?, ?, ?, 0) on conflict do nothing`

export function insertAlert(connection: ProgramConnection, accountId: AccountId, alert: AlertRow): void {
  const { month, event, basis, threshold, spent, limit, createdAt } = alert
  connection.prepare(INSERT_ALERT).run(accountId, month, event, basis, threshold, spent, limit, createdAt)
}

const SELECT_ENTRY = `${ENTRY_OF_KEY} where asked.account_id = ? and asked.key = ?`

export function readEntry(connection: ProgramConnection, { accountId, key }: EntryPlace): KeyedEntry | undefined {
  const row = connection.prepare<EntryOfKeyRow>(SELECT_ENTRY).get(accountId, key)
  return row && keyedEntryOf(row)
}

const INSERT_ENTRY_KEY = 'insert into ledger_entry_key (account_id, key, fingerprint, number) values (?, ?, ?, ?)'

export function insertEntryKey(
  connection: ProgramConnection,
  { key, fingerprint }: EntryKey,
  { accountId, number }: LedgerEntry,
): void {
  connection.prepare(INSERT_ENTRY_KEY).run(accountId, key, fingerprint, number)
}
