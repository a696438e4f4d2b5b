/** The tables of events and their deliveries, as queries see them; conventions as in `schema.ts`. */
import type { AccountId, DeliveryId, EventId, KeyId, UserId, WebhookId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { WebhookEventType } from '../../domain/webhook-event.ts'

/** Why an endpoint is disabled: by request, it returned 410, or every attempt of some days failed. */
export type DisabledReason = 'by_request' | 'gone' | 'failing'

export type WebhookKind = 'webhook' | 'slack' | 'email'

export interface WebhookTable {
  account_id: AccountId
  id: WebhookId
  kind: WebhookKind
  /** `mailto:` of an e-mail; of Slack without its path, which is a secret and part of `secret`. */
  url: string
  /** JSON list of types; null: all, including future types. */
  events: string | null
  description: string
  /** Sealed, see `db/sealed.ts`: signs deliveries; of Slack the whole address; of an e-mail unused. */
  secret: Uint8Array
  /** Signs as well until `previous_until`. */
  previous_secret: Uint8Array | null
  previous_until: number | null
  /** The first failed attempt since the last success. */
  failing_since: number | null
  disabled_at: number | null
  disabled_reason: DisabledReason | null
  /** The person who created it, or its key or token; null: none, or older than the column. */
  created_by: UserId | null
  /** The API key that created it; null: no key did. */
  key_id: KeyId | null
  /** When its creator left or its key was revoked, which disabled it; the reason is then `by_request`. */
  creator_gone_at: number | null
  created_at: number
}

/** Written in the transaction of what it reports, see `RecordEvent`. */
export interface EventTable {
  account_id: AccountId
  id: EventId
  type: WebhookEventType
  /** JSON. */
  data: string
  created_at: number
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed'

/** One event for one endpoint. */
export interface DeliveryTable {
  account_id: AccountId
  webhook_id: WebhookId
  id: DeliveryId
  event_id: EventId
  status: DeliveryStatus
  /** From 1, incremented by each manual resend: each round has its own job. */
  round: number
  /** So far, in all rounds. */
  attempts: number
  next_attempt_at: number | null
  /** Why the last attempt failed, or why there is none. */
  error: string | null
  created_at: number
  ended_at: number | null
}

export interface DeliveryAttemptTable {
  account_id: AccountId
  delivery_id: DeliveryId
  /** From 1. */
  number: number
  started_at: number
  duration_ms: number
  /** Of the answer; null without one. */
  status: number | null
  /** Why it failed; null: it did not. */
  error: string | null
  /** The beginning of the answer's body. */
  response: string | null
}

/** Alerts of an account's spending; `told` once they are in `event`. */
export interface UsageAlertTable {
  account_id: AccountId
  /** Months since 1970-01 UTC. */
  month: number
  event: 'usage.alert' | 'credit.exhausted'
  /** The account's monthly budget, or its credit. */
  basis: 'budget' | 'credit'
  /** Per cent. */
  threshold: number
  spent_nano_usd: NanoUsd
  limit_nano_usd: NanoUsd
  created_at: number
  told: 0 | 1
}
