/** Deletes what is over for long enough: deliveries with their attempts, and events that no delivery tells any more. */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { completionIdFloor } from '../../../domain/ids.ts'
import { BATCH_ROWS, inBatches } from '../../../jobs/batches.ts'
import { listRows, textAt } from '../../../jobs/lists.ts'

const HOUR_MS = 3_600_000
/** Deliveries from their end, events from their beginning. */
export const KEEP_MS = 2_592_000_000 // 30 days
/** A delivery is made in the transaction of its event, which may have waited. */
const MADE_TOGETHER_MS = HOUR_MS

export interface ForgetInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
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
    // One that is sent anew since it was looked at stays, and its attempts with it.
    const deleted = await sql<{ account_id: string; id: string }>`
      delete from delivery where ended_at < ${before} and (account_id, webhook_id, id) in
        (select ${textAt(0)}, ${textAt(1)}, ${textAt(2)} from ${list}) returning account_id, id`.execute(inside)
    const gone = deleted.rows.map(({ account_id, id }) => [account_id, id])
    await sql`delete from delivery_attempt where (account_id, delivery_id) in
      (select ${textAt(0)}, ${textAt(1)} from ${listRows(inside, gone)})`.execute(inside)
    return rows.length
  })
}

/** Those that a delivery still tells, since it was sent anew or is waiting, stay as long as that does. */
async function deleteEvents(db: Kysely<Database>, before: number): Promise<number> {
  const [eventsBefore, deliveriesBefore] = [idFloor('evt_', before), idFloor('dlv_', before + MADE_TOGETHER_MS)]
  const { numAffectedRows } = await sql`
    delete from event where (account_id, id) in (
      select account_id, id from event where created_at < ${before} and id < ${eventsBefore} and not exists (
        select 1 from webhook join delivery on delivery.account_id = webhook.account_id
            and delivery.webhook_id = webhook.id and delivery.id < ${deliveriesBefore}
          where webhook.account_id = event.account_id and delivery.event_id = event.id)
      order by created_at limit ${sql.lit(BATCH_ROWS)})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** The least id with this prefix of a millisecond. */
function idFloor(prefix: string, ms: number): string {
  return prefix + completionIdFloor(ms).slice('chatcmpl-'.length)
}
