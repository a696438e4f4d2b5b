/** Events in the database, and as they are told. */
import type { Kysely } from 'kysely'
import type { Database, EventTable } from '../../db/schema.ts'
import type { AccountId, EventId } from '../../domain/ids.ts'
import { renderWebhookBody, type WebhookEvent, type WebhookEventType } from '../../domain/webhook-event.ts'
import type { ListPage } from './queries.ts'

export type EventRow = Omit<EventTable, 'account_id'>

const COLUMNS = ['id', 'type', 'data', 'created_at'] as const

/** By birth; ids sort by time. */
export async function listEvents(
  db: Kysely<Database>,
  { accountId, type }: { readonly accountId: AccountId; readonly type: WebhookEventType | undefined },
  { limit, order, after }: ListPage<EventId>,
): Promise<readonly EventRow[]> {
  return db
    .selectFrom('event')
    .select(COLUMNS)
    .where('account_id', '=', accountId)
    .$if(type !== undefined, (query) => query.where('type', '=', type as WebhookEventType))
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as EventId))
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** The ids alone, of events after one of them, the oldest first. */
export async function listEventIds(
  db: Kysely<Database>,
  accountId: AccountId,
  { after, limit }: { readonly after: EventId; readonly limit: number },
): Promise<readonly EventId[]> {
  const rows = await db
    .selectFrom('event')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** The oldest first. */
export async function readEvents(
  db: Kysely<Database>,
  accountId: AccountId,
  ids: readonly EventId[],
): Promise<readonly EventRow[]> {
  const query = db.selectFrom('event').select(COLUMNS).where('account_id', '=', accountId).where('id', 'in', ids)
  return query.orderBy('id').execute()
}

/** Undefined when it is unknown or another account's. */
export async function findEvent(
  db: Kysely<Database>,
  { accountId, id }: { readonly accountId: AccountId; readonly id: EventId },
): Promise<EventRow | undefined> {
  const query = db.selectFrom('event').select(COLUMNS).where('account_id', '=', accountId).where('id', '=', id)
  return query.executeTakeFirst()
}

/** As receivers are told of it. */
export function webhookEventOf({ id, type, data, created_at: createdAt }: EventRow): WebhookEvent {
  const event = { event_id: id, type, created_at: new Date(createdAt).toISOString(), data: JSON.parse(data) }
  return event as WebhookEvent // what was recorded is of its type
}

/** The body of every delivery of an event, to the byte. */
export function webhookBodyOf(event: EventRow): string {
  return renderWebhookBody(webhookEventOf(event))
}
