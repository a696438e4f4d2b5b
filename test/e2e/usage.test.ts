import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CHAT, completionOf, errorOf, eventually, hello, send } from '../support/client.ts'
import { model, oneModel, startGateway } from '../support/gateway.ts'
import { ordinary, silent } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const provider = await startFakeProvider(ordinary)
const second = { ...model('m2', 'up', 'up-model'), pricing: { input_per_million: 10, output_per_million: 20 } }
const plans = {
  shown: { billing: 'postpaid', monthly_credit_usd: 40, unlimited_credit_usd: 250.5 },
  allowed: { billing: 'postpaid', monthly_credit_usd: 40 },
  granted: { monthly_credit_usd: 40 },
}
const config = oneModel(provider.url, {}, { models: [model('m1', 'up', 'up-model'), second], plans })
const gateway = await startGateway({ config })
after(async () => {
  await gateway.stop()
  await provider.close()
})

interface Row {
  readonly id: string
  readonly model: string
  readonly key_id: string
  readonly status: string
  readonly stream: boolean
  readonly cost_usd: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly usage_source: string
  readonly client_request_id: string | null
}
interface Page {
  readonly data: readonly Row[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

async function list(key: string, query = ''): Promise<Page> {
  const answer = await send(gateway, `/v1/usage/completions${query}`, { key })
  assert.equal(answer.status, 200, answer.text)
  return JSON.parse(answer.text) as Page
}

const listed = (key: string, count: number) =>
  eventually(
    () => list(key),
    ({ data }) => data.length >= count,
  )

test('a completion can be read back by the id of its answer, at the price it was answered with', async () => {
  const key = await gateway.keyOfNewAccount()
  const answer = await send(gateway, CHAT, { key, body: hello(), headers: { 'x-client-request-id': 'mine' } })
  const { id } = completionOf(answer)
  await listed(key, 1)
  const one = await send(gateway, `/v1/usage/completions/${id}`, { key })
  assert.equal(one.status, 200)
  const { pricing, ...row } = JSON.parse(one.text)
  assert.deepEqual((await list(key)).data, [row])
  assert.deepEqual([pricing.price_version, pricing.lines.length], [row.price_version, 2])
  assert.deepEqual([row.object, row.model, row.provider, row.status], ['completion', 'm1', 'up', 'completed'])
  assert.deepEqual([row.prompt_tokens, row.completion_tokens, row.cost_usd], [10, 5, 0.00002])
  assert.equal(String(row.cost_usd), String(Number(answer.headers['x-turnpike-cost-usd'])))
  assert.deepEqual([row.stream, row.finish_reason, row.usage_source], [false, 'stop', 'provider'])
  const outsider = await gateway.keyOfNewAccount()
  const refused = await send(gateway, `/v1/usage/completions/${id}`, { key: outsider })
  assert.deepEqual([refused.status, errorOf(refused).type], [404, 'not_found'])
  assert.deepEqual((await list(outsider)).data, [])
})

test('report, groups, file and rows agree', async () => {
  const key = await gateway.keyOfNewAccount()
  for (const name of ['m1', 'm2', 'm1']) {
    for (const stream of [false, true]) {
      const { status } = await send(gateway, CHAT, { key, body: hello({ model: name, stream }) })
      assert.equal(status, 200)
    }
  }
  const { data } = await listed(key, 6)
  assert.equal(data.length, 6)
  assert.equal(data.filter(({ stream }) => stream).length, 3)
  const nano = (rows: readonly { readonly cost_usd: number }[]) =>
    rows.reduce((sum, { cost_usd }) => sum + Math.round(cost_usd * 1e9), 0)
  for (const grouping of ['model', 'key', 'day']) {
    const answer = await send(gateway, `/v1/usage?group_by=${grouping}`, { key })
    const report = JSON.parse(answer.text)
    assert.equal(nano(report.groups), nano(data))
    assert.equal(nano(report.breakdown_by_model), nano(data))
    assert.equal(Math.round(report.total_cost_usd * 1e9), nano(data))
    assert.equal(report.total_tokens, 90)
    const file = await send(gateway, `/v1/usage?group_by=${grouping}&format=csv`, { key })
    assert.match(file.headers['content-type'] ?? '', /^text\/csv/)
    const lines = file.text.split('\r\n').slice(1, -1)
    const groups: { key: string; tokens: number; requests: number }[] = report.groups
    assert.deepEqual(
      lines.map((line) => line.split(',').slice(0, 3)),
      groups.map((group) => [group.key, String(group.tokens), String(group.requests)]),
    )
  }
  const { data: dear } = await list(key, '?model=m2')
  assert.deepEqual(
    dear.map((row) => row.model),
    ['m2', 'm2'],
  )
  const first = await list(key, '?limit=4&order=asc')
  const rest = await list(key, `?limit=4&order=asc&cursor=${first.next_cursor}`)
  assert.deepEqual([first.has_more, rest.has_more], [true, false])
  assert.deepEqual([...first.data, ...rest.data], data.toReversed())
})

test('rows of disconnected clients are listed as such', async () => {
  const key = await gateway.keyOfNewAccount()
  provider.answer(silent)
  const leaving = new AbortController()
  const left = send(gateway, CHAT, { key, body: hello(), signal: leaving.signal })
  const before = provider.calls.length
  await eventually(
    async () => provider.calls.length,
    (count) => count > before,
  )
  leaving.abort()
  await assert.rejects(left)
  provider.answer(ordinary)
  const { data } = await listed(key, 1)
  assert.equal(data[0]?.status, 'client_left')
  assert.equal((await list(key, '?status=client_left')).data.length, 1)
  assert.equal((await list(key, '?status=completed')).data.length, 0)
})

test('credit_remaining_usd is a number for accounts without a limit: of their plan, of its allowance, or a million', async () => {
  const expected = { shown: [250.5, true], allowed: [40, true], unlimited: [1_000_000, true], granted: [40, false] }
  for (const [plan, [shown, unlimited]] of Object.entries(expected)) {
    const key = await gateway.key('--account', await gateway.cli('accounts', 'create', '--name', plan, '--plan', plan))
    for (const query of ['', '?group_by=model', '?group_by=provider']) {
      const { text } = await send(gateway, `/v1/usage${query}`, { key })
      const report = JSON.parse(text)
      assert.deepEqual([report.credit_remaining_usd, report.unlimited], [shown, unlimited], plan + query)
    }
    completionOf(await send(gateway, CHAT, { key, body: hello() }))
    await listed(key, 1)
    const spent = JSON.parse((await send(gateway, '/v1/usage', { key })).text)
    assert.equal(spent.credit_remaining_usd < Number(shown), !unlimited, plan)
  }
})

test('usage is read with the scope usage:read, and with no other', async () => {
  const [reader, chatter] = await Promise.all([gateway.key('--scopes', 'usage:read'), gateway.key('--scopes', 'chat')])
  const completions = '/v1/usage/completions'
  for (const path of ['/v1/usage', '/v1/usage?format=csv', completions, `${completions}?format=csv`]) {
    assert.equal((await send(gateway, path, { key: reader })).status, 200)
    assert.equal((await send(gateway, path, { key: chatter })).status, 403)
    assert.equal((await send(gateway, path)).status, 401)
  }
})

test('the API document describes the reports, the file and every field of a row', async () => {
  const document = JSON.parse((await send(gateway, '/openapi.json')).text)
  const report = document.paths['/v1/usage'].get
  assert.deepEqual(Object.keys(report.responses['200'].content).sort(), ['application/json', 'text/csv'])
  const parameters = (path: string) => document.paths[path].get.parameters.map(({ name }: { name: string }) => name)
  const period = ['period_end', 'period_start']
  const dimensions = ['end_user', 'key_id', 'kind', 'member_id', 'model', 'provider', 'session_id', 'tag', 'team_id']
  assert.deepEqual(
    parameters('/v1/usage').sort(),
    [...dimensions, 'account', 'format', 'group_by', 'interval', ...period].sort(),
  )
  const attribution = ['end_user', 'request_id', 'session_id', 'tag']
  const ranges = ['max_cost_usd', 'max_duration_ms', 'min_cost_usd', 'min_duration_ms', 'outcome']
  const filters = ['agent_id', 'client_request_id', 'key_id', 'model', ...period, 'provider', 'status']
  assert.deepEqual(
    parameters('/v1/usage/completions').sort(),
    [...filters, ...attribution, ...ranges, 'cursor', 'format', 'include', 'limit', 'order'].sort(),
  )
  assert.deepEqual(parameters('/v1/usage/performance').sort(), ['group_by', 'include', ...period])
  const one = document.paths['/v1/usage/completions/{id}'].get.responses['200'].content['application/json'].schema
  assert.equal(Object.keys(one.properties).length, 35)
  const call = one.properties.attempt_log.items.properties
  assert.deepEqual(Object.keys(call), [
    'provider',
    'model',
    'outcome',
    'status',
    'started_ms',
    'duration_ms',
    'reason',
    'provider_credential_id',
    'message',
  ])
})
