/** Background jobs of webhooks: deliveries, alerts of the ledger, and retention. */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { openFileLimit } from '../../http/server.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batched-deletion.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import { listRows, textAt } from '../../jobs/sql.ts'
import type { FeatureDeps, RecordEvent } from '../deps.ts'
import { recordAlertEvents, recordBudgetAlerts } from './alert-events.ts'
import { type Deliverer, RETRY_DELAYS_MS } from './deliver/deliverer.ts'
import { deliveryIdFloor, eventIdFloor } from './events.ts'
import { DELIVER } from './record-event.ts'

/** Attempts to one endpoint that are under way at once, in all processes together. */
const ENDPOINT_CONCURRENCY = 10
/**
 * And in one process, to all: a hundred endpoints of which each takes its ten seconds for all of its ten leave room for
 * others. Beyond that endpoints take turns.
 */
const CONCURRENCY = 1_200
/** Of the files that this process may open, so many at most are connections to receivers: one in so many. */
const SHARE_OF_FILES = 8
const LEAST_CONCURRENCY = 20

const ALERTS_EVERY_MS = 5_000
const FORGET_EVERY_MS = 3_600_000

export interface WebhookJobsInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly recordEvent: RecordEvent
  readonly deliverer: Pick<Deliverer, 'handler'>
  /** Writes the alerts that the passing of time causes, not a charge. */
  readonly alertOfTime: (signal: AbortSignal) => Promise<unknown>
}

export function webhookJobs({
  db,
  now,
  recordEvent,
  deliverer,
  alertOfTime,
}: WebhookJobsInput): Readonly<Record<string, JobKind>> {
  return {
    [DELIVER]: {
      handler: deliverer.handler,
      // The handler itself says when to try again, and when no more: this is for what it did not see coming.
      backoff: (failures) => RETRY_DELAYS_MS[failures - 1] ?? RETRY_DELAYS_MS[RETRY_DELAYS_MS.length - 1] ?? 0,
      maxAttempts: Number.POSITIVE_INFINITY,
      concurrency: deliveriesAtOnce(openFileLimit()),
      laneConcurrency: ENDPOINT_CONCURRENCY,
    },
    'webhooks.alerts': every(ALERTS_EVERY_MS, async (_job, { signal }) => {
      await alertOfTime(signal)
      await recordAlertEvents({ db, recordEvent, signal })
      await recordBudgetAlerts({ db, recordEvent, signal })
    }),
    'webhooks.retention': every(FORGET_EVERY_MS, (_job, { signal }) => forgetEvents({ db, now, signal })),
  }
}

/** @param openFiles The system's limit; undefined where it tells none. */
export function deliveriesAtOnce(openFiles: number | undefined): number {
  if (openFiles === undefined) return CONCURRENCY
  return Math.min(Math.max(Math.floor(openFiles / SHARE_OF_FILES), LEAST_CONCURRENCY), CONCURRENCY)
}

const HOUR_MS = 3_600_000
/** Deliveries from their end, events from their beginning. */
export const KEEP_MS = 2_592_000_000 // 30 days

interface ForgetInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly signal?: AbortSignal | undefined
}

/** @returns How many deliveries and events were deleted. */
export async function forgetEvents({ db, now, signal }: ForgetInput): Promise<number> {
  const before = now() - KEEP_MS
  const deliveries = await inBatches(() => deleteDeliveries(db, before), signal)
  return deliveries + (await inBatches(() => deleteEvents(db, before), signal))
}

async function deleteDeliveries(db: Kysely<Database>, before: number): Promise<number> {
  const rows = await db
    .selectFrom('delivery')
    .select(['account_id', 'webhook_id', 'id'])
    .where('ended_at', '<', before)
    .orderBy('ended_at')
    .limit(BATCH_ROWS)
    .execute()
  if (rows.length === 0) return 0
  const list = listRows(
    db,
    rows.map(({ account_id, webhook_id, id }) => [account_id, webhook_id, id]),
  )
  return db.transaction().execute(async (inside) => {
    // One that is sent again since it was looked at stays, and its attempts with it.
    const deleted = await sql<{ account_id: string; id: string }>`
      delete from delivery where ended_at < ${before} and (account_id, webhook_id, id) in
        (select ${textAt(0)}, ${textAt(1)}, ${textAt(2)} from ${list}) returning account_id, id`.execute(inside)
    const gone = deleted.rows.map(({ account_id, id }) => [account_id, id])
    await sql`delete from delivery_attempt where (account_id, delivery_id) in
      (select ${textAt(0)}, ${textAt(1)} from ${listRows(inside, gone)})`.execute(inside)
    return rows.length
  })
}

/** Those that a delivery still tells, since it was sent again or is waiting, stay as long as that does. */
async function deleteEvents(db: Kysely<Database>, before: number): Promise<number> {
  // a delivery is created in the transaction of its event, which may have waited
  const [eventsBefore, deliveriesBefore] = [eventIdFloor(before), deliveryIdFloor(before + HOUR_MS)]
  const { numAffectedRows } = await sql`
    delete from event where (account_id, id) in (
      select account_id, id from event where created_at < ${before} and id < ${eventsBefore} and not exists (
        select 1 from webhook join delivery on delivery.account_id = webhook.account_id
            and delivery.webhook_id = webhook.id and delivery.id < ${deliveriesBefore}
          where webhook.account_id = event.account_id and delivery.event_id = event.id)
      order by created_at limit ${sql.lit(BATCH_ROWS)})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
