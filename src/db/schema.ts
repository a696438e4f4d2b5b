/**
 * The tables, as queries see them. Times are Unix milliseconds, flags 0 or 1, lists JSON text, and columns ending in
 * `_nano_usd` bigint; absent is null.
 *
 * A tenant's table has `account_id` first in its primary key and is stored in that order, so that the same schema can
 * be sharded by account. Exempt are `credential` and `sign_in_link` (found by hash, before an account is known),
 * `price_version`, `setting` and `schema_migration` (the same for everybody); `account` is keyed by its own id.
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
  readonly schema_migration: SchemaMigrationTable
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

export interface SchemaMigrationTable {
  name: string
  applied_at: number
}
