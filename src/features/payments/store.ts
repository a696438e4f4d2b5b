/** Payments in the database. Credit is in the ledger alone; a payment says whether it was entered there. */
import type { Kysely } from 'kysely'
import type { Database, PaymentAccountTable, PaymentTable } from '../../db/schema/schema.ts'
import { type PageOf, pageBy } from '../../db/shared-queries.ts'
import type { AccountId, PaymentId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'

export interface PaymentReference {
  readonly accountId: AccountId
  readonly id: PaymentId
}

export async function findPayment(
  db: Kysely<Database>,
  { accountId, id }: PaymentReference,
): Promise<PaymentTable | undefined> {
  return db
    .selectFrom('payment')
    .selectAll()
    .where(({ and }) => and({ account_id: accountId, id }))
    .executeTakeFirst()
}

/** By creation; IDs sort by time. */
export function listPayments(
  db: Kysely<Database>,
  accountId: AccountId,
  page: PageOf,
): Promise<readonly PaymentTable[]> {
  return db.selectFrom('payment').selectAll().where('account_id', '=', accountId).$call(pageBy('id', page)).execute()
}

export async function insertPayment(
  db: Kysely<Database>,
  row: Pick<PaymentTable, 'account_id' | 'id' | 'kind' | 'amount_nano_usd' | 'created_at' | 'saves_method'>,
): Promise<void> {
  const open = { session_id: null, intent_id: null, error: null, ended_at: null }
  await db
    .insertInto('payment')
    .values({ ...row, ...open, status: 'pending' })
    .execute()
}

export async function updatePayment(
  db: Kysely<Database>,
  { accountId, id }: PaymentReference,
  changes: Partial<Pick<PaymentTable, 'session_id' | 'intent_id'>>,
): Promise<void> {
  await db
    .updateTable('payment')
    .set(changes)
    .where(({ and }) => and({ account_id: accountId, id }))
    .execute()
}

/** Ends a payment that is pending; one that failed can still succeed, and not the other way round. */
export async function endPayment(
  db: Kysely<Database>,
  { accountId, id }: PaymentReference,
  {
    ended,
    ...changes
  }: Pick<PaymentTable, 'status' | 'error'> & {
    readonly intent_id?: string
    readonly ended: number
  },
): Promise<void> {
  await db
    .updateTable('payment')
    .set({ ...changes, ended_at: ended })
    .where(({ and }) => and({ account_id: accountId, id }))
    .where('status', '!=', 'succeeded')
    .$if(changes.status === 'failed', (query) => query.where('status', '=', 'pending'))
    .execute()
}

const NOTHING: Omit<PaymentAccountTable, 'account_id'> = {
  customer_id: null,
  payment_method_id: null,
  card_brand: null,
  card_last4: null,
  below_nano_usd: null,
  add_nano_usd: null,
  month_nano_usd: null,
  recharge_error: null,
  changed_at: 0,
}

export async function readPaymentAccount(db: Kysely<Database>, accountId: AccountId): Promise<PaymentAccountTable> {
  const row = db.selectFrom('payment_account').selectAll().where('account_id', '=', accountId)
  return (await row.executeTakeFirst()) ?? { account_id: accountId, ...NOTHING }
}

export async function changePaymentAccount(
  db: Kysely<Database>,
  accountId: AccountId,
  changes: Partial<Omit<PaymentAccountTable, 'account_id'>> & { readonly changed_at: number },
): Promise<void> {
  await db
    .insertInto('payment_account')
    .values({ account_id: accountId, ...NOTHING, ...changes })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(changes))
    .execute()
}

/** Recharges of a month that count towards its limit, and whether one is pending. @param since Unix milliseconds. */
export async function rechargesSince(
  db: Kysely<Database>,
  accountId: AccountId,
  since: number,
): Promise<{ readonly nanoUsd: NanoUsd; readonly isPending: boolean }> {
  const rows = await db
    .selectFrom('payment')
    .select(['amount_nano_usd', 'status', 'created_at'])
    .where(({ and }) => and({ account_id: accountId, kind: 'recharge' }))
    .where(({ or, eb }) => or([eb('created_at', '>=', since), eb('status', '=', 'pending')]))
    .where('status', '!=', 'failed')
    .execute()
  const ofMonth = rows.filter(({ created_at: at }) => at >= since)
  return {
    nanoUsd: ofMonth.reduce((sum, { amount_nano_usd: each }) => sum + each, 0n),
    isPending: rows.some(({ status }) => status === 'pending'),
  }
}
