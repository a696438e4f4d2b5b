/** How full the budgets of the installation are, for metrics: read in the background, at most once a minute. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import { windowOf } from './store.ts'

/** Budgets that are compared. */
const COMPARED_BUDGETS = 5_000
const FRESH_MS = 60_000

export interface BudgetFill {
  /** ID of the budget. */
  readonly budget: string
  readonly leftNanoUsd: bigint
  readonly limitNanoUsd: bigint
}

/**
 * Returns what is known of the budgets that something was spent or held of in their current window.
 * @param clock Monotonic milliseconds.
 */
export function watchBudgetFills(
  db: Kysely<Database>,
  { now, clock }: { readonly now: () => number; readonly clock: () => number },
): () => readonly BudgetFill[] {
  let known: readonly BudgetFill[] = []
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    if (clock() - readAt >= FRESH_MS) {
      readAt = clock()
      // While the database is away, what is known stays.
      readFills(db, now()).then(
        (fills) => {
          known = fills
        },
        () => undefined,
      )
    }
    return known
  }
}

export async function readFills(db: Kysely<Database>, now: number): Promise<readonly BudgetFill[]> {
  const rows = await db
    .selectFrom('budget')
    .innerJoin('budget_window as used', (join) =>
      join.onRef('used.account_id', '=', 'budget.account_id').onRef('used.budget_id', '=', 'budget.id'),
    )
    .selectAll('budget')
    .select(['used.starts_at as window_starts_at', 'used.spent_nano_usd', 'used.held_nano_usd'])
    .where('budget.ended_at', 'is', null)
    .where('used.starts_at', '=', ({ selectFrom }) =>
      selectFrom('budget_window as latest')
        .select((all) => all.fn.max('latest.starts_at').as('starts_at'))
        .whereRef('latest.account_id', '=', 'budget.account_id')
        .whereRef('latest.budget_id', '=', 'budget.id'),
    )
    .limit(COMPARED_BUDGETS)
    .execute()
  return rows.flatMap((row) => {
    const start = windowOf(row, now)?.start
    if (start === undefined || row.window_starts_at < start) return []
    const used = BigInt(row.spent_nano_usd) + BigInt(row.held_nano_usd)
    const limitNanoUsd = BigInt(row.limit_nano_usd)
    return [{ budget: row.id, leftNanoUsd: limitNanoUsd - used, limitNanoUsd }]
  })
}
