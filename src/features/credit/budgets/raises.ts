/** Temporary raises of budgets, each with its reason in the audit log, and the alerts of their end. */
import { type Kysely, type Selectable, sql } from 'kysely'
import type { BudgetRaiseTable, Database } from '../../../db/schema/schema.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { BudgetId } from '../../../domain/ids.ts'
import { type NanoUsd, usdText } from '../../../domain/money.ts'
import type { AuditedRequest } from '../../../http/request-origin.ts'
import { inBatches } from '../../../jobs/batched-deletion.ts'
import { isoTime } from '../../../lib/time.ts'
import type { FeatureDeps, WriteAudit } from '../../deps.ts'
import { alertOfSettings, lockCredit } from './store.ts'

export interface RaiseDeps extends Pick<FeatureDeps, 'db' | 'now' | 'ids'> {
  readonly writeAudit: WriteAudit
}

interface OfBudget {
  readonly budgetId: BudgetId
  readonly audited: AuditedRequest
}

interface NewRaise extends OfBudget {
  readonly nanoUsd: NanoUsd
  readonly reason: string
  /** Unix milliseconds. */
  readonly endsAt: number
}

/** In force for the next hold. Rejects with 404 for a budget that is not the account's. */
export async function addRaise(
  { db, now, ids, writeAudit }: RaiseDeps,
  { budgetId, audited, nanoUsd, reason, endsAt }: NewRaise,
): Promise<void> {
  const { accountId } = audited
  await db.transaction().execute(async (inside) => {
    const budget = inside
      .selectFrom('budget')
      .select('id')
      .where(({ and }) => and({ account_id: accountId, id: budgetId }))
    if ((await budget.where('ended_at', 'is', null).executeTakeFirst()) === undefined) throw unknownBudget()
    const id = ids.budgetRaise()
    const row = { account_id: accountId, budget_id: budgetId, id, reason, created_at: now(), ends_at: endsAt }
    await inside
      .insertInto('budget_raise')
      .values({ ...row, amount_nano_usd: nanoUsd })
      .execute()
    const details = { raise: id, usd: usdText(nanoUsd), ends_at: isoTime(endsAt), reason }
    await writeAudit(inside, { ...audited, action: 'budget.raised', subject: budgetId, result: 'done', details })
  })
}

/** Ends a raise now, with the alerts of the lower limit. Rejects with 404 for one that has ended. */
export async function endRaise(
  { db, now, writeAudit }: RaiseDeps,
  { budgetId, raiseId, audited }: OfBudget & { readonly raiseId: string },
): Promise<void> {
  const { accountId } = audited
  await db.transaction().execute(async (inside) => {
    await lockCredit(inside, accountId)
    const ended = await inside
      .updateTable('budget_raise')
      .set({ ends_at: now(), end_alerted: 1 })
      .where(({ and }) => and({ account_id: accountId, budget_id: budgetId, id: raiseId }))
      .where('ends_at', '>', now())
      .executeTakeFirst()
    if (ended.numUpdatedRows === 0n) throw unknownBudget()
    await alertOfSettings(inside, { accountId, ids: [budgetId], now: now() })
    const details = { raise: raiseId }
    await writeAudit(inside, { ...audited, action: 'budget.raise_ended', subject: budgetId, result: 'done', details })
  })
}

/** Raises that are read at once. Each has a transaction of its own, for which requests of its account wait. */
const ENDED_AT_ONCE = 100

/**
 * Writes the alerts of raises whose time is over, each once in all processes: charges beyond a threshold cause no alert while
 * the limit is raised, and none afterwards. @returns How many raises had ended.
 */
export function alertEndedRaises({ db, now }: Pick<FeatureDeps, 'db' | 'now'>, signal?: AbortSignal): Promise<number> {
  return inBatches(async () => {
    const time = now()
    const ended = await endedRaises(db, time)
    for (const raise of ended) await db.transaction().execute((inside) => alertOfEnd(inside, raise, time))
    return ended.length
  }, signal)
}

/** The mark is a literal as in the index, which a parameter would not match. */
function endedRaises(db: Kysely<Database>, now: number) {
  return db
    .selectFrom('budget_raise')
    .select(['account_id', 'budget_id', 'id'])
    .where('end_alerted', '=', sql.lit(0))
    .where('ends_at', '<=', now)
    .orderBy('ends_at')
    .limit(ENDED_AT_ONCE)
    .execute()
}

type RaiseKey = Pick<Selectable<BudgetRaiseTable>, 'account_id' | 'budget_id' | 'id'>

async function alertOfEnd(inside: Kysely<Database>, raise: RaiseKey, now: number): Promise<void> {
  const { account_id: accountId, budget_id: budgetId, id } = raise
  await lockCredit(inside, accountId)
  const marked = await inside
    .updateTable('budget_raise')
    .set({ end_alerted: 1 })
    .where(({ and }) => and({ account_id: accountId, budget_id: budgetId, id, end_alerted: 0 }))
    .executeTakeFirst()
  if (marked.numUpdatedRows > 0n) await alertOfSettings(inside, { accountId, ids: [budgetId], now })
}

export function unknownBudget(): GatewayError {
  return new GatewayError('not_found', 'No budget of the account has this ID.')
}
