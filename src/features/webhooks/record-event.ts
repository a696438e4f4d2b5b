/** How events come into the database: with a delivery, and the job that carries it out, for each endpoint that asks for them. */
import type { Kysely } from 'kysely'
import { expiryOf } from '../../db/lineage.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { AccountId, DeliveryId, IdSource, KeyId, WebhookId } from '../../domain/ids.ts'
import type { WebhookEventType } from '../../domain/webhook-event.ts'
import { enqueueAll, type NewJob } from '../../jobs/queue.ts'
import type { NewEvent, RecordEvent } from '../deps.ts'

export const DELIVER = 'webhooks.deliver'

/** What a job of the kind `DELIVER` carries. */
export interface DeliveryJob {
  readonly accountId: AccountId
  readonly webhookId: WebhookId
  readonly deliveryId: DeliveryId
}

/** @param now Unix milliseconds. */
export function eventRecorder({
  now,
  ids,
}: {
  readonly now: () => number
  readonly ids: Pick<IdSource, 'event' | 'delivery' | 'job'>
}): RecordEvent {
  return async (db, event) => {
    const { accountId, type, data, createdAt = now() } = event
    const id = ids.event()
    await db
      .insertInto('event')
      .values({ account_id: accountId, id, type, data: JSON.stringify(data), created_at: createdAt })
      .execute()
    const webhookIds = await receiversOf(db, event, now())
    if (webhookIds.length === 0) return id
    const time = now()
    const deliveries = webhookIds.map((webhookId) => ({
      account_id: accountId,
      webhook_id: webhookId,
      id: ids.delivery(),
      event_id: id,
      status: 'pending' as const,
      round: 1,
      attempts: 0,
      next_attempt_at: time,
      created_at: time,
    }))
    await db.insertInto('delivery').values(deliveries).execute()
    const jobs = deliveries.map((row) => deliveryJob({ accountId, webhookId: row.webhook_id, deliveryId: row.id }, 1))
    await enqueueAll(db, jobs, ids)
    return id
  }
}

/** The job of one round of a delivery. Endpoints take turns: each has a lane. */
export function deliveryJob(payload: DeliveryJob, round: number): NewJob {
  return { kind: DELIVER, name: `${payload.deliveryId}.${round}`, payload, lane: payload.webhookId }
}

/** What a key created receives nothing after the key has expired. */
async function receiversOf(
  db: Kysely<Database>,
  { accountId, type, only }: NewEvent,
  now: number,
): Promise<readonly WebhookId[]> {
  if (only !== undefined) return [only]
  const rows = await db
    .selectFrom('webhook')
    .select(['id', 'events', 'key_id'])
    .where(({ and }) => and({ account_id: accountId, disabled_at: null }))
    .execute()
  const asking = rows.filter(({ events }) => asksFor(events, type))
  const keyIds = [...new Set(asking.flatMap(({ key_id }) => key_id ?? []))]
  const expired = new Set<KeyId>()
  for (const keyId of keyIds) if ((await expiryOf(db, { accountId, keyId })) <= now) expired.add(keyId)
  return asking.filter(({ key_id }) => key_id === null || !expired.has(key_id)).map(({ id }) => id)
}

function asksFor(events: string | null, type: WebhookEventType): boolean {
  return events === null || (JSON.parse(events) as readonly string[]).includes(type) // our own JSON
}
