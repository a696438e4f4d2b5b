/** Turns alerts, which the ledger writes with charges and rejections, into events. */
import { type Kysely, type Selectable, sql } from 'kysely'
import { dialectOf } from '../../db/dialect.ts'
import type { BudgetAlertTable, Database, UsageAlertTable } from '../../db/schema/schema.ts'
import { forecastExhaustion } from '../../domain/budget.ts'
import { usdNumber } from '../../domain/money.ts'
import type { BudgetAlertData } from '../../domain/webhook-event.ts'
import { inBatches } from '../../jobs/batched-deletion.ts'
import { windowAt } from '../../lib/calendar-window.ts'
import { isoTime, isoTimeOrNull, monthStart } from '../../lib/time.ts'
import type { RecordEvent } from '../deps.ts'

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
