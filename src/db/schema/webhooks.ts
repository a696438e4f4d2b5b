/** The tables of events and of how they are told, as queries see them; conventions as in `schema.ts`. */
import type { AccountId, DeliveryId, EventId, KeyId, UserId, WebhookId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { WebhookEventType } from '../../domain/webhook-event.ts'

/** Why an endpoint gets nothing: its owner said so, it answered 410, or every attempt of some days failed. */
export type DisabledReason = 'by_request' | 'gone' | 'failing'

export interface WebhookTable {
  account_id: AccountId
  id: WebhookId
  url: string
  /** JSON list of types; null: all, including future types. */
  events: string | null
  description: string
  /** Sealed, see `db/sealed.ts`. */
  secret: Uint8Array
  /** Signs as well until `previous_until`. */
  previous_secret: Uint8Array | null
  previous_until: number | null
  /** The first failed attempt that no success has followed. */
  failing_since: number | null
  disabled_at: number | null
  disabled_reason: DisabledReason | null
  /** Who created it, or who created the key or token that did; null: nobody, or older than the column. */
  created_by: UserId | null
  /** The API key that created it; null: no key did. */
  key_id: KeyId | null
  /** It was disabled because whoever created it left, or its key was revoked; the reason is `by_request` then. */
  creator_gone_at: number | null
  created_at: number
}

/** Written with the fact it tells about, see `RecordEvent`. */
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
  /** 1, and one more each time it is sent anew by hand: each has a job of its own. */
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

/** The events that come of what an account spends; `told` when they are in `event`. */
export interface UsageAlertTable {
  account_id: AccountId
  /** Months since 1970-01 UTC. */
  month: number
  event: 'usage.alert' | 'credit.exhausted'
  /** Of what: the account's own monthly budget, or the credit it had. */
  basis: 'budget' | 'credit'
  /** Per cent. */
  threshold: number
  spent_nano_usd: NanoUsd
  limit_nano_usd: NanoUsd
  created_at: number
  told: 0 | 1
}
