/** Rows that are written once and never changed: the ledger and the alerts. */
import type { ProgramConnection } from '../../db/program.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { AlertRow, LedgerRow } from './rules.ts'

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
