import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { testIds } from '../../test/support/ids.ts'
import { testClient } from '../../test/support/ledger/data-plane.ts'
import { freePort } from '../../test/support/process/free-port.ts'
import { GatewayError } from '../domain/errors.ts'
import type { AccountId } from '../domain/ids.ts'
import { createRelayClient, type InstanceAddress, type RelayRequest } from '../net/relay.ts'
import { type RelayRouteInput, relayRoute } from './relay-route.ts'
import { createHttpServer } from './server.ts'

const TOKEN = 'a'.repeat(64)

async function serve(t: TestContext, listen: RelayRouteInput['listen'], draining = false): Promise<string> {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => draining,
    onError: () => {},
  })
  relayRoute(app, { token: TOKEN, instanceId: 'ins_b', listen })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

/** A process that answers as the test says. */
async function serveRaw(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Asking {
  readonly token?: string
  readonly places?: readonly InstanceAddress[]
  readonly silenceMs?: number
  readonly ask?: Partial<RelayRequest>
}

async function relay(t: TestContext, address: string | undefined, { token, places, silenceMs, ask }: Asking = {}) {
  const left = [...(places ?? [])]
  const warnings: object[] = []
  const { relay: relayTo, close } = createRelayClient({
    token: token ?? TOKEN,
    addressOf: async () => left.shift() ?? { address },
    log: { warn: (fields) => warnings.push(fields) },
    ...(silenceMs === undefined ? {} : { silenceMs }),
  })
  t.after(close)
  const client = testClient()
  const request: RelayRequest = {
    accountId: 'acc_1' as AccountId,
    id: 'chatcmpl-1',
    instanceId: 'ins_b',
    after: 7,
    headers: (own) => ({ provider: own['x-turnpike-provider'] ?? '' }),
    signal: new AbortController().signal,
    traceId: 'b'.repeat(32),
    ...ask,
  }
  const end = await relayTo(request, client)
  return { end, client, text: client.written.join(''), warnings }
}

test('a stream comes over as it is, with its head, also while its process drains', async (t) => {
  for (const draining of [false, true]) {
    const seen: unknown[] = []
    const address = await serve(
      t,
      async ({ client, ...listener }) => {
        seen.push(listener)
        client.expectStream(() => ({ 'x-turnpike-provider': 'up' }))
        for (const text of ['id: 8\ndata: "ü€😀"\n\n', ': keep-alive\n\n', 'id: 9\ndata: [DONE]\n\n']) {
          client.write(text)
          await sleep(5)
        }
        client.endStream()
      },
      draining,
    )
    const { end, client, text } = await relay(t, address)
    assert.deepEqual(end, { kind: 'whole' })
    assert.equal(text, 'id: 8\ndata: "ü€😀"\n\n: keep-alive\n\nid: 9\ndata: [DONE]\n\n')
    assert.deepEqual([client.ended, client.headers], [true, { provider: 'up' }])
    assert.deepEqual(seen, [{ accountId: 'acc_1', id: 'chatcmpl-1', after: 7 }])
  }
})

test('only whole events are passed on, however they arrive; one that is cut inside an event tells nothing of it', async (t) => {
  const whole = Buffer.from('id: 1\ndata: "ü€😀"\n\nid: 2\ndata: x\n\n')
  const address = await serveRaw(t, async (_request, response) => {
    response.writeHead(200, { 'x-turnpike-relay': 'answer', 'content-type': 'text/event-stream' })
    for (const byte of Buffer.concat([whole, Buffer.from('id: 3\ndata: hal')])) {
      response.write(Buffer.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.socket?.resetAndDestroy()
  })
  const { end, client, text } = await relay(t, address)
  assert.deepEqual([end, text, client.ended], [{ kind: 'cut' }, whole.toString(), false])
})

test('what is no stream is an answer too: an error keeps its status', async (t) => {
  const address = await serve(t, () =>
    Promise.reject(new GatewayError('provider_error', 'Broken.', { retryAfterMs: 3000 })),
  )
  const { end } = await relay(t, address)
  assert.equal(end.kind, 'answer')
  if (end.kind !== 'answer') return
  assert.deepEqual([end.answer.status, end.answer.headers['retry-after']], [503, '3'])
  assert.equal(JSON.parse(end.answer.body).error.code, 'provider_error')
  const names = ['content-type', 'retry-after', 'retry-after-ms']
  assert.deepEqual(Object.keys(end.answer.headers).sort(), names, 'neither the ids nor the connection of the other')
})

test('an error is passed on up to a length [limit: relay-error]', async (t) => {
  const address = await serveRaw(t, (_request, response) => {
    response.writeHead(503, { 'x-turnpike-relay': 'answer' })
    response.end('x'.repeat(2 * 64 * 1024))
  })
  const { end } = await relay(t, address)
  assert.equal(end.kind === 'answer' && end.answer.body.length, 64 * 1024)
})

test('a stream that its process does not know has ended', async (t) => {
  const address = await serve(t, () => undefined)
  assert.deepEqual((await relay(t, address)).end, { kind: 'unknown' })
})

test('a process that is not the one that is meant, that takes no connection, or whose lease is over: gone', async (t) => {
  const address = await serve(t, () => assert.fail('asked'))
  assert.deepEqual((await relay(t, address, { ask: { instanceId: 'ins_a' } })).end, { kind: 'gone' })
  assert.deepEqual((await relay(t, `http://127.0.0.1:${await freePort()}`)).end, { kind: 'gone' })
  assert.deepEqual((await relay(t, undefined, { places: ['gone'] })).end, { kind: 'gone' })
})

test('a process that lives without taking connections, refuses us or stays silent is not gone', async (t) => {
  assert.deepEqual((await relay(t, undefined)).end, { kind: 'unreachable' })
  const closed = `http://127.0.0.1:${await freePort()}`
  const places = [{ address: closed }, { address: undefined }]
  assert.deepEqual((await relay(t, closed, { places })).end, { kind: 'unreachable' }, 'it says so a moment later')
  const address = await serve(t, () => assert.fail('asked'))
  const { end, warnings } = await relay(t, address, { token: 'b' })
  assert.deepEqual(
    [end, warnings],
    [{ kind: 'unreachable' }, [{ trace_id: 'b'.repeat(32), instance: 'ins_b', status: 401 }]],
  )
  const silent = await serveRaw(t, () => {})
  assert.deepEqual((await relay(t, silent, { silenceMs: 100 })).end, { kind: 'unreachable' })
})

test('[limit: relay-silence] a process that falls silent in the middle is taken for gone', async (t) => {
  const address = await serveRaw(t, (_request, response) => {
    response.writeHead(200, { 'x-turnpike-relay': 'answer' })
    response.write('id: 1\ndata: x\n\n')
  })
  // Long enough for its first event to be there, which a busy machine may need to be longer.
  const relayed = async (silenceMs: number): ReturnType<typeof relay> => {
    const told = await relay(t, address, { silenceMs })
    return told.text !== '' || silenceMs > 100_000 ? told : relayed(10 * silenceMs)
  }
  const { end, text } = await relayed(2_000)
  assert.deepEqual([end, text], [{ kind: 'cut' }, 'id: 1\ndata: x\n\n'])
})

test('whoever is no longer waited for is let go, on both sides', async (t) => {
  const left = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const address = await serve(t, ({ client }) => {
    client.onLeave(left.resolve)
    client.expectStream(() => ({}))
    client.write('id: 8\ndata: x\n\n')
    begun.resolve()
    return left.promise
  })
  const over = new AbortController()
  const asked = relay(t, address, { ask: { signal: over.signal } })
  await begun.promise
  over.abort()
  await left.promise
  assert.deepEqual((await asked).end, { kind: 'cut' })
})

test('TM1: without the token of the installation nobody is let in, and nothing is said of what there is', async (t) => {
  const address = await serve(t, () => assert.fail('asked'))
  for (const authorization of [undefined, '', 'Bearer ', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, TOKEN]) {
    const headers = { 'x-turnpike-instance': 'ins_b', ...(authorization === undefined ? {} : { authorization }) }
    const response = await fetch(`${address}/internal/streams/chatcmpl-1`, { headers })
    assert.equal(response.status, 401)
    await response.body?.cancel()
  }
})
