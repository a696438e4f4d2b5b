import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { CHAT, completionOf, errorOf, eventually, getJson, hello, send, usageReport } from '../support/client.ts'
import { model, oneModel, startGateway } from '../support/gateway.ts'
import {
  creditAtRest,
  creditOf,
  everyRow,
  type LedgerRow,
  race,
  reconcile,
  reportsMaxTokens,
  type UsageRow,
} from '../support/ledger/money.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

/** Output alone costs: 100 tokens are a thousandth of a dollar. */
const PRICED = { ...model('m1', 'up', 'up-model'), pricing: { input_per_million: 0, output_per_million: 10 } }

const PLANS = {
  wide: { requests_per_minute: 100_000 },
  reseller: { markup_percent: 25, request_fee_usd: 0.001 },
}
const provider = await startFakeProvider(reportsMaxTokens)
const config = oneModel(provider.url, {}, { models: [PRICED, model('m2', 'up', 'up-model')], plans: PLANS })
const gateway = await startGateway({ config })
const second = await startGateway({ config, dataDir: gateway.dataDir })
after(async () => {
  await second.stop()
  await gateway.stop()
  await provider.close()
})

/** A prepaid account with so much credit, and a key of it. */
async function prepaid(usd: string, ...flags: string[]) {
  return prepaidIn('wide', usd, ...flags)
}

async function prepaidIn(plan: string, usd: string, ...flags: string[]) {
  const account = await gateway.cli('accounts', 'create', '--name', 'racer', '--plan', plan)
  await gateway.cli('credits', 'grant', '--account', account, '--usd', usd, '--note', 'for the race')
  const key = await gateway.key('--account', account, ...flags)
  return { account, key }
}

for (const [name, gateways] of [
  ['one process', [gateway]],
  ['two processes on one file', [gateway, second]],
] as const) {
  test(`INV-3, F24: 200 concurrent requests with credit for 10, ${name}: exactly 10 are answered`, async () => {
    const { account, key } = await prepaid('0.01')
    const called = provider.calls.length
    const answers = await race(gateways, { key, count: 200, body: { max_tokens: 100 } })
    const statuses = Map.groupBy(answers, ({ status }) => status)
    assert.deepEqual([...statuses].map(([status, each]) => [status, each.length]).sort(), [
      [200, 10],
      [402, 190],
    ])
    assert.equal(provider.calls.length - called, 10, 'who is refused reaches no provider')
    const credit = await creditAtRest(gateway, { account, key })
    assert.deepEqual([credit.balance_usd, credit.held_usd, credit.available_usd], [0, 0, 0])
    assert.equal((await reconcile(gateway, key)).ok, true)
    const refused = statuses.get(402)?.[0]
    assert.ok(refused)
    const error = errorOf(refused) as unknown as Record<string, unknown>
    assert.equal(error['type'], 'payment_required')
    assert.equal(error['code'], 'insufficient_credit')
    assert.equal(error['required_usd'], 0.001)
    assert.equal(error['available_usd'], 0)
    assert.equal(error['affordable_max_tokens'], 0)
    assert.equal(refused.headers['x-should-retry'], 'false')
  })
}

test('INV-11: a budget of the key is held in the same step as the credit of the account', async () => {
  const { account, key } = await prepaid('1', '--monthly-budget-usd', '0.005')
  const other = await gateway.key('--account', account)
  const answers = await race([gateway, second], { key, count: 40, body: { max_tokens: 100 } })
  assert.equal(answers.filter(({ status }) => status === 200).length, 5)
  const refused = answers.find(({ status }) => status === 402)
  assert.ok(refused)
  const error = errorOf(refused) as unknown as Record<string, unknown>
  assert.equal(error['code'], 'key_budget_exceeded')
  assert.match(String(error['resets_at']), /^\d{4}-\d\d-01T00:00:00\.000Z$/)
  assert.equal((await send(gateway, CHAT, { key: other, body: hello({ max_tokens: 100 }) })).status, 200)
  const credit = await creditAtRest(gateway, { account, key })
  assert.equal(credit.balance_usd, 0.994)
})

test('a budget of the account is set over HTTP, enforced immediately, and its error names the end of its window', async () => {
  const { key } = await prepaid('1')
  const body = { monthly_budget_usd: 0.002, alert_thresholds: [50, 100] }
  const patched = await send(gateway, '/v1/account', { key, method: 'PATCH', body })
  assert.equal(patched.status, 200, patched.text)
  const answers = await race([gateway], { key, count: 10, body: { max_tokens: 100 } })
  assert.equal(answers.filter(({ status }) => status === 200).length, 2)
  const refused = answers.find(({ status }) => status === 402)
  assert.ok(refused)
  assert.equal(errorOf(refused).code, 'account_budget_exceeded')
})

test('INV-10, INV-14: the charge equals the figures of the answer, the usage and the ledger', async () => {
  const { key } = await prepaid('0.5')
  const answer = await send(gateway, CHAT, { key, body: { ...hello({ max_tokens: 11 }), model: 'm2' } })
  assert.equal(answer.status, 200, answer.text)
  const { id, usage } = completionOf(answer)
  const cost = (7 * 1 + 11 * 2) / 1e6
  assert.equal(usage.cost, cost)
  assert.equal(answer.headers['x-turnpike-cost-usd'], '0.000029')
  const report = await eventually(
    () => usageReport(gateway, key),
    ({ total_cost_usd }) => total_cost_usd > 0,
  )
  assert.equal(report.total_cost_usd, cost)
  const rows = await everyRow<LedgerRow>(gateway, key, '/v1/ledger')
  assert.deepEqual(
    rows.map(({ kind, amount_usd, balance_usd, completion_id, note }) => [
      kind,
      amount_usd,
      balance_usd,
      completion_id,
      note,
    ]),
    [
      ['charge', -cost, 0.5 - cost, id, null],
      ['grant', 0.5, 0.5, null, 'for the race'],
    ],
  )
  assert.match(rows[0]?.id ?? '', /^led_[0-9A-Za-z]{20,}$/)
  assert.equal(rows[0]?.key_id?.startsWith('key_'), true)
  assert.ok(rows[0]?.price_version)
})

test('a request without max_tokens is sent with the affordable limit, and a header says so', async () => {
  const { key } = await prepaid('0.005')
  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const called = provider.calls.length
  const { response } = await client.chat.completions
    .create({ model: 'm1', messages: [{ role: 'user', content: 'hi' }] })
    .withResponse()
  assert.equal(JSON.parse(provider.calls[called]?.body ?? '{}').max_tokens, 500)
  assert.match(response.headers.get('x-turnpike-warnings') ?? '', /max_tokens/)
  await assert.rejects(
    client.chat.completions.create({ model: 'm1', messages: [{ role: 'user', content: 'hi' }] }),
    (error: InstanceType<typeof OpenAI.APIError>) => error.status === 402 && error.code === 'insufficient_credit',
  )
})

test('R-D6: reserved credit is shown while it is reserved', async () => {
  const { key } = await prepaid('1')
  const told = Promise.withResolvers<void>()
  provider.answer(async (call, reply) => {
    await told.promise
    await reportsMaxTokens(call, reply)
  })
  const running = send(gateway, CHAT, { key, body: hello({ max_tokens: 100 }) })
  const seen = await eventually(
    () => getJson<{ held_usd: number }>(gateway, key, '/v1/usage'),
    ({ held_usd }) => held_usd > 0,
  )
  provider.answer(reportsMaxTokens)
  told.resolve()
  assert.equal(seen.held_usd, 0.001)
  assert.equal((await running).status, 200)
  const rest = await eventually(
    () => getJson<{ held_usd: number; credit_remaining_usd: number }>(gateway, key, '/v1/usage'),
    ({ held_usd }) => held_usd === 0,
  )
  assert.equal(rest.credit_remaining_usd, 0.999)
})

test('the free plan has its allowance from the first moment, once, also after a change of plan', async () => {
  const account = await gateway.cli('accounts', 'create', '--name', 'free one', '--plan', 'free')
  const key = await gateway.key('--account', account)
  const report = await getJson<{ credit_remaining_usd: number }>(second, key, '/v1/usage')
  assert.equal(report.credit_remaining_usd, 5)
  await gateway.cli('accounts', 'set-plan', account, 'pro')
  await gateway.cli('accounts', 'set-plan', account, 'free')
  await race([gateway, second], { key, count: 6, body: { max_tokens: 1 } })
  const rows = await everyRow<LedgerRow>(gateway, key, '/v1/ledger?kind=grant')
  assert.deepEqual(
    rows.map(({ amount_usd }) => amount_usd),
    [5],
  )
})

test('INV-13: refusals of every kind charge nothing and reach no provider', async () => {
  const { account, key } = await prepaid('0.01')
  const called = provider.calls.length
  const refusals = [
    { key: 'tp_wrong', body: hello() },
    { key, body: {} },
    { key, body: hello({ max_tokens: 100_000, model: 'none' }) },
    { key, body: hello({ max_tokens: 1000, n: 16 }) },
  ]
  const statuses: number[] = []
  for (const refusal of refusals) statuses.push((await send(gateway, CHAT, refusal)).status)
  assert.deepEqual(statuses, [401, 400, 422, 402])
  assert.equal(provider.calls.length, called)
  assert.deepEqual(await creditOf(gateway, account), {
    account,
    balance_usd: 0.01,
    held_usd: 0,
    available_usd: 0.01,
  })
  assert.deepEqual(await everyRow<UsageRow>(gateway, key, '/v1/usage/completions'), [])
})

test('operators grant credit over HTTP, with an operator key only', async () => {
  const { account, key } = await prepaid('0.01')
  const operator = await gateway.key('--operator')
  const path = `/v1/admin/accounts/${account}/credits`
  const purchase = { kind: 'purchase', usd: 2.5, note: 'invoice 7' }
  assert.equal((await send(gateway, path, { key, body: purchase })).status, 403)
  const bought = await send(gateway, path, { key: operator, body: purchase })
  assert.equal(bought.status, 201, bought.text)
  const row = JSON.parse(bought.text) as LedgerRow
  assert.deepEqual(
    [row.object, row.kind, row.amount_usd, row.balance_usd, row.note],
    ['ledger_entry', 'purchase', 2.5, 2.51, 'invoice 7'],
  )
  const refund = await send(gateway, path, { key: operator, body: { kind: 'refund', usd: 0.5, note: 'sorry' } })
  assert.equal((JSON.parse(refund.text) as LedgerRow).balance_usd, 3.01)
  for (const body of [{ kind: 'charge', usd: 1 }, { kind: 'grant', usd: -1 }, { kind: 'grant', usd: 0 }, { usd: 1 }]) {
    assert.equal((await send(gateway, path, { key: operator, body })).status, 400, JSON.stringify(body))
  }
  assert.equal(
    (await send(gateway, '/v1/admin/accounts/acc_none/credits', { key: operator, body: purchase })).status,
    404,
  )
})

/** The report of all accounts is the sum of theirs, also where its period cuts hours and days. */
const ONLY_OF_ALL = '&group_by=account'

async function assertAllAddUp(operator: string): Promise<void> {
  type Report = {
    total_requests: number
    total_cost_usd: number
    total_margin_usd: number
    groups?: readonly { key: string; requests: number; margin_usd: number }[]
  }
  const { data } = await getJson<{ data: readonly { id: string }[] }>(gateway, operator, '/v1/admin/accounts?limit=100')
  const heldBy = (id: string) => getJson<{ held_usd: number }>(gateway, operator, `/v1/usage?account=${id}`)
  for (const { id } of data)
    await eventually(
      () => heldBy(id),
      ({ held_usd: held }) => held === 0,
    )
  const [start, end] = [-30 * 3_600_000, 1].map((ms) => new Date(Date.now() + ms).toISOString())
  for (const query of ['', '&group_by=day', ONLY_OF_ALL, `&group_by=model&period_start=${start}&period_end=${end}`]) {
    const read = (id: string) =>
      getJson<Report>(
        gateway,
        operator,
        `/v1/usage?account=${id}${id === 'all' ? query : query.replace(ONLY_OF_ALL, '')}`,
      )
    const [all, ...each] = await Promise.all([read('all'), ...data.map(({ id }) => read(id))])
    const totals = ({ total_requests, total_cost_usd, total_margin_usd }: Report) =>
      [total_requests, total_cost_usd, total_margin_usd].map((value) => Math.round(value * 1e9))
    const sums = each.map(totals).reduce((sum, one) => sum.map((value, at) => value + (one[at] ?? 0)))
    assert.ok(data.length > 2 && (sums[2] ?? 0) > 0)
    assert.deepEqual(totals(all), sums, query)
    const grouped = all.groups?.reduce((sum, { requests }) => sum + requests, 0)
    assert.equal(grouped, query === '' ? undefined : all.total_requests, query)
    if (query !== ONLY_OF_ALL) continue
    const margins = new Map(all.groups?.map(({ key, margin_usd: usd }) => [key, usd]))
    const ofEach = data.map(({ id }, at) => [id, each[at]?.total_margin_usd] as const)
    for (const [id, usd] of ofEach) assert.equal(margins.get(id) ?? 0, usd, id)
  }
}

interface MarkedRow extends UsageRow {
  readonly provider_cost_usd?: number
  readonly pricing: {
    readonly input_per_million: number
    readonly lines: readonly { readonly kind: string; readonly usd_per_million: number; readonly cost_usd: number }[]
  }
}

test('a plan’s markup and fee are in prices, holds and charges; operators alone see what providers cost', async () => {
  const { account, key } = await prepaidIn('reseller', '0.01')
  const listed = await getJson<{ pricing: { input_per_million: number; per_request_usd: number } }>(
    gateway,
    key,
    '/v1/models/m2',
  )
  assert.deepEqual([listed.pricing.input_per_million, listed.pricing.per_request_usd], [1.25, 0.001])
  const answer = await send(gateway, CHAT, { key, body: { ...hello({ max_tokens: 11 }), model: 'm2' } })
  assert.equal(answer.status, 200, answer.text)
  const { id, usage } = completionOf(answer)
  const [price, cost] = [0.001 + (7 * 1.25 + 11 * 2.5) / 1e6, (7 * 1 + 11 * 2) / 1e6]
  assert.equal(usage.cost, price)
  await creditAtRest(gateway, { account, key })
  const row = await getJson<MarkedRow>(gateway, key, `/v1/usage/completions/${id}`)
  assert.deepEqual([row.cost_usd, row.provider_cost_usd, row.pricing.input_per_million], [price, undefined, 1.25])
  assert.deepEqual(
    row.pricing.lines.map(({ kind, usd_per_million, cost_usd }) => [kind, usd_per_million, cost_usd]),
    [
      ['input', 1.25, 0.00000875],
      ['output', 2.5, 0.0000275],
      ['request', 0, 0.001],
    ],
  )
  const operator = await gateway.key('--account', account, '--operator')
  const margin = Math.round((price - cost) * 1e9) / 1e9
  const seen = await getJson<MarkedRow>(gateway, operator, `/v1/usage/completions/${id}`)
  assert.equal(seen.provider_cost_usd, cost)
  for (const path of ['/v1/usage?group_by=model', '/v1/usage?group_by=model,provider']) {
    type Margins = { total_margin_usd?: number; groups: readonly { margin_usd?: number }[] }
    const own = await getJson<Margins>(gateway, operator, path)
    assert.deepEqual([own.total_margin_usd, own.groups.map((each) => each.margin_usd)], [margin, [margin]], path)
    const { total_margin_usd: hidden, groups } = await getJson<Margins>(gateway, key, path)
    assert.deepEqual([hidden, groups.map((each) => each.margin_usd)], [undefined, [undefined]], path)
  }
  const [elsewhere, all] = [await gateway.key('--operator'), await gateway.key()]
  for (const query of ['', '&group_by=model', '&group_by=model,provider', '&period_start=2020-01-01']) {
    const path = `/v1/usage?account=${account}${query}`
    type Report = { total_margin_usd: number; total_cost_usd: number; credit_remaining_usd: number; held_usd: number }
    const report = await getJson<Report>(gateway, elsewhere, path)
    const { total_margin_usd, total_cost_usd, credit_remaining_usd } = report
    assert.deepEqual([total_margin_usd, total_cost_usd, credit_remaining_usd], [margin, price, 0.01 - price], path)
    for (const other of [key, all]) assert.equal((await send(gateway, path, { key: other })).status, 403, path)
  }
  await assertAllAddUp(elsewhere)
  for (const other of [key, all])
    assert.equal((await send(gateway, '/v1/usage?account=all', { key: other })).status, 403)
  for (const query of ['group_by=key', 'group_by=agent', 'group_by=team', 'provider=openai', 'format=focus'])
    assert.equal((await send(gateway, `/v1/usage?account=all&${query}`, { key: elsewhere })).status, 400, query)
  const csv = await send(gateway, `/v1/usage?account=${account}&format=csv`, { key: elsewhere })
  assert.deepEqual(csv.text.trim().split('\r\n').slice(1), [`m2,18,1,${price}`])
  assert.equal((await send(gateway, '/v1/usage?account=acc_none', { key: elsewhere })).status, 404)
  const admin = await getJson<{ margin_this_month_usd: number }>(gateway, operator, `/v1/admin/accounts/${account}`)
  assert.equal(admin.margin_this_month_usd, margin)
  const rerate = ['credits', 'rerate', '--account', account, '--model', 'm2', '--since', '2020-01-01', '--json']
  assert.equal(JSON.parse(await gateway.cli(...rerate)).corrected, 0, 'at the price of the plan')
  const deep = await getJson<{ ok: boolean; audit: { findings: readonly unknown[] } }>(
    gateway,
    key,
    '/v1/usage/reconcile?deep=true',
  )
  assert.deepEqual([deep.ok, deep.audit.findings], [true, []])
})

test('a hold has the markup and the fee of the plan', async () => {
  const { key } = await prepaidIn('reseller', '0.002249999')
  const refused = await send(gateway, CHAT, { key, body: hello({ max_tokens: 100 }) })
  assert.equal(refused.status, 402, refused.text)
  assert.equal((errorOf(refused) as unknown as { readonly required_usd: number }).required_usd, 0.00225)
  const { key: another } = await prepaidIn('reseller', '0.00225')
  assert.equal((await send(gateway, CHAT, { key: another, body: hello({ max_tokens: 100 }) })).status, 200)
})
