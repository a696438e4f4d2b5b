import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { modelOf, requestOf, upstreamOf } from '../../../test/support/ledger/data-plane.ts'
import { frame, ordinary, SSE_HEAD, sendFrames, textChunks } from '../../../test/support/providers/answers.ts'
import { type FakeProvider, type Script, startFakeProvider } from '../../../test/support/providers/fake-provider.ts'
import type { ChatEvent } from '../../domain/chat.ts'
import type { Transport, UpstreamCall, UpstreamExchange } from '../../providers/provider.ts'
import { startCall } from './call.ts'
import {
  type ConfiguredProvider,
  createHttpTransport,
  createUpstreams,
  MAX_UNREAD_BYTES,
  MAX_UPSTREAM_HEADER_BYTES,
  type Upstreams,
} from './transport.ts'

/** What a socket of Node.js brings at once. */
const READ_BYTES = 64 * 1024

async function provider(t: TestContext, script: Script): Promise<FakeProvider> {
  const fake = await startFakeProvider(script)
  t.after(() => fake.close())
  return fake
}

function transportTo(t: TestContext, url: string, connectTimeoutMs = 60_000): Transport {
  const { transport, close } = createHttpTransport(url, connectTimeoutMs)
  t.after(close)
  return transport
}

function callOf(url: string, body = '{}'): UpstreamCall {
  return {
    url: `${url}/v1/chat/completions?x=1`,
    headers: { 'content-type': 'application/json', 'x-own': 'yes' },
    body,
  }
}

async function readAll(exchange: UpstreamExchange): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for (let bytes = await exchange.read(); bytes !== undefined; bytes = await exchange.read()) parts.push(bytes)
  return Buffer.concat(parts)
}

/** A server of bare sockets, for what no HTTP server would say. */
async function rawServer(t: TestContext, onSocket: (socket: Socket) => void): Promise<{ url: string; server: Server }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onSocket(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

test('a call and its answer arrive unchanged', async (t) => {
  const fake = await provider(t, async (_, reply) => {
    reply.head(418, { 'x-one': 'a', 'Content-Type': 'text/plain' })
    reply.end('short and stout')
  })
  const body = JSON.stringify({ text: 'ü€😀' })
  const exchange = transportTo(t, fake.url)(callOf(fake.url, body))
  const head = await exchange.head
  assert.deepEqual([head.status, head.headers['x-one'], head.headers['content-type']], [418, 'a', 'text/plain'])
  assert.equal(String(await readAll(exchange)), 'short and stout')
  assert.equal(await exchange.read(), undefined, 'the end stays the end')
  const call = await fake.call(0)
  assert.deepEqual([call.path, call.body], ['/v1/chat/completions?x=1', body])
  assert.equal(call.headers['x-own'], 'yes')
  assert.equal(call.headers['content-length'], String(Buffer.byteLength(body)))
})

test('EDGE-4: only the call’s own headers and those that HTTP requires are sent', async (t) => {
  const fake = await provider(t, ordinary)
  await readAll(transportTo(t, fake.url)(callOf(fake.url)))
  const { headers } = await fake.call(0)
  assert.deepEqual(Object.keys(headers).sort(), ['connection', 'content-length', 'content-type', 'host', 'x-own'])
})

test('of a repeated header the first value counts', async (t) => {
  const { url } = await rawServer(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nX-Two: a\r\nX-Two: b\r\nContent-Length: 0\r\n\r\n'))
  })
  const { headers } = await transportTo(t, url)(callOf(url)).head
  assert.match(headers['x-two'] ?? '', /^a/)
})

test('an informational head is not the answer', async (t) => {
  const { url } = await rawServer(t, (socket) => {
    socket.once('data', () =>
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    )
  })
  const exchange = transportTo(t, url)(callOf(url))
  assert.equal((await exchange.head).status, 200)
  assert.equal(String(await readAll(exchange)), 'ok')
})

test('bytes are available as soon as they arrive', async (t) => {
  const next = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const fake = await provider(t, async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await reply.write('first')
    await next[0]?.promise
    await reply.write('second')
    await next[1]?.promise
    reply.end()
  })
  const exchange = transportTo(t, fake.url)(callOf(fake.url))
  assert.equal(String(await exchange.read()), 'first')
  const waiting = exchange.read()
  next[0]?.resolve()
  assert.equal(String(await waiting), 'second')
  next[1]?.resolve()
  assert.equal(await exchange.read(), undefined)
})

test('OVL-3, F10: unread bytes above the limit stay in the network, and all arrive in the end [limit: unread]', async (t) => {
  const block = Buffer.alloc(16 * 1024 * 1024)
  for (let i = 0; i < block.length; i += 4) block.writeUInt32LE(i, i)
  const fake = await provider(t, async (_, reply) => {
    reply.head(200, { 'content-type': 'application/octet-stream' })
    await reply.write(block)
    reply.end()
  })
  const exchange = transportTo(t, fake.url)(callOf(fake.url))
  await exchange.head
  const parts: Uint8Array[] = []
  for (;;) {
    for (let i = 0; i < 50; i++) await turn() // time for more to come than may
    const bytes = await exchange.read()
    if (bytes === undefined) break
    assert.ok(bytes.length <= MAX_UNREAD_BYTES + READ_BYTES, `${bytes.length} bytes were held`)
    parts.push(bytes)
  }
  assert.ok(
    parts.some(({ length }) => length > MAX_UNREAD_BYTES),
    'the cap was reached',
  )
  assert.ok(Buffer.concat(parts).equals(block))
})

test('R-A12: aborting during a body destroys the connection, and waiting readers receive the error', async (t) => {
  const fake = await provider(t, async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await reply.write('first')
  })
  const exchange = transportTo(t, fake.url)(callOf(fake.url))
  await exchange.read()
  const waiting = exchange.read()
  exchange.abort()
  await assert.rejects(waiting, /aborted/)
  await assert.rejects(exchange.read(), /aborted/)
  const call = await fake.call(0)
  await call.over
  assert.ok(call.abortedAtMs !== undefined)
})

test('R-A12: aborting while the provider is paused destroys the connection as well', async (t) => {
  const fake = await provider(t, async (_, reply) => {
    reply.head(200, { 'content-type': 'application/octet-stream' })
    while (await reply.write(Buffer.alloc(1024 * 1024)));
  })
  const exchange = transportTo(t, fake.url)(callOf(fake.url))
  await exchange.head
  for (let i = 0; i < 200; i++) await turn()
  exchange.abort()
  const call = await fake.call(0)
  await call.over
  assert.ok(call.abortedAtMs !== undefined)
})

test('R-A4: aborting before the head arrives destroys the connection', async (t) => {
  const fake = await provider(t, () => {})
  const exchange = transportTo(t, fake.url)(callOf(fake.url))
  const call = await fake.call(0)
  exchange.abort()
  await assert.rejects(exchange.head, /aborted/)
  await call.over
  assert.ok(call.abortedAtMs !== undefined)
})

test('INV-5: a call that is aborted before it has a connection is never sent', async (t) => {
  const fake = await provider(t, ordinary)
  const transport = transportTo(t, fake.url)
  const aborted = transport(callOf(fake.url, '"aborted"'))
  aborted.abort()
  await assert.rejects(aborted.head, /aborted/)
  await assert.rejects(aborted.read(), /aborted/)
  await readAll(transport(callOf(fake.url, '{"stream":false}')))
  assert.deepEqual(
    fake.calls.map(({ body }) => body),
    ['{"stream":false}'],
  )
})

test('aborting after the end has no effect: the connection is reused', async (t) => {
  const fake = await provider(t, ordinary)
  const transport = transportTo(t, fake.url)
  const first = transport(callOf(fake.url))
  await readAll(first)
  first.abort()
  await turn() // the pool knows of the end a moment later
  await readAll(transport(callOf(fake.url)))
  assert.equal(fake.calls[0]?.callerPort, fake.calls[1]?.callerPort)
})

test('bytes that were received before an abort can still be read', async (t) => {
  const fake = await provider(t, async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await reply.write('first')
    await reply.write('second')
  })
  const exchange = transportTo(t, fake.url)(callOf(fake.url))
  let received = String(await exchange.read())
  while (!received.endsWith('second')) received += String(await exchange.read())
  exchange.abort()
  assert.equal(received, 'firstsecond')
})

/** Says this much of a body and ends the connection. */
const cutAfter = (head: string, end: (socket: Socket) => void) => (socket: Socket) =>
  socket.once('data', () => socket.write(head, () => end(socket)))
const CUTS: readonly (readonly [name: string, head: string, end: (socket: Socket) => void])[] = [
  ['FIN in a chunked body', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n', (s) => s.end()],
  [
    'RST in a chunked body',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n',
    (s) => s.resetAndDestroy(),
  ],
  ['FIN in a body with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nfirst', (s) => s.end()],
  ['a chunk that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\nzz\r\n', () => {}],
]
for (const [name, head, end] of CUTS) {
  test(`F2: ${name} is a failure, not an end`, async (t) => {
    const { url } = await rawServer(t, cutAfter(head, end))
    const exchange = transportTo(t, url)(callOf(url))
    await assert.rejects(readAll(exchange))
    await assert.rejects(exchange.read())
  })
}

test('F2: without length and chunks the end of the connection is the end of the body', async (t) => {
  const { url } = await rawServer(
    t,
    cutAfter('HTTP/1.1 200 OK\r\n\r\nfirst', (socket) => socket.end()),
  )
  assert.equal(String(await readAll(transportTo(t, url)(callOf(url)))), 'first')
})

const HEADLESS: readonly (readonly [name: string, answer: (socket: Socket) => void])[] = [
  ['a connection that closes', (socket) => socket.end()],
  ['a connection that is reset', (socket) => socket.resetAndDestroy()],
  ['something that is not HTTP', (socket) => socket.write('SSH-2.0-x\r\n\r\n')],
  [
    'UP-6: headers beyond the cap',
    (socket) => socket.write(`HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(MAX_UPSTREAM_HEADER_BYTES)}\r\n\r\n`),
  ],
]
for (const [name, answer] of HEADLESS) {
  test(`${name} instead of a head is a failure [limit: provider-headers]`, async (t) => {
    const { url } = await rawServer(t, (socket) => void socket.once('data', () => answer(socket)))
    const exchange = transportTo(t, url)(callOf(url))
    await assert.rejects(exchange.head)
    await assert.rejects(exchange.read())
  })
}

test('headers within the limit are accepted', async (t) => {
  const value = 'x'.repeat(MAX_UPSTREAM_HEADER_BYTES - 200)
  const { url } = await rawServer(t, (socket) => {
    socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\nX-Big: ${value}\r\nContent-Length: 0\r\n\r\n`))
  })
  assert.equal((await transportTo(t, url)(callOf(url)).head).headers['x-big'], value)
})

test('a refused connection is a failure', async (t) => {
  const { url, server } = await rawServer(t, () => {})
  await new Promise((resolve) => server.close(resolve))
  await assert.rejects(transportTo(t, url)(callOf(url)).head, { code: 'ECONNREFUSED' })
})

test('R-A8: a connection that is not open in time is a failure of its own', async (t) => {
  const { url } = await rawServer(t, () => {}) // takes connections and never says a word of TLS
  const exchange = transportTo(t, url.replace('http:', 'https:'), 20)(callOf(url.replace('http:', 'https:')))
  await assert.rejects(exchange.head, { code: 'UND_ERR_CONNECT_TIMEOUT' })
})

test('concurrent calls have their own connections', async (t) => {
  const all = Promise.withResolvers<void>()
  const fake = await provider(t, async (_, reply) => {
    if (fake.calls.length === 5) all.resolve()
    await all.promise
    reply.head(200)
    reply.end('ok')
  })
  const transport = transportTo(t, fake.url)
  const answers = await Promise.all(Array.from({ length: 5 }, () => readAll(transport(callOf(fake.url)))))
  assert.deepEqual(
    answers.map(String),
    Array.from({ length: 5 }, () => 'ok'),
  )
  assert.equal(new Set(fake.calls.map(({ callerPort }) => callerPort)).size, 5)
})

/** Makes a streaming call and reads it to the end; resolves when the connection is free, or gone. */
async function streamOnce(fake: FakeProvider, transport: Transport): Promise<ChatEvent[]> {
  const free = Promise.withResolvers<void>()
  const watched: Transport = (call) => {
    const exchange = transport(call)
    const read = async (): Promise<Uint8Array | undefined> => {
      try {
        const bytes = await exchange.read()
        if (bytes === undefined) free.resolve()
        return bytes
      } catch (error) {
        free.resolve()
        throw error
      }
    }
    return { ...exchange, read }
  }
  const call = startCall({
    target: { upstream: upstreamOf({ transport: watched, baseUrl: `${fake.url}/v1` }), model: 'm', credential: 'k' },
    request: requestOf(),
    model: modelOf(),
    now: () => 0,
    clock: () => 0,
  })
  await call.firstEvent
  const events: ChatEvent[] = []
  while (await call.next(events));
  await free.promise
  await turn() // the pool knows of the end a moment later
  return events
}

test('after [DONE] the connection is reused, even if the body ends a little later', async (t) => {
  const fake = await provider(t, async (_, reply) => {
    reply.head(200, SSE_HEAD)
    if (!(await sendFrames(reply, textChunks(3)))) return
    await reply.write(frame('[DONE]'))
    await reply.write(': bye\n\n')
    reply.end()
  })
  const transport = transportTo(t, fake.url)
  for (let i = 0; i < 3; i++) assert.equal((await streamOnce(fake, transport)).length, 5)
  assert.equal(new Set(fake.calls.map(({ callerPort }) => callerPort)).size, 1)
})

test('R-A5: a connection whose answer broke off is not reused', async (t) => {
  const fake = await provider(t, async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, textChunks(3).slice(0, 2))
    await reply.write('data: {broken\n\n')
  })
  const transport = transportTo(t, fake.url)
  await assert.rejects(streamOnce(fake, transport))
  const broken = await fake.call(0)
  await broken.over
  assert.ok(broken.abortedAtMs !== undefined)
  fake.answer(ordinary)
  await readAll(transport(callOf(fake.url)))
  assert.notEqual(fake.calls[1]?.callerPort, broken.callerPort)
})

test('closing waits for calls in flight and leaves no connection', async (t) => {
  const goOn = Promise.withResolvers<void>()
  const fake = await provider(t, async (_, reply) => {
    reply.head(200)
    await goOn.promise
    reply.end('ok')
  })
  const { transport, close } = createHttpTransport(fake.url, 60_000)
  const exchange = transport(callOf(fake.url))
  await exchange.head
  const closed = close()
  goOn.resolve()
  assert.equal(String(await readAll(exchange)), 'ok')
  await closed
})

test('LED-3: the sending of a call is reported once, before the provider receives a byte', async (t) => {
  const said: string[] = []
  const fake = await provider(t, async (_, reply) => {
    said.push('arrived')
    reply.head(200)
    reply.end('ok')
  })
  const transport = transportTo(t, fake.url)
  for (const connection of ['a new connection', 'a kept one']) {
    said.length = 0
    await readAll(transport(callOf(fake.url), () => said.push('sent')))
    assert.deepEqual(said, ['sent', 'arrived'], connection)
  }
})

test('INV-5: a call without a connection is not sent', async (t) => {
  const { url, server } = await rawServer(t, () => {})
  await new Promise((resolve) => server.close(resolve))
  const refused = transportTo(t, url)(callOf(url), () => assert.fail('sent'))
  await assert.rejects(refused.head)
})

test('INV-5: a call that is aborted before it has a connection is not sent', async (t) => {
  const { url } = await rawServer(t, () => {})
  const exchange = transportTo(t, url)(callOf(url), () => assert.fail('sent'))
  exchange.abort()
  await assert.rejects(exchange.head)
  await turn()
})

const nowhere: Transport = () => assert.fail('it is not called')

function configured(name: string, url: string, over: Partial<ConfiguredProvider> = {}): ConfiguredProvider {
  const { transport: _, ...facts } = upstreamOf({ transport: nowhere, name, baseUrl: `${url}/v1`, ...over })
  return facts
}

async function fakeProvider(t: TestContext): Promise<FakeProvider> {
  const fake = await startFakeProvider((_, reply) => {
    reply.head(200)
    reply.end('ok')
  })
  t.after(() => fake.close())
  return fake
}

function open(t: TestContext, providers: readonly ConfiguredProvider[]): Upstreams {
  const upstreams = createUpstreams(providers)
  t.after(() => upstreams.close())
  return upstreams
}

async function callOnce(upstreams: Upstreams, name: string): Promise<void> {
  const upstream = upstreams.find(name) ?? assert.fail(`no ${name}`)
  const exchange = upstream.transport({ url: `${upstream.baseUrl}/x`, headers: {}, body: '{}' })
  while ((await exchange.read()) !== undefined);
  await turn() // the pool knows of the end a moment later
}

test('providers are found by the operator’s name only', (t) => {
  const upstreams = open(t, [configured('a', 'http://a.test'), configured('b', 'http://b.test')])
  assert.deepEqual(upstreams.names, new Set(['a', 'b']))
  assert.equal(upstreams.find('a')?.baseUrl, 'http://a.test/v1')
  assert.equal(upstreams.find('c'), undefined)
})

test('a provider that is not reached over HTTP keeps its own transport', (t) => {
  const { provider } = configured('own', 'http://own.test')
  const upstreams = open(t, [configured('own', 'http://own.test')])
  assert.notEqual(upstreams.find('own')?.transport, nowhere)
  upstreams.replace([{ ...configured('own', 'simulator://built-in'), provider: { ...provider, transport: nowhere } }])
  assert.equal(upstreams.find('own')?.transport, nowhere)
})

test('connections survive a reload that does not change them, and no other', async (t) => {
  const fake = await fakeProvider(t)
  const upstreams = open(t, [configured('a', fake.url)])
  await callOnce(upstreams, 'a')
  upstreams.replace([configured('a', fake.url, { credentials: ['other'] }), configured('b', 'http://b.test')])
  assert.deepEqual(upstreams.find('a')?.credentials, ['other'])
  await callOnce(upstreams, 'a')
  const timeouts = { connect: 7_000, firstByte: 1, wholeAnswer: 1, idle: 1, total: 1 }
  upstreams.replace([configured('a', fake.url, { timeouts })])
  await callOnce(upstreams, 'a')
  const [first, second, third] = fake.calls.map(({ callerPort }) => callerPort)
  assert.equal(second, first)
  assert.notEqual(third, first)
  assert.deepEqual(upstreams.names, new Set(['a']))
})

test('a call in flight continues on its connection after its provider is removed from the configuration', async (t) => {
  const goOn = Promise.withResolvers<void>()
  const fake = await startFakeProvider(async (_, reply) => {
    reply.head(200)
    await reply.write('begun, ')
    await goOn.promise
    reply.end('ended')
  })
  t.after(() => fake.close())
  const upstreams = open(t, [configured('a', fake.url)])
  const exchange = upstreams.find('a')?.transport({ url: `${fake.url}/v1/x`, headers: {}, body: '{}' })
  assert.ok(exchange)
  let text = String(await exchange.read())
  upstreams.replace([])
  assert.equal(upstreams.find('a'), undefined)
  goOn.resolve()
  for (let bytes = await exchange.read(); bytes !== undefined; bytes = await exchange.read()) text += String(bytes)
  assert.equal(text, 'begun, ended')
})

test('two names for one address have their own connections', async (t) => {
  const fake = await fakeProvider(t)
  const upstreams = open(t, [configured('a', fake.url), configured('b', fake.url)])
  assert.notEqual(upstreams.find('a')?.transport, upstreams.find('b')?.transport)
  await callOnce(upstreams, 'a')
  await callOnce(upstreams, 'b')
  assert.equal(new Set(fake.calls.map(({ callerPort }) => callerPort)).size, 2)
})
