/**
 * The events of webhooks. A body is `{event_id, type, created_at, data}`. Types and fields are added over time; none is changed
 * or removed.
 */
export const WEBHOOK_EVENT_TYPES = [
  'agent.started',
  'agent.completed',
  'agent.failed',
  'agent.cancelled',
  'usage.alert',
  'credit.exhausted',
  'budget.alert',
  'ledger.audit',
  'provider.refused',
  'key.expiring',
  'webhook.test',
] as const

export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number]
export type AgentEventType = Extract<WebhookEventType, `agent.${string}`>

/** What happened to an agent. */
export interface AgentEventData {
  /** As it was then. */
  readonly agent: AgentData
  /** The run that started or ended. */
  readonly run_id: string
  /** Of the agent's events, see `GET /v1/agents/{id}/events`: it rises, so what is lower is older. */
  readonly sequence: number
}

/** In the shape of `GET /v1/agents/{id}`. */
export interface AgentData {
  readonly id: string
  readonly object: 'agent'
  readonly name: string
  readonly status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled'
  /** `organisation/repository` */
  readonly repository: string
  readonly model: string
  /** What the work starts from; null: the repository's default branch. */
  readonly base_branch: string | null
  /** What is worked on and pushed. */
  readonly branch: string
  readonly summary: string | null
  readonly error: { readonly code: string; readonly message: string } | null
  /** Of all its runs. */
  readonly usage: { readonly tokens: number; readonly cost_usd: number }
  readonly runs: number
  readonly created_at: string
  readonly started_at: string | null
  readonly ended_at: string | null
}

/** How far a calendar month (UTC) has been spent. */
interface SpendingData {
  readonly account_id: string
  readonly period_start: string
  /** Exclusive. */
  readonly period_end: string
  readonly spent_usd: number
  /** Of the whole period: the budget, or all credit that there was to spend. */
  readonly limit_usd: number
}

export interface UsageAlertData extends SpendingData {
  /** What `limit_usd` is: the account's monthly budget or, without one, its credit. */
  readonly basis: 'budget' | 'credit'
  /** Of `limit_usd`; one of the account's `alert_thresholds`. */
  readonly threshold_percent: number
}

export interface CreditExhaustedData extends SpendingData {
  readonly credit_remaining_usd: number
}

/** A window of a budget has reached a threshold. */
export interface BudgetAlertData {
  readonly account_id: string
  readonly budget_id: string
  readonly level: 'account' | 'team' | 'member' | 'key' | 'tag'
  /** ID of the account, team, user or key; of a tag `key=value`. */
  readonly subject: string
  readonly window: 'day' | 'week' | 'month' | 'quarter' | 'total'
  readonly action: 'block' | 'warn'
  readonly window_start: string
  /** Null: it never resets. */
  readonly resets_at: string | null
  readonly spent_usd: number
  /** With the raises in force. */
  readonly limit_usd: number
  /** Of `limit_usd`; one of the account's `alert_thresholds`. */
  readonly threshold_percent: number
  /** When it is spent at the pace of the window so far; null: not within it. */
  readonly forecast_exhausted_at: string | null
}

/** An audit of the ledger of all accounts that found something; sent to the installation's first account. */
export interface LedgerAuditData {
  readonly audit_id: string
  readonly started_at: string
  readonly ended_at: string
  /** Audited. */
  readonly accounts: number
  readonly rows: number
  readonly findings_count: number
  /** Findings by kind. */
  readonly counts: Readonly<Record<string, number>>
  /** The first 20. */
  readonly findings: readonly {
    readonly account_id: string
    readonly kind: string
    readonly subject: string
    readonly expected: string
    readonly actual: string
  }[]
}

/** Why a provider refuses: the gateway's credential, the exhausted quota of its account, or a model that it does not have. */
export const REFUSAL_REASONS = ['credentials', 'quota', 'not_found'] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** A provider refuses what only the operator can fix; sent to the installation's first account, once an hour for each model. */
export interface ProviderRefusedData {
  /** Name in the configuration. */
  readonly provider: string
  /** The provider's own name of it. */
  readonly model: string
  readonly reason: RefusalReason
  /** HTTP status of the provider's answer; null: the gateway obtained no credential to send. */
  readonly status: number | null
}

/** An API key expires soon; sent 7 days and 1 day before, to keys that live longer than that. */
export interface KeyExpiringData {
  readonly account_id: string
  readonly key_id: string
  readonly name: string
  /** Last characters of the secret. */
  readonly last4: string
  readonly expires_at: string
  /** Null: never. */
  readonly last_used_at: string | null
}

export interface WebhookTestData {
  readonly webhook_id: string
  readonly message: string
}

export interface DataOfEvents extends Record<AgentEventType, AgentEventData> {
  readonly 'usage.alert': UsageAlertData
  readonly 'credit.exhausted': CreditExhaustedData
  readonly 'budget.alert': BudgetAlertData
  readonly 'ledger.audit': LedgerAuditData
  readonly 'provider.refused': ProviderRefusedData
  readonly 'key.expiring': KeyExpiringData
  readonly 'webhook.test': WebhookTestData
}

export interface WebhookEventOf<Type extends WebhookEventType> {
  /** The same in every delivery of one event. */
  readonly event_id: string
  readonly type: Type
  /** When it happened, ISO 8601 UTC; not when it was delivered. */
  readonly created_at: string
  readonly data: DataOfEvents[Type]
}

/** Discriminated by `type`. */
export type WebhookEvent = { [Type in WebhookEventType]: WebhookEventOf<Type> }[WebhookEventType]
