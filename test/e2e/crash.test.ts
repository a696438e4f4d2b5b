import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { CHAT, errorOf, eventually, hello, open, send } from '../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { ordinary, slowStream } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const PRELOAD = pathToFileURL(join(import.meta.dirname, '..', 'support', 'process', 'fault-at.ts')).href

const provider = await startFakeProvider(ordinary)
after(() => provider.close())

/** @param kind See `test/support/fault-at.ts`. */
function faulty(kind: string, point: string): Promise<Gateway> {
  const env = { NODE_OPTIONS: `--import=${PRELOAD}`, TURNPIKE_TEST_FAULT: kind, TURNPIKE_TEST_FAULT_AT: point }
  return startGateway({ config: oneModel(provider.url), env })
}

// At `before_send` it is taken for a connection that failed, and the call is made again.
for (const point of ['after_hold', 'after_send', 'mid_stream']) {
  test(`an exception in one request, at ${point}, ends that request, not the process`, async (t) => {
    const gateway = await faulty('throw', point)
    t.after(() => gateway.stop())
    const account = await gateway.cli('accounts', 'create', '--name', 'faulty')
    const key = await gateway.key('--account', account)
    provider.answer(ordinary)
    const answer = await send(gateway, CHAT, { key, body: hello({ stream: true }) })
    if (answer.status === 200) assert.match(answer.text, /internal_error[\s\S]*\[DONE\]/)
    else assert.equal(errorOf(answer).code, 'internal_error')
    assert.equal((await send(gateway, CHAT, { key, body: hello() })).status, 200, 'the next one is answered')
    assert.equal((await creditAtRest(gateway, { account, key })).held_usd, 0)
    assert.equal((await reconcile(gateway, key)).ok, true)
    gateway.signal('SIGTERM')
    assert.equal(await gateway.exited, 0)
  })
}

test('a promise that failed and that nobody waited for is logged, and the process lives', async (t) => {
  const gateway = await faulty('reject', 'after_hold')
  t.after(() => gateway.stop())
  const key = await gateway.key()
  provider.answer(ordinary)
  for (let round = 0; round < 2; round++) assert.equal((await send(gateway, CHAT, { key, body: hello() })).status, 200)
  gateway.signal('SIGTERM')
  assert.equal(await gateway.exited, 0)
  assert.match(gateway.output(), /unhandled promise rejection/)
})

for (const kind of ['uncaught', 'invariant']) {
  test(`${kind}: a process that cannot trust itself ends with 1, logs why, and loses no charge`, async (t) => {
    const gateway = await faulty(kind, 'after_last_byte')
    t.after(() => gateway.stop())
    const account = await gateway.cli('accounts', 'create', '--name', 'crashed')
    const key = await gateway.key('--account', account)
    provider.answer(slowStream(100_000, 10))
    const { body } = await open(gateway, CHAT, { key, body: hello({ stream: true }), fresh: true })
    const cut = new Promise<void>((resolve) => body.on('error', () => resolve()).on('end', () => resolve()))
    await new Promise((resolve) => body.once('data', resolve))
    provider.answer(ordinary)
    await send(gateway, CHAT, { key, body: hello(), fresh: true }).catch(() => undefined)
    assert.equal(await gateway.exited, 1)
    await cut
    assert.match(gateway.output(), /"level":60.*the test broke it.*unrecoverable error/)

    const again = await startGateway({ config: oneModel(provider.url), dataDir: gateway.dataDir })
    t.after(() => again.stop())
    const rows = await eventually(
      () => everyRow<UsageRow>(again, key, '/v1/usage/completions?status=completed'),
      ({ length }) => length === 1,
    )
    assert.deepEqual(
      rows.map(({ completion_tokens, usage_source }) => [completion_tokens, usage_source]),
      [[5, 'provider']],
      'what was answered is charged exactly',
    )
    assert.equal((await reconcile(again, key)).ok, true)
    assert.equal(await again.stop(), 0)
  })
}
