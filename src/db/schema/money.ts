/** The tables of credit, of budgets, of ledger audits and of payments; conventions as in `schema.ts`. */
import type { Generated } from 'kysely'
import type { BudgetAction, BudgetLevel, BudgetWindow } from '../../domain/budget.ts'
import type { RecordedApi } from '../../domain/completion.ts'
import type { AccountId, BudgetId, CompletionId, KeyId, PaymentId, TeamId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'

/** The credit of an account. One row an account, created with its first unit. */
export interface CreditTable {
  account_id: AccountId
  /** The sum of the account's ledger. */
  balance_nano_usd: NanoUsd
  /** The sum of its open holds. */
  held_nano_usd: NanoUsd
  /** The part of the balance that is left of the monthly allowance, and expires with it. */
  allowance_nano_usd: NanoUsd
  /** Months since 1970-01 UTC that `spent` is of. */
  month: number
  /** The last month that an allowance was granted for; 0: none. */
  granted_month: number
  /** Charged in that month. */
  spent_nano_usd: NanoUsd
  /** Rows of its ledger: the number of the last one. */
  entries: number
  /** Time of its last ledger row; the next one is never earlier. */
  entered_at: number
  monthly_budget_nano_usd: NanoUsd | null
  /** The lowest allowed balance is minus this; null for the plan's setting. */
  max_overrun_nano_usd: NanoUsd | null
  /** JSON list of percentages. */
  alert_thresholds: string
  /** The cost of usage rows that retention has deleted. */
  retired_nano_usd: NanoUsd
  /** Whether `budget` has rows of the account; they are not read otherwise. */
  has_budgets: Generated<0 | 1>
}

/** The cost of completions in months that retention dropped as a whole, beside `retired_nano_usd` of `credit`. */
export interface RetiredUsageTable {
  account_id: AccountId
  cost_nano_usd: NanoUsd
}

/** The spending of keys with a monthly budget. */
export interface KeySpendingTable {
  account_id: AccountId
  key_id: KeyId
  month: number
  spent_nano_usd: NanoUsd
  held_nano_usd: NanoUsd
}

/** Requests in flight. The row is written before the provider is called, so that a crash cannot lose the charge. */
export interface HoldTable {
  account_id: AccountId
  id: CompletionId
  key_id: KeyId
  /** The process that runs the request. */
  instance_id: string
  amount_nano_usd: NanoUsd
  /** Whether the key's budget holds the same amount. */
  of_key_budget: 0 | 1
  /** The keys above the key, see `ancestorsText`; null: there are none. */
  ancestors: string | null
  /** Windows of budgets that hold the same amount, see `windowsText`; null: none. */
  budgets: string | null
  model: string
  provider: string
  stream: 0 | 1
  price_version: string
  /** The running estimate, charged if the process dies. */
  prompt_tokens: number
  completion_tokens: number
  estimate_nano_usd: NanoUsd
  created_at: number
  client_request_id: string | null
  /** The fee of a call with the account's own credential: a share of the cost, in millionths. */
  byok_fee_ppm: number | null
  /** Null: chat completions. */
  api: RecordedApi | null
  /** Null: the account. */
  team_id: TeamId | null
  /** See `CompletionTable`. */
  tags: string | null
  session_id: string | null
  end_user: string | null
  request_id: string | null
}

export type LedgerKind = 'grant' | 'purchase' | 'charge' | 'refund' | 'debit' | 'expiry'
export type LedgerBook = 'credit' | 'revenue' | 'grants' | 'payments' | 'refunds' | 'debits'

/** Double entry, append-only: each row debits one book and credits another. `credit` is the customer's. */
export interface LedgerTable {
  account_id: AccountId
  /** From 1, without gaps. */
  number: number
  kind: LedgerKind
  debit: LedgerBook
  credit: LedgerBook
  amount_nano_usd: NanoUsd
  /** The customer's balance after it. */
  balance_nano_usd: NanoUsd
  completion_id: CompletionId | null
  key_id: KeyId | null
  price_version: string | null
  /** The number of the row that this one corrects. */
  adjusts: number | null
  note: string | null
  created_at: number
  /** Windows of budgets in which the amount counts, see `windowsText`; null: none. */
  budgets: string | null
}

/** Idempotency keys of manual entries. */
export interface LedgerEntryKeyTable {
  account_id: AccountId
  key: string
  /** SHA-256 of the entry's content, in hexadecimal digits. */
  fingerprint: string
  /** The resulting ledger row. */
  number: number
}

export interface LedgerAuditTable {
  id: string
  /** Null for all accounts. */
  account_id: AccountId | null
  /** Audits only rows since then. */
  since: number | null
  started_at: number
  updated_at: number
  ended_at: number | null
  /** The number of findings, including those that are not stored. */
  findings: number
  /** Progress, as JSON. */
  state: string
  /** Increases with every change. */
  version: number
}

export interface LedgerAuditFindingTable {
  audit_id: string
  id: string
  account_id: AccountId
  kind: string
  subject: string
  expected: string
  actual: string
}

/** SHA-256 of a page of the ledger at the last audit. */
export interface LedgerSealTable {
  account_id: AccountId
  page: number
  last_number: number
  hash: string
  sealed_at: number
}

/** Monthly allowances that plans grant, or have granted. */
export interface PlanAllowanceTable {
  plan: string
  amount_nano_usd: NanoUsd
  first_seen_at: number
}

/** What an account has at Stripe, and its automatic recharge. */
export interface PaymentAccountTable {
  account_id: AccountId
  customer_id: string | null
  payment_method_id: string | null
  card_brand: string | null
  card_last4: string | null
  /** A balance below it is recharged; null, as the next two: never. */
  below_nano_usd: NanoUsd | null
  add_nano_usd: NanoUsd | null
  /** Most of a calendar month in UTC. */
  month_nano_usd: NanoUsd | null
  /** Why the last recharge failed: there is none until the settings change. */
  recharge_error: string | null
  changed_at: number
}

export interface PaymentTable {
  account_id: AccountId
  id: PaymentId
  kind: 'top_up' | 'recharge'
  amount_nano_usd: NanoUsd
  status: 'pending' | 'succeeded' | 'failed'
  /** Whether its payment method is saved for recharges. */
  saves_method: 0 | 1
  /** Of Stripe Checkout. */
  session_id: string | null
  /** Stripe's payment intent. */
  intent_id: string | null
  error: string | null
  created_at: number
  ended_at: number | null
}

/* The tables of budgets, as queries see them; conventions as in `schema.ts`. */

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
