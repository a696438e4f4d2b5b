/** Alerts of the ledger as events: each once, with its mark in the same transaction. */
import { type Kysely, type Selectable, sql } from 'kysely'
import { dialectOf } from '../../../db/dialect.ts'
import type { Database, UsageAlertTable } from '../../../db/schema.ts'
import { usdNumber } from '../../../domain/money.ts'
import { inBatches } from '../../../jobs/batches.ts'
import type { RecordEvent } from '../../deps.ts'

/** Told in one transaction, which others wait for. */
const ALERTS_AT_ONCE = 20
const EPOCH_YEAR = 1970

export interface TellAlertsInput {
  readonly db: Kysely<Database>
  readonly recordEvent: RecordEvent
  readonly signal?: AbortSignal | undefined
}

/** @returns How many. */
export function tellAlerts({ db, recordEvent, signal }: TellAlertsInput): Promise<number> {
  return inBatches(() => tellSome(db, recordEvent), signal)
}

async function tellSome(db: Kysely<Database>, recordEvent: RecordEvent): Promise<number> {
  if ((await untold(db).limit(1).execute()).length === 0) return 0 // asks the reader: mostly there is none
  return db.transaction().execute(async (inside) => {
    const some = untold(inside).limit(ALERTS_AT_ONCE)
    const alerts = await (dialectOf(inside) === 'postgres' ? some.forUpdate().skipLocked() : some).execute()
    for (const alert of alerts) {
      await record(inside, alert, recordEvent)
      await markTold(inside, alert)
    }
    return alerts.length
  })
}

/** The oldest first. The mark is written as the index has it: a parameter would hide it. */
function untold(db: Kysely<Database>) {
  return db.selectFrom('usage_alert').selectAll().where('told', '=', sql.lit(0)).orderBy('created_at')
}

type Alert = Selectable<UsageAlertTable>

async function record(db: Kysely<Database>, alert: Alert, recordEvent: RecordEvent): Promise<void> {
  const { account_id: accountId, event, basis, threshold, created_at: createdAt } = alert
  const { spent_nano_usd: spent, limit_nano_usd: limit } = alert
  const spending = {
    account_id: accountId,
    period_start: startOf(alert.month),
    period_end: startOf(alert.month + 1),
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

async function markTold(db: Kysely<Database>, { account_id, month, event, basis, threshold }: Alert): Promise<void> {
  await db
    .updateTable('usage_alert')
    .set({ told: 1 })
    .where('account_id', '=', account_id)
    .where('month', '=', month)
    .where('event', '=', event)
    .where('basis', '=', basis)
    .where('threshold', '=', threshold)
    .execute()
}

/** @param month Since 1970-01. */
function startOf(month: number): string {
  return new Date(Date.UTC(EPOCH_YEAR, month)).toISOString()
}
