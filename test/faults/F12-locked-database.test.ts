/** The lock alone takes half a minute, so it is slow. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, errorOf, eventually, getJson, hello, send } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { slowStream } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { sqliteFileIn } from '../support/sqlite-file.ts'

const LOCKED_MS = 30_000
const LOCK_WITHIN_MS = 60_000
/** Long before the lock is over. */
const REFUSED_WITHIN_MS = 25_000
const BACK_WITHIN_MS = 90_000
const STREAMS = 5
/** They begin before the lock and end while it is there. */
const WORDS = 80
const GAP_MS = 100

const provider = await startFakeProvider(slowStream(WORDS, GAP_MS))
const gateway = await startGateway({ config: oneModel(provider.url) })
after(async () => {
  await gateway.stop()
  await provider.close()
})

test('F12, LED-10: a database that is locked for 30 s admits nothing, cuts nothing and loses nothing', async () => {
  const account = await gateway.cli('accounts', 'create', '--name', 'locked')
  const key = await gateway.key('--account', account)
  const streams = Array.from({ length: STREAMS }, () => send(gateway, CHAT, { key, body: hello({ stream: true }) }))
  await provider.call(STREAMS - 1)
  // What the process writes of itself now and then may be under way.
  const holder = new DatabaseSync(sqliteFileIn(gateway.dataDir), { timeout: LOCK_WITHIN_MS })
  holder.exec('begin immediate')
  const lockedAt = performance.now()
  const called = provider.calls.length

  const refusals: number[] = []
  while (performance.now() - lockedAt < LOCKED_MS) {
    const askedAt = performance.now()
    const answer = await send(gateway, CHAT, { key, body: hello() })
    refusals.push(performance.now() - askedAt)
    assert.equal(answer.status, 503, answer.text)
    assert.equal(errorOf(answer).code, 'database_unavailable')
    assert.ok(answer.headers['retry-after'])
    await getJson(gateway, key, '/v1/models') // what needs no write goes on
    await sleep(250)
  }
  assert.equal(provider.calls.length, called, 'no admission, no call')
  assert.ok(Math.max(...refusals) < REFUSED_WITHIN_MS, `refused after ${Math.max(...refusals)} ms`)
  for (const { status, text } of await Promise.all(streams)) {
    assert.equal(status, 200)
    assert.match(text, /\[DONE\]/)
    assert.doesNotMatch(text, /"error"/)
  }
  holder.exec('rollback')
  holder.close()

  const rows = await eventually(
    () => everyRow<UsageRow>(gateway, key, '/v1/usage/completions'),
    ({ length }) => length === STREAMS,
    BACK_WITHIN_MS,
  )
  assert.deepEqual(
    rows.map(({ completion_tokens, status, usage_source }) => [completion_tokens, status, usage_source]),
    Array(STREAMS).fill([WORDS, 'completed', 'provider']),
  )
  assert.equal((await creditAtRest(gateway, { account, key }, BACK_WITHIN_MS)).held_usd, 0)
  assert.equal((await reconcile(gateway, key)).ok, true)
  provider.answer(slowStream(2, 1))
  const again = await eventually(
    () => send(gateway, CHAT, { key, body: hello({ stream: true }) }),
    ({ status }) => status === 200,
    BACK_WITHIN_MS,
  )
  assert.equal(again.status, 200)
})
