import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { testIds } from '../../test/support/ids.ts'
import { openConnection } from './connection.ts'
import { connectionsFor, createHttpServer, EDGE_LIMITS, openFileLimit, requestFault } from './server.ts'

function faultOf(rawHeaders: readonly string[], httpVersionMajor = 1): string | undefined {
  return requestFault({ rawHeaders, httpVersionMajor } as unknown as IncomingMessage)?.message
}

const ONCE = ['host', 'authorization', 'content-length', 'content-type', 'idempotency-key']

/** In any mixture of capitals. */
const cased = (name: string): fc.Arbitrary<string> =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((capitals) => [...name].map((letter, i) => (capitals[i] === true ? letter.toUpperCase() : letter)).join(''))
const OTHERS = ['accept', 'cookie', 'x-host', 'hosts', 'x-authorization', 'content-lengths', 'te', 'idempotency']
const names = fc.array(fc.constantFrom(...ONCE, ...OTHERS).chain(cased), { maxLength: 12 })

test('EDGE-2: a header that may come once is refused the second time, in any case and order, and no other is', () => {
  fc.assert(
    fc.property(names, (headers) => {
      const lower = headers.map((name) => name.toLowerCase())
      const twice = ONCE.filter((name) => lower.indexOf(name) !== lower.lastIndexOf(name))
      const fault = faultOf(headers.flatMap((name) => [name, 'value']))
      if (twice.length === 0) assert.equal(fault, undefined)
      else assert.ok(twice.some((name) => fault?.includes(`'${name}'`)) === true, `${fault}`)
    }),
    { numRuns: 1000 },
  )
})

test('what stands in a value is no header', () => {
  assert.equal(faultOf(['host', 'host', 'x', 'authorization', 'authorization', 'host']), undefined)
})

test('only HTTP/1 is spoken', () => {
  assert.match(faultOf([], 2) ?? '', /HTTP\/1\.1/)
  assert.equal(faultOf([]), undefined)
})

async function listen(
  t: TestContext,
  routes: (app: FastifyInstance) => void,
): Promise<{ app: FastifyInstance; open(): Socket }> {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    onError: () => {},
  })
  routes(app)
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  const open = (): Socket => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => {})
    t.after(() => socket.destroy())
    return socket
  }
  return { app, open }
}

/** Everything that comes back until the server closes. */
async function exchange(socket: Socket, bytes: string): Promise<string> {
  let received = ''
  socket.on('data', (piece) => {
    received += piece.toString()
  })
  socket.write(bytes)
  await once(socket, 'close')
  return received
}

test('EDGE-1: the limits are those of the server', async (t) => {
  const { app } = await listen(t, () => {})
  const { server } = app
  assert.deepEqual(
    {
      headersTimeoutMs: server.headersTimeout,
      requestTimeoutMs: server.requestTimeout,
      keepAliveTimeoutMs: server.keepAliveTimeout,
      maxHeaders: server.maxHeadersCount,
      maxConnections: server.maxConnections,
      maxRequestsPerSocket: server.maxRequestsPerSocket,
    },
    {
      headersTimeoutMs: EDGE_LIMITS.headersTimeoutMs,
      requestTimeoutMs: EDGE_LIMITS.requestTimeoutMs,
      keepAliveTimeoutMs: EDGE_LIMITS.keepAliveTimeoutMs,
      maxHeaders: EDGE_LIMITS.maxHeaders,
      maxConnections: connectionsFor(openFileLimit(), EDGE_LIMITS.maxConnections),
      maxRequestsPerSocket: EDGE_LIMITS.maxRequestsPerSocket,
    },
  )
})

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

test('EDGE-1: of headers 100 are read, and more are refused: the one that counts might be the next [limit: headers]', async (t) => {
  const { open } = await listen(t, (app) => app.get('/', ({ headers }) => ({ last: headers['x-98'] })))
  const withHeaders = (count: number): string => {
    const lines = Array.from({ length: count - 2 }, (_, index) => `x-${index + 1}: ${index + 1}`)
    return `GET / HTTP/1.1\r\nHost: a\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`
  }
  assert.match(await exchange(open(), withHeaders(100)), /^HTTP\/1\.1 200 [\s\S]*\{"last":"98"\}/)
  for (const count of [101, 130, 700]) {
    const received = await exchange(open(), withHeaders(count))
    assert.match(received, /^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/, `${count}`)
  }
  const large = `GET / HTTP/1.1\r\nHost: a\r\nx: ${'x'.repeat(EDGE_LIMITS.maxHeaderBytes)}\r\n\r\n`
  assert.match(await exchange(open(), large), /^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/)
})

test('EDGE-1: beyond its connections the server closes what comes [limit: connections]', async (t) => {
  const { app, open } = await listen(t, (app) => app.get('/', () => ({})))
  app.server.maxConnections = 2
  const [first, second] = [open(), open()]
  await Promise.all([once(first, 'connect'), once(second, 'connect')])
  first.write(GET)
  await once(first, 'data')
  assert.equal(await exchange(open(), GET), '')
  second.destroy()
  first.write(GET)
  await once(first, 'data')
})

test('EDGE-1: the last answer of a connection says so, and a request after it is refused [limit: requests-of-a-connection]', async (t) => {
  const { app, open } = await listen(t, (app) => app.get('/', () => ({ ok: true })))
  app.server.maxRequestsPerSocket = 2
  const socket = open()
  let received = ''
  socket.on('data', (piece) => {
    received += piece.toString()
  })
  socket.write(GET.repeat(3)) // Node.js leaves it to the client to close, or to the time of an idle connection
  while (received.split('HTTP/1.1 ').length < 4) await once(socket, 'data')
  const answers = received.split('HTTP/1.1 ').slice(1)
  assert.match(answers[0] ?? '', /^200 [\s\S]*connection: keep-alive/i)
  assert.match(answers[1] ?? '', /^200 [\s\S]*connection: close/i)
  assert.match(answers[2] ?? '', /^503 /)
})

test('EDGE-1: a connection that asks for nothing more is closed [limit: idle-connection]', async (t) => {
  const { app, open } = await listen(t, (app) => app.get('/', () => ({})))
  app.server.keepAliveTimeout = 20
  const received = await exchange(open(), GET)
  assert.match(received, /^HTTP\/1\.1 200 /)
})

test('ERR-1: what is no HTTP is answered in the shape of every error, and the connection is closed', async (t) => {
  const { open } = await listen(t, () => {})
  const received = await exchange(open(), 'nonsense\r\n\r\n')
  const [head = '', body = ''] = received.split('\r\n\r\n')
  assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/)
  assert.match(head, /\r\nconnection: close/i)
  assert.match(head, /\r\nx-should-retry: false/i)
  const { error } = JSON.parse(body)
  assert.deepEqual([error.type, error.code], ['invalid_request', 'invalid_header'])
  assert.match(head, new RegExp(`\\r\\nx-request-id: ${error.request_id}(\\r\\n|$)`))
  assert.match(head, new RegExp(`\\r\\ncontent-length: ${Buffer.byteLength(body)}(\\r\\n|$)`))
})

test('EDGE-5: what cannot be read while an answer is under way is not answered into it', async (t) => {
  const begun = Promise.withResolvers<void>()
  const { open } = await listen(t, (app) =>
    app.get('/', async (_request, reply) => {
      const connection = openConnection(reply)
      connection.expectStream(() => ({}))
      connection.write('data: 1\n\n')
      begun.resolve()
      await new Promise<void>((resolve) => connection.onLeave(resolve))
      connection.release()
      return reply
    }),
  )
  const socket = open()
  const received = exchange(socket, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await begun.promise
  socket.write('nonsense\r\n\r\n')
  const text = await received
  assert.equal(text.split('HTTP/1.1 ').length - 1, 1, text)
})

test('a request whose header came twice closes the connection after its answer', async (t) => {
  const { open } = await listen(t, (app) => app.get('/', () => ({})))
  const request = 'GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n'
  const received = await exchange(open(), request + request)
  assert.equal(received.split('HTTP/1.1 400 ').length - 1, 1)
  assert.match(received, /'host' must not be repeated/)
})

test('F33: every connection has room for one to a provider beside it, and the gateway reserves 96 files [limit: open-files]', () => {
  for (const [openFiles, connections] of [
    [256, 80],
    [1_024, 464],
    [40_095, 19_999],
    [40_096, 20_000],
    [1_048_576, 20_000],
    [64, 16],
    [undefined, 20_000],
  ] as const) {
    assert.equal(connectionsFor(openFiles, 20_000), connections)
  }
})

test('the limit of this process is read where there is one', () => {
  const limit = openFileLimit()
  assert.ok(limit === undefined || limit >= 256, `${limit}`)
})
