/** Temporary raises of budgets, each with its reason in the audit log. */
import { GatewayError } from '../../../domain/errors.ts'
import type { BudgetId } from '../../../domain/ids.ts'
import { type NanoUsd, usdText } from '../../../domain/money.ts'
import type { AuditedRequest } from '../../../http/request-origin.ts'
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
      .set({ ends_at: now() })
      .where(({ and }) => and({ account_id: accountId, budget_id: budgetId, id: raiseId }))
      .where('ends_at', '>', now())
      .executeTakeFirst()
    if (ended.numUpdatedRows === 0n) throw unknownBudget()
    await alertOfSettings(inside, { accountId, ids: [budgetId], now: now() })
    const details = { raise: raiseId }
    await writeAudit(inside, { ...audited, action: 'budget.raise_ended', subject: budgetId, result: 'done', details })
  })
}

export function unknownBudget(): GatewayError {
  return new GatewayError('not_found', 'No budget of the account has this ID.')
}
