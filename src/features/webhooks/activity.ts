/** How endpoints fare: the newest delivery of each, and what became of those of the last 24 hours. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { readRows } from '../../db/read-rows.ts'
import type { Database, DeliveryStatus } from '../../db/schema.ts'
import { type AccountId, type DeliveryId, toBase62, type WebhookId } from '../../domain/ids.ts'
import type { WebhookEventType } from '../../domain/webhook-event.ts'

const COUNTED_MS = 86_400_000
/** Of each endpoint, so that a list of busy ones costs as little as one of quiet ones. */
export const MAX_COUNTED_DELIVERIES = 1_000

export interface LastDelivery {
  readonly webhook_id: WebhookId
  readonly id: DeliveryId
  readonly type: WebhookEventType
  readonly status: DeliveryStatus
  readonly created_at: number
}

export interface WebhookActivity {
  /** Undefined: there is none. */
  readonly last: LastDelivery | undefined
  /** Of the deliveries made in the last 24 hours, the newest `MAX_COUNTED_DELIVERIES` of them. */
  readonly counts: Readonly<Record<DeliveryStatus, number>>
}

interface Wanted {
  readonly accountId: AccountId
  readonly webhookIds: readonly WebhookId[]
  /** Unix milliseconds. */
  readonly now: number
}

const NO_COUNTS: WebhookActivity['counts'] = { pending: 0, delivered: 0, failed: 0 }

/** Two queries, however many endpoints. @returns By endpoint. */
export async function webhookActivity(
  db: Kysely<Database>,
  wanted: Wanted,
): Promise<(id: WebhookId) => WebhookActivity> {
  if (wanted.webhookIds.length === 0) return () => ({ last: undefined, counts: NO_COUNTS })
  const [lasts, counted] = await Promise.all([lastDeliveries(db, wanted), countDeliveries(db, wanted)])
  const lastOf = new Map(lasts.map((last) => [last.webhook_id, last]))
  const countsOf = Map.groupBy(counted, ({ webhook_id }) => webhook_id)
  return (id) => {
    const counts = (countsOf.get(id) ?? []).map(({ status, deliveries }) => [status, deliveries])
    return { last: lastOf.get(id), counts: { ...NO_COUNTS, ...Object.fromEntries(counts) } }
  }
}

async function lastDeliveries(db: Kysely<Database>, wanted: Wanted): Promise<readonly LastDelivery[]> {
  return readRows(
    db,
    sql<LastDelivery>`select * from ${eachWebhook(wanted, (id) => {
      return sql`select delivery.webhook_id, delivery.id, event.type, delivery.status, delivery.created_at from delivery
      join event on event.account_id = delivery.account_id and event.id = delivery.event_id
      where delivery.account_id = ${wanted.accountId} and delivery.webhook_id = ${id}
      order by delivery.id desc limit 1`
    })}`,
  )
}

interface Count {
  readonly webhook_id: WebhookId
  readonly status: DeliveryStatus
  readonly deliveries: number
}

async function countDeliveries(db: Kysely<Database>, wanted: Wanted): Promise<readonly Count[]> {
  const first = deliveryIdFloor(wanted.now - COUNTED_MS)
  return readRows(
    db,
    sql<Count>`select webhook_id, status, count(*) as deliveries from ${eachWebhook(wanted, (id) => {
      return sql`select webhook_id, status from delivery
      where account_id = ${wanted.accountId} and webhook_id = ${id} and id >= ${first}
      order by id desc limit ${sql.lit(MAX_COUNTED_DELIVERIES)}`
    })} group by webhook_id, status`,
  )
}

/** The rows that the query has for each endpoint, in one table. */
function eachWebhook({ webhookIds }: Wanted, query: (id: WebhookId) => RawBuilder<unknown>): RawBuilder<unknown> {
  const parts = webhookIds.map((id) => sql`select * from (${query(id)}) as of_one`)
  return sql`(${sql.join(parts, sql` union all `)}) as of_each`
}

/** What ids of deliveries that were made at a time, or later, do not sort before: their key is read, and nothing else. */
export function deliveryIdFloor(ms: number): string {
  return `dlv_${toBase62(Math.max(0, ms), 8)}`
}
