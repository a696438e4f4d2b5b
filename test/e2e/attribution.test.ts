/** Tags, sessions, end users and request IDs of every client API, from the request to its row. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CHAT, errorOf, eventually, getJson, hello, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const ANSWERS: readonly (readonly [path: string, answer: object])[] = [
  ['/embeddings', { object: 'list', data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 1 } }],
  ['/rerank', { results: [{ index: 0, relevance_score: 0.5 }], usage: { total_tokens: 1 } }],
  [
    '/chat/completions',
    {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    },
  ],
  [
    '/v1/completions',
    {
      choices: [{ index: 0, text: 'Hi', finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    },
  ],
]
const provider = await startFakeProvider(({ path }, reply) => {
  reply.head(200, { 'content-type': 'application/json' })
  reply.end(JSON.stringify(ANSWERS.find(([end]) => path.endsWith(end))?.[1] ?? assert.fail(path)))
})
const other = (id: string, kind: string) => ({
  ...model(id, 'up', id),
  kind,
  capabilities: undefined,
  max_output_tokens: undefined,
  context_window: 4096,
  pricing: { input_per_million: 1, output_per_million: 0 },
})
const gateway = await startGateway({
  config: {
    providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1` } },
    models: [model('m1', 'up', 'm1'), other('embed', 'embedding'), other('rank', 'rerank')],
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
  },
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

interface Row {
  readonly id: string
  readonly api: string
  readonly request_id: string
  readonly tags: Readonly<Record<string, string>>
  readonly session_id: string | null
  readonly end_user: string | null
}
type Page = { readonly data: readonly Row[] }

async function rowOf(requestId: string, reader = key): Promise<Row> {
  const path = `/v1/usage/completions?request_id=${requestId}`
  const { data } = await eventually(
    () => getJson<Page>(gateway, reader, path),
    (page) => page.data.length > 0,
  )
  assert.equal(data.length, 1)
  return data[0] ?? assert.fail('no row')
}

const REQUESTS: readonly (readonly [api: string, path: string, body: object])[] = [
  ['chat_completions', CHAT, hello()],
  ['messages', '/v1/messages', hello({ max_tokens: 9 })],
  ['responses', '/v1/responses', { model: 'm1', input: 'hi' }],
  ['completions', '/v1/completions', { model: 'm1', prompt: 'hi' }],
  ['embeddings', '/v1/embeddings', { model: 'embed', input: 'hi' }],
  ['rerank', '/v1/rerank', { model: 'rank', query: 'q', documents: ['d'] }],
]

test('every API records tags of header and body, session, end user and the ID of the request', async () => {
  for (const [api, path, body] of REQUESTS) {
    const headers = { 'x-turnpike-tags': 'customer=acme, env=prod', 'x-claude-code-session-id': 's-1' }
    const metadata = { user_id: 'alice@example.com', feature: 'search' }
    const answer = await send(gateway, path, { key, headers, body: { ...body, metadata } })
    assert.equal(answer.status, 200, `${api}: ${answer.text}`)
    const requestId = answer.headers['x-request-id'] ?? answer.headers['request-id'] ?? ''
    const row = await rowOf(requestId)
    assert.deepEqual([row.api, row.request_id, row.session_id], [api, requestId, 's-1'])
    assert.deepEqual(row.tags, { customer: 'acme', env: 'prod', feature: 'search' }, api)
    assert.match(row.end_user ?? '', /^[0-9a-f]{32}$/)
  }
  const since = new Date(Date.now() - 3_600_000).toISOString()
  for (const filter of ['tag=customer%3Dacme', 'session_id=s-1', 'end_user=alice%40example.com']) {
    const { data } = await getJson<Page>(
      gateway,
      key,
      `/v1/usage/completions?period_start=${since}&period_end=${new Date(Date.now() + 3_600_000).toISOString()}&${filter}`,
    )
    assert.equal(data.length, REQUESTS.length, filter)
  }
})

test('a request without attribution has none, and metadata that is not a tag leads to a warning', async () => {
  const plain = await send(gateway, CHAT, { key, body: hello() })
  const bare = await rowOf(plain.headers['x-request-id'] ?? '')
  assert.deepEqual([bare.tags, bare.session_id, bare.end_user], [{}, null, null])
  const noted = await send(gateway, CHAT, { key, body: hello({ metadata: { Topic: 'Two words', env: 'dev' } }) })
  assert.match(noted.headers['x-turnpike-warnings'] ?? '', /metadata\.Topic/)
  assert.deepEqual((await rowOf(noted.headers['x-request-id'] ?? '')).tags, { env: 'dev' })
})

test('an invalid header is rejected before a provider is called', async () => {
  const before = provider.calls.length
  for (const [, path, body] of REQUESTS) {
    const answer = await send(gateway, path, { key, body, headers: { 'x-turnpike-tags': 'Customer=ACME' } })
    assert.equal(answer.status, 400, path)
  }
  const answer = await send(gateway, CHAT, { key, body: hello(), headers: { 'x-turnpike-tags': 'a' } })
  assert.deepEqual([errorOf(answer).code, errorOf(answer).param], ['invalid_header', 'x-turnpike-tags'])
  assert.equal(provider.calls.length, before)
})

test('a key has default tags for its requests, and requires tags of them and of the keys that it created', async () => {
  const created = async (by: string, body: object) => {
    const answer = await send(gateway, '/v1/keys', { key: by, body })
    assert.equal(answer.status, 201, answer.text)
    return JSON.parse(answer.text) as { id: string; key: string; tags: object; require_tags: string[] }
  }
  const parent = await created(key, { name: 'parent', tags: { env: 'prod', team: 'core' }, require_tags: ['customer'] })
  assert.deepEqual([parent.tags, parent.require_tags], [{ env: 'prod', team: 'core' }, ['customer']])
  const child = await created(parent.key, { name: 'child', tags: { env: 'test' } })
  const refused = await send(gateway, CHAT, { key: child.key, body: hello() })
  assert.deepEqual([refused.status, errorOf(refused).code], [400, 'missing_field'])
  const headers = { 'x-turnpike-tags': 'customer=acme' }
  const answer = await send(gateway, CHAT, { key: child.key, body: hello(), headers })
  assert.equal(answer.status, 200, answer.text)
  const { tags } = await rowOf(answer.headers['x-request-id'] ?? '')
  assert.deepEqual(tags, { customer: 'acme', env: 'test', team: 'core' })
  const changed = await send(gateway, `/v1/keys/${parent.id}`, { key, method: 'PATCH', body: { require_tags: [] } })
  assert.equal(changed.status, 200, changed.text)
  assert.equal((await send(gateway, CHAT, { key: child.key, body: hello() })).status, 200)
  for (const wrong of [{ tags: { Env: 'x' } }, { tags: { env: 'X' } }, { require_tags: ['a b'] }])
    assert.equal((await send(gateway, '/v1/keys', { key, body: { name: 'k', ...wrong } })).status, 400)
})
