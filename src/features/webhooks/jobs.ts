/** Background jobs of webhooks: deliveries, alerts of the ledger, and retention. */
import { type Kysely, type Selectable, sql } from 'kysely'
import { dialectOf } from '../../db/database.ts'
import type { BudgetAlertTable, Database, UsageAlertTable } from '../../db/schema/schema.ts'
import { forecastExhaustion } from '../../domain/budget.ts'
import { usdNumber } from '../../domain/money.ts'
import type { BudgetAlertData } from '../../domain/webhook-event.ts'
import { openFileLimit } from '../../http/server.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batched-deletion.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import { listRows, textAt } from '../../jobs/sql.ts'
import { windowAt } from '../../lib/calendar-window.ts'
import { isoTime, isoTimeOrNull, monthStart } from '../../lib/time.ts'
import type { FeatureDeps, RecordEvent } from '../deps.ts'
import { type Deliverer, RETRY_DELAYS_MS } from './deliver/deliverer.ts'
import { DELIVER, deliveryIdFloor, eventIdFloor } from './events.ts'

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
  /** Writes the alerts that are due by time, without a charge: of raises that have ended. */
  readonly writeDueAlerts: (signal: AbortSignal) => Promise<unknown>
}

export function webhookJobs({
  db,
  now,
  recordEvent,
  deliverer,
  writeDueAlerts,
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
      await writeDueAlerts(signal)
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

/* Turns alerts, which the ledger writes with charges and rejections, into events. */

/** The alerts of one transaction, for which others wait. */
const ALERTS_AT_ONCE = 20

interface AlertEventsInput {
  readonly db: Kysely<Database>
  readonly recordEvent: RecordEvent
  readonly signal?: AbortSignal | undefined
}

/** Records alerts of the month's budget and credit. @returns their number. */
export function recordAlertEvents({ db, recordEvent, signal }: AlertEventsInput): Promise<number> {
  const recordOne = async (inside: Kysely<Database>, alert: Selectable<UsageAlertTable>): Promise<void> => {
    const { account_id, month, event, basis, threshold } = alert
    await recordUsageAlert(inside, alert, recordEvent)
    await inside
      .updateTable('usage_alert')
      .set({ told: 1 })
      .where(({ and }) => and({ account_id, month, event, basis, threshold }))
      .execute()
  }
  return recordPending({ db, signal, pending: pendingUsageAlerts, recordOne })
}

/** Records alerts of budgets. @returns their number. */
export function recordBudgetAlerts({ db, recordEvent, signal }: AlertEventsInput): Promise<number> {
  const recordOne = async (inside: Kysely<Database>, alert: Selectable<BudgetAlertTable>): Promise<void> => {
    const { account_id, budget_id, starts_at, threshold, created_at: createdAt } = alert
    const data = await budgetData(inside, alert)
    if (data !== undefined) await recordEvent(inside, { accountId: account_id, type: 'budget.alert', data, createdAt })
    await inside
      .updateTable('budget_alert')
      .set({ told: 1 })
      .where(({ and }) => and({ account_id, budget_id, starts_at, threshold }))
      .execute()
  }
  return recordPending({ db, signal, pending: pendingBudgetAlerts, recordOne })
}

interface PendingInput<Alert> {
  readonly db: Kysely<Database>
  readonly signal: AbortSignal | undefined
  readonly pending: (db: Kysely<Database>) => Query<Alert>
  readonly recordOne: (inside: Kysely<Database>, alert: Alert) => Promise<void>
}

/** The part of a query that is needed here, without its table. */
interface Query<Row> {
  limit(rows: number): Query<Row>
  forUpdate(): Query<Row>
  skipLocked(): Query<Row>
  execute(): Promise<readonly Row[]>
}

function recordPending<Alert>({ db, signal, pending, recordOne }: PendingInput<Alert>): Promise<number> {
  return inBatches(async () => {
    if ((await pending(db).limit(1).execute()).length === 0) return 0 // asks the reader thread; usually there is none
    return db.transaction().execute(async (inside) => {
      const some = pending(inside).limit(ALERTS_AT_ONCE)
      const alerts = await (dialectOf(inside) === 'postgres' ? some.forUpdate().skipLocked() : some).execute()
      for (const alert of alerts) await recordOne(inside, alert)
      return alerts.length
    })
  }, signal)
}

/** Oldest first. The mark is a literal as in the index, which a parameter would not match. */
function pendingUsageAlerts(db: Kysely<Database>) {
  return db.selectFrom('usage_alert').selectAll().where('told', '=', sql.lit(0)).orderBy('created_at')
}

function pendingBudgetAlerts(db: Kysely<Database>) {
  return db.selectFrom('budget_alert').selectAll().where('told', '=', sql.lit(0)).orderBy('created_at')
}

async function recordUsageAlert(
  db: Kysely<Database>,
  alert: Selectable<UsageAlertTable>,
  recordEvent: RecordEvent,
): Promise<void> {
  const { account_id: accountId, event, basis, threshold, created_at: createdAt } = alert
  const { spent_nano_usd: spent, limit_nano_usd: limit } = alert
  const spending = {
    account_id: accountId,
    period_start: isoTime(monthStart(alert.month)),
    period_end: isoTime(monthStart(alert.month + 1)),
    spent_usd: usdNumber(spent),
    limit_usd: usdNumber(limit),
  }
  if (event === 'credit.exhausted') {
    const data = { ...spending, credit_remaining_usd: usdNumber(limit - spent) }
    await recordEvent(db, { accountId, type: 'credit.exhausted', data, createdAt })
    return
  }
  const data = { ...spending, basis, threshold_percent: threshold }
  await recordEvent(db, { accountId, type: 'usage.alert', data, createdAt })
}

/** Returns the data of the event. Undefined if somebody deleted the budget, which the gateway never does. */
async function budgetData(
  db: Kysely<Database>,
  alert: Selectable<BudgetAlertTable>,
): Promise<BudgetAlertData | undefined> {
  const { account_id, budget_id, starts_at: start, created_at: now } = alert
  const { spent_nano_usd: spentNanoUsd, limit_nano_usd: limitNanoUsd } = alert
  const found = db
    .selectFrom('budget')
    .selectAll()
    .where(({ and }) => and({ account_id, id: budget_id }))
  const budget = await found.executeTakeFirst()
  if (budget === undefined) return undefined
  const { level, subject, period, timezone: timeZone, starts_at: anchor, action } = budget
  const resetsAt = windowAt({ unit: period, timeZone, anchor: anchor ?? undefined }, start)?.end
  const since = Math.max(start, budget.created_at)
  return {
    account_id,
    budget_id,
    level,
    subject,
    window: period,
    action,
    window_start: isoTime(start),
    resets_at: isoTimeOrNull(resetsAt ?? null),
    spent_usd: usdNumber(spentNanoUsd),
    limit_usd: usdNumber(limitNanoUsd),
    threshold_percent: alert.threshold,
    forecast_exhausted_at: isoTimeOrNull(
      forecastExhaustion({ spentNanoUsd, limitNanoUsd, since, resetsAt, now }) ?? null,
    ),
  }
}
