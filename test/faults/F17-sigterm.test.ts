/** Drains take seconds, so it is slow; what `npm test` asks of SIGTERM is in `test/e2e/shutdown.test.ts`. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, errorOf, eventually, hello, open, send, usageReport } from '../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { answerJson, bodyOf, completion, slowStream } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { assemble, assertWireRules, type ReadStream, readStream } from '../support/providers/sse.ts'

const STREAMS = 50
const WORDS = 20
/** Longer than `drain_ms` in every test. */
const ENDLESS = 100_000
/** For what is seen of a gateway that drains. */
const WITHIN_MS = 60_000

const provider = await startFakeProvider(slowStream(WORDS, 20))
after(() => provider.close())

/** As long as the request asks for. Slowly where that is for ever: little is on its way when such a stream is cut. */
const asLongAsAsked: Script = (call, reply) => {
  const words = Number(bodyOf(call)['max_tokens'])
  return slowStream(words, words === ENDLESS ? 200 : 20)(call, reply)
}

/** Starts streams; resolves when all have begun. */
async function begin(gateway: Gateway, key: string, lengths: readonly number[]): Promise<Begun> {
  const bodies = lengths.map((words) => hello({ stream: true, max_tokens: words }))
  const answers = await Promise.all(bodies.map((body) => open(gateway, CHAT, { key, body, fresh: true })))
  return { ends: Promise.all(answers.map(async ({ body }) => readStream(await body.text()))) }
}

interface Begun {
  /** What each of them was, when all have ended. */
  readonly ends: Promise<ReadStream[]>
}

/** A connection that is kept, on which one request was answered. */
async function idleSocket({ port }: Gateway): Promise<{ readonly closed: Promise<void> }> {
  const socket: Socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
  await new Promise((resolve) => socket.once('data', resolve))
  return { closed: new Promise((resolve) => socket.once('close', () => resolve())) }
}

function listens({ port }: Gateway): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

test('F17: SIGTERM with 50 streams: not ready immediately, new requests rejected, idle sockets closed, streams end complete', async (t) => {
  const config = oneModel(provider.url, {}, { server: { drain_delay_ms: 10_000 } })
  const gateway = await startGateway({ config })
  t.after(() => gateway.stop())
  const key = await gateway.key()
  provider.answer(slowStream(60, 25))
  const streams = await begin(gateway, key, Array(STREAMS).fill(60))
  const idle = await idleSocket(gateway)
  gateway.signal('SIGTERM')
  const probe = await eventually(
    () => send(gateway, '/readyz', { fresh: true }),
    ({ status }) => status === 503,
    WITHIN_MS,
  )
  assert.equal(probe.status, 503)
  assert.equal((JSON.parse(probe.text) as { status: string }).status, 'draining')
  await idle.closed
  const refused = await send(gateway, CHAT, { key, body: hello(), fresh: true })
  assert.deepEqual([refused.status, errorOf(refused).code], [503, 'shutting_down'])
  assert.equal(refused.headers['connection'], 'close')
  assert.match(refused.headers['retry-after'] ?? '', /^[1-9]\d?$/)
  assert.equal((await send(gateway, '/healthz', { fresh: true })).status, 200, 'alive nevertheless')
  assert.equal(
    await eventually(
      () => listens(gateway),
      (answer) => !answer,
      WITHIN_MS,
    ),
    false,
    'the listener closes after its delay',
  )
  for (const stream of await streams.ends) {
    assertWireRules(stream, { model: 'm1' })
    assert.equal(assemble(stream).content, ' hello'.repeat(60))
    assert.equal(assemble(stream).finishReason, 'stop')
  }
  assert.equal(await gateway.exited, 0)
})

test('F17: of 50 streams those that outlast drain_ms receive the error event and [DONE], and all are settled; exit 0', async (t) => {
  const first = await startGateway({ config: oneModel(provider.url) })
  t.after(() => first.stop())
  const account = await first.cli('accounts', 'create', '--name', 'drained')
  const key = await first.key('--account', account)
  first.signal('SIGTERM')
  assert.equal(await first.exited, 0)
  const config = oneModel(provider.url, {}, { server: { drain_ms: 10_000 } })
  const gateway = await startGateway({ config, dataDir: first.dataDir })
  t.after(() => gateway.stop())
  provider.answer(asLongAsAsked)
  const bills = provider.bills.length
  const ending = await begin(gateway, key, Array(STREAMS / 2).fill(10))
  const lasting = await begin(gateway, key, Array(STREAMS / 2).fill(ENDLESS))
  gateway.signal('SIGTERM')
  for (const stream of await ending.ends) assert.equal(assemble(stream).finishReason, 'stop')
  for (const stream of await lasting.ends) {
    assertWireRules(stream, { model: 'm1' })
    assert.equal(stream.error?.type, 'upstream_error')
    assert.equal(stream.error?.code, 'shutting_down')
  }
  assert.equal(await gateway.exited, 0)
  await eventually(
    async () => provider.bills.length,
    (count) => count - bills === STREAMS,
    WITHIN_MS,
  )

  const again = await startGateway({ config, dataDir: first.dataDir })
  t.after(() => again.stop())
  const rows = await everyRow<UsageRow>(again, key, '/v1/usage/completions')
  assert.equal(rows.length, STREAMS)
  assert.equal(rows.filter(({ status }) => status === 'completed').length, STREAMS / 2)
  assert.equal(rows.filter(({ status }) => status === 'incomplete').length, STREAMS / 2)
  const billed = provider.bills
    .slice(bills)
    .reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0)
  const { total_tokens: metered } = await usageReport(again, key)
  // INV-7: of each that was interrupted, what was on its way then, and the prompt as we count it.
  assert.ok(Math.abs(metered - billed) <= (STREAMS / 2) * 20, `${metered} metered of ${billed}`)
  assert.equal((await creditAtRest(again, { account, key }, WITHIN_MS)).held_usd, 0)
  assert.equal((await reconcile(again, key)).ok, true)
  assert.equal(await again.stop(), 0)
})

test('F17: a connection whose answer ends while the listener drains is closed then, not at the end of the drain', async (t) => {
  const config = oneModel(provider.url, {}, { server: { drain_delay_ms: 60_000 } })
  const gateway = await startGateway({ config })
  t.after(() => gateway.stop())
  const key = await gateway.key()
  provider.answer(async (call, reply) => {
    await reply.wait(200)
    await answerJson(completion({ content: 'late' }))(call, reply)
  })
  const called = provider.call(provider.calls.length)
  const socket = connect(gateway.port, '127.0.0.1')
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const body = JSON.stringify(hello())
  socket.resume()
  socket.write(
    `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await called
  gateway.signal('SIGTERM')
  await closed
  assert.equal(await listens(gateway), true)
  gateway.signal('SIGKILL') // the rest of the delay proves nothing more
  await gateway.exited
})

test('F17: two signals within a second are one; another after a second ends the process at once', async (t) => {
  const gateway = await startGateway({ config: oneModel(provider.url) })
  t.after(() => gateway.stop())
  const key = await gateway.key()
  provider.answer(slowStream(ENDLESS, 10))
  const { body } = await open(gateway, CHAT, { key, body: hello({ stream: true }), fresh: true })
  let received = 0
  body.on('data', (piece: Buffer) => {
    received += piece.length
  })
  const cut = new Promise<void>((resolve) => {
    body.on('error', () => resolve())
    body.on('end', () => resolve())
  })
  // All are there when it goes on, however long this process takes to send them.
  for (const signal of ['SIGSTOP', 'SIGTERM', 'SIGTERM', 'SIGINT', 'SIGCONT'] as const) gateway.signal(signal)
  const isOpen = await eventually(
    () => listens(gateway),
    (answer) => !answer,
    WITHIN_MS,
  )
  assert.equal(isOpen, false)
  await sleep(1_100) // since it had the first of them
  const before = received
  const goneOn = await eventually(
    async () => received,
    (bytes) => bytes > before,
    WITHIN_MS,
  )
  assert.ok(goneOn > before, 'the stream goes on after the copies')
  gateway.signal('SIGTERM')
  assert.equal(await gateway.exited, 1)
  await cut
})
