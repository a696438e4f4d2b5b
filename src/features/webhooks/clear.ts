/** What is left of an endpoint that was deleted: its deliveries and their attempts, which go little by little. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { IdSource } from '../../domain/ids.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batches.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { doubling, type JobKind } from '../../jobs/job.ts'
import type { WebhookReference } from './queries.ts'

export const CLEAR = 'webhooks.clear'

const SECOND_MS = 1_000
/** An event that was being written when the endpoint was deleted may bring one more delivery. */
const LATE_DELIVERIES_MS = 60 * SECOND_MS

/**
 * The first of them at once, in the caller's transaction; the others, and those that come late, by a job.
 * @param now Unix milliseconds.
 */
export async function clearDeliveries(
  db: Kysely<Database>,
  webhook: WebhookReference,
  { now, ids }: { readonly now: () => number; readonly ids: Pick<IdSource, 'job'> },
): Promise<void> {
  const deleted = await deleteSome(db, webhook)
  const runAt = deleted < BATCH_ROWS ? now() + LATE_DELIVERIES_MS : undefined
  await enqueue(db, { kind: CLEAR, name: webhook.id, payload: webhook, runAt }, ids)
}

export function clearJobs({ db }: { readonly db: Kysely<Database> }): Readonly<Record<string, JobKind>> {
  return {
    [CLEAR]: {
      async handler({ payload }, { signal }) {
        const webhook = payload as WebhookReference // as it was enqueued above
        await inBatches(() => db.transaction().execute((inside) => deleteSome(inside, webhook)), signal)
      },
      backoff: doubling(SECOND_MS, LATE_DELIVERIES_MS),
      maxAttempts: 20,
      concurrency: 1,
    },
  }
}

/** @returns How many deliveries went. */
async function deleteSome(db: Kysely<Database>, { accountId, id }: WebhookReference): Promise<number> {
  const rows = await db
    .deleteFrom('delivery')
    .where('account_id', '=', accountId)
    .where('webhook_id', '=', id)
    .where('id', 'in', (query) =>
      query
        .selectFrom('delivery')
        .select('id')
        .where('account_id', '=', accountId)
        .where('webhook_id', '=', id)
        .orderBy('id')
        .limit(BATCH_ROWS),
    )
    .returning('id')
    .execute()
  if (rows.length === 0) return 0
  const deliveryIds = rows.map((row) => row.id)
  await db
    .deleteFrom('delivery_attempt')
    .where('account_id', '=', accountId)
    .where('delivery_id', 'in', deliveryIds)
    .execute()
  return rows.length
}
