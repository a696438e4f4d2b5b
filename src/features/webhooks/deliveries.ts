/** Deliveries in the database: the log with its attempts, redelivery, and the activity of endpoints in the last 24 hours. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { readRows } from '../../db/database.ts'
import type { Database, DeliveryAttemptTable, DeliveryStatus, DeliveryTable } from '../../db/schema/schema.ts'
import { countRows, given, pageBy } from '../../db/shared-queries.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, DeliveryId, EventId, IdSource, WebhookId } from '../../domain/ids.ts'
import type { WebhookEventType } from '../../domain/webhook-event.ts'
import type { PageRequest } from '../../http/page.ts'
import { BATCH_ROWS } from '../../jobs/batched-deletion.ts'
import { enqueueAll } from '../../jobs/queue.ts'
import type { FeatureDeps } from '../deps.ts'
import { deliveryIdFloor, deliveryJob } from './events.ts'

/** Attempts of each delivery in a list, and of a single one. */
const MAX_LISTED_ATTEMPTS = 12
const MAX_SHOWN_ATTEMPTS = 100

export interface Delivery extends Omit<DeliveryTable, 'account_id' | 'attempts' | 'round'> {
  readonly type: WebhookEventType
  /** The newest ones, in order. */
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

/** By creation; IDs sort by time. */
export async function listDeliveries(
  db: Kysely<Database>,
  { accountId, webhookId, status }: DeliveryFilter,
  page: PageRequest<DeliveryId>,
): Promise<readonly Delivery[]> {
  const rows = await withTypes(db)
    .where(({ and }) => and({ 'delivery.account_id': accountId, 'delivery.webhook_id': webhookId }))
    .where(({ and }) => and(given({ 'delivery.status': status })))
    .$call(pageBy('delivery.id', page))
    .execute()
  return withAttempts(db, rows, MAX_LISTED_ATTEMPTS)
}

/** Throws 404 when it is unknown, of another endpoint or of another account. */
export async function requireDelivery(db: Kysely<Database>, reference: DeliveryReference): Promise<Delivery> {
  const rows = await withTypes(db)
    .where('delivery.account_id', '=', reference.accountId)
    .where('delivery.webhook_id', '=', reference.webhookId)
    .where('delivery.id', '=', reference.id)
    .execute()
  const [delivery] = await withAttempts(db, rows, MAX_SHOWN_ATTEMPTS)
  if (delivery === undefined) throw unknownDelivery()
  return delivery
}

/** Finds the delivery of an event that was just recorded for this endpoint: one of its newest. */
export async function findDeliveryOf(
  db: Kysely<Database>,
  { accountId, webhookId, eventId }: Omit<DeliveryReference, 'id'> & { readonly eventId: EventId },
): Promise<DeliveryId> {
  const { id } = await db
    .selectFrom('delivery')
    .select('id')
    .where(({ and }) => and({ account_id: accountId, webhook_id: webhookId, event_id: eventId }))
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

/** Adds the attempts, in one query. @param most Attempts of each delivery. */
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

interface RedeliverInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly ids: Pick<IdSource, 'job'>
}

/** Deliveries in one call. */
const MAX_REDELIVERED = 10_000

type Receiver = Omit<DeliveryReference, 'id'>

/** Throws 404 for an unknown delivery, and 409 for a pending one. */
export async function redeliver(input: RedeliverInput, reference: DeliveryReference): Promise<void> {
  await input.db.transaction().execute(async (inside) => {
    if ((await startRounds({ ...input, db: inside }, reference, [reference.id])) > 0) return
    await requireDelivery(inside, reference)
    throw new GatewayError('conflict', 'This delivery is pending: it is being tried, or will be again.')
  })
}

/**
 * Sends again all deliveries of an endpoint that have failed since a time (Unix milliseconds), the oldest first, in
 * several transactions: after a failure, the next call finds the rest.
 * @returns Their number; `MAX_REDELIVERED` when there may be more.
 */
export async function redeliverFailed(input: RedeliverInput, receiver: Receiver, since: number): Promise<number> {
  let total = 0
  let after: DeliveryId | undefined
  while (total < MAX_REDELIVERED) {
    const limit = Math.min(BATCH_ROWS, MAX_REDELIVERED - total)
    const found = await failedSince(input.db, receiver, { since, after, limit })
    after = found.at(-1)
    if (after === undefined) break
    total += await input.db.transaction().execute((inside) => startRounds({ ...input, db: inside }, receiver, found))
  }
  return total
}

/** Counts what `redeliverFailed` would send. */
export async function countFailed(
  { db }: Pick<RedeliverInput, 'db'>,
  receiver: Receiver,
  since: number,
): Promise<number> {
  const failed = failedQuery(db, receiver, since).select('id').limit(MAX_REDELIVERED)
  return countRows(db.selectFrom(failed.as('failed')))
}

function unknownDelivery(): GatewayError {
  return new GatewayError('not_found', 'No delivery of this endpoint has this ID.')
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
    .where(({ and }) => and({ account_id: accountId, webhook_id: webhookId, status: 'failed' }))
    .where('ended_at', '>=', since)
}

/** Starts a new round, with its job, of those deliveries that are not pending. @returns Their number. */
async function startRounds(
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
    .where(({ and }) => and({ account_id: accountId, webhook_id: webhookId }))
    .where('id', 'in', deliveryIds)
    .where('status', '!=', 'pending')
    .returning(['id', 'round'])
    .execute()
  const jobs = rows.map(({ id, round }) => deliveryJob({ accountId, webhookId, deliveryId: id }, round))
  await enqueueAll(db, jobs, ids)
  return rows.length
}

const COUNTED_MS = 86_400_000
/** Deliveries counted for each endpoint: bounds the cost of a list of busy endpoints. */
export const MAX_COUNTED_DELIVERIES = 1_000

interface LastDelivery {
  readonly webhook_id: WebhookId
  readonly id: DeliveryId
  readonly type: WebhookEventType
  readonly status: DeliveryStatus
  readonly created_at: number
}

export interface WebhookActivity {
  /** Undefined without deliveries. */
  readonly last: LastDelivery | undefined
  /** Of the newest `MAX_COUNTED_DELIVERIES` of the last 24 hours. */
  readonly counts: Readonly<Record<DeliveryStatus, number>>
}

interface Wanted {
  readonly accountId: AccountId
  readonly webhookIds: readonly WebhookId[]
  /** Unix milliseconds. */
  readonly now: number
}

const NO_COUNTS: WebhookActivity['counts'] = { pending: 0, delivered: 0, failed: 0 }

/** Takes two queries for any number of endpoints. @returns The activity of an endpoint. */
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

/** The rows of the query for each endpoint, in one table. */
function eachWebhook({ webhookIds }: Wanted, query: (id: WebhookId) => RawBuilder<unknown>): RawBuilder<unknown> {
  const parts = webhookIds.map((id) => sql`select * from (${query(id)}) as of_one`)
  return sql`(${sql.join(parts, sql` union all `)}) as of_each`
}
