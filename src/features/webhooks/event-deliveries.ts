/** Where events went: their deliveries, found by when they were made, which is when the event was recorded. */
import { type Kysely, sql } from 'kysely'
import { readRows } from '../../db/read-rows.ts'
import type { Database, DeliveryStatus } from '../../db/schema.ts'
import type { AccountId, DeliveryId, EventId, WebhookId } from '../../domain/ids.ts'
import { deliveryIdFloor } from './activity.ts'
import { bornAt } from './event-reader.ts'

/** Between the ids of an event and of its deliveries, which are drawn in one transaction; before it where a clock was set back. */
const BEFORE_MS = 1_000
const AFTER_MS = 10_000

export interface EventDelivery {
  readonly event_id: EventId
  readonly webhook_id: WebhookId
  /** As it is now. */
  readonly webhook_url: string
  readonly id: DeliveryId
  readonly status: DeliveryStatus
  readonly next_attempt_at: number | null
}

type FoundDelivery = Omit<EventDelivery, 'webhook_url'>

/**
 * Two queries, however many events. Endpoints that were deleted have no deliveries any more.
 * @returns By event, those of the endpoint made first first.
 */
export async function deliveriesOfEvents(
  db: Kysely<Database>,
  accountId: AccountId,
  events: readonly EventId[],
): Promise<(id: EventId) => readonly EventDelivery[]> {
  const webhooks = await db.selectFrom('webhook').select(['id', 'url']).where('account_id', '=', accountId).execute()
  if (webhooks.length === 0 || events.length === 0) return () => []
  const webhookIds = sql.join(webhooks.map(({ id }) => id))
  const parts = events.map((id) => {
    const born = bornAt(id)
    return sql`select event_id, webhook_id, id, status, next_attempt_at from delivery
      where account_id = ${accountId} and webhook_id in (${webhookIds}) and event_id = ${id}
      and id >= ${deliveryIdFloor(born - BEFORE_MS)} and id < ${deliveryIdFloor(born + AFTER_MS)}`
  })
  const rows = await readRows(db, sql<FoundDelivery>`${sql.join(parts, sql` union all `)} order by webhook_id, id`)
  const urls = new Map(webhooks.map(({ id, url }) => [id, url]))
  const deliveries = rows.map((row) => ({ ...row, webhook_url: urls.get(row.webhook_id) ?? '' }))
  const byEvent = Map.groupBy(deliveries, ({ event_id: id }) => id)
  return (id) => byEvent.get(id) ?? []
}
