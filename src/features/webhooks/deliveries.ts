/** The log of deliveries: what was sent to an endpoint, and what came of each attempt. */
import { type Kysely, sql } from 'kysely'
import type { Database, DeliveryAttemptTable, DeliveryStatus, DeliveryTable } from '../../db/schema.ts'
import type { AccountId, DeliveryId, EventId, WebhookId } from '../../domain/ids.ts'
import type { WebhookEventType } from '../../domain/webhook-event.ts'
import type { EventRow } from './events.ts'
import type { ListPage } from './queries.ts'

/** Of each delivery in a list; one alone shows more. */
export const MAX_LISTED_ATTEMPTS = 12
export const MAX_SHOWN_ATTEMPTS = 100

export interface Delivery extends Omit<DeliveryTable, 'account_id' | 'attempts' | 'round'> {
  readonly type: WebhookEventType
  /** The newest of them, the oldest first. */
  readonly attempts: readonly Attempt[]
}

export type Attempt = Omit<DeliveryAttemptTable, 'account_id'>

export interface DeliveryReference {
  readonly accountId: AccountId
  readonly webhookId: WebhookId
  readonly id: DeliveryId
}

export interface DeliveryFilter {
  readonly accountId: AccountId
  readonly webhookId: WebhookId
  readonly status: DeliveryStatus | undefined
}

/** By creation; ids sort by time. */
export async function listDeliveries(
  db: Kysely<Database>,
  { accountId, webhookId, status }: DeliveryFilter,
  { limit, order, after }: ListPage<DeliveryId>,
): Promise<readonly Delivery[]> {
  const rows = await withTypes(db)
    .where('delivery.account_id', '=', accountId)
    .where('delivery.webhook_id', '=', webhookId)
    .$if(status !== undefined, (query) => query.where('delivery.status', '=', status as DeliveryStatus))
    .$if(after !== undefined, (query) => query.where('delivery.id', order === 'asc' ? '>' : '<', after as DeliveryId))
    .orderBy('delivery.id', order)
    .limit(limit)
    .execute()
  return withAttempts(db, rows, MAX_LISTED_ATTEMPTS)
}

/** Undefined when it is unknown, of another endpoint or of another account. */
export async function findDelivery(db: Kysely<Database>, reference: DeliveryReference): Promise<Delivery | undefined> {
  const rows = await withTypes(db)
    .where('delivery.account_id', '=', reference.accountId)
    .where('delivery.webhook_id', '=', reference.webhookId)
    .where('delivery.id', '=', reference.id)
    .execute()
  const [delivery] = await withAttempts(db, rows, MAX_SHOWN_ATTEMPTS)
  return delivery
}

/** The event that a delivery is of. */
export async function findEventOf(db: Kysely<Database>, reference: DeliveryReference): Promise<EventRow | undefined> {
  return db
    .selectFrom('delivery')
    .innerJoin('event', (join) =>
      join.onRef('event.account_id', '=', 'delivery.account_id').onRef('event.id', '=', 'delivery.event_id'),
    )
    .select(['event.id', 'event.type', 'event.data', 'event.created_at'])
    .where('delivery.account_id', '=', reference.accountId)
    .where('delivery.webhook_id', '=', reference.webhookId)
    .where('delivery.id', '=', reference.id)
    .executeTakeFirst()
}

/** The delivery of an event that was just recorded for this endpoint: one of its newest. */
export async function findDeliveryOf(
  db: Kysely<Database>,
  { accountId, webhookId, eventId }: Omit<DeliveryReference, 'id'> & { readonly eventId: EventId },
): Promise<DeliveryId> {
  const { id } = await db
    .selectFrom('delivery')
    .select('id')
    .where('account_id', '=', accountId)
    .where('webhook_id', '=', webhookId)
    .where('event_id', '=', eventId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  return id
}

function withTypes(db: Kysely<Database>) {
  return db
    .selectFrom('delivery')
    .innerJoin('event', (join) =>
      join.onRef('event.account_id', '=', 'delivery.account_id').onRef('event.id', '=', 'delivery.event_id'),
    )
    .select([
      'delivery.account_id',
      'delivery.webhook_id',
      'delivery.id',
      'delivery.event_id',
      'delivery.status',
      'delivery.next_attempt_at',
      'delivery.error',
      'delivery.created_at',
      'delivery.ended_at',
      'event.type',
    ])
}

type TypedRow = Omit<Delivery, 'attempts'> & { readonly account_id: AccountId }

/** One query for the attempts of all of them. @param most Of each. */
async function withAttempts(
  db: Kysely<Database>,
  rows: readonly TypedRow[],
  most: number,
): Promise<readonly Delivery[]> {
  const [first] = rows
  if (first === undefined) return []
  const ids = rows.map(({ id }) => id)
  const ranked = db
    .selectFrom('delivery_attempt')
    .select(['delivery_id', 'number', 'started_at', 'duration_ms', 'status', 'error', 'response'])
    .select(sql<number>`row_number() over (partition by delivery_id order by number desc)`.as('place'))
    .where('account_id', '=', first.account_id)
    .where('delivery_id', 'in', ids)
  const attempts = await db
    .selectFrom(ranked.as('ranked'))
    .select(['delivery_id', 'number', 'started_at', 'duration_ms', 'status', 'error', 'response'])
    .where('place', '<=', most)
    .orderBy('delivery_id')
    .orderBy('number')
    .execute()
  const byDelivery = Map.groupBy(attempts, (attempt) => attempt.delivery_id)
  return rows.map(({ account_id: _, ...row }) => ({ ...row, attempts: byDelivery.get(row.id) ?? [] }))
}
