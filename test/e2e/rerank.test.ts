/**
 * `POST /v1/rerank`: Cohere's SDK, prices by token and by search, and hosts of each shape.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { errorOf, eventually, getJson, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { blockOf, makeReader } from '../support/http/reader.ts'
import { npmClient } from '../support/process/npm-client.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const DOCUMENTS = ['A fish.', 'A toll road.', 'A gate with arms.'] as const
const BY_TOKEN = { input_per_million: 0.05, output_per_million: 0 }
const BY_SEARCH = { input_per_million: 0, output_per_million: 0, server_tools: { search: 2 } }

/** The scores of the documents, the best last: the gateway sorts. */
const RESULTS = [
  { index: 0, relevance_score: 0.1 },
  { index: 2, relevance_score: 0.25 },
  { index: 1, relevance_score: 0.987654321 },
]

const provider = await startFakeProvider(({ path }, reply) => {
  reply.head(200, { 'content-type': 'application/json' })
  reply.end(JSON.stringify(ANSWERS[path.split('/')[1] ?? ''] ?? assert.fail(path)))
})
/** By the host that the path begins with. */
const ANSWERS: Readonly<Record<string, object>> = {
  cohere: { id: 'r', results: RESULTS, meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } } },
  voyage: { object: 'list', data: RESULTS, model: 'rerank-2', usage: { total_tokens: 40 } },
  jina: { model: 'j', results: RESULTS, usage: { total_tokens: 41 } },
  own: { id: 'r', model: 'bge', results: RESULTS, usage: { prompt_tokens: 42, total_tokens: 42 } },
  together: { object: 'rerank', results: RESULTS, usage: { prompt_tokens: 43, total_tokens: 43 } },
  fireworks: { object: 'list', data: RESULTS, usage: { prompt_tokens: 44, total_tokens: 44 } },
  vllm: { id: 'r', results: RESULTS, usage: { total_tokens: 45 } },
  bedrock: { results: RESULTS },
}
const rerank = (id: string, pricing: object, over: object = {}) => ({
  ...model(id, id, `${id}-rerank`),
  kind: 'rerank',
  capabilities: undefined,
  max_output_tokens: undefined,
  context_window: 4096,
  pricing,
  ...over,
})
const gateway = await startGateway({
  config: {
    providers: {
      cohere: { base_url: `${provider.url}/cohere`, api_key: 'k' },
      voyage: { base_url: `${provider.url}/voyage/v1`, api_key: 'k' },
      jina: { base_url: `${provider.url}/jina/v1`, api_key: 'k' },
      own: { protocol: 'openai', base_url: `${provider.url}/own/v1` },
      together: { base_url: `${provider.url}/together/v1`, api_key: 'k' },
      fireworks: { base_url: `${provider.url}/fireworks/v1`, api_key: 'k' },
      vllm: { base_url: `${provider.url}/vllm/v1` },
      bedrock: { base_url: `${provider.url}/bedrock`, region: 'us-east-1', api_key: 'AKIDEXAMPLE:secret-key' },
    },
    models: [
      rerank('cohere', BY_SEARCH),
      rerank('rerank-v3.5', BY_SEARCH, { deployments: [{ provider: 'cohere', model: 'rerank-v3.5' }] }),
      rerank('voyage', BY_TOKEN),
      rerank('jina', BY_TOKEN),
      ...['own', 'together', 'fireworks', 'vllm'].map((host) => rerank(host, BY_TOKEN)),
      rerank('bedrock', BY_SEARCH, { deployments: [{ provider: 'bedrock', model: 'cohere.rerank-v3-5:0' }] }),
      rerank('amazon', BY_SEARCH, { deployments: [{ provider: 'bedrock', model: 'amazon.rerank-v1:0' }] }),
      rerank('few', BY_TOKEN, { max_inputs: 2, deployments: [{ provider: 'own', model: 'x' }] }),
      rerank('by-call', BY_SEARCH, { deployments: [{ provider: 'own', model: 'x' }] }),
    ],
    plans: { test: { billing: 'postpaid' }, poor: { billing: 'prepaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1 },
  },
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

const ask = (named: string, over: object = {}) => ({ model: named, query: 'turnpike', documents: DOCUMENTS, ...over })

interface Ranking {
  readonly results: readonly { index: number; relevance_score: number; document?: { text: string } }[]
  readonly usage: { prompt_tokens: number; cost: number }
  readonly meta: { billed_units: object }
}

function lastCall(): { readonly path: string; readonly body: Readonly<Record<string, unknown>> } {
  const { path, body } = provider.calls.at(-1) ?? assert.fail('no provider was called')
  return { path, body: JSON.parse(body) }
}

const HOSTS = [
  ['cohere', '/cohere/v2/rerank', 'top_n', undefined, 0.002],
  ['voyage', '/voyage/v1/rerank', 'top_k', 40, 0.000002],
  ['jina', '/jina/v1/rerank', 'top_n', 41, 0.00000205],
  ['own', '/own/v1/rerank', 'top_n', 42, 0.0000021],
  ['together', '/together/v1/rerank', 'top_n', 43, 0.00000215],
  ['fireworks', '/fireworks/v1/rerank', 'top_n', 44, 0.0000022],
  ['vllm', '/vllm/v1/rerank', 'top_n', 45, 0.00000225],
] as const

for (const [host, path, topField, tokens, cost] of HOSTS) {
  test(`${host}: the best documents come first, at the price of the model`, async () => {
    const { status, text, headers } = await send(gateway, '/v1/rerank', {
      key,
      body: ask(host, { top_n: 2, return_documents: true }),
    })
    assert.equal(status, 200, text)
    const { results, usage } = JSON.parse(text) as Ranking
    assert.deepEqual(results, [
      { index: 1, relevance_score: 0.987654321, document: { text: DOCUMENTS[1] } },
      { index: 2, relevance_score: 0.25, document: { text: DOCUMENTS[2] } },
    ])
    assert.deepEqual(lastCall(), {
      path,
      body: { model: `${host}-rerank`, query: 'turnpike', documents: [...DOCUMENTS], [topField]: 2 },
    })
    assert.equal(usage.cost, cost)
    assert.equal(Number(headers['x-turnpike-cost-usd']), cost)
    assert.match(headers['x-turnpike-route'] ?? '', new RegExp(`^${host};.*;outcome=answered$`))
    assert.match(headers['x-request-id'] ?? '', /^req_/)
    if (tokens !== undefined) assert.equal(usage.prompt_tokens, tokens)
  })
}

test('Bedrock receives the body of the model’s maker, and more than 100 documents are several searches', async () => {
  for (const [named, path, version] of [
    ['bedrock', '/bedrock/model/cohere.rerank-v3-5%3A0/invoke', { api_version: 2 }],
    ['amazon', '/bedrock/model/amazon.rerank-v1%3A0/invoke', {}],
  ] as const) {
    const { status, text } = await send(gateway, '/v1/rerank', { key, body: ask(named, { top_n: 2 }) })
    assert.equal(status, 200, text)
    const { results, usage } = JSON.parse(text) as Ranking
    assert.deepEqual([results[0]?.index, results.length, usage.cost], [1, 2, 0.002])
    assert.deepEqual(lastCall(), { path, body: { query: 'turnpike', documents: [...DOCUMENTS], top_n: 2, ...version } })
  }
  const documents = Array.from({ length: 101 }, () => 'A gate.')
  const { text } = await send(gateway, '/v1/rerank', { key, body: ask('bedrock', { documents }) })
  assert.equal((JSON.parse(text) as Ranking).usage.cost, 0.004)
})

test('the clients of Cohere’s SDK read the ranking and its billed units', async () => {
  const require = createRequire(join(await npmClient('cohere-ai@8.1.0'), 'package.json'))
  const { CohereClient, CohereClientV2 } = require('cohere-ai')
  for (const Client of [CohereClient, CohereClientV2]) {
    const client = new Client({ token: key, environment: gateway.url })
    const { results, meta } = await client.rerank({ model: 'cohere', query: 'turnpike', documents: DOCUMENTS, topN: 1 })
    assert.deepEqual(
      results.map(({ index, relevanceScore }: { index: number; relevanceScore: number }) => [index, relevanceScore]),
      [[1, 0.987654321]],
    )
    assert.equal(meta.billedUnits.searchUnits, 1)
    const wrong = new Client({ token: 'tp_wrong', environment: gateway.url })
    const fault = await wrong.rerank({ model: 'cohere', query: 'x', documents: ['y'] }, { maxRetries: 0 }).then(
      () => assert.fail('answered'),
      (error: unknown) => error,
    )
    assert.equal(fault.statusCode, 401)
  }
})

test('the command of docs/embeddings.md works as pasted', async (t) => {
  const reader = makeReader({ gateway, key })
  t.after(reader.remove)
  const { code, output } = await reader.sh(blockOf('docs/embeddings.md', 'curl http://localhost:7575/v1/rerank').text)
  assert.equal(code, 0, output)
  assert.match(output, /"results":\[\{"index":1,/)
})

test('a host that reports no searches is charged for one a call', async () => {
  const { text } = await send(gateway, '/v1/rerank', { key, body: ask('by-call') })
  assert.equal((JSON.parse(text) as Ranking).usage.cost, 0.002)
})

test('documents may be objects, and the row of the request is exact', async () => {
  const own = await gateway.keyOfNewAccount()
  const documents = DOCUMENTS.map((text) => ({ text, title: 'T' }))
  const { status, text } = await send(gateway, '/rerank', { key: own, body: ask('jina', { documents }) })
  assert.equal(status, 200, text)
  assert.deepEqual(lastCall().body['documents'], [...DOCUMENTS])
  const rows = () => getJson<{ data: readonly Record<string, unknown>[] }>(gateway, own, '/v1/usage/completions')
  const { data } = await eventually(rows, (list) => list.data.length > 0)
  assert.deepEqual(
    data.map((row) => [row['model'], row['prompt_tokens'], row['completion_tokens'], row['cost_usd']]),
    [['jina', 41, 0, 0.00000205]],
  )
})

test('a search is held for: an account without credit receives 402', async () => {
  const account = await gateway.cli('accounts', 'create', '--name', 'poor', '--plan', 'poor')
  await gateway.cli('credits', 'grant', '--account', account, '--usd', '0.0019')
  const poor = await gateway.key('--account', account)
  const before = provider.calls.length
  assert.equal((await send(gateway, '/v1/rerank', { key: poor, body: ask('cohere') })).status, 402)
  assert.equal(provider.calls.length, before)
  await gateway.cli('credits', 'grant', '--account', account, '--usd', '0.0001')
  const retry = () => send(gateway, '/v1/rerank', { key: poor, body: ask('cohere') })
  await eventually(retry, ({ status }) => status === 200)
})

test('invalid requests name the field, and no provider is called', async () => {
  const before = provider.calls.length
  const cases: readonly [object, number, string, string][] = [
    [{ model: 'own', documents: ['a'] }, 400, 'missing_field', 'query'],
    [ask('own', { query: '' }), 400, 'invalid_value', 'query'],
    [ask('own', { documents: [] }), 400, 'invalid_value', 'documents'],
    [ask('own', { documents: ['a', 1] }), 400, 'invalid_type', 'documents[1]'],
    [ask('own', { documents: [{ image: 'x' }] }), 422, 'unsupported_content', 'documents[0]'],
    [ask('own', { top_n: 0 }), 400, 'out_of_range', 'top_n'],
    [ask('few'), 400, 'out_of_range', 'documents'],
  ]
  for (const [body, status, code, param] of cases) {
    const answer = await send(gateway, '/v1/rerank', { key, body })
    const error = errorOf(answer)
    assert.deepEqual([answer.status, error.code, error.param], [status, code, param], JSON.stringify(body))
  }
  const chat = { model: 'own', messages: [{ role: 'user', content: 'x' }] }
  const wrong = await send(gateway, '/v1/chat/completions', { key, body: chat })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /'own' is a rerank model.*POST \/v1\/rerank/)
  assert.equal(provider.calls.length, before)
})

test('a rank of a document that was not sent is a fault of the provider', async (t) => {
  const answer = ANSWERS['own']
  t.after(() => Object.assign(ANSWERS, { own: answer }))
  Object.assign(ANSWERS, { own: { results: [{ index: 3, relevance_score: 1 }], usage: { total_tokens: 1 } } })
  assert.equal((await send(gateway, '/v1/rerank', { key, body: ask('own') })).status, 503)
})
