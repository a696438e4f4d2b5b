/**
 * `POST /v1/embeddings`: the official SDK, and what the pipeline does for it as for chat completions.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { errorOf, eventually, getJson, send, usageReport } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { blockOf, makeReader } from '../support/http/reader.ts'
import { type ProviderCall, type Reply, startFakeProvider } from '../support/providers/fake-provider.ts'

/** 32-bit floats, among them a negative zero and subnormal numbers. */
const FLOATS = [0.1, -0.25, -0, 1e-42, 3.4028234663852886e38, 1 / 3].map(Math.fround)
const BASE64 = Buffer.from(Float32Array.from(FLOATS).buffer).toString('base64')
const PRICE = { input_per_million: 0.02, output_per_million: 0 }

const provider = await startFakeProvider(answerEmbeddings)
const embedding = (id: string, over: object = {}) => ({
  ...model(id, 'up', `up-${id}`),
  kind: 'embedding',
  capabilities: undefined,
  max_output_tokens: undefined,
  context_window: 100,
  pricing: PRICE,
  ...over,
})
const gateway = await startGateway({
  config: {
    providers: {
      up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' },
      azure: { base_url: `${provider.url}/azure`, api_key: 'k' },
      mistral: { base_url: `${provider.url}/mistral/v1`, api_key: 'k' },
    },
    models: [
      embedding('small'),
      embedding('text-embedding-3-small'),
      embedding('few', { max_inputs: 2 }),
      embedding('dear', { pricing: { input_per_million: 1_000_000, output_per_million: 0 } }),
      embedding('azure', { deployments: [{ provider: 'azure', model: 'my deployment' }] }),
      embedding('mistral', { deployments: [{ provider: 'mistral', model: 'mistral-embed' }] }),
      model('chat', 'up', 'up-chat'),
    ],
    plans: {
      test: { billing: 'postpaid' },
      poor: { billing: 'prepaid' },
      slow: { billing: 'postpaid', requests_per_minute: 1 },
    },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
after(async () => {
  await gateway.stop()
  await provider.close()
})

interface Sent {
  readonly model: string
  readonly input: readonly unknown[]
  readonly encoding_format?: string
}

/** Answers as OpenAI does; reports 7 tokens for each input. */
function answerEmbeddings({ body }: ProviderCall, reply: Reply): void {
  const { input, encoding_format: format } = JSON.parse(body) as Sent
  const data = input.map((_, index) => {
    const value = format === 'base64' ? JSON.stringify(BASE64) : floatsText(FLOATS)
    return `{"object":"embedding","index":${index},"embedding":${value}}`
  })
  const tokens = 7 * input.length
  reply.head(200, { 'content-type': 'application/json' })
  const usage = JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens })
  // Out of order: `index` decides.
  reply.end(`{"object":"list","model":"theirs","data":[${data.toReversed().join(',')}],"usage":${usage}}`)
}

function floatsText(floats: readonly number[]): string {
  return `[${floats.map((value) => (Object.is(value, -0) ? '-0.0' : String(value))).join(',')}]`
}

function lastBody(): Record<string, unknown> {
  return JSON.parse(provider.calls.at(-1)?.body ?? assert.fail('no provider was called'))
}

function bitsOf(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64')
}

async function keyOfPlan(plan: string): Promise<string> {
  return gateway.key('--account', await gateway.cli('accounts', 'create', '--name', plan, '--plan', plan))
}

async function fault(act: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await act.then(
    () => assert.fail('answered'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof OpenAI.APIError, String(error))
  return error
}

test('the SDK receives vectors bit for bit, in the order of the inputs, in any encoding', async () => {
  const input = ['first', 'second']
  const plain = await client.embeddings.create({ model: 'small', input })
  assert.equal(lastBody()['encoding_format'], 'base64', 'the SDK decodes by itself')
  const floats = await client.embeddings.create({ model: 'small', input, encoding_format: 'float' })
  assert.equal(lastBody()['encoding_format'], 'float')
  for (const { data, model: named, object } of [plain, floats]) {
    assert.deepEqual([named, object, data.map(({ index }) => index)], ['small', 'list', [0, 1]])
    for (const { embedding: vector } of data) assert.equal(bitsOf(vector), BASE64)
  }
  const encoded = await client.embeddings.create({ model: 'small', input, encoding_format: 'base64' })
  assert.equal(String(encoded.data[0]?.embedding), BASE64)
})

test('fields that the client leaves out stay out, and those that it sends reach the provider', async () => {
  const { status, text } = await send(gateway, '/embeddings', { key, body: { model: 'small', input: 'one' } })
  assert.equal(status, 200, text)
  assert.deepEqual(lastBody(), { model: 'up-small', input: ['one'] })
  assert.equal(bitsOf(JSON.parse(text).data[0].embedding), BASE64)
  const all = { model: 'small', input: ['one'], dimensions: 6, encoding_format: 'float', user: 'u1', truncate: 'END' }
  await send(gateway, '/v1/embeddings', { key, body: all })
  assert.deepEqual(lastBody(), { ...all, model: 'up-small' }, 'a host of one’s own gets unknown fields, too')
})

test('hosts receive their own fields and paths, and the client its own form', async () => {
  await client.embeddings.create({ model: 'azure', input: 'x', dimensions: 3 })
  const path = '/azure/openai/deployments/my%20deployment/embeddings?api-version=2024-10-21'
  assert.equal(provider.calls.at(-1)?.path, path)
  const { data } = await client.embeddings.create({ model: 'mistral', input: 'x', dimensions: 3 })
  assert.equal(provider.calls.at(-1)?.path, '/mistral/v1/embeddings')
  assert.deepEqual([lastBody()['output_dimension'], lastBody()['dimensions']], [3, undefined])
  assert.equal(bitsOf(data[0]?.embedding ?? []), BASE64)
  const tokens = await fault(client.embeddings.create({ model: 'mistral', input: [1, 2] }))
  assert.deepEqual([tokens.status, tokens.code, tokens.param], [422, 'unsupported_content', 'input'])
})

test('a request that names another embedding model is refused: their vectors cannot be compared', async () => {
  const calls = provider.calls.length
  const ask = (models: readonly string[]) =>
    send(gateway, '/v1/embeddings', {
      key,
      body: { model: 'small', input: 'one' },
      headers: { 'x-turnpike-routing': JSON.stringify({ models }) },
    })
  const refused = await ask(['small', 'few'])
  const { param, message } = errorOf(refused)
  assert.deepEqual([refused.status, param], [400, 'models[1]'])
  assert.match(message, /'few'.*vectors cannot be compared/)
  assert.equal(provider.calls.length, calls)
  assert.equal((await ask(['small'])).status, 200)
})

test('token IDs reach the provider as they are', async () => {
  await client.embeddings.create({ model: 'small', input: [5, 6, 7] })
  assert.deepEqual(lastBody()['input'], [[5, 6, 7]])
  await client.embeddings.create({ model: 'small', input: [[1], [2, 3]] })
  assert.deepEqual(lastBody()['input'], [[1], [2, 3]])
})

test('usage, cost, row and report are exact', async () => {
  const own = await gateway.keyOfNewAccount()
  const { status, headers, text } = await send(gateway, '/v1/embeddings', {
    key: own,
    body: { model: 'small', input: ['a', 'b', 'c'] },
  })
  assert.equal(status, 200, text)
  assert.deepEqual(JSON.parse(text).usage, { prompt_tokens: 21, total_tokens: 21, cost: 0.00000042 })
  assert.equal(headers['x-turnpike-cost-usd'], '0.00000042')
  assert.match(headers['x-turnpike-route'] ?? '', /;why=only;outcome=answered$/)
  assert.match(headers['x-request-id'] ?? '', /^req_/)
  const rows = () => getJson<{ data: readonly Record<string, unknown>[] }>(gateway, own, '/v1/usage/completions')
  const { data } = await eventually(rows, (list) => list.data.length > 0)
  const [row] = data
  assert.equal(data.length, 1)
  assert.deepEqual(
    [row?.['model'], row?.['prompt_tokens'], row?.['completion_tokens'], row?.['cost_usd'], row?.['usage_source']],
    ['small', 21, 0, 0.00000042, 'provider'],
  )
  const report = await usageReport(gateway, own)
  assert.deepEqual([report.total_tokens, report.total_cost_usd], [21, 0.00000042])
})

test('the command of docs/embeddings.md works as pasted', async (t) => {
  const reader = makeReader({ gateway, key })
  t.after(reader.remove)
  const { code, output } = await reader.sh(
    blockOf('docs/embeddings.md', 'curl http://localhost:7575/v1/embeddings').text,
  )
  assert.equal(code, 0, output)
  assert.match(output, /"object":"embedding","index":1/)
})

test('the usage report distinguishes kinds of models', async () => {
  const own = await gateway.keyOfNewAccount()
  await send(gateway, '/v1/embeddings', { key: own, body: { model: 'small', input: ['a', 'b'] } })
  await send(gateway, '/v1/embeddings', { key: own, body: { model: 'few', input: 'a' } })
  interface Groups {
    readonly groups: readonly { key: string; requests: number; tokens: number; cost_usd: number }[]
    readonly series: readonly { key: string; requests: number }[]
  }
  const ask = () => getJson<Groups>(gateway, own, '/v1/usage?group_by=kind&interval=hour')
  const { groups, series } = await eventually(ask, (report) => report.groups[0]?.requests === 2)
  assert.deepEqual(groups, [{ key: 'embedding', requests: 2, tokens: 21, cost_usd: 0.00000042 }])
  assert.deepEqual([...new Set(series.map(({ key: kind }) => kind))], ['embedding'])
})

test('where the provider reports nothing, the gateway counts: text by its tokenizer, token IDs exactly', async (t) => {
  t.after(() => provider.answer(answerEmbeddings))
  provider.answer(({ body }, reply) => {
    const { input } = JSON.parse(body) as Sent
    reply.head(200, { 'content-type': 'application/json' })
    reply.end(JSON.stringify({ data: input.map((_, index) => ({ index, embedding: [1] })) }))
  })
  const ids = await client.embeddings.create({ model: 'small', input: [[1, 2, 3], [4]] })
  assert.equal(ids.usage.prompt_tokens, 4)
  const text = await client.embeddings.create({ model: 'small', input: 'one two three four' })
  assert.equal(text.usage.prompt_tokens, 4)
})

test('too long a batch, too long an input and wrong types are refused before a provider is called', async () => {
  const before = provider.calls.length
  const cases: readonly [object, number, string, string][] = [
    [{ model: 'few', input: ['a', 'b', 'c'] }, 400, 'out_of_range', 'input'],
    [{ model: 'small', input: 'word '.repeat(500) }, 400, 'context_length_exceeded', 'input'],
    [{ model: 'small', input: [[1], Array(101).fill(1)] }, 400, 'context_length_exceeded', 'input[1]'],
    [{ model: 'small' }, 400, 'missing_field', 'input'],
    [{ model: 'small', input: [] }, 400, 'invalid_value', 'input'],
    [{ model: 'small', input: ['a', 1] }, 400, 'invalid_type', 'input[1]'],
    [{ model: 'small', input: [[1], []] }, 400, 'invalid_value', 'input[1]'],
    [{ model: 'small', input: [1.5] }, 400, 'invalid_type', 'input[0]'],
    [{ model: 'small', input: 'a', dimensions: 0 }, 400, 'out_of_range', 'dimensions'],
    [{ model: 'small', input: 'a', encoding_format: 'int8' }, 400, 'invalid_value', 'encoding_format'],
  ]
  for (const [body, status, code, param] of cases) {
    const answer = await send(gateway, '/v1/embeddings', { key, body })
    const error = errorOf(answer)
    assert.deepEqual([answer.status, error.code, error.param], [status, code, param], JSON.stringify(body).slice(0, 80))
  }
  assert.equal(provider.calls.length, before)
})

test('a model of the wrong kind is refused with the name of its endpoint, by every API', async () => {
  const wrong = await fault(client.embeddings.create({ model: 'chat', input: 'x' }))
  assert.deepEqual([wrong.status, wrong.param], [400, 'model'])
  assert.match(wrong.message, /'chat' is a chat model.*POST \/v1\/chat\/completions/)
  const messages = [{ role: 'user' as const, content: 'x' }]
  const chat = await fault(client.chat.completions.create({ model: 'small', messages }))
  assert.deepEqual([chat.status, chat.param], [400, 'model'])
  assert.match(chat.message, /'small' is an embedding model.*POST \/v1\/embeddings/)
  const other = await send(gateway, '/v1/messages', { key, body: { model: 'small', max_tokens: 5, messages } })
  assert.equal(other.status, 400)
  assert.match(other.text, /POST \/v1\/embeddings/)
})

test('models show their kind, and can be listed by it', async () => {
  const listed = async (query: string) => {
    const { data } = await getJson<{ data: { id: string; kind: string }[] }>(gateway, key, `/v1/models${query}`)
    return data.filter(({ id }) => ['small', 'chat'].includes(id)).map(({ id, kind }) => [id, kind])
  }
  assert.deepEqual(await listed(''), [
    ['small', 'embedding'],
    ['chat', 'chat'],
  ])
  assert.deepEqual(await listed('?kind=embedding'), [['small', 'embedding']])
})

test('an account without credit receives 402, and no provider is called', async () => {
  const before = provider.calls.length
  const poor = await keyOfPlan('poor')
  const { status, text } = await send(gateway, '/v1/embeddings', { key: poor, body: { model: 'dear', input: 'x' } })
  assert.equal(status, 402, text)
  assert.equal(provider.calls.length, before)
})

test('rate limits count embeddings', async () => {
  const slow = await keyOfPlan('slow')
  const body = { model: 'small', input: 'x' }
  assert.equal((await send(gateway, '/v1/embeddings', { key: slow, body })).status, 200)
  assert.equal((await send(gateway, '/v1/embeddings', { key: slow, body })).status, 429)
})

test('a repeat with the same Idempotency-Key receives the first answer', async () => {
  const call = { key, body: { model: 'small', input: 'x' }, headers: { 'idempotency-key': 'embed-once' } }
  const before = provider.calls.length
  const first = await send(gateway, '/v1/embeddings', call)
  const second = await send(gateway, '/v1/embeddings', call)
  assert.equal(second.text, first.text)
  assert.equal(second.headers['idempotent-replayed'], 'true')
  assert.equal(provider.calls.length - before, 1)
  const other = await send(gateway, '/v1/embeddings', { ...call, body: { model: 'small', input: 'y' } })
  assert.equal(other.status, 409)
})

test('faults of the provider have the status of the gateway, and cost nothing', async (t) => {
  t.after(() => provider.answer(answerEmbeddings))
  const own = await gateway.keyOfNewAccount()
  const error = (status: number, body: unknown) => (_: ProviderCall, reply: Reply) => {
    reply.head(status, { 'content-type': 'application/json' })
    reply.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  const usage = { prompt_tokens: 1, total_tokens: 1 }
  const cases: readonly [ReturnType<typeof error>, number][] = [
    [error(400, { error: { message: 'Bad dimensions.', type: 'invalid_request_error' } }), 400],
    [error(429, { error: { message: 'Slow down.' } }), 503],
    [error(500, 'broken'), 503],
    [error(200, { error: { message: 'Out of memory.' } }), 503],
    [error(200, { data: [{ index: 0, embedding: [] }], usage }), 503],
    [error(200, { data: [], usage }), 503],
    [error(200, '{"data":[{"ind'), 503],
  ]
  for (const [script, status] of cases) {
    provider.answer(script)
    const answer = await send(gateway, '/v1/embeddings', { key: own, body: { model: 'small', input: 'x' } })
    assert.equal(answer.status, status, answer.text)
  }
  assert.equal((await usageReport(gateway, own)).total_cost_usd, 0)
})

test('a client that leaves ends the call of the provider', async (t) => {
  t.after(() => provider.answer(answerEmbeddings))
  provider.answer(async (_, reply) => {
    await reply.wait(60_000)
    reply.end()
  })
  const next = provider.calls.length
  const leaving = new AbortController()
  const sent = client.embeddings.create({ model: 'small', input: 'x' }, { signal: leaving.signal })
  const call = await provider.call(next)
  leaving.abort()
  await assert.rejects(sent)
  await call.over // otherwise the provider ends it after 10 s
  assert.notEqual(call.abortedAtMs, undefined, 'the call was aborted')
})
