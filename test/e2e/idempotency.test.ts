import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { CHAT, errorOf, eventually, hello, open, send, untilActive } from '../support/client.ts'
import { model, oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, type LedgerRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { answerJson, completion, counts, frame, ordinary, SSE_HEAD, textChunks } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const provider = await startFakeProvider(ordinary)
const kindOf = (id: string, kind: string) => ({ ...model(id, 'up', `up-${id}`), kind, capabilities: undefined })
const config = oneModel(
  provider.url,
  {},
  {
    models: [model('m1', 'up', 'up-model'), kindOf('vectors', 'embedding'), kindOf('ranks', 'rerank')],
    routing: { max_attempts: 1 },
  },
)
const gateway = await startGateway({ config })
const second = await startGateway({ config, dataDir: gateway.dataDir })
after(async () => {
  await second.stop()
  await gateway.stop()
  await provider.close()
})

/** Answers a moment after it was `told` to, and never twice the same. */
function countingSlowly(told = Promise.resolve()): Script {
  let count = 0
  return async (_, reply) => {
    count += 1
    const content = `answer ${count}`
    await told
    await reply.wait(150)
    reply.bill({ promptTokens: 10, completionTokens: 5 })
    reply.head(200, { 'content-type': 'application/json' })
    reply.end(JSON.stringify(completion({ content }, { usage: counts(10, 5) })))
  }
}

function ask(over: Readonly<Record<string, unknown>> & { readonly idempotencyKey: string; readonly key: string }) {
  const { idempotencyKey, key, at = gateway, ...fields } = over
  return send(at as typeof gateway, CHAT, { key, body: hello(fields), headers: { 'idempotency-key': idempotencyKey } })
}

for (const [name, gateways] of [
  ['one process', [gateway]],
  ['two processes', [gateway, second]],
] as const) {
  test(`IDEM-3, F23, INV-8: 50 concurrent equal requests, ${name}: one call, one charge, 50 equal answers`, async () => {
    provider.answer(countingSlowly())
    const key = await gateway.keyOfNewAccount()
    const called = provider.calls.length
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        ask({ key, idempotencyKey: `fifty of ${name}`, at: gateways[index % gateways.length] }),
      ),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array(50).fill(200),
    )
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
    assert.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true').length, 49)
    assert.equal(provider.calls.length - called, 1)
    const later = await ask({ key, idempotencyKey: `fifty of ${name}`, at: gateways.at(-1) })
    assert.equal(later.text, answers[0]?.text)
    assert.equal(later.headers['idempotent-replayed'], 'true')
    await assertChargedOnce(key, 'chat_completions')
  })
}

test('IDEM-2: the same key with another body is 409 and reaches no provider', async () => {
  provider.answer(ordinary)
  const key = await gateway.key()
  assert.equal((await ask({ key, idempotencyKey: 'k2' })).status, 200)
  const called = provider.calls.length
  const other = await ask({ key, idempotencyKey: 'k2', temperature: 1 })
  assert.equal(other.status, 409)
  assert.equal(errorOf(other).type, 'conflict')
  assert.equal(other.headers['x-should-retry'], 'false')
  assert.equal(provider.calls.length, called)
})

test('IDEM-1: another account may use the same key for another request', async () => {
  provider.answer(countingSlowly())
  const [one, two] = [await gateway.keyOfNewAccount(), await gateway.keyOfNewAccount()]
  const first = await ask({ key: one, idempotencyKey: 'shared' })
  const other = await ask({ key: two, idempotencyKey: 'shared', temperature: 0.5 })
  assert.deepEqual([first.status, other.status], [200, 200])
  assert.notEqual(first.text, other.text)
})

test('IDEM-5: an uncharged outcome frees the key', async () => {
  const key = await gateway.key()
  provider.answer(answerJson({ error: { message: 'busy' } }, 500))
  assert.equal((await ask({ key, idempotencyKey: 'k5' })).status, 503)
  provider.answer(ordinary)
  const again = await ask({ key, idempotencyKey: 'k5' })
  assert.equal(again.status, 200)
  assert.equal(again.headers['idempotent-replayed'], undefined)
})

test('IDEM-1: keys that are no keys are refused; those of the SDK are kept', async () => {
  provider.answer(countingSlowly())
  const key = await gateway.key()
  for (const idempotencyKey of ['x'.repeat(256), 'a b c ü']) {
    const answer = await ask({ key, idempotencyKey: Buffer.from(idempotencyKey).toString('latin1') })
    assert.equal(answer.status, 400, answer.text)
  }
  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const create = () =>
    client.chat.completions.create(
      { model: 'm1', messages: [{ role: 'user', content: 'hi' }] },
      { headers: { 'Idempotency-Key': 'from the SDK'.replaceAll(' ', '-') } },
    )
  const [one, two] = [await create(), await create()]
  assert.equal(one.id, two.id)
})

test('the header is taken on streams', async () => {
  provider.answer(ordinary)
  const key = await gateway.key()
  const answer = await ask({ key, idempotencyKey: 'stream', stream: true })
  assert.equal(answer.status, 200)
  assert.match(answer.text, /\[DONE\]/)
})

test('a client that disconnects while others wait for the same answer does not end it', async () => {
  const told = Promise.withResolvers<void>()
  provider.answer(countingSlowly(told.promise))
  const key = await gateway.keyOfNewAccount()
  const leaving = new AbortController()
  const called = provider.calls.length
  const first = send(gateway, CHAT, {
    key,
    body: hello(),
    headers: { 'idempotency-key': 'leaver' },
    signal: leaving.signal,
  }).catch(() => undefined)
  await provider.call(called)
  const waiting = ask({ key, idempotencyKey: 'leaver' })
  await untilActive(gateway, 2)
  leaving.abort()
  await first
  told.resolve()
  assert.equal((await waiting).status, 200)
  const rows = await eventually(
    () => everyRow<UsageRow>(gateway, key, '/v1/usage/completions'),
    ({ length }) => length > 0,
  )
  assert.equal(rows.length, 1)
})

interface Endpoint {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** What the provider answers to a request that is not streamed. */
  readonly answer: object
  readonly stream: boolean
}

const SAID = completion({ content: 'Hello' })
const TEXTS = { id: 'up-1', choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }], usage: counts(10, 5) }
const MESSAGES = [{ role: 'user', content: 'hi' }]
const ENDPOINTS: readonly Endpoint[] = [
  { path: CHAT, body: { messages: MESSAGES }, answer: SAID, stream: true },
  { path: '/v1/messages', body: { max_tokens: 50, messages: MESSAGES }, answer: SAID, stream: true },
  { path: '/v1/responses', body: { input: 'hi' }, answer: SAID, stream: true },
  { path: '/v1/completions', body: { prompt: 'hi' }, answer: TEXTS, stream: true },
  {
    path: '/v1/embeddings',
    body: { model: 'vectors', input: 'hi' },
    answer: { data: [{ index: 0, embedding: [0.5, 1] }], usage: { prompt_tokens: 7, total_tokens: 7 } },
    stream: false,
  },
  {
    path: '/v1/rerank',
    body: { model: 'ranks', query: 'hi', documents: ['a', 'b'] },
    answer: { results: [{ index: 1, relevance_score: 0.5 }], usage: { total_tokens: 9 } },
    stream: false,
  },
]

async function assertChargedOnce(key: string, api: string): Promise<void> {
  const rows = await eventually(
    () => everyRow<UsageRow>(gateway, key, '/v1/usage/completions'),
    ({ length }) => length > 0,
  )
  assert.deepEqual(
    rows.map((row) => [row.status, row.api]),
    [['completed', api]],
  )
  assert.equal((await everyRow<LedgerRow>(gateway, key, '/v1/ledger?kind=charge')).length, 1)
  assert.equal((await reconcile(gateway, key)).ok, true)
}

for (const { path, body, answer, stream } of ENDPOINTS) {
  const api = path === CHAT ? 'chat_completions' : path.slice('/v1/'.length)
  const asked = { model: 'm1', ...body }

  test(`${path}: equal requests at two processes are one call and one charge; another body is rejected`, async () => {
    const told = Promise.withResolvers<void>()
    provider.answer(async (call, reply) => {
      await told.promise
      await answerJson(answer)(call, reply)
    })
    const key = await gateway.keyOfNewAccount()
    const called = provider.calls.length
    const call = { key, body: asked, headers: { 'idempotency-key': `once ${path}` } }
    const both = [gateway, second].map((at) => send(at, path, call))
    await provider.call(called)
    told.resolve()
    const [one, other] = await Promise.all(both)
    assert.deepEqual([one?.status, other?.status], [200, 200], `${one?.text} ${other?.text}`)
    assert.equal(one?.text, other?.text)
    for (const each of [one, other]) {
      assert.match(each?.headers['x-request-id'] ?? '', /^req_/)
      assert.match(each?.headers['x-turnpike-route'] ?? '', /up/)
    }
    const changed = await send(second, path, { ...call, body: { ...asked, user: 'another' } })
    assert.equal(changed.status, 409, changed.text)
    assert.match(changed.text, /idempotency_key_reused/)
    assert.equal(provider.calls.length - called, 1)
    await assertChargedOnce(key, api)
  })

  if (!stream) continue
  test(`${path}: a lost stream continues in another process from Last-Event-ID, charged once`, async () => {
    const told = Promise.withResolvers<void>()
    provider.answer(async (_, reply) => {
      reply.head(200, SSE_HEAD)
      const pieces = path === '/v1/completions' ? textPieces() : textChunks(6)
      for (const piece of pieces.slice(0, 3)) await reply.write(frame(piece))
      await told.promise
      for (const piece of [...pieces.slice(3), '[DONE]']) await reply.write(frame(piece))
      reply.end()
    })
    const key = await gateway.keyOfNewAccount()
    const called = provider.calls.length
    const call = { key, body: { ...asked, stream: true }, headers: { 'idempotency-key': `lost ${path}` }, fresh: true }
    const first = await open(gateway, path, call)
    let had = ''
    for await (const bytes of first.body) {
      had += String(bytes)
      if (had.includes('t1')) break // which closes the connection
    }
    const last = [...had.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? assert.fail(had)
    const headers = { ...call.headers, 'last-event-id': last }
    const rest = send(second, path, { ...call, headers })
    await untilActive(second, 1)
    told.resolve()
    const { text } = await rest
    const whole = await send(second, path, call)
    assert.equal(whole.headers['idempotent-replayed'], 'true')
    assert.match(whole.text, /t0.*t5/s)
    const events = (part: string): string[] => part.split('\n\n').filter((event) => event.startsWith('id: '))
    assert.deepEqual(events(text), events(whole.text).slice(Number(last)))
    assert.deepEqual(
      events(whole.text).map((event) => Number(/^id: (\d+)/.exec(event)?.[1])),
      events(whole.text).map((_, at) => at + 1),
    )
    assert.equal(provider.calls.length - called, 1)
    await assertChargedOnce(key, api)
  })
}

/** The same words as those of `textChunks`, in the form of legacy completions. */
function textPieces(): Readonly<Record<string, unknown>>[] {
  const words = Array.from({ length: 6 }, (_, at) => ({
    choices: [{ index: 0, text: `t${at} `, finish_reason: null }],
  }))
  return [...words, { choices: [{ index: 0, text: '', finish_reason: 'stop' }] }, { choices: [], usage: counts(10, 6) }]
}
