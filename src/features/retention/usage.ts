/**
 * Deletes old usage rows, only what is on a closed invoice or cost nothing. The sums by day and hour stay, and so does
 * the ledger; what the deleted rows cost is added up in `credit`, so that the books can still be compared.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { type AccountId, completionIdFloor } from '../../domain/ids.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batches.ts'
import type { RetentionInput } from './idempotency.ts'

const DAY_MS = 24 * 3_600_000
/** How long a usage row is kept at least. */
const KEEP_DAYS = 400
/** A completion is on the ledger at the latest so long after it began, also when the database was away. */
const SETTLED_WITHIN_MS = 31 * DAY_MS
const ACCOUNTS_PER_QUERY = 200

/** @returns How many rows were deleted. */
export async function retireUsage({ db, now, signal }: RetentionInput): Promise<number> {
  const old = now() - KEEP_DAYS * DAY_MS
  let total = 0
  let after = ''
  for (;;) {
    const accounts = await accountsWithOldRows(db, { old, after })
    for (const account of accounts) {
      const before = deletableBefore(account, old)
      if (before !== undefined) total += await inBatches(() => deleteRows(db, { id: account.id, before }), signal)
    }
    const last = accounts.at(-1)
    if (last === undefined) return total
    after = last.id
  }
}

type AccountWithOldRows = Awaited<ReturnType<typeof accountsWithOldRows>>[number]

function accountsWithOldRows(db: Kysely<Database>, { old, after }: { readonly old: number; readonly after: string }) {
  return db
    .selectFrom('account')
    .leftJoin('credit', 'credit.account_id', 'account.id')
    .select(['account.id', 'credit.entries', 'credit.entered_at'])
    .select(({ selectFrom }) =>
      selectFrom('invoice')
        .select('invoice.period_end')
        .whereRef('invoice.account_id', '=', 'account.id')
        .orderBy('invoice.number', 'desc')
        .limit(1)
        .as('invoiced_until'),
    )
    .where('account.id', '>', after as AccountId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('completion')
          .select('completion.id')
          .whereRef('completion.account_id', '=', 'account.id')
          .where('completion.id', '<', completionIdFloor(old)),
      ),
    )
    .orderBy('account.id')
    .limit(ACCOUNTS_PER_QUERY)
    .execute()
}

/** Undefined: the account's ledger has rows, and none is on an invoice yet. */
function deletableBefore(account: AccountWithOldRows, old: number): number | undefined {
  const { entries, entered_at: lastEntryAt, invoiced_until: invoicedUntil } = account
  if (lastEntryAt === null || entries === 0) return old
  if (invoicedUntil === null) return undefined
  return lastEntryAt < invoicedUntil ? old : Math.min(old, invoicedUntil - SETTLED_WITHIN_MS)
}

async function deleteRows(
  db: Kysely<Database>,
  { id, before }: { readonly id: AccountId; readonly before: number },
): Promise<number> {
  return db.transaction().execute(async (inside) => {
    const rows = await inside
      .deleteFrom('completion')
      .where('account_id', '=', id)
      .where('id', 'in', ({ selectFrom }) =>
        selectFrom('completion')
          .select('id')
          .where('account_id', '=', id)
          .where('id', '<', completionIdFloor(before))
          .where('created_at', '<', before)
          .orderBy('id')
          .limit(BATCH_ROWS),
      )
      .returning('cost_nano_usd')
      .execute()
    const cost = rows.reduce((sum, { cost_nano_usd }) => sum + cost_nano_usd, 0n)
    if (cost > 0n) {
      const result = await inside
        .updateTable('credit')
        .set(({ eb }) => ({ retired_nano_usd: eb('retired_nano_usd', '+', cost) }))
        .where('account_id', '=', id)
        .executeTakeFirst()
      if (result.numUpdatedRows !== 1n) throw new Error(`Completions of ${id} cost something, but it has no credit.`)
    }
    return rows.length
  })
}
