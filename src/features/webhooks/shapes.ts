/** Wire format of endpoints, deliveries and events. */
import { type Static, Type } from 'typebox'
import type { DeliveryStatus, DisabledReason, WebhookKind, WebhookTable } from '../../db/schema/schema.ts'
import { WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../../domain/webhook-event.ts'
import { closed, nullable, oneOf, textOrNull } from '../../http/wire-fields.ts'
import { TARGET_PATTERN } from '../../lib/ip-address.ts'
import { ISO_TIME_PATTERN, isoTime, isoTimeOrNull } from '../../lib/time.ts'
import { type Attempt, type Delivery, MAX_COUNTED_DELIVERIES, type WebhookActivity } from './deliveries.ts'
import type { EventDelivery, EventRow } from './events.ts'

const MAX_DESCRIPTION_LENGTH = 500
export const MAX_OVERLAP_SECONDS = 86_400

const SWITCH = ['enabled', 'disabled'] as const

const TYPES_IN_WORDS = WEBHOOK_EVENT_TYPES.map((type) => `\`${type}\``).join(', ')
const EventNames = Type.Unsafe<WebhookEventType[] | null>({
  type: ['array', 'null'],
  items: { type: 'string', enum: [...WEBHOOK_EVENT_TYPES] },
  minItems: 1,
  maxItems: 100,
  description: `Event types that the endpoint receives: ${TYPES_IN_WORDS}. Null: all, including future types. Not set: all; alerts for \`slack\` and \`email\`.`,
})
const KINDS: readonly WebhookKind[] = ['webhook', 'slack', 'email']
const Kind = oneOf(KINDS, {
  description:
    'webhook: signed JSON. slack: messages to a Slack-compatible incoming webhook. email: messages to an address.',
})
const Url = Type.String({
  minLength: 1,
  maxLength: 2_048,
  pattern: `${TARGET_PATTERN}|^mailto:[^@\\s]+@[^@\\s]+$`,
  examples: ['https://example.com/webhooks'],
  description: 'A public `https:` address on port 443 or 8443; of the kind `email`: `mailto:` and an address.',
})
const Description = Type.String({
  maxLength: MAX_DESCRIPTION_LENGTH,
  pattern: '^[^\\u0000]*$',
  description: 'A note.',
})

export const WebhookCreate = closed({
  kind: Type.Optional(Kind),
  url: Url,
  events: Type.Optional(EventNames),
  description: Type.Optional(Description),
})
export const WebhookPatch = closed({
  url: Type.Optional(Url),
  events: Type.Optional(EventNames),
  description: Type.Optional(Description),
  status: Type.Optional(
    oneOf(SWITCH, {
      description: '`enabled` also resets the failure count. Pending deliveries of a disabled endpoint fail.',
    }),
  ),
})
export const Rotation = closed({
  overlap: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_OVERLAP_SECONDS,
      default: MAX_OVERLAP_SECONDS,
      description: 'Seconds for which the old secret also signs. 0: not at all.',
    }),
  ),
})
export const RedeliverAll = closed({
  failed_since: Type.String({
    maxLength: 64,
    pattern: ISO_TIME_PATTERN,
    description: 'ISO 8601: only deliveries that failed at or after this time.',
    examples: ['2026-01-31T00:00:00Z'],
  }),
  dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Counts the deliveries without sending them.' })),
})
export const Trigger = closed({ type: oneOf(WEBHOOK_EVENT_TYPES, { description: 'Type of the event.' }) })

const WEBHOOK_FIELDS = {
  id: Type.String(),
  object: Type.Literal('webhook'),
  kind: Kind,
  url: Type.String({ description: 'The address. Of the kind `slack` without its path, which is a secret.' }),
  events: Type.Unsafe<string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'Event types. Null: all.',
  }),
  description: Type.String(),
  status: oneOf(SWITCH, { description: 'disabled: the endpoint receives nothing.' }),
  disabled_reason: Type.Unsafe<DisabledReason | 'creator_gone' | null>({
    type: ['string', 'null'],
    enum: ['by_request', 'gone', 'failing', 'creator_gone', null],
    description:
      'gone: the endpoint returned 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; the member who enables it becomes its creator.',
  }),
  disabled_at: textOrNull('ISO 8601 UTC.'),
  failing_since: textOrNull('Time of the first failed attempt since the last success.'),
  previous_secret_expires_at: textOrNull('Time until which the previous secret also signs.'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
}
export const WebhookView = Type.Object(WEBHOOK_FIELDS)
const STATUSES: readonly DeliveryStatus[] = ['pending', 'delivered', 'failed']
const LastDeliveryView = Type.Object({
  id: Type.String(),
  type: oneOf(WEBHOOK_EVENT_TYPES, { description: 'Type of the event.' }),
  status: oneOf(STATUSES, { description: 'pending: an attempt is running or scheduled.' }),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
})
export const WebhookWithActivityView = Type.Object({
  ...WEBHOOK_FIELDS,
  last_delivery: Type.Union([LastDeliveryView, Type.Null()], { description: 'Newest delivery. Null: none.' }),
  deliveries_24h: Type.Object(
    { delivered: Type.Integer(), failed: Type.Integer(), pending: Type.Integer() },
    { description: `Number of deliveries by status in the last 24 hours, of the newest ${MAX_COUNTED_DELIVERIES}.` },
  ),
})
export const WebhookWithSecretView = Type.Object({
  ...WEBHOOK_FIELDS,
  secret: Type.String({ description: 'Signing secret, returned only this once.' }),
})
export const CreatedWebhookView = Type.Object({
  ...WEBHOOK_FIELDS,
  secret: Type.Optional(
    Type.String({ description: 'Signing secret, returned only this once. Absent for `slack` and `email`.' }),
  ),
})

const AttemptView = Type.Object({
  number: Type.Integer({ description: 'Number of the attempt, from 1, across redeliveries.' }),
  at: Type.String({ description: 'Start of the attempt, ISO 8601 UTC.' }),
  duration_ms: Type.Integer(),
  status_code: nullable<number>('integer', 'HTTP status; of an e-mail the reply code of SMTP. Null: no response.'),
  error: textOrNull('Reason of the failure. Null: success.'),
  response_body: textOrNull('First 4 KiB of the response body.'),
})
const DELIVERY_FIELDS = {
  id: Type.String(),
  object: Type.Literal('delivery'),
  webhook_id: Type.String(),
  event_id: Type.String(),
  type: oneOf(WEBHOOK_EVENT_TYPES, { description: 'Type of the event.' }),
  status: oneOf(STATUSES, { description: 'pending: an attempt is running or scheduled.' }),
  attempts: Type.Array(AttemptView, { description: 'The newest attempts, in order.' }),
  next_attempt_at: textOrNull('Null: none.'),
  error: textOrNull('Reason why it failed or was not attempted.'),
  created_at: Type.String(),
  ended_at: textOrNull('Null while the delivery is pending.'),
}
export const DeliveryView = Type.Object(DELIVERY_FIELDS)
export const DeliveryWithPayloadView = Type.Object({
  ...DELIVERY_FIELDS,
  payload: Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'Body of the request.' }),
})
export const DeliveryQuery = {
  status: Type.Optional(oneOf(STATUSES, { description: 'Only deliveries with this status.' })),
}
export const RedeliveredView = Type.Object({
  redelivered: Type.Integer({
    description:
      'Number of deliveries that are resent, or with `dry_run` would be. Repeat the request while it is 10 000.',
  }),
})

export const EventView = Type.Object({
  id: Type.String(),
  object: Type.Literal('event'),
  type: oneOf(WEBHOOK_EVENT_TYPES, { description: 'Type of the event.' }),
  created_at: Type.String({ description: 'Time of the event, ISO 8601 UTC.' }),
  data: Type.Unsafe<object>({ type: 'object', additionalProperties: true }),
})
const EventDeliveryView = Type.Object({
  id: Type.String(),
  webhook_id: Type.String(),
  webhook_url: Type.String({ description: 'Current address of the endpoint.' }),
  status: oneOf(STATUSES, { description: 'pending: an attempt is running or scheduled.' }),
  next_attempt_at: textOrNull('ISO 8601 UTC. Null: none.'),
})
export const ListedEventView = Type.Object({
  ...EventView.properties,
  deliveries: Type.Optional(
    Type.Array(EventDeliveryView, { description: 'Deliveries of the event. Only with `include=deliveries`.' }),
  ),
})

export function renderWebhook(row: WebhookTable, now: number): Static<typeof WebhookView> {
  return {
    id: row.id,
    object: 'webhook',
    kind: row.kind,
    url: row.url,
    events: row.events === null ? null : JSON.parse(row.events),
    description: row.description,
    status: row.disabled_at === null ? 'enabled' : 'disabled',
    disabled_reason: row.creator_gone_at === null ? row.disabled_reason : 'creator_gone',
    disabled_at: isoTimeOrNull(row.disabled_at),
    failing_since: isoTimeOrNull(row.failing_since),
    previous_secret_expires_at: (row.previous_until ?? 0) > now ? isoTimeOrNull(row.previous_until) : null,
    created_at: isoTime(row.created_at),
  }
}

export function renderWebhookWithActivity(
  row: WebhookTable,
  { last, counts }: WebhookActivity,
  now: number,
): Static<typeof WebhookWithActivityView> {
  return {
    ...renderWebhook(row, now),
    last_delivery:
      last === undefined
        ? null
        : { id: last.id, type: last.type, status: last.status, created_at: isoTime(last.created_at) },
    deliveries_24h: { delivered: counts.delivered, failed: counts.failed, pending: counts.pending },
  }
}

export function renderDelivery(delivery: Delivery): Static<typeof DeliveryView> {
  return {
    id: delivery.id,
    object: 'delivery',
    webhook_id: delivery.webhook_id,
    event_id: delivery.event_id,
    type: delivery.type,
    status: delivery.status,
    attempts: delivery.attempts.map(renderAttempt),
    next_attempt_at: isoTimeOrNull(delivery.next_attempt_at),
    error: delivery.error,
    created_at: isoTime(delivery.created_at),
    ended_at: isoTimeOrNull(delivery.ended_at),
  }
}

export function renderEvent({ id, type, created_at: createdAt, data }: EventRow): Static<typeof EventView> {
  return { id, object: 'event', type, created_at: isoTime(createdAt), data: JSON.parse(data) }
}

export function renderListedEvent(row: EventRow, deliveries: readonly EventDelivery[]): Static<typeof ListedEventView> {
  const rendered = deliveries.map(({ id, webhook_id, webhook_url, status, next_attempt_at: next }) => {
    return { id, webhook_id, webhook_url, status, next_attempt_at: isoTimeOrNull(next) }
  })
  return { ...renderEvent(row), deliveries: rendered }
}

function renderAttempt(attempt: Attempt): Static<typeof AttemptView> {
  const { number, started_at: startedAt, duration_ms, status, error, response } = attempt
  return { number, at: isoTime(startedAt), duration_ms, status_code: status, error, response_body: response }
}
