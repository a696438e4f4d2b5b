import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { CHAT, eventually, hello, open } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, type LedgerRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { counts, frame, ordinary, SSE_HEAD, sendFrames, textChunks, usageChunk } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { sqliteFileIn } from '../support/sqlite-file.ts'

const WORDS = 7
const SETTLED_WITHIN_MS = 90_000
const LOCKED_WITHIN_MS = 60_000

const provider = await startFakeProvider(ordinary)
const gateway = await startGateway({ config: oneModel(provider.url) })
after(async () => {
  await gateway.stop()
  await provider.close()
})

test('F11: a client that disconnects between the last byte and the commit has the whole answer, and pays once', async () => {
  const account = await gateway.cli('accounts', 'create', '--name', 'prompt')
  const key = await gateway.key('--account', account)
  const locked = Promise.withResolvers<void>()
  const script: Script = async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await locked.promise
    if (await sendFrames(reply, [...textChunks(WORDS).slice(0, -1), usageChunk(counts(10, WORDS))])) {
      reply.end(frame('[DONE]'))
    }
  }
  provider.answer(script)
  const leaving = new AbortController()
  const asked = { key, body: hello({ stream: true }), signal: leaving.signal, fresh: true }
  const next = provider.call(provider.calls.length)
  const answer = open(gateway, CHAT, asked)
  await next // what it may cost is held by now
  // What the process writes of itself now and then may be under way.
  const holder = new DatabaseSync(sqliteFileIn(gateway.dataDir), { timeout: LOCKED_WITHIN_MS })
  holder.exec('begin immediate')
  locked.resolve()
  const { body } = await answer
  body.on('error', () => undefined)
  let text = ''
  for await (const piece of body) {
    text += String(piece)
    if (text.includes('[DONE]')) break
  }
  leaving.abort()
  assert.match(text, /\[DONE\]/)
  assert.deepEqual(await everyRow(gateway, key, '/v1/usage/completions'), [], 'nothing is committed yet')
  holder.exec('rollback')
  holder.close()

  const rows = await eventually(
    () => everyRow<UsageRow>(gateway, key, '/v1/usage/completions'),
    ({ length }) => length > 0,
    SETTLED_WITHIN_MS,
  )
  assert.deepEqual(
    rows.map(({ status, completion_tokens, usage_source }) => [status, completion_tokens, usage_source]),
    [['completed', WORDS, 'provider']],
  )
  assert.equal((await creditAtRest(gateway, { account, key }, SETTLED_WITHIN_MS)).held_usd, 0)
  assert.equal((await everyRow<LedgerRow>(gateway, key, '/v1/ledger?kind=charge')).length, 1)
  assert.equal((await reconcile(gateway, key)).ok, true)
})
