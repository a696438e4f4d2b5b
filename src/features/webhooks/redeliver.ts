/** Sending again by hand: the same delivery and event, with all attempts anew. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { DeliveryId, IdSource } from '../../domain/ids.ts'
import { BATCH_ROWS } from '../../jobs/batches.ts'
import { enqueueAll } from '../../jobs/enqueue.ts'
import type { DeliveryReference } from './deliveries.ts'
import { deliveryJob } from './record-event.ts'

export interface RedeliverInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly ids: Pick<IdSource, 'job'>
}

/** At most so many in one call. */
const MAX_REDELIVERED = 10_000

type Receiver = Omit<DeliveryReference, 'id'>

/** Throws 404 for one that is not there, and 409 for one that is still tried. */
export async function redeliver(input: RedeliverInput, { id, ...receiver }: DeliveryReference): Promise<void> {
  const begun = await input.db.transaction().execute(async (inside) => {
    if ((await beginAnew({ ...input, db: inside }, receiver, [id])) > 0) return true
    const query = inside.selectFrom('delivery').select('id').where('account_id', '=', receiver.accountId)
    const row = await query.where('webhook_id', '=', receiver.webhookId).where('id', '=', id).executeTakeFirst()
    return row === undefined ? undefined : false
  })
  if (begun === undefined) throw unknownDelivery()
  if (!begun) throw new GatewayError('conflict', 'This delivery is pending: it is being tried, or will be again.')
}

/**
 * All of an endpoint that have failed since a time (Unix milliseconds), the oldest first. Little by little: what a
 * failure of ours leaves out is still failed, and is found by the next call.
 * @returns How many; `MAX_REDELIVERED` when there may be more.
 */
export async function redeliverFailed(input: RedeliverInput, receiver: Receiver, since: number): Promise<number> {
  let total = 0
  let after: DeliveryId | undefined
  while (total < MAX_REDELIVERED) {
    const limit = Math.min(BATCH_ROWS, MAX_REDELIVERED - total)
    const found = await failedSince(input.db, receiver, { since, after, limit })
    after = found.at(-1)
    if (after === undefined) break
    total += await input.db.transaction().execute((inside) => beginAnew({ ...input, db: inside }, receiver, found))
  }
  return total
}

/** How many `redeliverFailed` would send. */
export async function countFailed(
  { db }: Pick<RedeliverInput, 'db'>,
  receiver: Receiver,
  since: number,
): Promise<number> {
  const failed = failedQuery(db, receiver, since).select('id').limit(MAX_REDELIVERED)
  const { count } = await db
    .selectFrom(failed.as('failed'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

export function unknownDelivery(): GatewayError {
  return new GatewayError('not_found', 'No delivery of this endpoint has this id.')
}

async function failedSince(
  db: Kysely<Database>,
  receiver: Receiver,
  { since, after, limit }: { readonly since: number; readonly after: DeliveryId | undefined; readonly limit: number },
): Promise<readonly DeliveryId[]> {
  const rows = await failedQuery(db, receiver, since)
    .select('id')
    .$if(after !== undefined, (query) => query.where('id', '>', after as DeliveryId))
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

function failedQuery(db: Kysely<Database>, { accountId, webhookId }: Receiver, since: number) {
  return db
    .selectFrom('delivery')
    .where('account_id', '=', accountId)
    .where('webhook_id', '=', webhookId)
    .where('status', '=', 'failed')
    .where('ended_at', '>=', since)
}

/** Those that are not pending, each with a job of its new round. @returns How many. */
async function beginAnew(
  { db, now, ids }: RedeliverInput,
  { accountId, webhookId }: Receiver,
  deliveryIds: readonly DeliveryId[],
): Promise<number> {
  const rows = await db
    .updateTable('delivery')
    .set(({ eb }) => ({
      status: 'pending',
      round: eb('round', '+', 1),
      next_attempt_at: now(),
      error: null,
      ended_at: null,
    }))
    .where('account_id', '=', accountId)
    .where('webhook_id', '=', webhookId)
    .where('id', 'in', deliveryIds)
    .where('status', '!=', 'pending')
    .returning(['id', 'round'])
    .execute()
  const jobs = rows.map(({ id, round }) => deliveryJob({ accountId, webhookId, deliveryId: id }, round))
  await enqueueAll(db, jobs, ids)
  return rows.length
}
