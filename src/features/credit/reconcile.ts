/** Reconciles an account: usage rows, rollups, ledger, balances and open holds. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import { LATE_SETTLEMENT } from './ledger/movements.ts'

export interface Reconciled {
  /** The cost of completions, including those that retention has deleted. */
  readonly rowsNanoUsd: NanoUsd
  /** The same cost from the daily rollups. */
  readonly rollupsNanoUsd: NanoUsd
  /** Their charges, before price corrections. */
  readonly ledgerNanoUsd: NanoUsd
  readonly balanceNanoUsd: NanoUsd
  /** The sum of all movements of credit. */
  readonly expectedBalanceNanoUsd: NanoUsd
  readonly heldNanoUsd: NanoUsd
  readonly openHoldsNanoUsd: NanoUsd
}

/** The cost of an account's completions that retention has deleted: row by row, and in whole months. */
export function retiredCost(accountId: AccountId): RawBuilder<NanoUsd> {
  return sql`(select coalesce(sum(nano_usd), 0) from (
    select retired_nano_usd as nano_usd from credit where account_id = ${accountId}
    union all select cost_nano_usd from retired_usage where account_id = ${accountId}) as retired)`
}

/** One statement, so that all sums are of the same snapshot. */
export async function reconcile(db: Kysely<Database>, accountId: AccountId): Promise<Reconciled> {
  const sumOf = (table: 'completion' | 'usage_rollup' | 'hold', column: 'cost_nano_usd' | 'amount_nano_usd') =>
    sql<bigint>`(select coalesce(sum(${sql.ref(column)}), 0) from ${sql.table(table)} where account_id = ${accountId})`
  const ofCredit = (column: 'balance_nano_usd' | 'held_nano_usd') =>
    sql<bigint>`coalesce((select ${sql.ref(column)} from credit where account_id = ${accountId}), 0)`
  const charged = sql`case
    when adjusts is not null and note is distinct from ${LATE_SETTLEMENT} then 0
    when kind = 'charge' then amount_nano_usd
    when kind = 'refund' and adjusts is not null then -amount_nano_usd
    else 0 end`
  const signed = sql`case when credit = 'credit' then amount_nano_usd when debit = 'credit' then -amount_nano_usd else 0 end`
  const movements = db
    .selectFrom('ledger')
    .select([
      sql<bigint>`coalesce(sum(${charged}), 0)`.as('charged_nano_usd'),
      sql<bigint>`coalesce(sum(${signed}), 0)`.as('expected_nano_usd'),
    ])
    .where('account_id', '=', accountId)
  const row = await db
    .selectFrom(movements.as('movements'))
    .select([
      'charged_nano_usd',
      'expected_nano_usd',
      sumOf('completion', 'cost_nano_usd').as('rows_nano_usd'),
      retiredCost(accountId).as('retired_nano_usd'),
      sumOf('usage_rollup', 'cost_nano_usd').as('rollups_nano_usd'),
      ofCredit('balance_nano_usd').as('balance_nano_usd'),
      ofCredit('held_nano_usd').as('held_nano_usd'),
      sumOf('hold', 'amount_nano_usd').as('open_holds_nano_usd'),
    ])
    .executeTakeFirstOrThrow()
  return {
    rowsNanoUsd: row.rows_nano_usd + row.retired_nano_usd,
    rollupsNanoUsd: row.rollups_nano_usd,
    ledgerNanoUsd: row.charged_nano_usd,
    balanceNanoUsd: row.balance_nano_usd,
    expectedBalanceNanoUsd: row.expected_nano_usd,
    heldNanoUsd: row.held_nano_usd,
    openHoldsNanoUsd: row.open_holds_nano_usd,
  }
}

const usd = (description: string) => Type.Number({ description: `USD. ${description}` })

export const ReconciledView = Type.Object({
  ok: Type.Boolean({
    description: 'Whether completions, rollups and ledger agree, and match balance and holds.',
  }),
  rows_usd: usd('Cost of the completions.'),
  rollups_usd: usd('Cost of the completions according to the rollups that reports use.'),
  ledger_usd: usd('Charges of the completions, before corrections.'),
  balance_usd: usd('Balance of the account.'),
  expected_balance_usd: usd('Sum of the ledger entries.'),
  held_usd: usd('Credit that requests in flight have reserved.'),
  open_holds_usd: usd('Sum of the open holds.'),
})

export function renderReconciled(sums: Reconciled): Static<typeof ReconciledView> {
  return {
    ok: agrees(sums),
    rows_usd: usdNumber(sums.rowsNanoUsd),
    rollups_usd: usdNumber(sums.rollupsNanoUsd),
    ledger_usd: usdNumber(sums.ledgerNanoUsd),
    balance_usd: usdNumber(sums.balanceNanoUsd),
    expected_balance_usd: usdNumber(sums.expectedBalanceNanoUsd),
    held_usd: usdNumber(sums.heldNanoUsd),
    open_holds_usd: usdNumber(sums.openHoldsNanoUsd),
  }
}

function agrees(sums: Reconciled): boolean {
  return (
    sums.rowsNanoUsd === sums.rollupsNanoUsd &&
    sums.rowsNanoUsd === sums.ledgerNanoUsd &&
    sums.balanceNanoUsd === sums.expectedBalanceNanoUsd &&
    sums.heldNanoUsd === sums.openHoldsNanoUsd
  )
}
