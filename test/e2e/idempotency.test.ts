import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { CHAT, errorOf, eventually, hello, send, untilActive } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, type LedgerRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { answerJson, completion, counts, ordinary } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const provider = await startFakeProvider(ordinary)
const config = oneModel(provider.url, {}, { routing: { max_attempts: 1 } })
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
  test(`IDEM-3, F23, INV-8: 50 equal requests at once, ${name}: one call, one charge, 50 equal answers`, async () => {
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
    assert.equal((await everyRow<UsageRow>(gateway, key, '/v1/usage/completions')).length, 1)
    assert.equal((await everyRow<LedgerRow>(gateway, key, '/v1/ledger?kind=charge')).length, 1)
    assert.equal((await reconcile(gateway, key)).ok, true)
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

test('IDEM-1: another account may use the same key for something else', async () => {
  provider.answer(countingSlowly())
  const [one, two] = [await gateway.keyOfNewAccount(), await gateway.keyOfNewAccount()]
  const first = await ask({ key: one, idempotencyKey: 'shared' })
  const other = await ask({ key: two, idempotencyKey: 'shared', temperature: 0.5 })
  assert.deepEqual([first.status, other.status], [200, 200])
  assert.notEqual(first.text, other.text)
})

test('IDEM-5: what charged nothing frees the key', async () => {
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

test('a client that leaves while others wait for the same answer does not take it from them', async () => {
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
