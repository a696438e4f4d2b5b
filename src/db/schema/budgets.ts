/** The tables of budgets, as queries see them; conventions as in `schema.ts`. */
import type { Generated } from 'kysely'
import type { BudgetAction, BudgetLevel, BudgetWindow } from '../../domain/budget.ts'
import type { AccountId, BudgetId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'

export interface BudgetTable {
  account_id: AccountId
  id: BudgetId
  level: BudgetLevel
  /** ID of the account, team, user or key; of a tag `key=value`. */
  subject: string
  limit_nano_usd: NanoUsd
  period: BudgetWindow
  /** IANA name. */
  timezone: string
  /** Start of the first window; null: windows of the calendar. */
  starts_at: number | null
  action: BudgetAction
  /** Among the budgets of its subject. */
  position: number
  created_at: number
  /** It was removed. Requests that it holds are still charged to it. */
  ended_at: number | null
}

export interface BudgetWindowTable {
  account_id: AccountId
  budget_id: BudgetId
  starts_at: number
  spent_nano_usd: NanoUsd
  held_nano_usd: NanoUsd
}

/** Raises the limit of a budget for a time. */
export interface BudgetRaiseTable {
  account_id: AccountId
  budget_id: BudgetId
  id: string
  amount_nano_usd: NanoUsd
  reason: string
  created_at: number
  ends_at: number
  /** Whether the alerts of the limit after its end are written. */
  end_alerted: Generated<0 | 1>
}

/** A threshold that a window has reached: written once, then reported. */
export interface BudgetAlertTable {
  account_id: AccountId
  budget_id: BudgetId
  /** Of the window. */
  starts_at: number
  /** In per cent. */
  threshold: number
  spent_nano_usd: NanoUsd
  limit_nano_usd: NanoUsd
  created_at: number
  /** Whether its event is recorded. */
  told: 0 | 1
}
