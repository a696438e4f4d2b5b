/**
 * How a process ends at SIGTERM. Runs on one database: what it leaves is found by the next process in the spool,
 * which `src/features/credit/spool` tests on both.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CHAT, errorOf, eventually, hello, open, send, usageReport } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { frame, ordinary, SSE_HEAD, sendFrames, silent, slowStream, textChunks } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'

const provider = await startFakeProvider(ordinary)
after(() => provider.close())

const WORDS = 40
/** Half of the words, and the others when the test has `told` it to go on. */
const inHalves =
  (told: Promise<void>): Script =>
  async (_, reply) => {
    const chunks = textChunks(WORDS)
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, chunks.slice(0, WORDS / 2))
    await told
    if (await sendFrames(reply, chunks.slice(WORDS / 2), 5)) reply.end(frame('[DONE]'))
  }

async function withDataDir(use: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-data-'))
  try {
    await use(dataDir)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

test('R-A15, F17: SIGTERM lets 20 streams end, rejects new requests, meters all, and exits with 0', async () => {
  await withDataDir(async (dataDir) => {
    const config = oneModel(provider.url, {}, { server: { drain_delay_ms: 10_000 } })
    const gateway = await startGateway({ config, dataDir })
    const key = await gateway.key()
    const told = Promise.withResolvers<void>()
    provider.answer(inHalves(told.promise))
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => open(gateway, CHAT, { key, body: hello({ stream: true }) })),
    )
    const texts = Promise.all(answers.map(({ body }) => body.text()))
    gateway.signal('SIGTERM')
    const probe = await eventually(
      () => send(gateway, '/readyz', { fresh: true }),
      ({ status }) => status === 503,
    )
    assert.equal(probe.status, 503)
    const refused = await send(gateway, CHAT, { key, body: hello(), fresh: true })
    assert.deepEqual([refused.status, errorOf(refused).code], [503, 'shutting_down'])
    assert.equal(refused.headers['connection'], 'close')
    assert.match(refused.headers['retry-after'] ?? '', /^[1-9]\d?$/)
    told.resolve()
    for (const text of await texts) {
      const stream = readStream(text)
      assertWireRules(stream, { model: 'm1' })
      assert.equal(assemble(stream).content, Array.from({ length: WORDS }, (_, i) => `t${i} `).join(''))
      assert.equal(assemble(stream).finishReason, 'stop')
    }
    assert.equal(await gateway.exited, 0)

    const again = await startGateway({ config, dataDir })
    const { total_tokens, total_cost_usd } = await usageReport(again, key)
    assert.equal(total_tokens, 20 * (10 + WORDS))
    assert.equal(total_cost_usd, (20 * (10 * 1 + WORDS * 2)) / 1e6)
    assert.equal(await again.stop(), 0)
  })
})

test('R-A15: streams that outlast the drain time receive the in-band error and [DONE], and are metered', async () => {
  await withDataDir(async (dataDir) => {
    const config = oneModel(provider.url, {}, { server: { drain_ms: 300 } })
    const gateway = await startGateway({ config, dataDir })
    const key = await gateway.key()
    provider.answer(slowStream(5000, 10))
    const answer = await open(gateway, CHAT, { key, body: hello({ stream: true }) })
    let text = ''
    let isTold = false
    for await (const bytes of answer.body) {
      text += String(bytes)
      if (isTold || !text.includes(' hello')) continue
      isTold = true
      gateway.signal('SIGTERM')
    }
    const stream = readStream(text)
    assertWireRules(stream, { model: 'm1' })
    assert.equal(stream.error?.type, 'upstream_error')
    assert.match(stream.error?.message ?? '', /incomplete/i)
    assert.equal(await gateway.exited, 0)

    const again = await startGateway({ config, dataDir })
    const { total_tokens } = await usageReport(again, key)
    const words = assemble(stream).content.split(' hello').length - 1
    assert.ok(words > 0 && Math.abs(total_tokens - words) <= 20, `${total_tokens} tokens for ${words} words`)
    assert.equal(await again.stop(), 0)
  })
})

test('R-A15: a whole answer that outlasts the drain time receives a 503 and is not cut', async () => {
  const gateway = await startGateway({ config: oneModel(provider.url, {}, { server: { drain_ms: 300 } }) })
  const key = await gateway.key()
  provider.answer(silent)
  const called = provider.call(provider.calls.length)
  const answer = send(gateway, CHAT, { key, body: hello() })
  await called
  gateway.signal('SIGTERM')
  const { status, text } = await answer
  assert.equal(status, 503, text)
  assert.equal(await gateway.exited, 0)
  await gateway.stop()
})

test('F17: an idle kept-alive connection does not hold up the end', async () => {
  const gateway = await startGateway({ config: oneModel(provider.url) })
  const key = await gateway.key()
  provider.answer(ordinary)
  await send(gateway, CHAT, { key, body: hello() }) // leaves its connection open, for 75 s if nobody closes it: `stop` does not wait so long
  assert.equal(await gateway.stop(), 0)
})

test('when the reader of the log is gone, requests are served, and SIGTERM ends the process', async () => {
  const gateway = await startGateway({ config: oneModel(provider.url), env: { LOG_LEVEL: 'info' } })
  const key = await gateway.key()
  provider.answer(ordinary)
  await eventually(
    async () => gateway.output(),
    (printed) => printed.includes('Turnpike is listening'),
  )
  gateway.dropOutput()
  assert.equal((await send(gateway, CHAT, { key, body: hello() })).status, 200)
  assert.equal(await gateway.stop(), 0)
})

test('SIGTERM in the first moment of readiness already drains', async () => {
  const gateway = await startGateway({ config: oneModel(provider.url) })
  assert.equal(await gateway.stop(), 0)
})
