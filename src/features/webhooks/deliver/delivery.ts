/** What a start of a delivery's job works with, read for many at once. */
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import { dialectOf } from '../../../db/dialect.ts'
import type { Database, DeliveryTable, EventTable, JobTable, WebhookTable } from '../../../db/schema.ts'
import { databaseNow } from '../../../jobs/clock.ts'
import type { Job } from '../../../jobs/job.ts'
import { listRows, numberAt, textAt } from '../../../jobs/lists.ts'
import type { DeliveryJob } from '../record-event.ts'

/** One start of a job: who asks. */
export interface DeliveryStart {
  readonly job: Pick<Job, 'id' | 'attempt'>
  readonly payload: DeliveryJob
  readonly round: number
}

export interface Delivery extends DeliveryStart {
  /** So far, in all rounds. */
  readonly attempts: number
  /** Attempts of this round that failed. */
  readonly failures: number
  /** Milliseconds until the next attempt is due; 0 or less: it is. */
  readonly waitMs: number
  readonly event: Pick<Selectable<EventTable>, 'id' | 'type' | 'data' | 'created_at'>
  readonly webhook: Pick<
    WebhookTable,
    'url' | 'secret' | 'previous_secret' | 'previous_until' | 'failing_since' | 'disabled_at'
  >
}

/** @param job Of the kind `DELIVER`, as `record-event.ts` makes them: it is named after the delivery and its round. */
export function deliveryStart(job: Job): DeliveryStart {
  const { id, attempt, name, payload } = job
  return {
    job: { id, attempt },
    payload: payload as DeliveryJob, // as it was enqueued
    round: Number(name.slice(name.lastIndexOf('.') + 1)),
  }
}

/**
 * Undefined where there is nothing to do: the endpoint is gone, the delivery has ended or is in another round, or the job
 * is no longer this start's.
 */
export async function loadDeliveries(
  db: Kysely<Database>,
  starts: readonly DeliveryStart[],
): Promise<readonly (Delivery | undefined)[]> {
  const rows = await selectDeliveries(db, starts)
  const found = new Map(rows.map((row) => [row.job_id, row]))
  return starts.map((start) => {
    const row = found.get(start.job.id)
    return row === undefined ? undefined : toDelivery(start, row)
  })
}

interface LoadedRow
  extends Pick<WebhookTable, keyof Delivery['webhook']>,
    Pick<EventTable, 'type' | 'data' | 'created_at'>,
    Pick<DeliveryTable, 'attempts' | 'event_id'>,
    Pick<Selectable<JobTable>, 'failures'> {
  readonly job_id: string
  readonly wait_ms: number
}

const COLUMNS = [
  ...(['job_id', 'wait_ms', 'failures', 'attempts', 'event_id', 'type', 'data', 'created_at'] as const),
  ...(['url', 'secret', 'previous_secret', 'previous_until', 'failing_since', 'disabled_at'] as const),
]

function selectDeliveries(db: Kysely<Database>, starts: readonly DeliveryStart[]): Promise<readonly LoadedRow[]> {
  const rows = starts.map(({ job, payload, round }) => {
    const { accountId, webhookId, deliveryId } = payload
    return [job.id, job.attempt, accountId, webhookId, deliveryId, round]
  })
  const wanted = sql`(select ${textAt(0)} as job_id, ${numberAt(1)} as job_attempt, ${textAt(2)} as for_account,
    ${textAt(3)} as for_webhook, ${textAt(4)} as for_delivery, ${numberAt(5)} as for_round from ${listRows(db, rows)})`
  const loaded = sql<LoadedRow>`(select job_id, job.failures, delivery.attempts, delivery.event_id,
      coalesce(delivery.next_attempt_at, 0) - ${databaseNow()} as wait_ms, event.type, event.data, event.created_at,
      webhook.url, webhook.secret, webhook.previous_secret, webhook.previous_until, webhook.failing_since,
      webhook.disabled_at
    from ${wanted} as wanted ${sql.join(
      LOOK_UPS.map((lookUp) => joined(db, lookUp)),
      sql` `,
    )})`
  return db.selectFrom(loaded.as('loaded')).select(COLUMNS).execute()
}

interface LookUp {
  readonly table: keyof Database
  readonly columns: string
  readonly where: RawBuilder<unknown>
}

/** Each by its primary key, given what stands before it. */
const LOOK_UPS: readonly LookUp[] = [
  {
    table: 'job',
    columns: 'failures',
    where: sql`job.id = job_id and job.attempt = job_attempt and job.owner is not null`,
  },
  {
    table: 'delivery',
    columns: 'attempts, event_id, next_attempt_at',
    where: sql`delivery.account_id = for_account and delivery.webhook_id = for_webhook and delivery.id = for_delivery
      and delivery.round = for_round and delivery.status = 'pending'`,
  },
  {
    table: 'event',
    columns: 'type, data, created_at',
    where: sql`event.account_id = for_account and event.id = delivery.event_id`,
  },
  {
    table: 'webhook',
    columns: 'url, secret, previous_secret, previous_until, failing_since, disabled_at',
    where: sql`webhook.account_id = for_account and webhook.id = for_webhook`,
  },
]

/**
 * PostgreSQL is told to look rows up one by one: of tables that it has not counted yet it believes that they are empty,
 * and goes through all of one for each row of another.
 */
function joined(db: Kysely<Database>, { table, columns, where }: LookUp): RawBuilder<unknown> {
  const name = sql.table(table)
  if (dialectOf(db) === 'sqlite') return sql`join ${name} on ${where}`
  return sql`cross join lateral (select ${sql.raw(columns)} from ${name} where ${where} offset 0) as ${name}`
}

function toDelivery(start: DeliveryStart, row: LoadedRow): Delivery {
  const { job_id: _, attempts, failures, wait_ms: waitMs, event_id: id, type, data, created_at, ...webhook } = row
  return { ...start, attempts, failures, waitMs, event: { id, type, data, created_at }, webhook }
}
