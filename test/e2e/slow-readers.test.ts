/** Runs on one database: it is about the wire. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, hello, open } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { chunk, frame, ordinary, SSE_HEAD, textChunks } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'

const MIB = 1024 * 1024
const provider = await startFakeProvider(ordinary)
const gateway = await startGateway({ config: oneModel(provider.url) })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

function residentBytes(): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]
  return Number(kib) * 1024
}

test('OVL-3, F10: while the client does not read, the provider is made to wait and the gateway does not grow', async () => {
  const EVENTS = 50_000
  const payload = frame(chunk({ content: 'x'.repeat(900) }))
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    for (let i = 0; i < EVENTS; i++) if (!(await reply.write(payload))) return
    for (const last of textChunks(0).slice(-2)) await reply.write(frame(last))
    reply.end(frame('[DONE]'))
  })
  const before = residentBytes()
  const next = provider.call(provider.calls.length)
  const socket = connect(gateway.port, '127.0.0.1')
  const body = JSON.stringify(hello({ stream: true }))
  socket.pause()
  socket.write(
    `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const call = await next
  let last = -1
  while (call.written !== last || call.written === 0) {
    last = call.written
    await sleep(400)
  }
  const total = EVENTS * payload.length
  assert.ok(call.written < total / 2, `${call.written} of ${total} bytes were taken although nobody reads`)
  const grown = residentBytes() - before
  assert.ok(grown < 64 * MIB, `the gateway grew by ${grown} bytes`)

  let contents = 0
  let tail = ''
  socket.on('data', (bytes) => {
    const text = tail.slice(-8) + bytes.toString('latin1')
    contents += text.split('"x').length - 1 - (tail.slice(-8).split('"x').length - 1)
    tail = text.slice(-400)
  })
  socket.resume()
  await new Promise((resolve) => socket.on('close', resolve))
  assert.equal(contents, EVENTS, 'nothing was lost')
  assert.match(tail, /data: \[DONE\]/)
})

test('every event reaches the client before the next one is sent: nothing waits in a buffer', async () => {
  const EVENTS = 60
  const received = Array.from({ length: EVENTS }, () => Promise.withResolvers<void>())
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    for (const { promise } of received) {
      await reply.write(frame(chunk({ content: 'ping' })))
      await promise
    }
    for (const last of textChunks(EVENTS).slice(-2)) await reply.write(frame(last))
    reply.end(frame('[DONE]'))
  })
  const answer = await open(gateway, CHAT, { key, body: hello({ stream: true }) })
  let text = ''
  for await (const bytes of answer.body) {
    text += String(bytes)
    const pings = text.split('"ping"').length - 1
    for (const { resolve } of received.slice(0, pings)) resolve()
  }
  const stream = readStream(text)
  assertWireRules(stream, { model: 'm1' })
  assert.equal(assemble(stream).content, 'ping'.repeat(EVENTS))
})
