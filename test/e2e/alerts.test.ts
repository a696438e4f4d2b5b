/** What an account is told of its credit, from completions through the ledger to a receiver, to the nano-dollar. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { OpenedDatabase } from '../../src/db/database.ts'
import type { AccountId } from '../../src/domain/ids.ts'
import { usdNumber } from '../../src/domain/money.ts'
import { errorOf, eventually, getJson, send } from '../support/client.ts'
import { openLocation } from '../support/database.ts'
import { type Gateway, model, oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, type LedgerRow, race, reconcile, reportsMaxTokens } from '../support/ledger/money.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { type Received, type Receiver, startReceiver } from '../support/webhooks/receiver.ts'
import { customerOf, LOOPBACK_ALLOWED, type WireBody, type WireEvent } from '../support/webhooks/webhook-client.ts'

/** Nothing divides evenly: 7 tokens in and 100 out are 1 000 791.7 nano-dollars. */
const PRICED = {
  ...model('m1', 'up', 'up-model'),
  pricing: { input_per_million: 0.0131, output_per_million: 10.007 },
}
const COST = 1_000_792n
const ASK = { max_tokens: 100 }

const provider = await startFakeProvider(reportsMaxTokens)
let gateways: readonly [Gateway, Gateway]
let database: OpenedDatabase
let receiver: Receiver
let operator: string

before(async () => {
  const plans = { wide: { requests_per_minute: 100_000 } }
  const config = oneModel(provider.url, {}, { models: [PRICED], plans, ...LOOPBACK_ALLOWED })
  const first = await startGateway({ config })
  gateways = [first, await startGateway({ config, dataDir: first.dataDir })]
  database = await openLocation(first.database)
  receiver = await startReceiver()
  operator = await first.key('--operator')
})

after(async () => {
  await receiver?.close()
  await database?.close()
  for (const gateway of gateways?.toReversed() ?? []) await gateway.stop()
  await provider.close()
})

interface Account {
  readonly id: AccountId
  readonly key: string
}

/** Prepaid, with so much credit. */
async function prepaid(usd: number): Promise<Account> {
  const made = await operate<{ readonly id: AccountId }>('/v1/admin/accounts', { name: 'spender', plan: 'wide' })
  await grant(made.id, usd)
  return { id: made.id, key: await gateways[0].key('--account', made.id) }
}

async function grant(id: AccountId, usd: number): Promise<void> {
  await operate(`/v1/admin/accounts/${id}/credits`, { kind: 'grant', usd })
}

async function operate<T>(path: string, body: object): Promise<T> {
  const answer = await send(gateways[0], path, { key: operator, body })
  assert.equal(answer.status, 201, answer.text)
  return JSON.parse(answer.text) as T
}

/** Asks for completions at once, by two processes in turn, until nothing is held any more. @returns How many were answered. */
async function complete({ key }: Account, count: number): Promise<number> {
  const answers = await race(gateways, { key, count, body: ASK })
  for (const answer of answers) if (answer.status !== 200) assert.equal(answer.status, 402, answer.text)
  await eventually(
    () => usageOf(key),
    ({ held_usd: held }) => held === 0,
  )
  return answers.filter(({ status }) => status === 200).length
}

interface Usage {
  readonly total_cost_usd: number
  readonly credit_remaining_usd: number
  readonly held_usd: number
}

const usageOf = (key: string): Promise<Usage> => getJson(gateways[0], key, '/v1/usage')

/** `event, basis, threshold, spent, limit` in nano-dollars. */
async function alertsOf({ id }: Account): Promise<readonly string[]> {
  const rows = await database.db.selectFrom('usage_alert').selectAll().where('account_id', '=', id).execute()
  return rows
    .map((row) => [row.event, row.basis, row.threshold, row.spent_nano_usd, row.limit_nano_usd].join(' '))
    .sort()
}

/** What was charged until the balance was this, by the ledger. */
async function chargedUntil({ key }: Account, balanceUsd: number): Promise<number> {
  const rows = (await everyRow<LedgerRow>(gateways[0], key, '/v1/ledger')).toReversed()
  const last = rows.findIndex(({ kind, balance_usd }) => kind === 'charge' && balance_usd === balanceUsd)
  assert.ok(last >= 0, `the ledger had a balance of ${balanceUsd}`)
  const charges = rows.slice(0, last + 1).filter(({ kind }) => kind === 'charge')
  const nanoUsd = charges.reduce((sum, { amount_usd: usd }) => sum + BigInt(Math.round(-usd * 1e9)), 0n)
  return usdNumber(nanoUsd)
}

const SPENT_UP = [
  `credit.exhausted credit 100 ${9n * COST} 10000000`,
  `usage.alert credit 100 ${9n * COST} 10000000`,
  `usage.alert credit 50 ${5n * COST} 10000000`,
  `usage.alert credit 80 ${8n * COST} 10000000`,
]

test('INV-3: two processes that spend an account’s credit in a race write each alert once, with the figures of the ledger', async () => {
  const account = await prepaid(0.01)
  assert.equal(await complete(account, 40), 9)
  const [refused] = await race(gateways, { key: account.key, count: 1, body: ASK })
  assert.equal(refused && errorOf(refused).code, 'insufficient_credit')
  assert.deepEqual(await alertsOf(account), SPENT_UP)
  const { total_cost_usd: spent, credit_remaining_usd: left } = await usageOf(account.key)
  assert.deepEqual([spent, left], [0.009007128, 0.000992872])
  assert.equal(await chargedUntil(account, left), spent)
  await grant(account.id, 0.003)
  assert.equal(await complete(account, 10), 3)
  assert.equal(await complete(account, 1), 0)
  assert.deepEqual(await alertsOf(account), SPENT_UP, 'a month is told once, whatever is bought')
  assert.equal((await reconcile(gateways[0], account.key)).ok, true)
})

test('exhausted credit raises an alert within a budget as well, whatever the thresholds', async () => {
  const account = await prepaid(0.003)
  const body = { monthly_budget_usd: 0.005, alert_thresholds: [40] }
  const patched = await send(gateways[0], '/v1/account', { key: account.key, method: 'PATCH', body })
  assert.equal(patched.status, 200, patched.text)
  assert.equal(await complete(account, 6), 2)
  assert.equal(await complete(account, 2), 0)
  assert.deepEqual(await alertsOf(account), [
    `credit.exhausted credit 100 ${2n * COST} 3000000`,
    `usage.alert budget 40 ${2n * COST} 5000000`,
  ])
  const spent = await prepaid(1)
  await send(gateways[0], '/v1/account', { key: spent.key, method: 'PATCH', body: { monthly_budget_usd: 0.0012 } })
  assert.equal(await complete(spent, 3), 1)
  await complete(spent, 1)
  assert.deepEqual(
    (await alertsOf(spent)).filter((alert) => alert.startsWith('credit.')),
    [],
    'a budget that is used up leaves the credit',
  )
})

const NEWS = ['usage.alert', 'credit.exhausted']

/** The job that makes events of alerts runs every few seconds; this brings it forward. */
async function tellNow(account: Account): Promise<void> {
  const untold = database.db.selectFrom('usage_alert').select('event').where('told', '=', 0)
  await eventually(
    async () => {
      await runAlertsNow()
      return untold.where('account_id', '=', account.id).execute()
    },
    (rows) => rows.length === 0,
  )
}

async function runAlertsNow(): Promise<void> {
  const job = database.db.updateTable('job').set({ run_at: 0 }).where('kind', '=', 'webhooks.alerts')
  await job.where('ended_at', 'is', null).where('owner', 'is', null).where('ready', '=', 0).execute()
}

/** Verified by a library that is not ours. */
function eventIn({ bytes, headers }: Received, secret: string): WireBody {
  const text = bytes.toString()
  new Webhook(secret).verify(text, headers)
  return JSON.parse(text) as WireBody
}

function monthOf(time: string): { readonly period_start: string; readonly period_end: string } {
  const [year, month] = [new Date(time).getUTCFullYear(), new Date(time).getUTCMonth()]
  const isoMonth = (at: number) => new Date(Date.UTC(year, at)).toISOString()
  return { period_start: isoMonth(month), period_end: isoMonth(month + 1) }
}

test('WH-1: a receiver receives each alert once, signed, with the figures of /v1/usage and of the ledger', async () => {
  const account = await prepaid(0.01)
  const customer = customerOf(gateways[0], account.key)
  const { id, secret } = await customer.create({ url: `${receiver.url}/alerts`, events: NEWS })
  assert.equal(await complete(account, 30), 9)
  assert.equal(await complete(account, 4), 0)
  await tellNow(account)
  const received = (await receiver.until('/alerts', 5)).map((each) => eventIn(each, secret))
  const news = received.filter(({ type }) => type !== 'webhook.test')
  const { total_cost_usd: spent, credit_remaining_usd: left } = await usageOf(account.key)
  const common = { account_id: account.id, limit_usd: 0.01, ...monthOf(news[0]?.created_at ?? '') }
  const alert = (threshold: number, spentUsd: number) => ({
    ...common,
    basis: 'credit',
    threshold_percent: threshold,
    spent_usd: spentUsd,
  })
  const byName = new Map(news.map(({ type, data }) => [`${type} ${data['threshold_percent'] ?? ''}`.trim(), data]))
  assert.equal(byName.size, news.length, 'each once')
  assert.deepEqual(Object.fromEntries(byName), {
    'usage.alert 50': alert(50, 0.00500396),
    'usage.alert 80': alert(80, 0.008006336),
    'usage.alert 100': alert(100, spent),
    'credit.exhausted': { ...common, spent_usd: spent, credit_remaining_usd: left },
  })
  for (const { data } of news) {
    const balance = Math.round((0.01 - Number(data['spent_usd'])) * 1e9) / 1e9
    assert.equal(data['spent_usd'], await chargedUntil(account, balance))
  }
  const listed = await everyRow<WireEvent>(gateways[1], account.key, '/v1/events')
  assert.deepEqual(new Set(listed.map(({ id: event }) => event)), new Set(received.map(({ event_id: event }) => event)))
  const deliveries = await eventually(
    () => customer.deliveries(id),
    (all) => all.every(({ status }) => status === 'delivered'),
  )
  assert.deepEqual(
    deliveries.map(({ attempts }) => attempts.length),
    [1, 1, 1, 1, 1],
  )
  assert.equal(receiver.at('/alerts').length, 5)
})

test('a raise of a budget that ends by time sends the alerts of the lower limit, without another request', async () => {
  const account = await prepaid(1)
  const body = { level: 'account', budgets: [{ usd: 0.0025, window: 'total' }] }
  const set = await send(gateways[0], '/v1/budgets', { key: account.key, method: 'PUT', body })
  assert.equal(set.status, 200, set.text)
  const { id } = JSON.parse(set.text).data[0]
  const raise = { usd: 1, ends_at: new Date(Date.now() + 3_600_000).toISOString(), reason: 'launch' }
  const raised = await send(gateways[1], `/v1/budgets/${id}/raises`, { key: account.key, body: raise })
  assert.equal(raised.status, 201, raised.text)
  assert.equal(await complete(account, 3), 3)
  const alerts = async () => {
    await runAlertsNow()
    const events = await everyRow<WireEvent>(gateways[1], account.key, '/v1/events?type=budget.alert')
    return events.map(({ data }) => `${data['threshold_percent']}% ${data['spent_usd']}/${data['limit_usd']}`).sort()
  }
  assert.deepEqual(await alerts(), [])
  await database.db.updateTable('budget_raise').set({ ends_at: Date.now() }).where('budget_id', '=', id).execute()
  const expected = [50, 80, 100].map((threshold) => `${threshold}% 0.003002376/0.0025`).sort()
  assert.deepEqual(await eventually(alerts, ({ length }) => length === 3), expected)
})
