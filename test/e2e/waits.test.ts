/** Runs on one database: it is about the wire. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CHAT, hello, open, send } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { frame, ordinary, SSE_HEAD, sendFrames, silent, textChunks } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'

/** Of the contract between client and gateway: not to be configured, so the test waits for it. */
const KEEP_ALIVE_MS = 10_000

const provider = await startFakeProvider(silent)
const gateway = await startGateway({ config: oneModel(provider.url) })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

test('SSE-3: a silent provider’s stream receives its head and a comment after 10 s, and then continues', async () => {
  const heard = Promise.withResolvers<void>()
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await Promise.race([heard.promise, reply.wait(6 * KEEP_ALIVE_MS)])
    if (await sendFrames(reply, textChunks(2))) reply.end(frame('[DONE]'))
  })
  const askedAt = performance.now()
  const answer = await open(gateway, CHAT, { key, body: hello({ stream: true }) })
  assert.equal(answer.statusCode, 200)
  let text = ''
  let heardAt = 0
  for await (const bytes of answer.body) {
    text += String(bytes)
    if (!text.includes(': keep-alive\n\n') || heardAt > 0) continue
    heardAt = performance.now()
    heard.resolve()
  }
  const stream = readStream(text)
  assertWireRules(stream, { model: 'm1' })
  assert.deepEqual([...new Set(stream.comments)], ['keep-alive'])
  assert.ok(heardAt - askedAt > KEEP_ALIVE_MS - 100, `after ${heardAt - askedAt} ms`)
  assert.equal(assemble(stream).content, 't0 t1 ')
})

test('the gateway is unharmed afterwards', async () => {
  provider.answer(ordinary)
  assert.equal((await send(gateway, CHAT, { key, body: hello() })).status, 200)
})
