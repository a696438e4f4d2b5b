import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { testIds } from '../../test/support/ids.ts'
import { type HttpConnection, KEEP_ALIVE_MS, openConnection } from './connection.ts'
import { createHttpServer } from './server.ts'

interface Served {
  readonly connection: HttpConnection
  readonly response: ServerResponse
  /** Ends the route's handler. */
  done(): void
}

interface Wire {
  readonly socket: Socket
  received(): string
  /** Resolves once this was received. */
  until(text: string): Promise<void>
  readonly closed: Promise<unknown>
}

interface Line {
  readonly wire: Wire
  readonly served: Promise<Served>
}

/** One request on a socket of its own to a route whose connection the test holds. @param before Awaited by the route first. */
async function open(
  t: TestContext,
  before: (request: FastifyRequest) => Promise<unknown> = () => Promise.resolve(),
): Promise<Line> {
  const served = Promise.withResolvers<Served>()
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    onError: () => {},
  })
  app.get('/', async (request, reply) => {
    await before(request)
    const connection = openConnection(reply)
    const done = Promise.withResolvers<void>()
    served.resolve({ connection, response: reply.raw, done: done.resolve })
    await done.promise
    connection.release()
    return reply
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  t.after(async () => {
    socket.destroy()
    ;(await Promise.race([served.promise, turn()]))?.done()
    app.server.closeAllConnections()
    await app.close()
  })
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  return { wire: wireOf(socket), served: served.promise }
}

function wireOf(socket: Socket): Wire {
  let received = ''
  socket.on('error', () => {})
  socket.on('data', (bytes) => {
    received += bytes.toString()
  })
  return {
    socket,
    received: () => received,
    until: async (text) => {
      while (!received.includes(text)) await once(socket, 'data')
    },
    closed: once(socket, 'close'),
  }
}

/** Resolves once nothing more happens without the network. */
async function settled(): Promise<void> {
  for (let i = 0; i < 50; i++) await turn()
}

test('a whole answer has the length of its bytes, its own headers and those of the hooks', async (t) => {
  const { wire, served } = await open(t)
  const { connection } = await served
  assert.equal(connection.over(), false)
  connection.sendJson('{"text":"ü€😀"}', { 'x-own': 'yes' })
  assert.deepEqual([connection.over(), connection.streaming()], [true, true])
  await wire.until('😀"}')
  const received = wire.received()
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(received, /\r\ncontent-length: 20\r\n/i)
  assert.match(received, /\r\ncontent-type: application\/json; charset=utf-8\r\n/i)
  assert.match(received, /\r\nx-own: yes\r\n/i)
  assert.match(received, /\r\nx-request-id: req_\w{22}\r\n/i)
})

test('whole answers of one turn of the event loop go out together, at its end', async (t) => {
  const lines = await Promise.all([open(t), open(t)])
  const served = await Promise.all(lines.map((line) => line.served))
  for (const { connection } of served) connection.sendJson('{"ok":true}', {})
  assert.deepEqual(
    served.map(({ response }) => response.writableEnded),
    [false, false],
  )
  await turn()
  assert.deepEqual(
    served.map(({ response }) => response.writableEnded),
    [true, true],
  )
  await Promise.all(lines.map(({ wire }) => wire.until('{"ok":true}')))
})

test('a client that leaves in the turn of its answer disturbs nobody else’s', async (t) => {
  const [gone, there] = await Promise.all([open(t), open(t)])
  const [left, stays] = [await gone.served, await there.served]
  left.connection.sendJson('{"ok":true}', {})
  stays.connection.sendJson('{"ok":true}', {})
  left.response.destroy()
  await there.wire.until('{"ok":true}')
  await gone.wire.closed
  assert.equal(gone.wire.received(), '')
})

test('SSE-3: a stream’s head waits for the first write, and tells what is known then', async (t) => {
  const { wire, served } = await open(t)
  const { connection } = await served
  let attempts = 0
  connection.expectStream(() => ({ 'x-attempts': String(attempts) }))
  attempts = 3
  await settled()
  assert.deepEqual([wire.received(), connection.streaming()], ['', false])
  assert.equal(connection.write('data: 1\n\n'), undefined)
  assert.equal(connection.streaming(), true)
  await wire.until('data: 1\n\n')
  const head = wire.received().split('\r\n\r\n')[0] ?? ''
  for (const line of [
    /content-type: text\/event-stream; charset=utf-8/i,
    /cache-control: no-store/i,
    /x-accel-buffering: no/i,
    /x-attempts: 3/i,
    /x-request-id: req_/i,
  ]) {
    assert.match(head, line)
  }
  connection.write('data: 2\n\n')
  assert.equal(connection.over(), false)
  connection.endStream()
  assert.equal(connection.over(), true)
  await wire.until('0\r\n\r\n')
  assert.match(wire.received(), /data: 2\n\n/)
})

test('SSE-3: a silence of 10 s is filled with a comment, which brings the head [limit: keep-alive]', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { wire, served } = await open(t)
  const { connection } = await served
  connection.expectStream(() => ({}))
  t.mock.timers.tick(KEEP_ALIVE_MS - 1)
  assert.equal(connection.streaming(), false)
  t.mock.timers.tick(1)
  assert.equal(connection.streaming(), true)
  await wire.until(': keep-alive\n\n')
  t.mock.timers.tick(KEEP_ALIVE_MS)
  while (wire.received().split(': keep-alive\n\n').length < 3) await once(wire.socket, 'data')
})

test('SSE-3: an API may fill silences with an event of its own', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { wire, served } = await open(t)
  const { connection } = await served
  connection.expectStream(() => ({}), 'event: ping\ndata: {}\n\n')
  t.mock.timers.tick(KEEP_ALIVE_MS)
  await wire.until('event: ping\ndata: {}\n\n')
  assert.doesNotMatch(wire.received(), /keep-alive\n/)
})

test('SSE-3: nothing is said once the stream has ended, was released, or its client has left', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  for (const end of [
    ({ connection }: Served) => connection.endStream(),
    ({ connection }: Served) => connection.release(),
    async ({ response }: Served, { socket }: Wire) => {
      socket.destroy()
      await once(response, 'close')
    },
  ]) {
    const { wire, served } = await open(t)
    const own = await served
    own.connection.expectStream(() => ({}))
    own.connection.write('data: 1\n\n')
    await wire.until('data: 1')
    await end(own, wire)
    t.mock.timers.tick(5 * KEEP_ALIVE_MS)
    await settled()
    assert.doesNotMatch(wire.received(), /keep-alive\n/)
  }
})

/** Writes more than the sockets on both sides can hold. @returns what waits for the client. */
function fill(connection: HttpConnection): Promise<void> {
  return connection.write('x'.repeat(32 * 1024 * 1024)) ?? assert.fail('all of it was taken')
}

test('OVL-3: a write that the client does not take is waited for until it does', async (t) => {
  const { wire, served } = await open(t)
  const { connection, response } = await served
  wire.socket.pause()
  connection.expectStream(() => ({}))
  let taken = false
  const slow = fill(connection).then(() => {
    taken = true
  })
  await settled()
  assert.equal(taken, false)
  assert.equal(response.writableNeedDrain, true)
  wire.socket.resume()
  await slow
  assert.equal(response.writableNeedDrain, false)
})

test('a client that leaves while it is waited for ends the wait', async (t) => {
  const { wire, served } = await open(t)
  const { connection } = await served
  wire.socket.pause()
  connection.expectStream(() => ({}))
  const slow = fill(connection)
  let left = 0
  connection.onLeave(() => {
    left += 1
  })
  wire.socket.destroy()
  await slow
  assert.equal(left, 1)
  assert.equal(connection.write('more'), undefined)
  assert.equal(connection.over(), true)
})

test('OVL-3: a client that takes nothing is sent no comments either', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { wire, served } = await open(t)
  const { connection, response } = await served
  wire.socket.pause()
  connection.expectStream(() => ({}))
  const slow = fill(connection)
  await settled()
  const waiting = response.writableLength
  t.mock.timers.tick(10 * KEEP_ALIVE_MS)
  assert.equal(response.writableLength, waiting)
  wire.socket.resume()
  await slow
})

test('sixteen writers may wait for one client without a warning', async (t) => {
  const warnings: Error[] = []
  const note = (warning: Error): void => void warnings.push(warning)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const { wire, served } = await open(t)
  const { connection } = await served
  wire.socket.pause()
  connection.expectStream(() => ({}))
  const waits = [fill(connection)]
  for (let i = 1; i < 16; i++) waits.push(connection.write('x') ?? assert.fail('the client is slow'))
  await settled()
  wire.socket.resume()
  await Promise.all(waits)
  assert.deepEqual(warnings, [])
})

test('R-A6: a client that goes away is noticed once', async (t) => {
  const { wire, served } = await open(t)
  const { connection, response } = await served
  let left = 0
  connection.onLeave(() => {
    left += 1
  })
  wire.socket.destroy()
  await once(response, 'close')
  assert.deepEqual([left, connection.over()], [1, true])
})

test('R-A4: a client that left before anybody listened is noticed at once', async (t) => {
  const arrived = Promise.withResolvers<void>()
  const { wire, served } = await open(t, ({ socket }) => {
    arrived.resolve()
    return once(socket, 'close')
  })
  await arrived.promise
  wire.socket.destroy()
  const { connection } = await served
  let left = 0
  connection.onLeave(() => {
    left += 1
  })
  assert.deepEqual([left, connection.over()], [1, true])
})

test('a connection that closes after its answer was whole is no client that left', async (t) => {
  for (const answer of [
    ({ connection }: Served) => connection.sendJson('{}', {}),
    ({ connection }: Served) => {
      connection.write('data: 1\n\n')
      connection.endStream()
    },
  ]) {
    const { wire, served } = await open(t)
    const own = await served
    own.connection.onLeave(() => assert.fail('nobody left'))
    answer(own)
    wire.socket.end()
    await once(own.response, 'close')
  }
})

test('whoever has released the connection is told nothing more', async (t) => {
  const { wire, served } = await open(t)
  const { connection, response } = await served
  connection.onLeave(() => assert.fail('it was released'))
  connection.release()
  wire.socket.destroy()
  await once(response, 'close')
})
