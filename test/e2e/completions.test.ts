/**
 * `POST /v1/completions`: the official SDK on hosts with such an endpoint, and on those that get a message instead.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { errorOf, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { type ProviderCall, type Reply, startFakeProvider } from '../support/providers/fake-provider.ts'
import { answerNative, NATIVES } from '../support/providers/native-answers.ts'

/** Hosts of OpenAI's format that fill in the middle. */
const COMPATIBLE = ['ollama', 'vllm', 'together', 'fireworks'] as const
const provider = await startFakeProvider(answerText)
const anthropic = NATIVES['anthropic'] ?? assert.fail()
const gateway = await startGateway({
  config: {
    providers: {
      own: { protocol: 'openai', base_url: `${provider.url}/own/v1` },
      ...Object.fromEntries(COMPATIBLE.map((name) => [name, { base_url: `${provider.url}/${name}/v1`, api_key: 'k' }])),
      mistral: { base_url: `${provider.url}/mistral/v1`, api_key: 'k' },
      deepseek: { base_url: `${provider.url}/deepseek`, api_key: 'k' },
      anthropic: { ...anthropic.settings, base_url: `${provider.url}/anthropic`, api_key: 'k' },
    },
    models: [
      model('own', 'own', 'coder'),
      ...COMPATIBLE.map((name) => model(name, name, 'coder')),
      model('codestral', 'mistral', 'codestral-2501'),
      model('other', 'mistral', 'mistral-small-latest'),
      model('deepseek', 'deepseek', 'deepseek-chat'),
      model('claude', 'anthropic', anthropic.model),
    ],
    plans: { test: { billing: 'postpaid' } },
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

const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 }
const PIECES = ['return', ' a +', ' b'] as const

/** As hosts with the endpoint answer; Mistral's answers are those of chat completions. */
function answerText({ path, body }: ProviderCall, reply: Reply): void {
  const { stream, n = 1 } = JSON.parse(body) as { stream?: boolean; n?: number }
  const isChat = path.startsWith('/mistral')
  const choices = (text: string, field: 'message' | 'delta', finish: string | null) =>
    Array.from({ length: n }, (_, index) => ({
      index,
      ...(isChat ? { [field]: { content: text } } : { text, logprobs: null }),
      finish_reason: finish,
    }))
  if (stream !== true) {
    reply.head(200, { 'content-type': 'application/json' })
    reply.end(JSON.stringify({ id: 'c', choices: choices(PIECES.join(''), 'message', 'stop'), usage: USAGE }))
    return
  }
  reply.head(200, { 'content-type': 'text/event-stream' })
  const chunks = PIECES.map((text, at) => ({
    id: 'c',
    choices: choices(text, 'delta', at === PIECES.length - 1 ? 'length' : null),
  }))
  const all = [...chunks, { id: 'c', choices: [], usage: USAGE }]
  reply.end(`${all.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`)
}

function lastCall(): { readonly path: string; readonly body: Readonly<Record<string, unknown>> } {
  const { path, body } = provider.calls.at(-1) ?? assert.fail('no provider was called')
  return { path, body: JSON.parse(body) }
}

const FILL = { prompt: 'def add(a, b):\n', suffix: '\n', max_tokens: 20, temperature: 0, stop: ['\n\n'] }
const HOSTS = [
  ['own', '/own/v1/completions', 'coder'],
  ...COMPATIBLE.map((name) => [name, `/${name}/v1/completions`, 'coder'] as const),
  ['codestral', '/mistral/v1/fim/completions', 'codestral-2501'],
  ['deepseek', '/deepseek/beta/completions', 'deepseek-chat'],
] as const

for (const [name, path, upstream] of HOSTS) {
  test(`${name}, whole: the prompt and the suffix reach the host as they are`, async () => {
    const { choices, object, usage, model: named } = await client.completions.create({ model: name, ...FILL, seed: 7 })
    assert.deepEqual(choices, [{ text: 'return a + b', index: 0, logprobs: null, finish_reason: 'stop' }])
    assert.deepEqual([object, named], ['text_completion', name])
    assert.equal(usage?.total_tokens, 15)
    assert.equal((usage as unknown as { cost: number }).cost, 0.000019)
    const { path: called, body } = lastCall()
    const seed = name === 'codestral' ? 'random_seed' : 'seed'
    assert.deepEqual([called, body], [path, { model: upstream, ...FILL, [seed]: 7 }])
  })

  test(`${name}, streamed: text arrives in pieces, then the finish reason and the usage`, async () => {
    const options = { stream: true, stream_options: { include_usage: true } } as const
    const texts: string[] = []
    const ends: unknown[] = []
    for await (const { choices, usage } of await client.completions.create({ model: name, ...FILL, ...options })) {
      for (const { text, finish_reason: finish } of choices) {
        if (text !== '') texts.push(text)
        if (finish !== null) ends.push(finish)
      }
      if (usage) ends.push(usage.total_tokens)
    }
    assert.deepEqual([texts, ends], [[...PIECES], ['length', 15]])
    assert.equal(lastCall().body['stream'], true)
  })
}

test('several choices, and the short default of the API', async () => {
  const { choices } = await client.completions.create({ model: 'own', prompt: ['x'], n: 2 })
  assert.deepEqual(
    choices.map(({ index, text }) => [index, text]),
    [
      [0, 'return a + b'],
      [1, 'return a + b'],
    ],
  )
  assert.deepEqual(lastCall().body, { model: 'coder', prompt: 'x', max_tokens: 16, n: 2 })
})

test('a host without the endpoint receives a message, whole and streamed', async (t) => {
  t.after(() => provider.answer(answerText))
  provider.answer(answerNative(anthropic, { text: ['Hello ', 'wörld'], promptTokens: 21, completionTokens: 9 }))
  const ask = { model: 'claude', prompt: 'Say hello.', max_tokens: 50 }
  const { choices, usage } = await client.completions.create(ask)
  assert.deepEqual([choices[0]?.text, choices[0]?.finish_reason], ['Hello wörld', 'stop'])
  assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens], [21, 9])
  assert.match(JSON.stringify(lastCall().body['messages']), /Say hello\./)
  let text = ''
  for await (const chunk of await client.completions.create({ ...ask, stream: true }))
    text += chunk.choices[0]?.text ?? ''
  assert.equal(text, 'Hello wörld')
})

test('parameters that would change the answer are rejected, and no provider is called', async () => {
  const before = provider.calls.length
  const cases: readonly [object, number, string, string][] = [
    [{ model: 'claude', prompt: 'a', suffix: 'b' }, 422, 'unsupported_parameter', 'suffix'],
    [{ model: 'other', prompt: 'a', suffix: 'b' }, 422, 'unsupported_parameter', 'suffix'],
    [{ model: 'own', prompt: 'a', logprobs: 2 }, 422, 'unsupported_parameter', 'logprobs'],
    [{ model: 'own', prompt: 'a', echo: true }, 422, 'unsupported_parameter', 'echo'],
    [{ model: 'own', prompt: 'a', best_of: 3 }, 422, 'unsupported_parameter', 'best_of'],
    [{ model: 'own', prompt: ['a', 'b'] }, 400, 'out_of_range', 'prompt'],
    [{ model: 'own' }, 400, 'missing_field', 'prompt'],
    [{ model: 'own', prompt: 'a', max_tokens: 0 }, 400, 'out_of_range', 'max_tokens'],
  ]
  for (const [body, status, code, param] of cases) {
    const answer = await send(gateway, '/v1/completions', { key, body })
    const error = errorOf(answer)
    assert.deepEqual([answer.status, error.code, error.param], [status, code, param], JSON.stringify(body))
  }
  assert.equal(provider.calls.length, before)
})

test('fields of conversations are named in the warnings', async () => {
  const body = { model: 'own', prompt: 'a', tools: [], response_format: { type: 'text' } }
  const { status, headers } = await send(gateway, '/completions', { key, body })
  assert.equal(status, 200)
  assert.equal(headers['x-turnpike-warnings'], 'tools, response_format')
  assert.match(headers['x-turnpike-route'] ?? '', /;why=only;outcome=answered$/)
  assert.match(headers['x-request-id'] ?? '', /^req_/)
})

test('a stream that breaks off ends with an error, and a repeat of a key receives the first answer', async (t) => {
  t.after(() => provider.answer(answerText))
  const call = { key, body: { model: 'own', prompt: 'a' }, headers: { 'idempotency-key': 'text-once' } }
  const first = await send(gateway, '/v1/completions', call)
  const second = await send(gateway, '/v1/completions', call)
  assert.deepEqual([second.text, second.headers['idempotent-replayed']], [first.text, 'true'])
  provider.answer(async (_, reply) => {
    reply.head(200, { 'content-type': 'text/event-stream' })
    await reply.write('data: {"choices":[{"index":0,"text":"Half","finish_reason":null}]}\n\n')
    reply.end()
  })
  const broken = await send(gateway, '/v1/completions', { key, body: { model: 'own', prompt: 'a', stream: true } })
  assert.match(broken.text, /"text":"Half"/)
  assert.match(broken.text, /"error":\{"type":"upstream_error"/)
})
