/** Background work of payments: automatic recharge, and payments whose event has not arrived. */
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { PaymentTable } from '../../db/schema/schema.ts'
import type { AccountId, IdSource } from '../../domain/ids.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import { monthNumber, monthStart } from '../../lib/time.ts'
import {
  ACCOUNT,
  failPayment,
  NANO_USD_PER_CENT,
  PAYMENT,
  type PaymentDeps,
  settleIntent,
  settleSession,
  stripeError,
} from './settle.ts'
import { findPayment, insertPayment, readPaymentAccount, rechargesSince, updatePayment } from './store.ts'

const RECHARGE_EVERY_MS = 10_000
const RECONCILE_EVERY_MS = 60_000
/** Events arrive within seconds. */
const LATE_MS = 60_000
/** Stripe keeps idempotency keys for a day: an attempt that is older must not be repeated. */
const REPEATABLE_MS = 23 * 3_600_000
/** Of one run. */
const PAYMENTS_AT_ONCE = 100
/** Errors that a repetition with the same idempotency key gets again: of the card, or of a customer that is gone. */
const FINAL: ReadonlySet<string> = new Set(['StripeCardError', 'StripeInvalidRequestError'])

export interface RechargeDeps extends PaymentDeps {
  readonly ids: Pick<IdSource, 'payment'>
}

export function paymentJobs(deps: RechargeDeps): Readonly<Record<string, JobKind>> {
  return {
    'payments.recharge': every(RECHARGE_EVERY_MS, () => rechargeAll(deps)),
    'payments.reconcile': every(RECONCILE_EVERY_MS, () => reconcilePayments(deps)),
  }
}

/** Recharges the accounts whose balance is below their threshold. */
export async function rechargeAll(deps: RechargeDeps): Promise<void> {
  const due = await deps.db
    .selectFrom('payment_account')
    .innerJoin('credit', 'credit.account_id', 'payment_account.account_id')
    .select('payment_account.account_id')
    .whereRef('credit.balance_nano_usd', '<', 'payment_account.below_nano_usd')
    .where('payment_account.payment_method_id', 'is not', null)
    .where('payment_account.recharge_error', 'is', null)
    .execute()
  for (const { account_id: accountId } of due) {
    const payment = await beginRecharge(deps, accountId)
    if (payment !== undefined) await withWarning(deps, payment, () => attempt(deps, payment))
  }
}

/** Decides under a lock, so that several processes begin one, and the limit of the month holds. */
async function beginRecharge({ db, now, ids }: RechargeDeps, accountId: AccountId): Promise<PaymentTable | undefined> {
  return db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, `payments of ${accountId}`)
    const {
      below_nano_usd: below,
      add_nano_usd: add,
      month_nano_usd: most,
      recharge_error: error,
    } = await readPaymentAccount(inside, accountId)
    const credit = await inside
      .selectFrom('credit')
      .select('balance_nano_usd')
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    if (below === null || add === null || most === null || error !== null) return undefined
    if (credit === undefined || credit.balance_nano_usd >= below) return undefined
    const { nanoUsd, isPending } = await rechargesSince(inside, accountId, monthStart(monthNumber(now())))
    if (isPending || nanoUsd + add > most) return undefined
    const id = ids.payment()
    const row = { account_id: accountId, id, kind: 'recharge', amount_nano_usd: add, created_at: now() } as const
    await insertPayment(inside, { ...row, saves_method: 0 })
    return findPayment(inside, { accountId, id })
  })
}

/** Charges the saved payment method. A repetition has the same idempotency key, and gets the same payment. */
async function attempt(deps: RechargeDeps, payment: PaymentTable): Promise<void> {
  const { account_id: accountId, id, amount_nano_usd: nanoUsd } = payment
  const { customer_id: customer, payment_method_id: method } = await readPaymentAccount(deps.db, accountId)
  if (customer === null || method === null) return failPayment(deps, payment, 'no_payment_method')
  const client = await deps.stripe.client()
  const intent = await client.paymentIntents
    .create(
      {
        amount: Number(nanoUsd / NANO_USD_PER_CENT),
        currency: 'usd',
        customer,
        payment_method: method,
        off_session: true,
        confirm: true,
        metadata: { [ACCOUNT]: accountId, [PAYMENT]: id },
      },
      { idempotencyKey: `turnpike ${id}` },
    )
    .catch((error: unknown) => endRefused(deps, payment, error))
  if (intent === undefined) return
  await updatePayment(deps.db, { accountId, id }, { intent_id: intent.id })
  await settleIntent(deps, intent.id)
}

/** Fails the payment where a repetition would be refused, too. Otherwise throws the error. */
async function endRefused(deps: RechargeDeps, payment: PaymentTable, error: unknown): Promise<undefined> {
  const known = stripeError(error)
  if (known === undefined || !FINAL.has(known.type)) throw error
  await failPayment(deps, payment, known.code ?? 'declined')
}

/** Looks at payments that are pending for longer than events take. */
export async function reconcilePayments(deps: RechargeDeps): Promise<void> {
  const pending = await deps.db
    .selectFrom('payment')
    .selectAll()
    .where('status', '=', 'pending')
    .where('created_at', '<', deps.now() - LATE_MS)
    .orderBy('created_at')
    .limit(PAYMENTS_AT_ONCE)
    .execute()
  for (const payment of pending) await withWarning(deps, payment, () => reconcileOne(deps, payment))
}

async function reconcileOne(deps: RechargeDeps, payment: PaymentTable): Promise<void> {
  const { intent_id: intentId, kind, created_at: createdAt } = payment
  if (intentId !== null) await settleIntent(deps, intentId)
  else if (payment.session_id !== null) await settleSession(deps, payment)
  else if (deps.now() - createdAt > REPEATABLE_MS) await failPayment(deps, payment, 'abandoned')
  else if (kind === 'recharge') await attempt(deps, payment)
}

/** One payment must not keep the others from being looked at. It stays pending and is looked at again. */
async function withWarning(deps: RechargeDeps, payment: PaymentTable, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    deps.log.warn(
      { err: error, account: payment.account_id, payment: payment.id },
      'a payment could not be settled yet',
    )
  }
}
