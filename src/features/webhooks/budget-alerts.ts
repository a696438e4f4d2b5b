/** Alerts of budgets, which the ledger wrote with charges and refusals, become events. */
import { type Kysely, sql } from 'kysely'
import { dialectOf } from '../../db/dialect.ts'
import type { Database } from '../../db/schema/schema.ts'
import { forecastExhaustion } from '../../domain/budget.ts'
import { usdNumber } from '../../domain/money.ts'
import type { BudgetAlertData } from '../../domain/webhook-event.ts'
import { inBatches } from '../../jobs/batched-deletion.ts'
import { windowAt } from '../../lib/calendar-window.ts'
import { isoTime, isoTimeOrNull } from '../../lib/time.ts'
import type { RecordEvent } from '../deps.ts'

/** In one transaction, which others wait for. */
const ALERTS_AT_ONCE = 20

interface BudgetAlertsInput {
  readonly db: Kysely<Database>
  readonly recordEvent: RecordEvent
  readonly signal?: AbortSignal | undefined
}

/** @returns How many. */
export function recordBudgetAlerts({ db, recordEvent, signal }: BudgetAlertsInput): Promise<number> {
  return inBatches(() => recordSome(db, recordEvent), signal)
}

async function recordSome(db: Kysely<Database>, recordEvent: RecordEvent): Promise<number> {
  if ((await pendingAlerts(db).limit(1).execute()).length === 0) return 0 // asks the reader: mostly there is none
  return db.transaction().execute(async (inside) => {
    const some = pendingAlerts(inside).limit(ALERTS_AT_ONCE)
    const alerts = await (dialectOf(inside) === 'postgres' ? some.forUpdate().skipLocked() : some).execute()
    for (const { account_id, budget_id, starts_at, threshold, ...alert } of alerts) {
      const key = { account_id, budget_id, starts_at, threshold }
      const data = await dataOf(inside, { ...key, ...alert })
      if (data !== undefined)
        await recordEvent(inside, { accountId: account_id, type: 'budget.alert', data, createdAt: alert.created_at })
      await inside
        .updateTable('budget_alert')
        .set({ told: 1 })
        .where(({ and }) => and(key))
        .execute()
    }
    return alerts.length
  })
}

/** The oldest first. The mark is written as the index has it: a parameter would hide it. */
function pendingAlerts(db: Kysely<Database>) {
  return db.selectFrom('budget_alert').selectAll().where('told', '=', sql.lit(0)).orderBy('created_at')
}

type Alert = Awaited<ReturnType<ReturnType<typeof pendingAlerts>['execute']>>[number]

/** Budgets are never deleted; undefined only where somebody did. */
async function dataOf(db: Kysely<Database>, alert: Alert): Promise<BudgetAlertData | undefined> {
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
