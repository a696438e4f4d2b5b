import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { testIds } from '../../../test/support/database.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { type SignedEvent, startStripe, WEBHOOK_SECRET } from '../../../test/support/payments/stripe-double.ts'
import type { AccountId } from '../../domain/ids.ts'
import { callerOf } from '../../http/caller.ts'
import { createHttpServer } from '../../http/server.ts'
import { auditWriter } from '../audit/log.ts'
import { type RechargeDeps, rechargeAll, reconcilePayments } from './recharge.ts'
import { billingRoutes } from './routes.ts'
import { connectStripe, type EntryPort, stripeWebhookRoute } from './settle.ts'
import { readPaymentAccount } from './store.ts'

async function setUp(t: TestContext) {
  const fixture = await openCreditFixture(t)
  const { db, now, credit } = fixture
  fixture.clock.now = Date.now()
  const double = await startStripe(t)
  const settings = { secret_key: 'sk_test_double', webhook_secret: WEBHOOK_SECRET, api_url: double.url }
  const stripe = connectStripe(settings)
  const writeAudit = auditWriter({ now, ids: testIds })
  const fault = { afterEntry: false }
  const entering: EntryPort = {
    async enter(...entry) {
      const entered = await credit.enter(...entry)
      if (fault.afterEntry) throw new Error('the process ends here')
      return entered
    },
  }
  const deps: RechargeDeps = { db, now, ids: testIds, credit: entering, writeAudit, stripe, log: { warn() {} } }
  const api = { db, now, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1), writeAudit }
  const ask = await serveRoutes(t, fixture, [billingRoutes({ ...api, stripe, publicUrl: 'https://gateway.example' })])
  const hooks = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    onError: () => {},
    draining: () => false,
  })
  t.after(() => hooks.close())
  await hooks.register(stripeWebhookRoute(deps))
  const send = async ({ body, headers }: SignedEvent) =>
    (await hooks.inject({ method: 'POST', url: '/stripe/webhook', headers, payload: body })).statusCode
  const account = await fixture.account('pro')
  const entries = async (accountId: AccountId = account.id) => {
    const rows = db.selectFrom('ledger').selectAll().where('account_id', '=', accountId).orderBy('number')
    return (await rows.execute()).map(({ kind, amount_nano_usd }) => [kind, amount_nano_usd])
  }
  const balance = async () => (await credit.read(account)).balanceNanoUsd
  const topUp = async (usd: number, save = false) => {
    const made = await ask('/billing/top-ups', account.id, {
      method: 'POST',
      body: { usd, save_payment_method: save },
    })
    assert.equal(made.status, 201, made.text)
    const row = db.selectFrom('payment').selectAll().where('account_id', '=', account.id).where('id', '=', made.body.id)
    const { session_id } = await row.executeTakeFirstOrThrow()
    return { id: made.body.id as string, sessionId: session_id ?? '' }
  }
  return { ...fixture, double, deps, ask, send, account, entries, balance, topUp, fault }
}

const statusOf = async ({ ask, account }: Awaited<ReturnType<typeof setUp>>, id: string) =>
  (await ask('/billing/payments', account.id)).body.data.find((each: { id: string }) => each.id === id)?.status

test('a top-up is credited once, however often and in whatever order its events arrive', async (t) => {
  const world = await setUp(t)
  const { double, send, entries, topUp } = world
  const { id, sessionId } = await topUp(20.5)
  const intent = double.payCheckout(sessionId)
  const events = [
    double.event('checkout.session.completed', double.objects('checkout.session')[0] ?? {}),
    double.event('payment_intent.succeeded', intent),
  ]
  for (const event of [...events, ...events.toReversed()]) assert.equal(await send(event), 200)
  assert.deepEqual(await Promise.all(events.map(send)), [200, 200])
  assert.deepEqual(await entries(), [['purchase', 20_500_000_000n]])
  assert.equal(await statusOf(world, id), 'succeeded')
  const audit = await world.db.selectFrom('audit').select('action').orderBy('id').execute()
  assert.deepEqual(
    audit.map(({ action }) => action),
    ['payment.started', 'credit.given'],
  )
})

test('a forged, changed or old event changes nothing', async (t) => {
  const { double, send, entries, topUp } = await setUp(t)
  const { sessionId } = await topUp(20)
  const intent = double.payCheckout(sessionId)
  const right = double.event('payment_intent.succeeded', intent)
  const wrong = [
    double.event('payment_intent.succeeded', intent, 'whsec_of_another'),
    double.event('payment_intent.succeeded', intent, WEBHOOK_SECRET, Math.floor(Date.now() / 1_000) - 3_600),
    { ...right, body: right.body.replace('2000', '2001') },
    { ...right, headers: { 'content-type': 'application/json' } },
  ]
  for (const event of wrong) assert.equal(await send(event), 400)
  assert.deepEqual(await entries(), [])
})

test('an event says nothing by itself: an unpaid or unknown payment is not credited', async (t) => {
  const { double, send, entries, topUp, account } = await setUp(t)
  const { id, sessionId } = await topUp(20)
  const claimed = { id: 'pi_none', object: 'payment_intent', status: 'succeeded', amount_received: 2_000 }
  assert.equal(await send(double.event('payment_intent.succeeded', claimed)), 200)
  const intent = double.payCheckout(sessionId)
  double.change(intent.id, { status: 'processing' })
  assert.equal(await send(double.event('payment_intent.succeeded', intent)), 200)
  double.change(intent.id, { status: 'succeeded', currency: 'eur' })
  assert.equal(await send(double.event('payment_intent.succeeded', intent)), 200)
  double.change(intent.id, {
    currency: 'usd',
    metadata: { turnpike_account: account.id, turnpike_payment: 'pay_none' },
  })
  assert.equal(await send(double.event('payment_intent.succeeded', intent)), 200)
  assert.deepEqual(await entries(), [])
  assert.ok(id)
})

test('a crash between payment and ledger, and a lost event: the payment is credited once', async (t) => {
  const world = await setUp(t)
  const { double, send, entries, topUp, fault, deps, clock } = world
  const first = await topUp(20)
  const intent = double.payCheckout(first.sessionId)
  fault.afterEntry = true
  assert.equal(await send(double.event('payment_intent.succeeded', intent)), 500)
  fault.afterEntry = false
  assert.equal(await send(double.event('payment_intent.succeeded', intent)), 200)
  const second = await topUp(7)
  double.payCheckout(second.sessionId)
  const third = await topUp(9)
  double.expire(third.sessionId)
  clock.now += 120_000
  await reconcilePayments(deps)
  await reconcilePayments(deps)
  assert.deepEqual(await entries(), [
    ['purchase', 20_000_000_000n],
    ['purchase', 7_000_000_000n],
  ])
  assert.deepEqual(
    [await statusOf(world, first.id), await statusOf(world, second.id), await statusOf(world, third.id)],
    ['succeeded', 'succeeded', 'failed'],
  )
})

test('refunds and disputes become debits, and what is returned a refund; the order of events does not matter', async (t) => {
  const { double, send, balance, topUp } = await setUp(t)
  double.state.pageSize = 1
  let expected = 0n
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(), { minLength: 5, maxLength: 12 }), async (order) => {
      const { sessionId } = await topUp(50)
      const intent = double.payCheckout(sessionId)
      const events = [double.event('payment_intent.succeeded', intent)]
      const refund = double.refund(intent.id, 1_000)
      events.push(
        double.event('refund.created', refund),
        double.event('charge.refunded', { object: 'charge', id: 'ch', payment_intent: intent.id }),
      )
      const failed = double.refund(intent.id, 700)
      events.push(double.event('refund.created', failed))
      const won = double.dispute(intent.id, 500)
      const lost = double.dispute(intent.id, 300, 'lost')
      events.push(double.event('charge.dispute.created', won), double.event('charge.dispute.closed', lost))
      const half = order.length / 2
      for (const [index, chosen] of order.entries()) {
        if (index >= half) {
          double.change(failed.id, { status: 'failed' })
          double.change(won.id, { status: 'won' })
        }
        const event = events[chosen % events.length]
        assert.ok(event)
        assert.equal(await send(event), 200)
      }
      expected += (5_000n - 1_000n - 300n) * 10_000_000n
      assert.equal(await balance(), expected)
    }),
    { numRuns: 8 },
  )
})

async function withCard(t: TestContext) {
  const world = await setUp(t)
  const { double, send, topUp, ask, account } = world
  const { sessionId } = await topUp(10, true)
  await send(double.event('payment_intent.succeeded', double.payCheckout(sessionId)))
  const recharge = (body: object | null) =>
    ask('/billing', account.id, { method: 'PATCH', body: { auto_recharge: body } })
  return { ...world, recharge }
}

const TERMS = { below_usd: 15, add_usd: 20, monthly_limit_usd: 50 }

test('a balance below the threshold is recharged once at a time, up to the limit of the month', async (t) => {
  const world = await withCard(t)
  const { recharge, deps, balance, spend, account, double, clock, ask } = world
  const set = await recharge(TERMS)
  assert.deepEqual(set.body, {
    object: 'billing',
    payments_enabled: true,
    payment_method: { brand: 'visa', last4: '4242' },
    auto_recharge: { ...TERMS, error: null },
  })
  await Promise.all([rechargeAll(deps), rechargeAll(deps), rechargeAll(deps)])
  assert.equal(await balance(), 30_000_000_000n)
  await spend(account, { costNanoUsd: 29_000_000_000n })
  await rechargeAll(deps)
  await rechargeAll(deps)
  assert.equal(await balance(), 21_000_000_000n)
  await spend(account, { costNanoUsd: 20_000_000_000n })
  await rechargeAll(deps)
  assert.equal(await balance(), 1_000_000_000n, 'a third would exceed the limit of the month')
  clock.now += 32 * 86_400_000
  await rechargeAll(deps)
  assert.equal(await balance(), 21_000_000_000n)
  assert.equal(double.calls.filter((call) => call === 'POST /v1/payment_intents').length, 3)
  assert.equal((await ask('/billing/payment-method', account.id, { method: 'DELETE' })).status, 204)
  await spend(account, { costNanoUsd: 20_000_000_000n })
  await rechargeAll(deps)
  assert.equal(await balance(), 1_000_000_000n)
  await recharge(TERMS)
  await rechargeAll(deps)
  assert.equal(await balance(), 1_000_000_000n, 'there is nothing to charge')
})

test('a declined card is not charged again until the settings are sent again', async (t) => {
  const { recharge, deps, balance, double, ask, account } = await withCard(t)
  await recharge(TERMS)
  double.state.declines = true
  await rechargeAll(deps)
  await rechargeAll(deps)
  assert.equal((await ask('/billing', account.id)).body.auto_recharge.error, 'card_declined')
  assert.equal(double.calls.filter((call) => call === 'POST /v1/payment_intents').length, 1)
  double.state.declines = false
  await recharge(TERMS)
  await rechargeAll(deps)
  assert.equal(await balance(), 30_000_000_000n)
})

test('a recharge whose payment method Stripe no longer knows fails at once', async (t) => {
  const { recharge, deps, double, ask, account, clock } = await withCard(t)
  const tooLow = await recharge({ ...TERMS, monthly_limit_usd: 19.99 })
  assert.deepEqual([tooLow.status, tooLow.body.error.param], [400, 'auto_recharge.monthly_limit_usd'])
  await recharge(TERMS)
  double.state.lacksMethod = true
  await rechargeAll(deps)
  assert.equal((await ask('/billing', account.id)).body.auto_recharge.error, 'resource_missing')
  clock.now += 120_000
  await reconcilePayments(deps)
  assert.equal(double.calls.filter((call) => call === 'POST /v1/payment_intents').length, 1)
})

test('a recharge that was paid does not fail because Stripe refuses to show it', async (t) => {
  const { recharge, deps, double, ask, account, clock, entries } = await withCard(t)
  await recharge(TERMS)
  double.state.refusesReads = true
  await rechargeAll(deps)
  assert.equal((await ask('/billing', account.id)).body.auto_recharge.error, null)
  double.state.refusesReads = false
  clock.now += 120_000
  await reconcilePayments(deps)
  assert.deepEqual(await entries(), [
    ['purchase', 10_000_000_000n],
    ['purchase', 20_000_000_000n],
  ])
})

test('a process that looked before a recharge failed does not repeat it', async (t) => {
  const { db, recharge, deps, double, account, spend } = await withCard(t)
  await recharge(TERMS)
  const other = { id: 'acc_other' as AccountId, name: 'other', plan: 'pro' }
  await db
    .insertInto('account')
    .values({ ...other, created_at: 1, changed_at: 1 })
    .execute()
  await spend({ ...account, ...other }, { costNanoUsd: 1_000n })
  const settings = { ...(await readPaymentAccount(db, account.id)), account_id: other.id }
  await db.insertInto('payment_account').values(settings).execute()
  double.state.declines = true
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const client = async () => {
    begun.resolve()
    await gate.promise
    return await deps.stripe.client()
  }
  const late = rechargeAll({ ...deps, stripe: { ...deps.stripe, client } })
  await begun.promise
  await rechargeAll(deps)
  gate.resolve()
  await late
  assert.equal(double.calls.filter((call) => call === 'POST /v1/payment_intents').length, 2, 'one for each account')
})

test('a recharge whose answer was lost is repeated with its key, and credited once', async (t) => {
  const { recharge, deps, entries, double, fault, clock } = await withCard(t)
  await recharge(TERMS)
  double.state.isDown = true
  await rechargeAll(deps)
  double.state.isDown = false
  await rechargeAll(deps)
  assert.equal((await entries()).length, 1, 'the pending one is not begun again')
  clock.now += 120_000
  fault.afterEntry = true
  await reconcilePayments(deps)
  fault.afterEntry = false
  await reconcilePayments(deps)
  await rechargeAll(deps)
  assert.deepEqual(await entries(), [
    ['purchase', 10_000_000_000n],
    ['purchase', 20_000_000_000n],
  ])
  assert.equal(double.objects('payment_intent').length, 2)
})

test('without Stripe there are no payments, and amounts are whole cents', async (t) => {
  const world = await setUp(t)
  const { ask, account, now, db } = world
  const asked = await ask('/billing/top-ups', account.id, { method: 'POST', body: { usd: 1.001 } })
  assert.deepEqual([asked.status, asked.body.error.param], [400, 'usd'])
  assert.equal((await ask('/billing', `${account.id} usage:read`)).status, 403)
  world.double.state.isDown = true
  const down = await ask('/billing/top-ups', account.id, { method: 'POST', body: { usd: 5 } })
  assert.deepEqual([down.status, down.body.error.code], [503, 'provider_error'])
  const writeAudit = auditWriter({ now, ids: testIds })
  const api = { db, now, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1), writeAudit }
  const off = await serveRoutes(t, world, [
    billingRoutes({ ...api, stripe: undefined, publicUrl: 'https://g.example' }),
  ])
  assert.equal((await off('/billing', account.id)).body.payments_enabled, false)
  assert.equal((await off('/billing/top-ups', account.id, { method: 'POST', body: { usd: 5 } })).status, 409)
})
