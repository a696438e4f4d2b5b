/** `/billing`: top-ups by Stripe Checkout, the saved payment method, automatic recharge, and the payments of an account. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { PaymentAccountTable, PaymentTable } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, PaymentId } from '../../domain/ids.ts'
import { type NanoUsd, parseNanoUsd, usdNumber } from '../../domain/money.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { requesterOf } from '../../http/request-origin.ts'
import { closed, oneOf, textOrNull, usd } from '../../http/wire-fields.ts'
import { isoTime, isoTimeOrNull } from '../../lib/time.ts'
import type { ListDeps, WriteAudit } from '../deps.ts'
import { ACCOUNT, asCaller, NANO_USD_PER_CENT, PAYMENT, type StripeConnection } from './settle.ts'
import { changePaymentAccount, insertPayment, listPayments, readPaymentAccount, updatePayment } from './store.ts'

export interface BillingDeps extends ListDeps {
  readonly writeAudit: WriteAudit
  /** Undefined: there are no payments. */
  readonly stripe: StripeConnection | undefined
  /** Without trailing slash. */
  readonly publicUrl: string
}

/** Amounts of one payment. */
const LEAST_USD = 1
const MOST_USD = 100_000
/** After that the page of a top-up expires. */
const SESSION_SECONDS = 3_600

const Amount = (description: string) =>
  Type.Number({ minimum: LEAST_USD, maximum: MOST_USD, description: `USD, in whole cents. ${description}` })
const RechargeInput = closed({
  below_usd: Type.Number({ minimum: 0, maximum: MOST_USD, description: 'USD: a balance below it is recharged.' }),
  add_usd: Amount('Charged and added.'),
  monthly_limit_usd: Amount('Most that is charged in a calendar month (UTC).'),
})
const RechargeView = Type.Object({
  below_usd: usd('A balance below it is recharged.'),
  add_usd: usd('Charged and added.'),
  monthly_limit_usd: usd('Most that is charged in a calendar month (UTC).'),
  error: textOrNull('Why the last recharge failed; nothing is charged until the settings are sent again.'),
})
const BillingView = Type.Object({
  object: Type.Literal('billing'),
  payments_enabled: Type.Boolean({ description: 'Whether credit can be purchased.' }),
  payment_method: Type.Union([Type.Object({ brand: Type.String(), last4: Type.String() }), Type.Null()], {
    description: 'Saved for automatic recharge. Null: none.',
  }),
  auto_recharge: Type.Union([RechargeView, Type.Null()], { description: 'Null: off.' }),
})
const PaymentView = Type.Object({
  id: Type.String(),
  object: Type.Literal('payment'),
  kind: oneOf(['top_up', 'recharge'], { description: 'recharge: charged automatically.' }),
  status: oneOf(['pending', 'succeeded', 'failed'], { description: 'succeeded: its credit is in the ledger.' }),
  amount_usd: usd('Amount.'),
  error: textOrNull('Why it failed.'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
  ended_at: textOrNull('ISO 8601 UTC. Null: pending.'),
})

const config = { scope: 'billing' } as const
const tags = ['Credit']
const readSchema = {
  summary: 'Get payment settings',
  description: 'Returns the saved payment method and the automatic recharge.',
  tags,
  response: { 200: BillingView },
}
const changeSchema = {
  summary: 'Change automatic recharge',
  description:
    'Charges the saved payment method, as soon as there is one, whenever the balance is below `below_usd`. `null` turns it off. Sent again after a failure, it tries again.',
  tags,
  body: closed({ auto_recharge: Type.Union([RechargeInput, Type.Null()]) }),
  response: { 200: BillingView },
}
const topUpSchema = {
  summary: 'Purchase credit',
  description: "Returns the address of Stripe's page for the payment. The credit is there seconds after it.",
  tags,
  body: closed({
    usd: Amount('Amount.'),
    save_payment_method: Type.Optional(Type.Boolean({ default: false, description: 'For automatic recharge.' })),
  }),
  response: {
    201: Type.Object({ ...PaymentView.properties, url: Type.String({ description: 'Page of the payment.' }) }),
  },
}
const listSchema = {
  summary: 'List payments',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(PaymentView) },
}
const removeSchema = {
  summary: 'Remove the saved payment method',
  description: 'Also turns automatic recharge off.',
  tags,
  response: { 204: Type.Null() },
}

export function billingRoutes(deps: BillingDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, cursorKey, stripe } = deps
  return async (app) => {
    app.get('/billing', { config, schema: readSchema }, async (request) => {
      return renderBilling(deps, await readPaymentAccount(db, callerOf(request).accountId))
    })
    app.patch('/billing', { config, schema: changeSchema }, async (request) => {
      const { accountId } = callerOf(request)
      await changeRecharge(deps, request, request.body.auto_recharge)
      return renderBilling(deps, await readPaymentAccount(db, accountId))
    })
    app.post('/billing/top-ups', { config, schema: topUpSchema }, async (request, reply) => {
      return reply.code(201).send(await topUp(deps, request, request.body))
    })
    app.get('/billing/payments', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding = { key: cursorKey, account: accountId, list: 'payments' }
      const read = (page: PageRequest<PaymentId>) => listPayments(db, accountId, page)
      return listPage({ query: request.query, binding, read, position: byId, render: renderPayment })
    })
    app.delete('/billing/payment-method', { config, schema: removeSchema }, async (request, reply) => {
      const { accountId } = callerOf(request)
      const { payment_method_id: method } = await readPaymentAccount(db, accountId)
      const none = { payment_method_id: null, card_brand: null, card_last4: null, ...NO_RECHARGE, changed_at: now() }
      await db.transaction().execute(async (inside) => {
        await changePaymentAccount(inside, accountId, none)
        await audit({ ...deps, db: inside }, request, { action: 'payment_method.removed', details: {} })
      })
      if (method !== null && stripe !== undefined)
        await asCaller(stripe.client().then((client) => client.paymentMethods.detach(method)))
      return reply.code(204).send(null)
    })
  }
}

const NO_RECHARGE = { below_nano_usd: null, add_nano_usd: null, month_nano_usd: null, recharge_error: null }

async function changeRecharge(
  deps: BillingDeps,
  request: FastifyRequest,
  input: Static<typeof RechargeInput> | null,
): Promise<void> {
  const { db, now, callerOf } = deps
  const terms = input === null ? NO_RECHARGE : parseRecharge(input)
  await db.transaction().execute(async (inside) => {
    await changePaymentAccount(inside, callerOf(request).accountId, { ...terms, changed_at: now() })
    const details = input === null ? { enabled: false } : { enabled: true, ...input }
    await audit({ ...deps, db: inside }, request, { action: 'auto_recharge.changed', details })
  })
}

function parseRecharge({ below_usd, add_usd, monthly_limit_usd }: Static<typeof RechargeInput>) {
  if (monthly_limit_usd < add_usd) {
    const message = "'auto_recharge.monthly_limit_usd' must be at least 'add_usd'; otherwise nothing is ever charged."
    throw new GatewayError('invalid_value', message, { param: 'auto_recharge.monthly_limit_usd' })
  }
  return {
    below_nano_usd: parseCents(below_usd, 'auto_recharge.below_usd'),
    add_nano_usd: parseCents(add_usd, 'auto_recharge.add_usd'),
    month_nano_usd: parseCents(monthly_limit_usd, 'auto_recharge.monthly_limit_usd'),
    recharge_error: null,
  }
}

function parseCents(amount: number, param: string): NanoUsd {
  const nanoUsd = parseNanoUsd(amount)
  if (nanoUsd !== undefined && nanoUsd % NANO_USD_PER_CENT === 0n) return nanoUsd
  throw new GatewayError('invalid_value', `'${param}' must be in whole cents.`, { param })
}

async function topUp(
  deps: BillingDeps,
  request: FastifyRequest,
  { usd: amount, save_payment_method: saves = false }: { readonly usd: number; readonly save_payment_method?: boolean },
): Promise<Static<typeof PaymentView> & { readonly url: string }> {
  const { db, ids, now, callerOf, publicUrl } = deps
  const stripe = requireStripe(deps)
  const { accountId } = callerOf(request)
  const nanoUsd = parseCents(amount, 'usd')
  const customer = await asCaller(customerOf(deps, stripe, accountId))
  const id = ids.payment()
  const row = { account_id: accountId, id, kind: 'top_up', amount_nano_usd: nanoUsd, created_at: now() } as const
  await db.transaction().execute(async (inside) => {
    await insertPayment(inside, { ...row, saves_method: saves ? 1 : 0 })
    await audit({ ...deps, db: inside }, request, { action: 'payment.started', subject: id, details: { usd: amount } })
  })
  const metadata = { [ACCOUNT]: accountId, [PAYMENT]: id }
  const page = `${publicUrl}/app/billing?payment=${id}`
  const client = await stripe.client()
  const session = await asCaller(
    client.checkout.sessions.create(
      {
        mode: 'payment',
        customer,
        metadata,
        line_items: [
          {
            quantity: 1,
            price_data: {
              currency: 'usd',
              unit_amount: Number(nanoUsd / NANO_USD_PER_CENT),
              product_data: { name: 'Credit' },
            },
          },
        ],
        payment_intent_data: { metadata, ...(saves && { setup_future_usage: 'off_session' as const }) },
        expires_at: Math.floor(now() / 1_000) + SESSION_SECONDS,
        success_url: page,
        cancel_url: page,
      },
      { idempotencyKey: `turnpike ${id}` },
    ),
  )
  await updatePayment(db, { accountId, id }, { session_id: session.id })
  const view = renderPayment({ ...row, status: 'pending', error: null, ended_at: null })
  return { ...view, url: session.url ?? page }
}

function requireStripe({ stripe }: BillingDeps): StripeConnection {
  if (stripe !== undefined) return stripe
  throw new GatewayError('conflict', 'This gateway takes no payments: STRIPE_SECRET_KEY is not set.')
}

/** One customer of Stripe for each account, also if it is asked for several times at once. */
async function customerOf({ db, now }: BillingDeps, stripe: StripeConnection, accountId: AccountId): Promise<string> {
  const known = (await readPaymentAccount(db, accountId)).customer_id
  if (known !== null) return known
  const client = await stripe.client()
  const { id } = await client.customers.create(
    { metadata: { [ACCOUNT]: accountId } },
    { idempotencyKey: `turnpike customer ${accountId}` },
  )
  await changePaymentAccount(db, accountId, { customer_id: id, changed_at: now() })
  return id
}

interface Audited {
  readonly action: string
  readonly subject?: string
  readonly details: Readonly<Record<string, string | number | boolean>>
}

async function audit(
  { db, writeAudit, callerOf }: Pick<BillingDeps, 'db' | 'writeAudit' | 'callerOf'>,
  request: FastifyRequest,
  { action, subject, details }: Audited,
): Promise<void> {
  const { audited } = requesterOf(request, callerOf(request))
  await writeAudit(db, { ...audited, action, subject, result: 'done', details })
}

function renderBilling({ stripe }: BillingDeps, row: PaymentAccountTable): Static<typeof BillingView> {
  const { below_nano_usd: below, add_nano_usd: add, month_nano_usd: most } = row
  const isOn = below !== null && add !== null && most !== null
  return {
    object: 'billing',
    payments_enabled: stripe !== undefined,
    payment_method:
      row.payment_method_id === null ? null : { brand: row.card_brand ?? '', last4: row.card_last4 ?? '' },
    auto_recharge: isOn
      ? {
          below_usd: usdNumber(below),
          add_usd: usdNumber(add),
          monthly_limit_usd: usdNumber(most),
          error: row.recharge_error,
        }
      : null,
  }
}

function renderPayment(
  row: Pick<PaymentTable, 'id' | 'kind' | 'status' | 'amount_nano_usd' | 'error' | 'created_at' | 'ended_at'>,
): Static<typeof PaymentView> {
  return {
    id: row.id,
    object: 'payment',
    kind: row.kind,
    status: row.status,
    amount_usd: usdNumber(row.amount_nano_usd),
    error: row.error,
    created_at: isoTime(row.created_at),
    ended_at: isoTimeOrNull(row.ended_at),
  }
}
