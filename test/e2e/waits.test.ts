import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, suite, test } from 'node:test'
import { frame, ordinary, SSE_HEAD, sendFrames, silent, textChunks } from '../support/answers.ts'
import { CHAT, hello, open, rawStatus, send } from '../support/client.ts'
import { startFakeProvider } from '../support/fake-provider.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { assemble, assertWireRules, readStream } from '../support/sse.ts'

/** Of the contract between client and gateway: not to be configured, so the tests wait for them. */
const KEEP_ALIVE_MS = 10_000
const HEADERS_MS = 10_000
const BODY_MS = 60_000
const SLACK_MS = 2_000

const provider = await startFakeProvider(silent)
const gateway = await startGateway({ config: oneModel(provider.url) })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

/** Sends a byte every half second until the server ends the connection; gives up when it does not. */
async function drip(start: string, byte: string, giveUpMs: number): Promise<{ text: string; tookMs: number }> {
  const begunAt = performance.now()
  let text = ''
  const socket: Socket = connect(gateway.port, '127.0.0.1', () => socket.write(start))
  const dripping = setInterval(() => {
    if (performance.now() - begunAt > giveUpMs) socket.destroy()
    else socket.write(byte)
  }, 500)
  socket.on('data', (bytes) => {
    text += bytes.toString()
  })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.on('close', resolve))
  clearInterval(dripping)
  return { text, tookMs: performance.now() - begunAt }
}

suite('waits that are part of the contract', { concurrency: true }, () => {
  test('SSE-3: a silent provider’s stream gets its head and a comment after 10 s, and then goes on', async () => {
    provider.answer(async (_, reply) => {
      reply.head(200, SSE_HEAD)
      if (!(await reply.wait(KEEP_ALIVE_MS + 1000))) return
      if (await sendFrames(reply, textChunks(2))) reply.end(frame('[DONE]'))
    })
    const answer = await open(gateway, CHAT, { key, body: hello({ stream: true }) })
    assert.equal(answer.statusCode, 200)
    const stream = readStream(await answer.body.text())
    assertWireRules(stream, { model: 'm1' })
    assert.deepEqual(stream.comments, ['keep-alive'])
    assert.equal(assemble(stream).content, 't0 t1 ')
  })

  test('EDGE-1, F9: a head that comes byte by byte is cut with 408', async () => {
    const { text, tookMs } = await drip('GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ', 'x', HEADERS_MS + 2 * SLACK_MS)
    assert.equal(rawStatus(text), 408)
    assert.match(text, /"code":"request_timeout"/)
    assert.ok(tookMs >= HEADERS_MS - 100 && tookMs <= HEADERS_MS + SLACK_MS, `${tookMs} ms`)
  })

  test('EDGE-1, F9: a body that comes byte by byte is cut with 408', async () => {
    const head = `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{`
    const { text, tookMs } = await drip(head, ' ', BODY_MS + 2 * SLACK_MS)
    assert.equal(rawStatus(text), 408)
    assert.match(text, /"code":"request_timeout"/)
    assert.ok(tookMs >= BODY_MS - 100 && tookMs <= BODY_MS + SLACK_MS, `${tookMs} ms`)
  })

  test('F9: with 300 such connections open, others are served', async () => {
    const sockets = Array.from({ length: 300 }, () => connect(gateway.port, '127.0.0.1').on('error', () => {}))
    for (const socket of sockets) socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ')
    for (let i = 0; i < 20; i++) assert.equal((await send(gateway, '/v1/models', { key })).status, 200)
    for (const socket of sockets) socket.destroy()
  })
})

test('the gateway is unharmed afterwards', async () => {
  provider.answer(ordinary)
  assert.equal((await send(gateway, CHAT, { key, body: hello() })).status, 200)
})
