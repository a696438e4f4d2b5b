/**
 * The tables, as queries see them. Times are Unix milliseconds, flags 0 or 1, lists JSON text, and columns ending in
 * `_nano_usd` bigint; absent is null. A tenant's table has `account_id` first in its primary key and is stored in that
 * order, so that the same schema can be sharded by account. Exempt are `credential` and `sign_in_link` (found by hash,
 * before an account is known), `price_version`, `setting`, `instance`, `job` and `schema_migration` (the same for all);
 * `account` and `credit` are keyed by the account's id alone.
 */
import type { FinishReason } from '../domain/chat.ts'
import type { CompletionStatus, UsageSource } from '../domain/completion.ts'
import type { AccountId, CompletionId, KeyId } from '../domain/ids.ts'
import type { NanoUsd } from '../domain/money.ts'

export interface Database {
  readonly account: AccountTable
  readonly api_key: ApiKeyTable
  readonly credential: CredentialTable
  readonly completion: CompletionTable
  readonly usage_rollup: UsageRollupTable
  readonly usage_hour: UsageHourTable
  readonly price_version: PriceVersionTable
  readonly sign_in_link: SignInLinkTable
  readonly setting: SettingTable
  readonly credit: CreditTable
  readonly key_spending: KeySpendingTable
  readonly hold: HoldTable
  readonly ledger: LedgerTable
  readonly idempotency: IdempotencyTable
  readonly invoice: InvoiceTable
  readonly usage_alert: UsageAlertTable
  readonly instance: InstanceTable
  readonly job: JobTable
  readonly schema_migration: { name: string; applied_at: number }
}

export interface AccountTable {
  id: AccountId
  name: string
  plan: string
  created_at: number
  /** Grows with every change of the row, see `nextChangedAt`. */
  changed_at: number
}

export interface ApiKeyTable {
  account_id: AccountId
  id: KeyId
  name: string
  /** What a secret starts with, and its last four characters: enough to recognise it, nothing to use it. */
  prefix: string
  last4: string
  /** JSON list; empty: full access. */
  scopes: string
  /** JSON list of addresses and CIDR blocks; empty: from anywhere. */
  ip_allowlist: string
  monthly_budget_nano_usd: NanoUsd | null
  requests_per_minute: number | null
  /** JSON list; empty: all. */
  models: string
  created_at: number
  last_used_at: number | null
  expires_at: number | null
  revoked_at: number | null
  /** Grows with every change of the row but `last_used_at`, see `nextChangedAt`. */
  changed_at: number
}

/** From a secret's SHA-256 to whose it is and what. */
export interface CredentialTable {
  hash: Uint8Array
  account_id: AccountId
  kind: 'key'
  id: KeyId
}

export interface CompletionTable {
  account_id: AccountId
  id: CompletionId
  key_id: KeyId
  model: string
  provider: string
  status: CompletionStatus
  stream: 0 | 1
  finish_reason: FinishReason | null
  prompt_tokens: number
  completion_tokens: number
  cached_tokens: number
  cache_write_tokens: number
  reasoning_tokens: number
  cost_nano_usd: NanoUsd
  price_version: string
  usage_source: UsageSource
  created_at: number
  duration_ms: number
  first_byte_ms: number | null
  attempts: number
  client_request_id: string | null
}

/** Sums over `completion`, written in the same transaction. */
interface UsageSumColumns {
  account_id: AccountId
  key_id: KeyId
  model: string
  requests: number
  prompt_tokens: number
  completion_tokens: number
  cost_nano_usd: NanoUsd
}

export interface UsageRollupTable extends UsageSumColumns {
  /** Days since 1970-01-01 UTC, of `completion.created_at`. */
  day: number
}

/** For periods that begin or end within a day. */
export interface UsageHourTable extends UsageSumColumns {
  /** Hours since 1970-01-01 UTC, of `completion.created_at`. */
  hour: number
}

/** Prices that were ever in force, in micro-dollars per million tokens. */
export interface PriceVersionTable {
  id: string
  model: string
  input_micro_usd: number
  output_micro_usd: number
  cached_input_micro_usd: number | null
  cache_write_micro_usd: number | null
  first_seen_at: number
}

export interface SignInLinkTable {
  hash: Uint8Array
  account_id: AccountId
  created_at: number
  expires_at: number
  used_at: number | null
}

/** What the installation remembers about itself. */
export interface SettingTable {
  key: 'first_account' | 'first_key'
  value: string
}

/** What an account has. One row an account, made when it is first touched. */
export interface CreditTable {
  account_id: AccountId
  /** The sum of the account's ledger. */
  balance_nano_usd: NanoUsd
  /** The sum of its open holds. */
  held_nano_usd: NanoUsd
  /** What of the balance is left of the monthly allowance, and expires with it. */
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
  /** JSON list of percentages. */
  alert_thresholds: string
  /** Cost of usage rows that retention has deleted. */
  retired_nano_usd: NanoUsd
}

/** What a key with a monthly budget has spent. */
export interface KeySpendingTable {
  account_id: AccountId
  key_id: KeyId
  month: number
  spent_nano_usd: NanoUsd
  held_nano_usd: NanoUsd
}

/** Requests that are admitted and not settled. The row is also the intent: it is there before a provider is asked. */
export interface HoldTable {
  account_id: AccountId
  id: CompletionId
  key_id: KeyId
  /** The process that runs the request. */
  instance_id: string
  amount_nano_usd: NanoUsd
  /** Whether the key's budget holds the same amount. */
  of_key_budget: 0 | 1
  model: string
  provider: string
  stream: 0 | 1
  price_version: string
  /** The running estimate: what is charged when nobody is left to say better. */
  prompt_tokens: number
  completion_tokens: number
  estimate_nano_usd: NanoUsd
  created_at: number
  client_request_id: string | null
}

export type LedgerKind = 'grant' | 'purchase' | 'charge' | 'refund' | 'expiry'
export type LedgerBook = 'credit' | 'revenue' | 'grants' | 'payments' | 'refunds'

/** Double entry, append-only: each row takes an amount from one book and gives it to another. `credit` is the customer's. */
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
}

/** What was asked with an `Idempotency-Key`, and what was answered. */
export interface IdempotencyTable {
  account_id: AccountId
  endpoint: string
  key: string
  /** SHA-256 of the canonical request. */
  fingerprint: Uint8Array
  state: 'running' | 'kept' | 'too_large' | 'freed'
  /** The completion, agent or message that the request makes. */
  subject_id: string
  instance_id: string
  lease_until: number
  status: number | null
  /** JSON object. */
  headers: string | null
  body: string | null
  created_at: number
  ended_at: number | null
}

/** Closed months. Numbers run per account. */
export interface InvoiceTable {
  account_id: AccountId
  number: number
  id: string
  period_start: number
  period_end: number
  total_nano_usd: NanoUsd
  /** The whole invoice as JSON, as it was closed. */
  document: string
  closed_at: number
}

export interface UsageAlertTable {
  account_id: AccountId
  month: number
  basis: 'budget' | 'credit'
  /** Percent. */
  threshold: number
  spent_nano_usd: NanoUsd
  limit_nano_usd: NanoUsd
  created_at: number
}

/** Running processes. A lease: who was not seen for 30 s is gone. */
export interface InstanceTable {
  id: string
  version: string
  role: string
  address: string | null
  started_at: number
  seen_at: number
  /** What it last said: CPU time, in thousandths of a processor; how late its event loop is; completions under way. */
  load_permille: number | null
  lag_ms: number | null
  active_requests: number | null
}

/** Background work. */
export interface JobTable {
  id: string
  kind: string
  /** Unique within its kind. */
  name: string
  payload: string
  run_at: number
  attempt: number
  owner: string | null
  lease_until: number | null
  last_error: string | null
  created_at: number
  ended_at: number | null
  outcome: 'done' | 'failed' | null
}
