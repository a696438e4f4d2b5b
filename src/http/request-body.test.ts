import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { eventually } from '../../test/support/client.ts'
import { keyCaller } from '../../test/support/identity/caller.ts'
import { testIds } from '../../test/support/ids.ts'
import { GatewayError } from '../domain/errors.ts'
import type { LargeBody } from '../domain/json-body.ts'
import type { RequestGate } from '../domain/limits.ts'
import { createLargeBodies } from '../gateway/large-bodies.ts'
import { requireCaller } from './caller.ts'
import {
  type BodyBudget,
  type BodyReading,
  createBodyBudget,
  DEFAULT_BODY_LIMIT_BYTES,
  MAX_HERE_BYTES,
  MAX_HERE_VALUES,
} from './request-body.ts'
import { createHttpServer } from './server.ts'

const LIMIT = 1000

interface Watched {
  readonly app: FastifyInstance
  readonly budget: BodyBudget
  /** What was parsed on the other thread. */
  readonly large: LargeBody[]
  /** Lets the answers of `/kept` end. */
  readonly finish: () => void
}

async function setUpWatched(t: TestContext): Promise<Watched> {
  const bodies = createLargeBodies()
  const large: LargeBody[] = []
  const parseLarge = (body: LargeBody) => {
    large.push(body)
    return bodies.parse(body)
  }
  const budget = createBodyBudget({ process: 8_000_000, account: 5_000_000, key: 5_000_000 })
  const app = await setUp(t, () => {}, { budget, parseLarge, chatEndpoint: 'POST /kept' })
  t.after(bodies.close)
  const finished = Promise.withResolvers<void>()
  const config = { bodyLimitBytes: 6_000_000, isChat: true }
  app.post('/large', { config: { bodyLimitBytes: 6_000_000 } }, (request) => ({ bytes: sizeOf(request.body) }))
  app.post('/kept', { config }, async (request) => {
    await finished.promise
    request.bodyReservation?.release()
    return { bytes: sizeOf(request.body), fingerprint: request.findings?.fingerprint?.length }
  })
  return { app, budget, large, finish: finished.resolve }
}

const sizeOf = (body: unknown): number => JSON.stringify(body).length

async function setUp(
  t: TestContext,
  onError: (code: string) => void = () => {},
  bodies?: BodyReading,
): Promise<FastifyInstance> {
  const app = await createHttpServer({
    ...(bodies && { bodies }),
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    onError: ({ code }) => onError(code),
  })
  t.after(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  app.post('/', (request) => ({ body: request.body }))
  app.post('/small', { config: { bodyLimitBytes: LIMIT } }, (request) => ({ body: request.body }))
  return app
}

/** Sends these pieces one after another, each on its way before the next; resolves with the first answer. */
async function send(t: TestContext, app: FastifyInstance, pieces: readonly (string | Buffer)[]): Promise<string> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.setNoDelay(true)
  let received = ''
  const answered = new Promise<string>((resolve) => {
    socket.on('data', (bytes) => {
      received += bytes.toString()
      if (received.includes('}')) resolve(received)
    })
    socket.on('close', () => resolve(received))
  })
  for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve))
  return answered
}

const head = (path: string, ...lines: string[]): string =>
  [`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', ...lines, '', ''].join('\r\n')
const chunked = (...parts: (string | Buffer)[]): Buffer =>
  Buffer.concat(
    parts.flatMap((part) => [
      Buffer.from(`${Buffer.byteLength(part).toString(16)}\r\n`),
      Buffer.from(part),
      Buffer.from('\r\n'),
    ]),
  )
const LAST = '0\r\n\r\n'
const textOf = (bytes: number): string => JSON.stringify({ a: 'x'.repeat(bytes - 8) })

for (const type of ['application/json', 'application/json; charset=utf-8', 'text/json', 'Application/JSON']) {
  test(`a body of ${type} is read`, async (t) => {
    const app = await setUp(t)
    const answer = await app.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': type },
      payload: '{"a":[1]}',
    })
    assert.deepEqual(answer.json(), { body: { a: [1] } })
  })
}

for (const type of [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonp',
]) {
  test(`a body of ${type} is 415`, async (t) => {
    const app = await setUp(t)
    const answer = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload: '{"a":1}' })
    assert.deepEqual([answer.statusCode, answer.json().error.code], [415, 'unsupported_media_type'])
  })
}

test('EDGE-3: a compressed body is 415, one that is called identity is not', async (t) => {
  const app = await setUp(t)
  const ask = (encoding: string) =>
    app.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/json', 'content-encoding': encoding },
      payload: '{"a":1}',
    })
  assert.equal((await ask('gzip')).statusCode, 415)
  assert.equal((await ask('identity')).statusCode, 200)
})

test('a client that leaves in the middle of its body is no fault of the gateway', async (t) => {
  const codes: string[] = []
  const app = await setUp(t, (code) => codes.push(code))
  await app.listen({ port: 0 })
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":')
  await once(app.server, 'request')
  socket.resetAndDestroy()
  await eventually(
    async () => codes,
    (all) => all.length > 0,
  )
  assert.deepEqual(codes, ['invalid_json'])
})

test('what is no JSON object, or nested too deep, is 400 with its code', async (t) => {
  const app = await setUp(t)
  const codeOf = async (payload: string): Promise<unknown[]> => {
    const answer = await app.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/json' },
      payload,
    })
    return [answer.statusCode, answer.json().error.code]
  }
  assert.deepEqual(await codeOf('{'), [400, 'invalid_json'])
  assert.deepEqual(await codeOf('[]'), [400, 'invalid_type'])
  assert.deepEqual(await codeOf(`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`), [400, 'invalid_value'])
  assert.deepEqual(await codeOf('{"__proto__":{}}'), [400, 'invalid_value'])
})

test('EDGE-3: each route has its limit, to the byte, whether the length is declared or not [limit: body] [limit: other-bodies]', async (t) => {
  const app = await setUp(t)
  for (const [path, limit] of [
    ['/small', LIMIT],
    ['/', DEFAULT_BODY_LIMIT_BYTES],
  ] as const) {
    for (const [bytes, status] of [
      [limit, 200],
      [limit + 1, 413],
    ] as const) {
      const body = textOf(bytes)
      assert.equal(Buffer.byteLength(body), bytes)
      const declared = await send(t, app, [head(path, `Content-Length: ${bytes}`), body])
      assert.match(declared, new RegExp(`^HTTP/1.1 ${status} `), `${path} ${bytes} declared`)
      const undeclared = await send(t, app, [head(path, 'Transfer-Encoding: chunked'), chunked(body), LAST])
      assert.match(undeclared, new RegExp(`^HTTP/1.1 ${status} `), `${path} ${bytes} chunked`)
    }
  }
})

test('EDGE-3: a body a little over the limit, all there at once, is answered without a wait', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] }) // a wait would never end
  const app = await setUp(t)
  const all = Buffer.concat([
    Buffer.from(head('/small', 'Transfer-Encoding: chunked')),
    chunked(textOf(LIMIT + 1)),
    Buffer.from(LAST),
  ])
  assert.match(await send(t, app, [all]), /^HTTP\/1\.1 413 /)
})

test('EDGE-3: of a body that is declared too large the rest is taken before the answer', async (t) => {
  const app = await setUp(t)
  const body = textOf(LIMIT + 500)
  const pieces = [head('/small', `Content-Length: ${body.length}`), body.slice(0, 700), body.slice(700)]
  const answer = await send(t, app, pieces)
  assert.match(answer, /^HTTP\/1\.1 413 /)
  assert.match(answer, /"code":"body_too_large"/)
})

test('a character that is cut by where the network cuts is whole again', async (t) => {
  const app = await setUp(t)
  const bytes = Buffer.from('{"a":"ü€😀"}')
  for (let at = 1; at < bytes.length; at++) {
    const pieces = [
      head('/', 'Transfer-Encoding: chunked'),
      chunked(bytes.subarray(0, at)),
      chunked(bytes.subarray(at)),
      LAST,
    ]
    assert.match(await send(t, app, pieces), /\{"body":\{"a":"ü€😀"\}\}/)
  }
})

test('a client that goes away in the middle of its body does no harm', async (t) => {
  const app = await setUp(t)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const closed = Promise.withResolvers<void>()
  app.server.once('connection', (socket) => socket.once('close', () => closed.resolve()))
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`${head('/', 'Content-Length: 100')}{"a"`, () => socket.resetAndDestroy())
  await closed.promise
  assert.match(await send(t, app, [head('/', 'Content-Length: 2'), '{}']), /^HTTP\/1\.1 200 /)
})

test('a body that is announced and empty is none where none is wanted, and no JSON where one is', async (t) => {
  const app = await setUp(t)
  app.post('/wanted', { schema: { body: { type: 'object' } } }, (request) => ({ body: request.body }))
  const ask = async (url: string) => {
    const answer = await app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, body: '' })
    return [answer.statusCode, answer.json().error?.code]
  }
  assert.deepEqual(await ask('/'), [200, undefined])
  assert.deepEqual(await ask('/wanted'), [400, 'invalid_json'])
})

const post = (app: FastifyInstance, url: string, payload: string, headers = {}) =>
  app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json', ...headers }, payload })

test('long bodies and those of many values are parsed on another thread, others here [limit: body-thread]', async (t) => {
  const { app, budget, large } = await setUpWatched(t)
  const values = (count: number): string => {
    const lists = Array.from({ length: 10 }, () => `[${'"1234",'.repeat(count / 10 - 1)}0]`)
    return `{"a":[${lists}]}`
  }
  for (const [body, isLarge] of [
    [textOf(MAX_HERE_BYTES), false],
    [textOf(MAX_HERE_BYTES + 1), true],
    [values(MAX_HERE_VALUES - 20), false],
    [values(MAX_HERE_VALUES), true],
    [`{"a":"${'é'.repeat(700_000)}"}`, true],
  ] as const) {
    large.length = 0
    const answer = await post(app, '/large', body)
    assert.deepEqual(answer.json(), { bytes: body.length })
    assert.equal(large.length, isLarge ? 1 : 0)
  }
  const refused = await post(app, '/large', `{"a":${'['.repeat(2_000_000)}`)
  assert.deepEqual([refused.statusCode, refused.json().error.code], [400, 'invalid_value'])
  assert.equal(budget.used, 0)
})

test('larger bodies that come together are parsed in different iterations of the event loop', async (t) => {
  const { app } = await setUpWatched(t)
  let iteration = 0
  let isOver = false
  const count = (): void => {
    iteration += 1
    if (!isOver) setImmediate(count)
  }
  const seen: number[] = []
  app.post('/seen', (request) => {
    seen.push(iteration)
    return { bytes: sizeOf(request.body) }
  })
  await app.ready()
  count()
  const answers = await Promise.all(Array.from({ length: 5 }, () => post(app, '/seen', textOf(100_000))))
  isOver = true
  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    [200, 200, 200, 200, 200],
  )
  assert.equal(new Set(seen).size, 5)
})

test('limits are charged before the body is read: what they refuse is answered without one', async (t) => {
  const { app, budget } = await setUpWatched(t)
  const asked: boolean[] = []
  const enter: RequestGate['enter'] = (_, isChat) => {
    asked.push(isChat)
    throw new GatewayError('rate_limit_exceeded', 'Too many requests.', { retryAfterMs: 2_000 })
  }
  requireCaller(app, () => keyCaller(), { gate: { enter } })
  app.post('/other', (request) => ({ bytes: sizeOf(request.body) }))
  app.post('/chat', { config: { isChat: true } }, (request) => ({ bytes: sizeOf(request.body) }))
  for (const path of ['/other', '/chat']) {
    const answer = await send(t, app, [head(path, 'Authorization: Bearer a', 'Content-Length: 1000000')])
    assert.match(answer, /^HTTP\/1\.1 429 [\s\S]*\r\nretry-after: 2\r\n/i)
  }
  assert.deepEqual(asked, [false, true])
  assert.equal(budget.used, 0)
})

test('a body that finds the whole process full is 503 with a time to wait, and is read when there is room', async (t) => {
  const { app, budget } = await setUpWatched(t)
  const others = ['a', 'b'].map((account) => budget.reserve({ account, key: undefined }, 4_000_000))
  const body = [
    head('/large', 'Transfer-Encoding: chunked'),
    Buffer.concat([chunked(textOf(1_000)), Buffer.from(LAST)]),
  ]
  const refused = await send(t, app, body)
  assert.match(refused, /^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: 1\r\n[\s\S]*"code":"overloaded"/i)
  for (const room of others) room.release()
  assert.match(await send(t, app, body), /^HTTP\/1\.1 200 /)
})

test('bodies take room from their first byte until they are answered, and what finds none is refused', async (t) => {
  const { app, budget, finish } = await setUpWatched(t)
  const kept = send(t, app, [head('/kept', 'Idempotency-Key: a', 'Content-Length: 3000000'), textOf(3_000_000)])
  await eventually(
    async () => budget.used,
    (used) => used === 3_000_000,
  )
  // A slow client: room for all that it has announced.
  const slow = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => slow.destroy())
  slow.write(`${head('/large', 'Content-Length: 1500000')}{`)
  await eventually(
    async () => budget.used,
    (used) => used === 4_500_000,
  )
  for (const framing of ['Content-Length: 1000000', 'Transfer-Encoding: chunked']) {
    const text = textOf(1_000_000)
    const body = framing.startsWith('C') ? text : Buffer.concat([chunked(text), Buffer.from(LAST)])
    const refused = await send(t, app, [head('/large', framing), body])
    assert.match(refused, /^HTTP\/1\.1 429 /)
    assert.match(refused, /"retry_after":1/)
  }
  assert.equal(budget.used, 4_500_000)
  slow.destroy()
  finish()
  assert.match(await kept, /^HTTP\/1\.1 200 [\s\S]*"fingerprint":32/)
  await eventually(
    async () => budget.used,
    (used) => used === 0,
  )
})
