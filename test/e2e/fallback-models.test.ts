/** Fallback models from the client to the ledger: who is charged for what, and what is left after a crash. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CHAT, eventually, open, send } from '../support/client.ts'
import { openLocation } from '../support/database.ts'
import { model, startGateway } from '../support/gateway.ts'
import { everyRow, reconcile } from '../support/ledger/money.ts'
import {
  answerBytes,
  answerJson,
  completion,
  ordinary,
  SSE_HEAD,
  silent,
  slowStream,
} from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const good = answerJson(completion({ content: 'Hi' }))
const [one, two] = await Promise.all([startFakeProvider(good), startFakeProvider(good)])
const provider = (url: string, over: object = {}): object => ({
  ...{ protocol: 'openai', base_url: `${url}/v1`, api_key: 'sk-1' },
  ...over,
})
const config = {
  providers: {
    one: provider(one.url, { timeout_ms: { first_byte: 3_000 } }),
    two: provider(two.url),
    simulator: { protocol: 'simulator', timeout_ms: { first_byte: 3_000, total: 5_000 } },
  },
  // Each request calls the provider that fails.
  routing: { max_attempts: 1, breaker: { failures: 1_000 } },
  models: [
    { ...model('cheap', 'one', 'cheap-m'), fallbacks: ['dear'] },
    { ...model('dear', 'two', 'dear-m'), pricing: { input_per_million: 10, output_per_million: 20 } },
    { ...model('simulated', 'simulator', 'turnpike-simulator'), fallbacks: ['dear'] },
    { ...model('gone', 'one', 'gone-m'), deprecation_date: '2020-01-01' },
  ],
  virtual_models: [{ id: 'empty', candidates: [{ model: 'gone' }] }],
}
const gateway = await startGateway({ config })
after(async () => {
  await gateway.stop()
  await Promise.all([one.close(), two.close()])
})

const bodiesOf = (id: string, content = 'hi'): Readonly<Record<string, object>> => ({
  [CHAT]: { model: id, messages: [{ role: 'user', content }] },
  '/v1/messages': { model: id, max_tokens: 100, messages: [{ role: 'user', content }] },
  '/v1/responses': { model: id, input: content },
})
const BODIES = bodiesOf('cheap')

const FAULTS: Readonly<Record<string, Parameters<typeof one.answer>[0]>> = {
  'an error': answerJson({ error: { message: 'down' } }, 500),
  overload: answerJson({ error: { message: 'busy' } }, 503),
  'a connection that is cut': (_, reply) => reply.reset(),
  'a head alone': (_, reply) => {
    reply.head(200, SSE_HEAD)
    reply.cut()
  },
  'an event that breaks off': async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await reply.write('data: {"id":"1","choi')
    reply.reset()
  },
  'bytes that are no answer': answerBytes({ 'content-type': 'text/html' }, '<html>Bad gateway</html>'),
  'no answer in time': silent,
}

interface Row {
  readonly model: string
  readonly provider: string
  readonly status: string
}

test('on each API, streamed and not, the fallback answers, and alone is charged: rows and ledger agree', async () => {
  const key = await gateway.keyOfNewAccount()
  let sent = 0
  const before = one.calls.length
  two.answer(ordinary)
  for (const fault of Object.values(FAULTS)) {
    one.answer(fault)
    const bodies = Object.entries(BODIES).flatMap(([path, body]) =>
      [false, true].map((stream) => ({ path, body: { ...body, stream } })),
    )
    const answers = await Promise.all(bodies.map(({ path, body }) => send(gateway, path, { key, body })))
    for (const answer of answers) {
      assert.equal(answer.status, 200, answer.text)
      assert.match(answer.text, /"model":\s*"dear"/)
      assert.match(answer.headers['x-turnpike-route'] ?? '', /why=fallback;outcome=answered$/)
    }
    sent += answers.length
  }
  const rows = await eventually(
    () => everyRow<Row>(gateway, key, '/v1/usage/completions'),
    (found) => found.length === sent,
  )
  assert.deepEqual([rows.length, one.calls.length - before], [sent, sent])
  for (const row of rows) assert.deepEqual([row.model, row.provider, row.status], ['dear', 'two', 'completed'])
  const total = await reconcile(gateway, key)
  assert.equal(total.ok, true)
})

/** Prompts by which the simulator fails: before a stream's first event, and after it. */
const SIMULATED: Readonly<Record<'before' | 'after', readonly string[]>> = {
  before: ['error 429', 'error 503 Closed for lunch', 'error 500', 'cut', 'stall'],
  after: ['error 500 after 2', 'cut 3', 'close 1'],
}

test('where the simulator fails, on each API, streamed and not, the fallback answers, unless an answer has begun', async () => {
  const key = await gateway.keyOfNewAccount()
  two.answer(ordinary)
  const cases = Object.entries(SIMULATED).flatMap(([when, directives]) =>
    directives.flatMap((directive) =>
      Object.entries(bodiesOf('simulated', `Hi\nsimulate: ${directive}`)).flatMap(([path, body]) =>
        [false, true].map((stream) => ({ path, body: { ...body, stream }, isBroken: stream && when === 'after' })),
      ),
    ),
  )
  const before = two.calls.length
  await Promise.all(
    cases.map(async ({ path, body, isBroken }) => {
      const answer = await send(gateway, path, { key, body })
      const what = `${path} ${JSON.stringify(body)}: ${answer.text}`
      assert.equal(answer.status, 200, what)
      assert.match(answer.text, isBroken ? /"model":\s*"simulated"/ : /"model":\s*"dear"/, what)
      assert.equal(/provider_error|api_error|server_error/.test(answer.text), isBroken, what)
      if (!isBroken) assert.match(answer.headers['x-turnpike-route'] ?? '', /^simulator;.*, two;.*;outcome=answered$/)
    }),
  )
  const rows = await eventually(
    () => everyRow<Row>(gateway, key, '/v1/usage/completions'),
    (found) => found.length === cases.length,
  )
  const broken = cases.filter(({ isBroken }) => isBroken).length
  const count = (wanted: Partial<Row>): number =>
    rows.filter((row) => row.model === wanted.model && row.status === wanted.status).length
  assert.equal(count({ model: 'dear', status: 'completed' }), cases.length - broken)
  assert.equal(count({ model: 'simulated', status: 'incomplete' }), broken)
  assert.equal(two.calls.length - before, cases.length - broken)
  assert.equal((await reconcile(gateway, key)).ok, true)
})

test('on each API, an unknown ID or an empty set of candidates is refused with an error that names it', async () => {
  const key = await gateway.keyOfNewAccount()
  const limited = Object.fromEntries([['only', ['nowhere']]])
  const cases: readonly (readonly [over: object, param: string, named: RegExp])[] = [
    [{ models: ['dear', 'unknown-9'] }, 'models[1]', /'unknown-9' does not exist/],
    [{ models: [], model: undefined }, 'model', /`model/],
    [{ provider: limited }, 'provider', /no provider 'nowhere'/],
    [{ provider: { order: ['nowhere'], allow_fallbacks: false } }, 'provider', /no provider 'nowhere'/],
    [{ model: 'dear', provider: { ignore: ['two'] } }, 'provider', /'two' by `provider\.ignore`/],
    [{ model: 'empty' }, 'model', /'empty' has no usable candidate/],
  ]
  for (const [path, body] of Object.entries(BODIES)) {
    for (const [over, param, named] of cases) {
      const { status, text } = await send(gateway, path, { key, body: { ...body, ...over } })
      assert.equal(status, 400, `${path} ${JSON.stringify(over)}: ${text}`)
      assert.match(text.replaceAll('\\"', '"'), named, path)
      if (path !== '/v1/messages') assert.ok(text.includes(`"param":"${param}`), text)
    }
    const header = { 'x-turnpike-routing': '{"models":["unknown-9"]}' }
    const listed = await send(gateway, path, { key, body, headers: header })
    assert.deepEqual([listed.status, /'unknown-9' does not exist/.test(listed.text)], [400, true], listed.text)
    const unknown = await send(gateway, path, { key, body: { ...body, model: 'unknown-9' } })
    // The specification fixes 422 for the model itself, and Anthropic's API has 404.
    assert.equal(unknown.status, path === '/v1/messages' ? 404 : 422)
    assert.match(unknown.text, /'unknown-9' does not exist/)
  }
})

test('the header `x-turnpike-routing` has the effect of the fields, on each API', async () => {
  const key = await gateway.keyOfNewAccount()
  one.answer(good)
  two.answer(good)
  for (const [path, body] of Object.entries(BODIES)) {
    const headers = { 'x-turnpike-routing': '{"models": ["dear"], "provider": {"only": ["two"]}}' }
    const answer = await send(gateway, path, { key, body, headers })
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.text, /"model":\s*"dear"/)
    assert.match(answer.headers['x-turnpike-route'] ?? '', /^one;model="cheap-m";skipped=no_candidates, two;/)
    const none = await send(gateway, path, {
      key,
      body,
      headers: { 'x-turnpike-routing': '{"provider":{"only":["x"]}}' },
    })
    assert.equal(none.status, 400)
    assert.match(none.text, /no_candidates/)
  }
})

test('a running fallback is noted with its model and price, for the case that this process dies', async (t) => {
  const key = await gateway.keyOfNewAccount()
  one.answer(FAULTS['an error'] ?? assert.fail())
  two.answer(slowStream(100_000, 20))
  const { body } = await open(gateway, CHAT, { key, body: { ...BODIES[CHAT], stream: true }, fresh: true })
  body.on('error', () => {})
  t.after(() => body.destroy())
  await new Promise((resolve) => body.once('data', resolve))
  const database = await openLocation(gateway.database)
  t.after(() => database.close())
  const held = () => database.db.selectFrom('hold').select(['model', 'provider', 'price_version']).executeTakeFirst()
  const hold = await eventually(held, (row) => row?.model === 'dear')
  assert.equal(hold?.provider, 'two')
  const versions = await database.db.selectFrom('price_version').select('id').where('model', '=', 'dear').execute()
  assert.ok(versions.some(({ id }) => id === hold?.price_version))
})
