/** F9: clients that send their requests a byte at a time, or never, under limits that are shortened here. */
import assert from 'node:assert/strict'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHttpServer } from '../../src/http/server.ts'
import { testIds } from '../support/ids.ts'

const LIMIT_MS = 300
const HOURS_MS = 3_600_000
const app = await createHttpServer({
  newRequestId: testIds.request,
  trustProxy: [],
  corsOrigins: [],
  draining: () => false,
  onError: () => {},
})
app.post('/v1/chat/completions', { config: { bodyLimitBytes: 1024 } }, () => ({ ok: true }))
app.get('/healthz', () => ({ ok: true }))
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo
after(async () => {
  app.server.closeAllConnections()
  await app.close()
})

interface Received {
  readonly text: string
  readonly afterMs: number
}

/** Sends `head` at once and then a byte every 50 ms, for ever. */
function drip(head: string): Promise<Received> {
  const startedAt = performance.now()
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (bytes) => {
    text += bytes.toString()
  })
  socket.write(head)
  const timer = setInterval(() => socket.write('x'), 50)
  return new Promise((resolve) =>
    socket.on('close', () => {
      clearInterval(timer)
      resolve({ text, afterMs: performance.now() - startedAt })
    }),
  )
}

const HEAD = 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'

test('F9, EDGE-1: headers and bodies that arrive a byte at a time are answered 408, and the connection is closed [limit: request-time]', async () => {
  app.server.headersTimeout = LIMIT_MS
  app.server.requestTimeout = LIMIT_MS
  const answers = await Promise.all([
    drip(`${HEAD}X-Slow: `),
    drip(`${HEAD}Content-Length: 1000\r\n\r\n{`),
    drip(`${HEAD}Transfer-Encoding: chunked\r\n\r\n3e8\r\n{`),
  ])
  for (const { text, afterMs } of answers) {
    assert.match(text, /^HTTP\/1\.1 408 Request Timeout\r\n/)
    assert.match(text, /"code":"request_timeout"/)
    assert.match(text, /\r\nconnection: close\r\n/i)
    assert.equal(text.match(/HTTP\/1\.1 /g)?.length, 1)
    assert.ok(afterMs >= LIMIT_MS)
  }
})

test('F9: 1 000 silent sockets do not prevent others from being served', async () => {
  app.server.headersTimeout = HOURS_MS
  app.server.requestTimeout = HOURS_MS // the shorter of the two ends those who say nothing
  const idle: Socket[] = []
  for (let i = 0; i < 1_000; i++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    idle.push(socket)
  }
  while ((await connections()) < 1_000) await sleep(5)
  for (let i = 0; i < 50; i++) assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
  for (const socket of idle) socket.destroy()
})

function connections(): Promise<number> {
  return new Promise((resolve, reject) =>
    app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  )
}
