/** Budgets in the writer thread: read when they are asked for, and their windows written at the end of a batch. */
import type { BudgetWindowTable } from '../../../../db/schema/schema.ts'
import type { ProgramConnection } from '../../../../db/sqlite/connection.ts'
import type { AccountId, UserId } from '../../../../domain/ids.ts'
import { WriteConflict } from '../apply-batch.ts'
import type { BudgetReads, LoadedBudgets, LoadedWindow } from '../batch-budgets.ts'
import { type BudgetRow, budgetColumns, knownBudget } from '../rows.ts'

const SELECT_OWNER = `select coalesce(
  (select created_by from api_key where account_id = ?1 and id = ?2),
  (select user_id from device where account_id = ?1 and id = ?2),
  (select user_id from member where account_id = ?1 and user_id = ?2)) as user_id`

const SELECT_BUDGETS = `select ${budgetColumns('?4')} from budget
where account_id = ?1 and level = ?2 and subject = ?3 and ended_at is null order by id`

const SELECT_BUDGET = `select ${budgetColumns('?3')} from budget where account_id = ?1 and id = ?2`

const SELECT_LATEST = `select starts_at, spent_nano_usd, held_nano_usd from budget_window
where account_id = ? and budget_id = ? order by starts_at desc limit 1`

const SELECT_WINDOW = `select spent_nano_usd, held_nano_usd from budget_window
where account_id = ? and budget_id = ? and starts_at = ?`

export function budgetReads(connection: ProgramConnection, now: number): BudgetReads {
  return {
    keyOwner(accountId, keyId) {
      const row = connection.prepare<{ user_id: UserId | null }>(SELECT_OWNER).get(accountId, keyId)
      return { userId: row?.user_id ?? undefined }
    },
    budgetsOf(accountId, { level, id }) {
      return connection.prepare<BudgetRow>(SELECT_BUDGETS).all(accountId, level, id, now).map(knownBudget)
    },
    budget({ accountId, budgetId }) {
      const row = connection.prepare<BudgetRow>(SELECT_BUDGET).get(accountId, budgetId, now)
      return row && knownBudget(row)
    },
    latestWindow({ accountId, budgetId }) {
      const row = connection.prepare<BudgetWindowTable>(SELECT_LATEST).get(accountId, budgetId)
      return row && { start: row.starts_at, spent: row.spent_nano_usd, held: row.held_nano_usd }
    },
    window({ accountId, budgetId, start }) {
      const row = connection.prepare<BudgetWindowTable>(SELECT_WINDOW).get(accountId, budgetId, start)
      return row && { spent: row.spent_nano_usd, held: row.held_nano_usd }
    },
  }
}

const CREATE_WINDOW = `insert into budget_window (account_id, budget_id, starts_at, spent_nano_usd, held_nano_usd)
values (?, ?, ?, ?, ?) on conflict do nothing`

const UPDATE_WINDOW_IF_UNCHANGED = `update budget_window set spent_nano_usd = ?, held_nano_usd = ?
where account_id = ? and budget_id = ? and starts_at = ? and spent_nano_usd = ? and held_nano_usd = ?`

/** Throws `WriteConflict` where a window changed since it was read. */
export function writeWindows(connection: ProgramConnection, accountId: AccountId, { windows }: LoadedBudgets): void {
  for (const window of windows.values()) {
    if (window.state !== window.read && hasMoved(window)) moveWindow(connection, accountId, window)
  }
}

/** A window that nothing was held in needs no row. */
function hasMoved({ read, state }: LoadedWindow): boolean {
  return read !== undefined || state.spent !== 0n || state.held !== 0n
}

function moveWindow(connection: ProgramConnection, accountId: AccountId, { ref, read, state }: LoadedWindow): void {
  const { budgetId, start } = ref
  const moved =
    read === undefined
      ? connection.prepare(CREATE_WINDOW).run(accountId, budgetId, start, state.spent, state.held)
      : connection
          .prepare(UPDATE_WINDOW_IF_UNCHANGED)
          .run(state.spent, state.held, accountId, budgetId, start, read.spent, read.held)
  if (moved !== 1) throw new WriteConflict(`The spending of the budget ${budgetId} changed since it was read.`)
}
