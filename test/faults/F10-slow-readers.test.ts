/** F10 in real time, a slow test: clients that stop reading, or read a byte a second, are cut after 30 s. Runs on one database. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, hello } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { chunk, frame, SSE_HEAD } from '../support/providers/answers.ts'
import { type ProviderCall, startFakeProvider } from '../support/providers/fake-provider.ts'

const CUT_MS = 30_000
/** Looks are a second apart, and the sockets on the way fill before anything waits. */
const TOLERANCE_MS = 10_000
/** By then it is cut on whatever machine. */
const LATEST_MS = 60_000
const EVENTS = 50_000
const payload = frame(chunk({ content: 'x'.repeat(900) }))

const provider = await startFakeProvider(async (_, reply) => {
  reply.head(200, SSE_HEAD)
  for (let i = 0; i < EVENTS; i++) if (!(await reply.write(payload))) return
})
const gateway = await startGateway({ config: oneModel(provider.url) })
after(async () => {
  await gateway.stop()
  await provider.close()
})

/** Asks for a stream on a socket whose reading the test paces: `onread` hands over a byte at a time. */
function ask(key: string): Socket {
  const socket = connect({
    port: gateway.port,
    host: '127.0.0.1',
    onread: { buffer: Buffer.alloc(1), callback: () => false },
  })
  const body = JSON.stringify(hello({ stream: true }))
  socket.on('error', () => {})
  socket.write(
    `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  return socket
}

const READERS: readonly (readonly [name: string, read: (socket: Socket) => void])[] = [
  ['stops reading', (socket) => void socket.pause()],
  [
    'reads a byte a second',
    (socket) => {
      const timer = setInterval(() => socket.resume(), 1_000)
      socket.on('close', () => clearInterval(timer))
    },
  ],
]
for (const [name, read] of READERS) {
  test(`F10, OVL-3: a client that ${name} makes the provider wait, is cut after 30 s, and pays for the output`, async () => {
    const account = await gateway.cli('accounts', 'create', '--name', 'slow')
    const key = await gateway.key('--account', account)
    const next = provider.call(provider.calls.length)
    const socket = ask(key)
    read(socket)
    const call = await next
    const stalledAt = await stalled(call)
    await call.over
    const cutAfterMs = (call.abortedAtMs ?? assert.fail('the provider was read to the end')) - stalledAt
    assert.ok(cutAfterMs > CUT_MS - TOLERANCE_MS && cutAfterMs < LATEST_MS, `cut after ${cutAfterMs} ms`)
    assert.ok(call.written < (EVENTS * payload.length) / 2, `${call.written} bytes were taken`)
    const { held_usd: held } = await creditAtRest(gateway, { account, key })
    const [row, ...others] = await everyRow<UsageRow>(gateway, key, '/v1/usage/completions')
    assert.deepEqual([held, row?.status, others.length], [0, 'client_left', 0])
    assert.ok((row?.completion_tokens ?? 0) > 0, 'what was generated is metered')
    assert.ok((await reconcile(gateway, key)).ok)
    socket.destroy()
  })
}

/** Resolves when the provider cannot write any more. @returns `performance.now()` of its last write. */
async function stalled(call: ProviderCall): Promise<number> {
  let written = -1
  let at = performance.now()
  while (call.written === 0 || performance.now() - at < 3_000) {
    if (call.written !== written) at = performance.now()
    written = call.written
    await sleep(50)
  }
  return at
}
