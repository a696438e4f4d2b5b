/** Units, a store to commit them with, and what then is in the database: for tests of the ledger's stores. */
import type { OpenedDatabase } from '../../../src/db/database.ts'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import type { AccountId, KeyId } from '../../../src/domain/ids.ts'
import type { NanoUsd } from '../../../src/domain/money.ts'
import { createLedgerStore } from '../../../src/features/credit/ledger/store.ts'
import type { HoldUnit, Outcome, SettleUnit, Unit } from '../../../src/features/credit/ledger/unit.ts'
import { completionRecord, ensureAccounts } from './completions.ts'
import { completionId, holdUnit, PREPAID } from './credit-model.ts'

export const A = 'acc_1' as AccountId
export const KEY = 'key_1' as KeyId
export const NOW = Date.UTC(2026, 4, 20, 12)

/** With one account in it. */
export async function storeOn(database: OpenedDatabase) {
  await ensureAccounts(database, [A])
  const store = createLedgerStore(database)
  const commit = (...units: readonly Unit[]) => store.commit({ units, now: NOW })
  return { ...database, database, store, commit }
}

export const purchase = (nanoUsd: NanoUsd, accountId = A): Unit => ({
  kind: 'entry',
  accountId,
  terms: PREPAID,
  entry: { kind: 'purchase', nanoUsd, note: undefined, adjusts: undefined },
})

export const hold = (name: string | number, over: Partial<HoldUnit> = {}): HoldUnit =>
  holdUnit({ id: completionId(name), ...over })

export const release = (name: string | number): Unit => ({ kind: 'release', accountId: A, id: completionId(name) })

export function settle(
  name: string | number,
  over: Partial<CompletionRecord> = {},
  unit: Partial<SettleUnit> = {},
): SettleUnit {
  const record = completionRecord({
    id: completionId(name),
    accountId: A,
    keyId: KEY,
    costNanoUsd: 40n,
    createdAt: NOW,
    ...over,
  })
  return { kind: 'settle', record, terms: PREPAID, unrecorded: false, kept: undefined, ...unit }
}

export const kinds = (outcomes: readonly Outcome[]) => outcomes.map(({ kind }) => kind)

/** Of the one account, and how much there is of everything. */
export async function creditOf({ db }: Pick<OpenedDatabase, 'db'>) {
  const row = await db.selectFrom('credit').selectAll().where('account_id', '=', A).executeTakeFirstOrThrow()
  const charges = await db.selectFrom('ledger').select('number').where('kind', '=', 'charge').execute()
  const completions = await db.selectFrom('completion').select('id').execute()
  return {
    balance: row.balance_nano_usd,
    held: row.held_nano_usd,
    charges: charges.length,
    completions: completions.length,
  }
}
