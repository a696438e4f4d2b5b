/**
 * What a mistake in the code costs: the request in which it is, or the process, and never a charge. Runs on one database:
 * what the next process finds is tested on both by `src/features/credit/spool/recovery.test.ts`.
 */
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

/** @param faults See `test/support/process/fault-at.ts`. */
function startFaulty(...faults: readonly string[]): Promise<Gateway> {
  const env = { NODE_OPTIONS: `--import=${PRELOAD}`, TURNPIKE_TEST_FAULTS: faults.join() }
  return startGateway({ config: oneModel(provider.url), env })
}

async function arm(gateway: Gateway, fault: string): Promise<void> {
  gateway.signal('SIGUSR2')
  const isArmed = (output: string) => output.includes(`armed: ${fault}\n`)
  await eventually(async () => gateway.output(), isArmed)
}

// At `before_send` it is taken for a connection that failed, and the call is made again.
const POINTS = ['after_hold', 'after_send', 'mid_stream'] as const
/** It survives all of these, one after another. */
const survivor = await startFaulty(...POINTS.map((point) => `throw:${point}`), 'reject:after_hold')
after(() => survivor.stop())

for (const point of POINTS) {
  test(`an exception in one request, at ${point}, ends that request, not the process`, async () => {
    const account = await survivor.cli('accounts', 'create', '--name', 'faulty')
    const key = await survivor.key('--account', account)
    provider.answer(ordinary)
    await arm(survivor, `throw:${point}`)
    const answer = await send(survivor, CHAT, { key, body: hello({ stream: true }) })
    if (answer.status === 200) assert.match(answer.text, /internal_error[\s\S]*\[DONE\]/)
    else assert.equal(errorOf(answer).code, 'internal_error')
    assert.equal((await send(survivor, CHAT, { key, body: hello() })).status, 200, 'the next one is answered')
    assert.equal((await creditAtRest(survivor, { account, key })).held_usd, 0)
    assert.equal((await reconcile(survivor, key)).ok, true)
  })
}

test('an unhandled rejection is logged, and the process continues and exits normally', async () => {
  const key = await survivor.key()
  provider.answer(ordinary)
  await arm(survivor, 'reject:after_hold')
  for (let round = 0; round < 2; round++) assert.equal((await send(survivor, CHAT, { key, body: hello() })).status, 200)
  survivor.signal('SIGTERM')
  assert.equal(await survivor.exited, 0)
  assert.match(survivor.output(), /unhandled promise rejection/)
})

for (const kind of ['uncaught', 'invariant']) {
  test(`${kind}: a process that cannot trust itself ends with 1, logs why, and loses no charge`, async (t) => {
    const gateway = await startFaulty(`${kind}:after_last_byte`)
    t.after(() => gateway.stop())
    const account = await gateway.cli('accounts', 'create', '--name', 'crashed')
    const key = await gateway.key('--account', account)
    provider.answer(slowStream(100_000, 10))
    const { body } = await open(gateway, CHAT, { key, body: hello({ stream: true }), fresh: true })
    const cut = new Promise<void>((resolve) => body.on('error', () => resolve()).on('end', () => resolve()))
    await new Promise((resolve) => body.once('data', resolve))
    provider.answer(ordinary)
    await arm(gateway, `${kind}:after_last_byte`)
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
