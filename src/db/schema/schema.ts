/**
 * The tables, as queries see them. Times are Unix milliseconds, flags 0 or 1, lists JSON text, and columns ending in
 * `_nano_usd` bigint; absent is null. A tenant's table has `account_id` first in its primary key and is stored in that
 * order, so that the same schema can be sharded by account. Exempt are `credential`, `sign_in_link` and `device_code` (found
 * by hash, before an account is known), `person`, `identity`, `session` and `guess` (people may belong to several accounts),
 * `price_version`, `plan_allowance`, `ledger_audit`, `ledger_audit_finding`, `provider_hour`, `setting`, `stored_setting`,
 * `instance`, `job` and `schema_migration` (the same for all); `account`, `credit` and `retired_usage` are keyed by the
 * account's ID alone.
 */
import type { Generated } from 'kysely'
import type { FinishReason } from '../../domain/chat.ts'
import type { CompletionStatus, RecordedApi, UsageSource } from '../../domain/completion.ts'
import type { AccountId, CompletionId, DeviceId, InvitationId, KeyId, TeamId, UserId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type * as agents from './agents.ts'
import type * as identity from './identity.ts'
import type * as budgets from './money.ts'
import type * as money from './money.ts'
import type * as webhooks from './webhooks.ts'

export type * from './agents.ts'
export type * from './identity.ts'
export type * from './money.ts'
export type * from './money.ts'
export type * from './webhooks.ts'

export interface Database {
  readonly account: AccountTable
  readonly api_key: ApiKeyTable
  readonly credential: CredentialTable
  readonly completion: CompletionTable
  readonly usage_rollup: UsageRollupTable
  readonly usage_hour: UsageHourTable
  readonly usage_dimension: UsageDimensionTable
  readonly usage_progress: UsageProgressTable
  readonly usage_late: UsageLateTable
  readonly analytics_export: AnalyticsExportTable
  readonly analytics_export_late: AnalyticsExportLateTable
  readonly rejection: RejectionTable
  readonly provider_hour: ProviderHourTable
  readonly performance_hour: PerformanceHourTable
  readonly performance_day: PerformanceDayTable
  readonly price_version: PriceVersionTable
  readonly provider_credential: identity.ProviderCredentialTable
  readonly guardrail: identity.GuardrailTable
  readonly sign_in_link: SignInLinkTable
  readonly setting: SettingTable
  readonly stored_setting: StoredSettingTable
  readonly credit: money.CreditTable
  readonly retired_usage: money.RetiredUsageTable
  readonly key_spending: money.KeySpendingTable
  readonly budget: budgets.BudgetTable
  readonly budget_window: budgets.BudgetWindowTable
  readonly budget_raise: budgets.BudgetRaiseTable
  readonly budget_alert: budgets.BudgetAlertTable
  readonly hold: money.HoldTable
  readonly ledger: money.LedgerTable
  readonly ledger_entry_key: money.LedgerEntryKeyTable
  readonly ledger_audit: money.LedgerAuditTable
  readonly ledger_audit_finding: money.LedgerAuditFindingTable
  readonly ledger_seal: money.LedgerSealTable
  readonly plan_allowance: money.PlanAllowanceTable
  readonly idempotency: IdempotencyTable
  readonly response: ResponseTable
  readonly completion_content: CompletionContentTable
  readonly invoice: InvoiceTable
  readonly usage_alert: webhooks.UsageAlertTable
  readonly payment_account: money.PaymentAccountTable
  readonly payment: money.PaymentTable
  readonly instance: InstanceTable
  readonly job: JobTable
  readonly person: identity.PersonTable
  readonly identity: identity.IdentityTable
  readonly member: identity.MemberTable
  readonly invitation: identity.InvitationTable
  readonly session: identity.SessionTable
  readonly device_code: identity.DeviceCodeTable
  readonly device: identity.DeviceTable
  readonly device_token: identity.DeviceTokenTable
  readonly guess: identity.GuessTable
  readonly audit: identity.AuditTable
  readonly team: identity.TeamTable
  readonly telemetry_destination: identity.TelemetryDestinationTable
  readonly team_member: identity.TeamMemberTable
  readonly scim_user: identity.ScimUserTable
  readonly scim_group: identity.ScimGroupTable
  readonly scim_group_member: identity.ScimGroupMemberTable
  readonly group_mapping: identity.GroupMappingTable
  readonly webhook: webhooks.WebhookTable
  readonly event: webhooks.EventTable
  readonly delivery: webhooks.DeliveryTable
  readonly delivery_attempt: webhooks.DeliveryAttemptTable
  readonly agent: agents.AgentTable
  readonly run: agents.RunTable
  readonly agent_message: agents.AgentMessageTable
  readonly agent_event: agents.AgentEventTable
  readonly run_artifact: agents.RunArtifactTable
  readonly schema_migration: { name: string; applied_at: number }
}

export interface AccountTable {
  id: AccountId
  name: string
  plan: string
  created_at: number
  /** Grows with every change of the row, see `nextChangedAt`. */
  changed_at: number
  /** Grows with every change of the account's provider credentials; null: it never had any. */
  provider_credentials: Generated<number | null>
  /** JSON, see `domain/data-policy.ts`; null: none. */
  data_policy: Generated<string | null>
  /** Grows with every change of the account's guardrails; null: it never had any. */
  guardrails: Generated<number | null>
  /** JSON, see `CaptureSettings` in `domain/identity/caller.ts`; null: never set. */
  content_capture: Generated<string | null>
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
  /** JSON, see `domain/data-policy.ts`; null: none of its own. */
  data_policy: Generated<string | null>
  /** The person whose rights in the account bound its own; null where nobody's do. */
  created_by: UserId | null
  /** JSON object: tags of requests that say nothing else; null: none. */
  tags: Generated<string | null>
  /** JSON list of keys of tags that requests must have; null: none. */
  require_tags: Generated<string | null>
  /** The key that created it, whose limits bound its own; null: no key did. */
  parent_id: KeyId | null
  /** The team that it belongs to; null: to the account. */
  team_id: Generated<TeamId | null>
  created_at: number
  last_used_at: number | null
  expires_at: number | null
  revoked_at: number | null
  /** Refused from this time until it is enabled again; null: enabled. */
  disabled_at: Generated<number | null>
  /** Of the secret before the last rotation, and until when that is valid; null: there is none. */
  previous_last4: Generated<string | null>
  previous_until: Generated<number | null>
  /** When the last alert of its expiry was due; null: none was. */
  expiry_alert_due: Generated<number | null>
  /** Whether it has budgets of its own in `budget`. */
  has_budgets: Generated<0 | 1>
  /** Grows with every change of the row but `last_used_at`, see `nextChangedAt`. */
  changed_at: number
}

/** From a secret's SHA-256 to whose it is and what. */
export interface CredentialTable {
  hash: Uint8Array
  account_id: AccountId
  /** A refresh or access token's `id` is its device's; an invitation's is its own. */
  kind: 'key' | 'access' | 'refresh' | 'invitation'
  id: KeyId | DeviceId | InvitationId
  /** Of a key's secret before the last rotation; null: it does not expire before its key, token or invitation. */
  expires_at: Generated<number | null>
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
  usage_source: Exclude<UsageSource, 'bounded'>
  created_at: number
  duration_ms: number
  first_byte_ms: number | null
  attempts: number
  client_request_id: string | null
  usage_bounded: 1 | null // the provider's figures were outside what can be; the nearest possible ones are charged
  provider_cost_nano_usd: NanoUsd | null // what the operator owes to providers; null: the charge, or a row older than the column
  unbilled_nano_usd: NanoUsd | null // of the cost, beyond hold, free credit and overrun cap: not charged
  attempt_log: string | null // see `attemptLogText`; null: one call, which answered, or a row older than the column
  usage_detail: string | null // see `usageDetailText`; null: no seldom class of usage, or a row older than the column
  price_rule: string | null // see `priceUsage`; null: the price itself, or a row older than the column
  api: RecordedApi | null // null: chat completions
  team_id: TeamId | null // of the key or the request when it was admitted; null: the account
  tags: string | null // `key=value`, by key, joined by commas; null: none
  session_id: string | null
  end_user: string | null // see `endUserHash`
  request_id: string | null // of the HTTP request; null: a row older than the column
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
  /** Of the costs, what is left when the providers are paid, see `marginOf`. */
  margin_nano_usd: Generated<NanoUsd>
}

export interface UsageRollupTable extends UsageSumColumns {
  /** Days since 1970-01-01 UTC, of `completion.created_at`. */
  day: number
}

/** Calls to a provider in an hour since 1970-01-01 UTC, of all accounts and processes. */
export interface ProviderHourTable {
  /** Name in the configuration. */
  provider: string
  hour: number
  calls: number
  /** Calls that failed because of the provider or its credential. */
  failures: number
  /** 0: none in the hour. */
  last_answer_at: number
  /** 0: none in the hour. */
  last_failure_at: number
  last_failure_outcome: string | null
  /** HTTP status; null: no response. */
  last_failure_status: number | null
  /** The provider's own name of the model. */
  last_failure_model: string | null
}

/** Counts and times of the completions of an hour since 1970-01-01 UTC, by `created_at`; written seconds after their end. */
export interface PerformanceHourTable {
  account_id: AccountId
  hour: number
  model: string
  provider: string
  /** `first_byte` and `duration` are histograms of milliseconds, the others counts. */
  measure: 'requests' | 'failed' | 'completed' | 'first_byte' | 'duration'
  /** See `bucketOf`; 0 for counts. */
  bucket: number
  count: number
}

/** Sums of whole days since 1970-01-01 UTC: what the hours of a day have, or less of it. */
export interface PerformanceDayTable extends Omit<PerformanceHourTable, 'hour'> {
  day: number
}

/** The progress of an export of completions, by its name in the configuration. */
export interface AnalyticsExportTable {
  name: string
  /** Of the next file; grows with each. */
  version: number
  /** Unix milliseconds, as all times here. */
  begun_at: number
  /** Completions created before are exported, or marked. */
  exported_until: number
  /** The end of the period of which a part is exported; null: none is. */
  period_end: number | null
  /** The last exported completion of that period. */
  after_account: AccountId | null
  after_id: CompletionId | null
  run_at: number
  /** Why the last run failed; null: it did not. */
  failure: string | null
}

/** Completions that were written or corrected when an export may have been past them. */
export interface AnalyticsExportLateTable {
  /** Name of the export. */
  export: string
  account_id: AccountId
  id: CompletionId
  /** How often, since they were exported. */
  marks: number
}

/** A rejected request to a model. */
export interface RejectionTable {
  account_id: AccountId
  request_id: string
  created_at: number
  /** Of usage: a key, a device or a person. Null: nobody's, which the first account is shown. */
  key_id: KeyId | null
  endpoint: string
  model: string | null
  /** HTTP status. */
  status: number
  code: string
}

/** For periods that begin or end within a day. */
export interface UsageHourTable extends UsageSumColumns {
  /** Hours since 1970-01-01 UTC, of `completion.created_at`. */
  hour: number
}

/** Sums of the completions before `usage_progress.summed_until`, by one dimension of reports. */
export interface UsageDimensionTable extends Omit<UsageSumColumns, 'key_id'> {
  /** Months since 1970-01 UTC. */
  month: number
  /** As in `group_by`, without dimensions that follow from the model or the time; or `agent`. */
  dimension: string
  /** Empty: the completions have none. `*`: values beyond the limit of the month. */
  value: string
  /** Days since 1970-01-01 UTC, of `completion.created_at`. */
  day: number
}

export interface UsageProgressTable {
  account_id: AccountId
  /** Completions created before are in `usage_dimension` or `usage_late`. Unix milliseconds. */
  summed_until: number
}

/** Copies of completions that were written or corrected when `usage_progress` was past them; a job adds them to the sums. */
export interface UsageLateTable
  extends Pick<
    CompletionTable,
    | 'account_id'
    | 'id'
    | 'created_at'
    | 'key_id'
    | 'team_id'
    | 'model'
    | 'provider'
    | 'session_id'
    | 'end_user'
    | 'tags'
    | 'client_request_id'
    | 'request_id'
    | 'prompt_tokens'
    | 'completion_tokens'
    | 'cost_nano_usd'
    | 'provider_cost_nano_usd'
  > {
  /** Of those of a completion, from 0. */
  part: number
  /** -1: takes the copied completion back. */
  sign: 1 | -1
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
  tariff: string | null // see `storePrice`; null: these four rates are all
  base_version: string | null // what providers charge, where this is the price of a plan with a markup
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

/** A version of a model or provider that operators change at run time. */
export interface StoredSettingTable {
  kind: string
  /** ID of the model, or name of the provider. */
  name: string
  /** From 1; the highest in effect is in force. */
  version: number
  /** See `nextChangedAt`. */
  changed_at: number
  effective_from: number
  /** JSON object without secrets; null: it was removed. */
  settings: string | null
  /** Sealed JSON object of the settings that are secret. */
  secrets: Uint8Array | null
  /** ID of the credential. */
  created_by: string | null
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

/** Stored responses of the Responses API. */
export interface ResponseTable {
  account_id: AccountId
  /** `resp_…`, which its items' IDs contain. */
  id: string
  /** The response that it continues. */
  previous_id: string | null
  /** Items of its request and of its output. */
  items: number
  /** Length of their JSON text. */
  items_bytes: number
  /** Of `content`; of old rows, of their items. */
  bytes: Generated<number>
  /** Names the key that `content` is sealed with. */
  sealed_with: string
  /** Sealed; see `features/responses/store.ts`. */
  content: Uint8Array
  created_at: number
}

/** Prompt and answer of a completion whose account has them captured. */
export interface CompletionContentTable {
  account_id: AccountId
  id: CompletionId
  key_id: KeyId
  /** The person who was signed in, or whose device it was; null: an API key. */
  user_id: UserId | null
  /** Of `content`. */
  bytes: number
  /** Names the key that `content` is sealed with. */
  sealed_with: string
  /** Sealed, see `features/usage/content/store.ts`. */
  content: Uint8Array
  /** Of the completion. */
  created_at: number
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

/** Background work. What has defaults here was not there in the first releases, which may still write rows. */
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
  /** Lanes of a kind take turns. `*`: that of all jobs without one. */
  lane: Generated<string>
  /** 0 to 9; within a lane 0 comes first. */
  priority: Generated<number>
  /** Starts that ended in an error; others were lost or interrupted. */
  failures: Generated<number>
  /** 0: it waits for `run_at`, or for the end of its lease. 1: it was seen that its time has come. */
  ready: Generated<0 | 1>
}
