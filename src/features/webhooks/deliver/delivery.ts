/**
 * Loads the deliveries of started jobs, and writes their outcomes and the state of their endpoints, many in one transaction,
 * each only if the start still holds the job's lease.
 */
import { type CompiledQuery, type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import { dialectOf, type OpenedDatabase } from '../../../db/database.ts'
import type {
  Database,
  DeliveryStatus,
  DeliveryTable,
  EventTable,
  JobTable,
  WebhookTable,
} from '../../../db/schema/schema.ts'
import type { Job } from '../../../jobs/job.ts'
import { databaseNow, isListed, listRows, numberAt, textAt } from '../../../jobs/sql.ts'
import type { DeliveryJob, EventRow } from '../events.ts'

/** One start of a job. */
export interface DeliveryStart {
  readonly job: Pick<Job, 'id' | 'attempt'>
  readonly payload: DeliveryJob
  readonly round: number
}

export interface Delivery extends DeliveryStart {
  /** Number of attempts so far, in all rounds. */
  readonly attempts: number
  /** Failed attempts of this round. */
  readonly failures: number
  /** Milliseconds until the next attempt is due; 0 or less: it is due. */
  readonly waitMs: number
  readonly event: EventRow
  readonly webhook: Pick<
    WebhookTable,
    'kind' | 'url' | 'secret' | 'previous_secret' | 'previous_until' | 'failing_since' | 'disabled_at'
  >
}

/** @param job Of the kind `DELIVER`, as `events.ts` makes them: it is named after the delivery and its round. */
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
  ...(['kind', 'url', 'secret', 'previous_secret', 'previous_until', 'failing_since', 'disabled_at'] as const),
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
      webhook.kind, webhook.url, webhook.secret, webhook.previous_secret, webhook.previous_until, webhook.failing_since,
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

/** Each by its primary key, with values of the previous tables. */
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
    columns: 'kind, url, secret, previous_secret, previous_until, failing_since, disabled_at',
    where: sql`webhook.account_id = for_account and webhook.id = for_webhook`,
  },
]

/**
 * Makes PostgreSQL look rows up one by one: it assumes that tables without statistics are empty, and would scan one of them
 * for each row of another.
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

/** The response to an attempt. */
export interface Answer {
  /** Undefined: no response. */
  readonly status: number | undefined
  /** Undefined: success. */
  readonly error: string | undefined
  /** Beginning of the body; undefined without a response. */
  readonly text: string | undefined
}

export interface Attempt extends Answer {
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly durationMs: number
}

export interface DeliveryEnd {
  readonly delivery: Delivery
  /** Undefined: no attempt was made. */
  readonly attempt: Attempt | undefined
  readonly status: DeliveryStatus
  readonly error: string | undefined
  /** Milliseconds until the next attempt; undefined: none follows. */
  readonly retryInMs: number | undefined
  /** Unix milliseconds. */
  readonly endedAt: number
}

interface EndWriter {
  readonly db: Kysely<Database>
  readonly batch: OpenedDatabase['batch']
}

/** Resolves when they are committed. Silently omits outcomes whose job has another start by now. */
export async function writeEnds({ db, batch }: EndWriter, ends: readonly DeliveryEnd[]): Promise<void> {
  const rows = listRows(db, ends.map(rowOf))
  const endpointUpdate = endpointStatement(db, ends)
  const statements = [holdJobs(db, ends), endpointUpdate, insertAttempts(db, rows), updateDeliveries(db, rows)]
  await batch(statements.filter((statement) => statement !== undefined))
}

/** On PostgreSQL, locks the jobs against claims until the commit. SQLite serializes its writers. */
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

/** The delivery awaits this attempt, and the start holds the job's lease. */
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

/** Computes the next due time by the database's clock, as for the job. */
function updateDeliveries(db: Kysely<Database>, rows: Rows) {
  return sql`
    update delivery set status = end_status, attempts = end_attempts, error = end_error, ended_at = end_at,
      next_attempt_at = case when end_in_ms is null then null else ${databaseNow()} + end_in_ms end
    from ${heldRows(rows)} as held where ${IS_OURS}`.compile(db)
}

/** HTTP status of an endpoint that no longer exists. */
export const GONE = 410
const DAY_MS = 24 * 3_600_000
/** An endpoint that fails again after this time without a success is disabled. */
export const FAILING_MS = 5 * DAY_MS

interface EndpointState {
  readonly accountId: string
  readonly webhookId: string
  readonly url: string
  hasSucceeded: boolean
  /** First failure since the last success. */
  failedAt: number | undefined
  lastFailedAt: number | undefined
  goneAt: number | undefined
}

/** Derives the states of endpoints from attempts, in the order of their ends. Sorted by the endpoints' IDs. */
export function endpointStatesAfter(ends: readonly DeliveryEnd[]): readonly Readonly<EndpointState>[] {
  const states = new Map<string, EndpointState>()
  for (const { delivery, attempt } of ends) {
    if (attempt === undefined) continue
    const { accountId, webhookId } = delivery.payload
    const { url } = delivery.webhook
    const key = `${webhookId} ${url}`
    const state = states.get(key) ?? { ...UNKNOWN, accountId, webhookId, url }
    states.set(key, state)
    if (attempt.error === undefined) Object.assign(state, SUCCEEDED)
    else {
      state.failedAt ??= attempt.startedAt
      state.lastFailedAt = attempt.startedAt
      if (attempt.status === GONE) state.goneAt = attempt.startedAt
    }
  }
  return [...states.values()].sort((one, other) => (one.webhookId < other.webhookId ? -1 : 1))
}

const UNKNOWN = { hasSucceeded: false, failedAt: undefined, lastFailedAt: undefined, goneAt: undefined }
const SUCCEEDED = { hasSucceeded: true, failedAt: undefined, lastFailedAt: undefined, goneAt: undefined }

/**
 * Undefined without attempts. Writes only changed rows, not those of endpoints that keep succeeding or failing. Skips endpoints
 * that have another address by now or are disabled.
 */
function endpointStatement(db: Kysely<Database>, ends: readonly DeliveryEnd[]): CompiledQuery | undefined {
  const states = endpointStatesAfter(ends)
  if (states.length === 0) return undefined
  const rows = states.map(({ accountId, webhookId, url, hasSucceeded, failedAt, lastFailedAt, goneAt }) => [
    ...[accountId, webhookId, url, hasSucceeded ? 1 : 0, failedAt ?? null, lastFailedAt ?? null, goneAt ?? null],
  ])
  const isOver = sql`(has_succeeded = 0 and failing_since <= last_failed_at - ${sql.lit(FAILING_MS)})`
  return sql`
    update webhook set
      failing_since = case when has_succeeded = 1 then failed_at else coalesce(failing_since, failed_at) end,
      disabled_at = case when gone_at is not null then gone_at when ${isOver} then last_failed_at end,
      disabled_reason = case when gone_at is not null then 'gone' when ${isOver} then 'failing' end
    from (select ${textAt(0)} as for_account, ${textAt(1)} as for_webhook, ${textAt(2)} as for_url,
      ${numberAt(3)} as has_succeeded, ${numberAt(4)} as failed_at, ${numberAt(5)} as last_failed_at,
      ${numberAt(6)} as gone_at from ${listRows(db, rows)}) as held
    where account_id = for_account and id = for_webhook and url = for_url and disabled_at is null
      and ((has_succeeded = 1 and failing_since is not null) or (failed_at is not null and failing_since is null)
        or gone_at is not null or ${isOver})`.compile(db)
}
