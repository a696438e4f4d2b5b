/** How starts of deliveries' jobs came out, written for many in one transaction, each only if its job is still its own. */
import { type Kysely, sql } from 'kysely'
import { dialectOf } from '../../../db/dialect.ts'
import type { OpenedDatabase } from '../../../db/open.ts'
import type { Database, DeliveryStatus } from '../../../db/schema.ts'
import { databaseNow } from '../../../jobs/clock.ts'
import { isListed, listRows, numberAt, textAt } from '../../../jobs/lists.ts'
import type { Attempt } from './attempt.ts'
import type { Delivery } from './delivery.ts'
import { standingStatement } from './standing.ts'

export interface DeliveryEnd {
  readonly delivery: Delivery
  /** Undefined: there was none. */
  readonly attempt: Attempt | undefined
  readonly status: DeliveryStatus
  readonly error: string | undefined
  /** Milliseconds until the next attempt; undefined: there is none. */
  readonly retryInMs: number | undefined
  /** Unix milliseconds. */
  readonly endedAt: number
}

export interface EndWriter {
  readonly db: Kysely<Database>
  readonly batch: OpenedDatabase['batch']
}

/** Resolves when they are committed. What belongs to another start by now is left out, without a word. */
export async function writeEnds({ db, batch }: EndWriter, ends: readonly DeliveryEnd[]): Promise<void> {
  const rows = listRows(db, ends.map(rowOf))
  const standing = standingStatement(db, ends)
  const statements = [holdJobs(db, ends), standing, insertAttempts(db, rows), updateDeliveries(db, rows)]
  await batch(statements.filter((statement) => statement !== undefined))
}

/** PostgreSQL: nobody claims them until this is committed. SQLite's writers follow one another anyway. */
function holdJobs(db: Kysely<Database>, ends: readonly DeliveryEnd[]) {
  if (dialectOf(db) === 'sqlite') return undefined
  const jobs = ends.map(({ delivery }) => delivery.job)
  return db.selectFrom('job').select('id').where(isListed(db, jobs)).orderBy('id').forKeyShare().compile()
}

function rowOf({ delivery, attempt, status, error, retryInMs, endedAt }: DeliveryEnd) {
  const { job, payload, round, attempts } = delivery
  const isTried = attempt !== undefined
  return [
    ...[job.id, job.attempt, payload.accountId, payload.webhookId, payload.deliveryId, round],
    ...[isTried ? attempts + 1 : attempts, status, error ?? null],
    ...[retryInMs === undefined ? null : Math.round(retryInMs), status === 'pending' ? null : endedAt],
    ...[isTried ? 1 : 0, attempt?.startedAt ?? null, attempt?.durationMs ?? null, attempt?.status ?? null],
    attempt?.text ?? null,
  ]
}

type Rows = ReturnType<typeof listRows>

function heldRows(rows: Rows) {
  return sql`(select ${textAt(0)} as job_id, ${numberAt(1)} as job_attempt, ${textAt(2)} as for_account,
    ${textAt(3)} as for_webhook, ${textAt(4)} as for_delivery, ${numberAt(5)} as for_round,
    ${numberAt(6)} as end_attempts, ${textAt(7)} as end_status, ${textAt(8)} as end_error,
    ${numberAt(9)} as end_in_ms, ${numberAt(10)} as end_at, ${numberAt(11)} as is_tried, ${numberAt(12)} as began_at,
    ${numberAt(13)} as took_ms, ${numberAt(14)} as answer_status, ${textAt(15)} as answer_text from ${rows})`
}

/** The delivery waits for just this attempt, and the job is this start's. */
const IS_OURS = sql`delivery.account_id = for_account and delivery.webhook_id = for_webhook
  and delivery.id = for_delivery and delivery.round = for_round and delivery.status = 'pending'
  and exists (select 1 from job where job.id = job_id and job.attempt = job_attempt and job.owner is not null)`

function insertAttempts(db: Kysely<Database>, rows: Rows) {
  return sql`
    insert into delivery_attempt (account_id, delivery_id, number, started_at, duration_ms, status, error, response)
    select for_account, for_delivery, end_attempts, began_at, took_ms, answer_status, end_error, answer_text
    from ${heldRows(rows)} as held, delivery where is_tried = 1 and ${IS_OURS}
    on conflict (account_id, delivery_id, number) do nothing`.compile(db)
}

/** When the next one is due goes by the database's clock, as its job does. */
function updateDeliveries(db: Kysely<Database>, rows: Rows) {
  return sql`
    update delivery set status = end_status, attempts = end_attempts, error = end_error, ended_at = end_at,
      next_attempt_at = case when end_in_ms is null then null else ${databaseNow()} + end_in_ms end
    from ${heldRows(rows)} as held where ${IS_OURS}`.compile(db)
}
