/** PostgreSQL goes away under a gateway and comes back: what must go on, what must be refused, and how soon. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, errorOf, eventually, hello, open, send } from '../../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../../support/gateway.ts'
import { creditAtRest, everyRow, reconcile, type UsageRow } from '../../support/ledger/money.ts'
import { startPostgres } from '../../support/process/postgres-server.ts'
import { slowStream } from '../../support/providers/answers.ts'
import { startFakeProvider } from '../../support/providers/fake-provider.ts'

const STREAMS = 5
const GAP_MS = 50
/** Of an admission, and of what needs no database: what waited for it would not be answered at all. */
const ANSWERED_WITHIN_MS = 30_000
const READY_WITHIN_MS = 90_000

/** Crashes the server for so long, with streams under way that end while it is away. */
export async function survivesOutage(awayMs: number): Promise<void> {
  const words = Math.ceil((awayMs * 0.6) / GAP_MS) + 20
  const [postgres, provider] = await Promise.all([startPostgres(), startFakeProvider(slowStream(words, GAP_MS))])
  const env = { DATABASE_URL: postgres.url, TURNPIKE_SECRET: 'a secret of tests, known to everybody' }
  const gateway = await startGateway({ config: oneModel(provider.url), env, args: ['--migrate'] })
  try {
    const account = await gateway.cli('accounts', 'create', '--name', 'outage')
    const key = await gateway.key('--account', account)
    const streams = await Promise.all(
      Array.from({ length: STREAMS }, () => open(gateway, CHAT, { key, body: hello({ stream: true }) })),
    )
    const texts = Promise.all(streams.map(({ body }) => body.text()))
    texts.catch(() => undefined) // a failed assertion ends the streams, and is the failure to report
    // A key that was read while news of its making was on the way is not yet kept.
    for (let time = 0; time < 3; time++) await send(gateway, '/v1/models', { key })
    await postgres.crash()
    const backAt = performance.now() + awayMs
    const calls = provider.calls.length
    do {
      await assertRefusesFast(gateway, key)
      await sleep(100)
    } while (performance.now() < backAt)
    assert.equal(provider.calls.length, calls, 'no admission, no call')
    for (const text of await texts) {
      assert.match(text, /\[DONE\]/)
      assert.doesNotMatch(text, /"error"/, 'what runs goes on')
    }
    await postgres.start()
    const ready = await eventually(
      () => send(gateway, '/readyz', { fresh: true }),
      ({ status }) => status === 200,
      READY_WITHIN_MS,
    )
    assert.equal(ready.status, 200, ready.text)
    provider.answer(slowStream(2, 1))
    const again = await eventually(
      () => send(gateway, CHAT, { key, body: hello({ stream: true }) }),
      ({ status }) => status === 200,
      READY_WITHIN_MS,
    )
    assert.equal(again.status, 200, again.text)
    const rows = await eventually(
      () => everyRow<UsageRow>(gateway, key, '/v1/usage/completions?status=completed'),
      ({ length }) => length > STREAMS,
      READY_WITHIN_MS,
    )
    const exact = rows.filter(
      ({ completion_tokens: tokens, usage_source: source }) => tokens === words && source === 'provider',
    )
    assert.equal(exact.length, STREAMS, 'each that ran is charged exactly')
    assert.equal((await creditAtRest(gateway, { account, key }, READY_WITHIN_MS)).held_usd, 0)
    assert.equal((await reconcile(gateway, key)).ok, true)
  } finally {
    await gateway.stop()
    await Promise.all([provider.close(), postgres.stop()])
  }
}

/** The key is known by heart: it is let in, and then nothing can be held. */
async function assertRefusesFast(gateway: Gateway, key: string): Promise<void> {
  const startedAt = performance.now()
  const admission = await send(gateway, CHAT, { key, body: hello() })
  assert.deepEqual([admission.status, errorOf(admission).code], [503, 'database_unavailable'], admission.text)
  assert.match(admission.headers['retry-after'] ?? '', /^[1-9]\d?$/)
  const models = await send(gateway, '/v1/models', { key })
  assert.equal(models.status, 200, 'a known key is a known key')
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs < ANSWERED_WITHIN_MS, `answered after ${tookMs} ms`)
  const unknown = await send(gateway, '/v1/models', { key: 'nobody' })
  assert.ok([401, 429].includes(unknown.status), unknown.text) // unknown keys of one address are rate limited
  const probe = await send(gateway, '/readyz', { fresh: true })
  assert.equal(probe.status, 503, probe.text)
  assert.equal((await send(gateway, '/healthz', { fresh: true })).status, 200)
}
