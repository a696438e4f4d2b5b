/** Streams that end while the disk is full take seconds, so it is slow. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Answer, CHAT, errorOf, eventually, getJson, hello, send } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { mountSmallDisk } from '../support/process/small-disk.ts'
import { slowStream } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import '../support/sqlite-file.ts' // the disk is the database's: this is about SQLite

const STREAMS = 5
const WORDS = 30
const GAP_MS = 100
const WITHIN_MS = 90_000

const disk = mountSmallDisk(32)
const provider = await startFakeProvider(slowStream(WORDS, GAP_MS))
const gateway = await startGateway({ config: oneModel(provider.url), dataDir: join(disk.path, 'data') })
after(async () => {
  disk.clear()
  await gateway.stop()
  await provider.close()
  disk.remove()
})

/** One that the log still had room for is admitted, and then gets a stream where it wants none: 503 as well. */
function isRefusedByDatabase(answer: Answer): boolean {
  return answer.status === 503 && errorOf(answer).code === 'database_unavailable'
}

test('F15, DUR-3: with a full disk no request is admitted, running ones end complete, and all are charged afterwards', async () => {
  const account = await gateway.cli('accounts', 'create', '--name', 'full')
  const key = await gateway.key('--account', account)
  const streams = Array.from({ length: STREAMS }, () => send(gateway, CHAT, { key, body: hello({ stream: true }) }))
  await provider.call(STREAMS - 1)
  disk.fill()
  const refused = await eventually(
    async () => {
      disk.fill() // what a rollback gives back is taken as well
      return send(gateway, CHAT, { key, body: hello() })
    },
    isRefusedByDatabase,
    WITHIN_MS,
  )
  assert.equal(refused.status, 503, refused.text)
  assert.equal(errorOf(refused).code, 'database_unavailable')
  await getJson(gateway, key, '/v1/usage') // reads go on
  for (const { status, text } of await Promise.all(streams)) {
    assert.equal(status, 200)
    assert.match(text, /\[DONE\]/)
    assert.doesNotMatch(text, /"error"/)
  }
  disk.clear()
  const rows = await eventually(
    () => everyRow<UsageRow>(gateway, key, '/v1/usage/completions?status=completed'),
    ({ length }) => length >= STREAMS,
    WITHIN_MS,
  )
  assert.ok(rows.every(({ completion_tokens }) => completion_tokens === WORDS))
  const credit = await creditAtRest(gateway, { account, key }, WITHIN_MS)
  assert.equal(credit.held_usd, 0)
  assert.equal((await reconcile(gateway, key)).ok, true)
  provider.answer(slowStream(2, 1))
  const again = await eventually(
    () => send(gateway, CHAT, { key, body: hello({ stream: true }) }),
    ({ status }) => status === 200,
    WITHIN_MS,
  )
  assert.equal(again.status, 200)
})
