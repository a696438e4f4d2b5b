/** Where events went: their deliveries, found by when they were made, which is when the event was recorded. */
import { type Kysely, sql } from 'kysely'
import { dialectOf } from '../../db/dialect.ts'
import { readRows } from '../../db/read-rows.ts'
import type { Database, DeliveryStatus } from '../../db/schema.ts'
import type { AccountId, DeliveryId, EventId, WebhookId } from '../../domain/ids.ts'
import { listRows, textAt } from '../../jobs/lists.ts'
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
  const rows = await readRows(db, findDeliveries(db, accountId, { events, webhookIds: webhooks.map(({ id }) => id) }))
  const urls = new Map(webhooks.map(({ id, url }) => [id, url]))
  const deliveries = rows.map((row) => ({ ...row, webhook_url: urls.get(row.webhook_id) ?? '' }))
  const byEvent = Map.groupBy(deliveries, ({ event_id: id }) => id)
  return (id) => byEvent.get(id) ?? []
}

interface Wanted {
  readonly events: readonly EventId[]
  readonly webhookIds: readonly WebhookId[]
}

/** The same text however many there are. By the primary key: `offset 0` keeps PostgreSQL from another way. */
function findDeliveries(db: Kysely<Database>, accountId: AccountId, { events, webhookIds }: Wanted) {
  const bounds = events.map((id) => {
    const born = bornAt(id)
    return [id, deliveryIdFloor(born - BEFORE_MS), deliveryIdFloor(born + AFTER_MS)]
  })
  const endpoints = webhookIds.map((id) => [id])
  const lists = sql`with wanted_event (the_event, first_id, end_id) as
    (select ${textAt(0)}, ${textAt(1)}, ${textAt(2)} from ${listRows(db, bounds)}),
    wanted_webhook (the_webhook) as (select ${textAt(0)} from ${listRows(db, endpoints)})`
  const columns = sql`event_id, webhook_id, id, status, next_attempt_at`
  const isWanted = sql`account_id = ${accountId} and webhook_id = the_webhook and event_id = the_event
    and id >= first_id and id < end_id`
  const found =
    dialectOf(db) === 'postgres'
      ? sql`cross join lateral (select ${columns} from delivery where ${isWanted} offset 0) as found`
      : sql`cross join delivery where ${isWanted}`
  return sql<FoundDelivery>`${lists} select ${columns} from wanted_event cross join wanted_webhook ${found}
    order by webhook_id, id`
}
