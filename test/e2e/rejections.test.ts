/** Rejected requests to models: what the account that they are of reads about them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AccountId } from '../../src/domain/ids.ts'
import { type AppForTests, openApp } from '../support/browser/signed-in.ts'
import { eventually } from '../support/client.ts'

const SIMULATOR = 'turnpike-simulator'
const PATH = '/v1/usage/rejections'

let app: AppForTests
let accountId: AccountId
let full: string
const ends: (() => unknown)[] = []

before(async () => {
  app = await openApp(
    { after: (end: () => unknown) => void ends.push(end) },
    { settings: { TURNPIKE_SIMULATOR: 'true' } },
  )
  accountId = await app.account()
  full = await app.key(accountId)
})
after(async () => {
  for (const end of ends) await end()
})

interface Item {
  readonly request_id: string
  readonly status: number
  readonly code: string
  readonly [field: string]: unknown
}
interface Listed {
  readonly data: readonly Item[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

async function list(query = '', token = full): Promise<Listed> {
  const answer = await app.ask('GET', `${PATH}${query}`, { token })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json<Listed>()
}

interface MadeKey {
  readonly id: string
  readonly key: string
}

async function keyWith(settings: object): Promise<MadeKey> {
  const answer = await app.ask('POST', '/v1/keys', { token: full, body: { name: 'ci', ...settings } })
  assert.equal(answer.statusCode, 201, answer.body)
  return answer.json<MadeKey>()
}

/** @returns The status, and the ID of the request. */
async function ask(token: string, body: object | string, path = '/v1/chat/completions') {
  const headers = { 'content-type': 'application/json' }
  const { statusCode: status, headers: answered } = await app.ask('POST', path, { token, body, headers })
  return { status, id: String(answered['x-request-id']) }
}

const chat = (over: object = {}) => ({ model: SIMULATOR, messages: [{ role: 'user', content: 'Hi' }], ...over })

test('rejected requests are listed with status, code, endpoint, model and key; answered and unknown ones are not', async () => {
  const limited = await keyWith({ requests_per_minute: 1 })
  const broke = await keyWith({ monthly_budget_usd: 0 })
  const reader = await keyWith({ scopes: ['models:read'] })
  const restricted = await keyWith({ models: ['another-model'] })
  const elsewhere = await keyWith({ ip_allowlist: ['203.0.113.0/24'] })
  assert.equal((await ask(limited.key, chat())).status, 200)
  assert.equal((await ask('sk-tp-nobody', chat())).status, 401)
  const expected = [
    // counted before its body is read
    { key: limited, model: null, code: 'rate_limit_exceeded', status: 429, body: chat() },
    { key: broke, model: SIMULATOR, code: 'key_budget_exceeded', status: 402, body: chat({ stream: true }) },
    { key: reader, model: null, code: 'insufficient_scope', status: 403, body: chat() },
    { key: restricted, model: SIMULATOR, code: 'model_not_allowed', status: 403, body: chat() },
    { key: elsewhere, model: null, code: 'address_not_allowed', status: 403, body: chat() },
    { key: broke, model: 'nothing', code: 'model_not_found', status: 422, body: chat({ model: 'nothing' }) },
    { key: broke, model: SIMULATOR, code: 'missing_field', status: 400, body: { model: SIMULATOR } },
    { key: broke, model: null, code: 'invalid_json', status: 400, body: '{"model": ' },
  ]
  const wanted: { readonly request_id: string; readonly [field: string]: unknown }[] = []
  for (const { key, model, code, status, body } of expected) {
    const { id, status: answered } = await ask(key.key, body)
    assert.equal(answered, status, code)
    wanted.unshift({
      object: 'rejection',
      request_id: id,
      endpoint: '/v1/chat/completions',
      model,
      status,
      code,
      key_id: key.id,
      key_name: 'ci',
    })
  }
  const other = await ask(broke.key, { model: 'nothing', max_tokens: 1, messages: [] }, '/v1/messages')
  await eventually(
    () => list(),
    (page) => page.data.length === expected.length + 1,
  )
  const { data } = await list()
  const listed = data.map(({ created_at: _, ...item }) => item)
  const ids = listed.map(({ request_id: id }) => id)
  assert.deepEqual(ids, ids.toSorted().toReversed(), 'the newest first')
  // Requests of one millisecond have no order.
  const byId = (one: { request_id: string }, two: { request_id: string }) => (one.request_id < two.request_id ? 1 : -1)
  assert.deepEqual(
    listed.filter(({ request_id: id }) => id !== other.id),
    wanted.toSorted(byId),
  )
  const newest = listed.find(({ request_id: id }) => id === other.id)
  assert.deepEqual([newest?.['endpoint'], newest?.status], ['/v1/messages', other.status])
})

test('the list has pages and filters, and is the account’s alone', async () => {
  const { data } = await list()
  const first = await list('?limit=3')
  assert.deepEqual([first.data, first.has_more], [data.slice(0, 3), true])
  const second = await list(`?limit=3&cursor=${first.next_cursor}`)
  assert.deepEqual(second.data, data.slice(3, 6))
  assert.deepEqual((await list('?order=asc')).data, data.toReversed())
  const one = data[2] as Item
  assert.deepEqual((await list(`?request_id=${one.request_id}`)).data, [one])
  for (const [query, field, value] of [
    ['status=403', 'status', 403],
    ['code=invalid_json', 'code', 'invalid_json'],
    [`key_id=${String(one['key_id'])}`, 'key_id', one['key_id']],
  ] as const) {
    const found = (await list(`?${query}`)).data
    assert.deepEqual(
      found,
      data.filter((item) => item[field] === value),
    )
    assert.ok(found.length > 0)
  }
  const others = await app.key(await app.account('Others'))
  assert.deepEqual(await list('', others), { data: [], has_more: false, next_cursor: null })
  assert.equal((await app.ask('GET', `${PATH}?status=abc`, { token: full })).statusCode, 400)
})

test('a call that reached a provider is a completion, whatever its outcome', async () => {
  const before = await list()
  const prompt = { role: 'user', content: 'simulate: error 400 no' }
  const refused = await ask(full, chat({ messages: [prompt] }))
  assert.equal(refused.status, 400)
  const { id } = await ask(full, chat({ model: 'nothing' }))
  const { data } = await eventually(
    () => list(),
    (page) => page.data.length > before.data.length,
  )
  assert.deepEqual([data[0]?.request_id, data.slice(1)], [id, before.data])
  const completions = async () =>
    (await app.ask('GET', `/v1/usage/completions?request_id=${refused.id}`, { token: full })).json<{
      readonly data: readonly { readonly status: string }[]
    }>().data
  await eventually(completions, (found) => found[0]?.status === 'failed')
})
