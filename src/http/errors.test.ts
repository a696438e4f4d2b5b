import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { testIds } from '../../test/support/ids.ts'
import { ERROR_CATALOGUE, type ErrorCode, GatewayError } from '../domain/errors.ts'
import type { Rejection } from '../domain/rejection.ts'
import { errorHeaders } from './errors.ts'
import { createHttpServer } from './server.ts'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly error: Readonly<Record<string, string | number | undefined>>
}

interface Setting {
  readonly app: FastifyInstance
  readonly seen: { readonly error: GatewayError; readonly requestId: string }[]
  readonly rejections: Rejection[]
  ask(method: 'GET' | 'POST' | 'PUT', url: string, body?: unknown): Promise<Answer>
}

async function setUp(t: TestContext): Promise<Setting> {
  const seen: { error: GatewayError; requestId: string }[] = []
  const rejections: Rejection[] = []
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    onError: (error, { id: requestId }) => seen.push({ error, requestId }),
    onRejection: (rejection) => void rejections.push(rejection),
  })
  t.after(() => app.close())
  return {
    app,
    seen,
    rejections,
    async ask(method, url, body) {
      const payload = body === undefined ? {} : { payload: JSON.stringify(body), headers: JSON_HEAD }
      const response = await app.inject({ method, url, ...payload })
      return { status: response.statusCode, headers: response.headers, error: response.json().error }
    },
  }
}
const JSON_HEAD = { 'content-type': 'application/json' }

const Body = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 5 }),
    age: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    share: Type.Optional(Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1 })),
    colour: Type.Optional(Type.Union([Type.Literal('red'), Type.Literal('blue')])),
    key: Type.Optional(Type.String({ pattern: '^key_' })),
    parts: Type.Optional(
      Type.Array(Type.Object({ kind: Type.String(), sizes: Type.Optional(Type.Array(Type.Integer())) }), {
        minItems: 1,
        maxItems: 2,
      }),
    ),
    either: Type.Optional(
      Type.Union([
        Type.Object({ kind: Type.Literal('a') }, { additionalProperties: false }),
        Type.Object(
          {
            kind: Type.Literal('b'),
            size: Type.Optional(Type.Integer({ minimum: 1 })),
            word: Type.Optional(Type.String()),
          },
          { additionalProperties: false, anyOf: [{ required: ['size'] }, { required: ['word'] }] },
        ),
      ]),
    ),
    'a/b~c': Type.Optional(Type.Object({ d: Type.Optional(Type.String()) }, { additionalProperties: false })),
  },
  { additionalProperties: false },
)

const PROBLEMS: readonly (readonly [body: unknown, code: ErrorCode, param: string])[] = [
  [{}, 'missing_field', 'name'],
  [{ name: 'x', parts: [{ kind: 'a' }, {}] }, 'missing_field', 'parts[1].kind'],
  [{ name: 5 }, 'invalid_type', 'name'],
  [{ name: null }, 'invalid_type', 'name'],
  [{ name: 'x', age: '5' }, 'invalid_type', 'age'],
  [{ name: 'x', age: 1.5 }, 'invalid_type', 'age'],
  [{ name: 'x', parts: {} }, 'invalid_type', 'parts'],
  [{ name: 'x', parts: [{ kind: 'a', sizes: [1, 2, 'x'] }] }, 'invalid_type', 'parts[0].sizes[2]'],
  [{ name: '' }, 'out_of_range', 'name'],
  [{ name: 'too long' }, 'out_of_range', 'name'],
  [{ name: 'x', age: 0 }, 'out_of_range', 'age'],
  [{ name: 'x', age: 101 }, 'out_of_range', 'age'],
  [{ name: 'x', share: 0 }, 'out_of_range', 'share'],
  [{ name: 'x', share: 1 }, 'out_of_range', 'share'],
  [{ name: 'x', parts: [] }, 'out_of_range', 'parts'],
  [{ name: 'x', parts: [{ kind: 'a' }, { kind: 'b' }, { kind: 'c' }] }, 'out_of_range', 'parts'],
  [{ name: 'x', colour: 'green' }, 'invalid_value', 'colour'],
  [{ name: 'x', key: 'nokey' }, 'invalid_value', 'key'],
  [{ name: 'x', nmae: 'y' }, 'unknown_field', 'nmae'],
  [{ name: 'x', either: { kind: 'b', size: 0 } }, 'out_of_range', 'either.size'],
  [{ name: 'x', either: { kind: 'b', size: 1, colour: 'red' } }, 'unknown_field', 'either.colour'],
  [{ name: 'x', either: { kind: 'b' } }, 'missing_field', 'either.size'],
  [{ name: 'x', either: { kind: 'c', size: 1 } }, 'invalid_value', 'either.kind'],
  [{ name: 'x', either: { size: 1 } }, 'missing_field', 'either.kind'],
  [{ name: 'x', either: 5 }, 'invalid_type', 'either'],
  [{ name: 'x', 'a/b~c': { e: 1 } }, 'unknown_field', 'a/b~c.e'],
  [{ name: 'x', 'a/b~c': { d: 1 } }, 'invalid_type', 'a/b~c.d'],
]
for (const [body, code, param] of PROBLEMS) {
  test(`a body ${JSON.stringify(body)} is ${code} at ${param}`, async (t) => {
    const { app, ask } = await setUp(t)
    app.post('/', { schema: { body: Body } }, () => ({}))
    const { status, error } = await ask('POST', '/', body)
    assert.deepEqual([status, error['type'], error['code'], error['param']], [400, 'invalid_request', code, param])
    assert.ok(String(error['message']).includes(param))
  })
}

test('a query is checked like a body, and named for what it is where no parameter is to blame', async (t) => {
  const { app, ask } = await setUp(t)
  app.get('/', { schema: { querystring: Type.Object({ limit: Type.String({ pattern: '^[0-9]+$' }) }) } }, () => ({}))
  app.get('/few', { schema: { querystring: Type.Object({}, { maxProperties: 1 }) } }, () => ({}))
  const { error } = await ask('GET', '/')
  assert.deepEqual([error['code'], error['param']], ['missing_field', 'limit'])
  assert.deepEqual((await ask('GET', '/?limit=x')).error['param'], 'limit')
  const many = (await ask('GET', '/few?a=1&b=2')).error
  assert.deepEqual([many['code'], many['param']], ['invalid_value', undefined])
  assert.match(String(many['message']), /^The querystring /)
})

test('a path without a place of its own blames no parameter', async (t) => {
  const { app, ask } = await setUp(t)
  app.post('/', { schema: { body: Type.Object({}, { minProperties: 1 }) } }, () => ({}))
  const { error } = await ask('POST', '/', {})
  assert.deepEqual([error['code'], error['param']], ['invalid_value', undefined])
  assert.match(String(error['message']), /^The body /)
})

test('ERR-1: what a route throws is told as it is, with headers of its own, and reported with its request id', async (t) => {
  const { app, ask, seen } = await setUp(t)
  const thrown = new GatewayError('rate_limit_exceeded', 'Slow.', { retryAfterMs: 2500, headers: { 'x-limit': '5' } })
  app.get('/', () => Promise.reject(thrown))
  const { status, headers, error } = await ask('GET', '/')
  assert.equal(status, 429)
  assert.deepEqual([headers['retry-after'], headers['retry-after-ms'], headers['x-limit']], ['3', '2500', '5'])
  assert.equal(headers['x-should-retry'], undefined)
  assert.equal(error['retry_after'], 3)
  assert.equal(error['request_id'], headers['x-request-id'])
  assert.deepEqual(seen, [{ error: thrown, requestId: error['request_id'] }])
})

test('what nobody foresaw is 500 internal_error, and shows nothing of itself', async (t) => {
  const { app, ask, seen } = await setUp(t)
  const bug = new TypeError('secret of the installation')
  app.get('/', () => Promise.reject(bug))
  const { status, error } = await ask('GET', '/')
  assert.deepEqual([status, error['type'], error['code']], [500, 'internal_error', 'internal_error'])
  assert.ok(!JSON.stringify(error).includes('secret'))
  assert.equal(seen[0]?.error.cause, bug)
})

test('decisions 4: an unknown path is 404 and names the path, cut to a readable length', async (t) => {
  const { ask } = await setUp(t)
  for (const [method, url] of [
    ['GET', '/nope?secret=1'],
    ['GET', `/${'x'.repeat(3000)}`],
  ] as const) {
    const { status, headers, error } = await ask(method, url)
    assert.deepEqual([status, error['type'], error['code']], [404, 'not_found', 'not_found'])
    assert.equal(headers['x-should-retry'], 'false')
    assert.ok(String(error['message']).length < 300)
    assert.ok(!String(error['message']).includes('secret'))
  }
})

test('a path that cannot be decoded is 404 in the same shape', async (t) => {
  const { ask } = await setUp(t)
  const { status, error, headers } = await ask('GET', '/%zz')
  assert.deepEqual([status, error['code']], [404, 'not_found'])
  assert.equal(error['request_id'], headers['x-request-id'])
})

test('an id that is too long is 404 [limit: path-id]', async (t) => {
  const { app, ask } = await setUp(t)
  app.get('/models/:id', () => ({}))
  assert.equal((await ask('GET', `/models/${'x'.repeat(600)}`)).error['code'], 'not_found')
})

test('decisions 4: an error that no repeat can mend says so, one that may has a wait where the status has one', () => {
  for (const [code, { status, retryable }] of Object.entries(ERROR_CATALOGUE)) {
    const headers = errorHeaders(new GatewayError(code as ErrorCode, 'x'))
    assert.equal(headers['x-should-retry'], retryable ? undefined : 'false', code)
    const waits = status === 429 || status === 503
    assert.equal(headers['retry-after'], waits ? '1' : undefined, code)
    assert.equal(headers['retry-after-ms'], waits ? '1000' : undefined, code)
  }
})

test('a wait is whole seconds from 1 to 60, and the milliseconds agree', () => {
  const waits = (retryAfterMs: number): unknown[] => {
    const headers = errorHeaders(new GatewayError('provider_rate_limited', 'x', { retryAfterMs }))
    return [headers['retry-after'], headers['retry-after-ms']]
  }
  assert.deepEqual(waits(1), ['1', '1'])
  assert.deepEqual(waits(1500.2), ['2', '1501'])
  assert.deepEqual(waits(60_000), ['60', '60000'])
  assert.deepEqual(waits(3_600_000), ['60', '60000'])
})

test('rejected requests to models are rejections; calls of providers, faults of ours and other routes are none', async (t) => {
  const { app, rejections, ask } = await setUp(t)
  const config = { isChat: true, bodyLimitBytes: 100 }
  const codes: [ErrorCode, attempts?: string][] = [
    ['model_not_found'],
    ['insufficient_credit', '0'],
    ['provider_rejected', '1'],
    ['internal_error'],
  ]
  for (const [path, routeConfig] of [
    ['/chat', { config }],
    ['/other', {}],
  ] as const) {
    app.post<{ Querystring: { readonly at: string } }>(path, routeConfig, ({ query }) => {
      const [code, attempts] = codes[Number(query.at)] ?? ['internal_error']
      throw new GatewayError(code, 'No.', {
        headers: attempts === undefined ? {} : { 'x-turnpike-attempts': attempts },
      })
    })
  }
  for (const path of ['/chat', '/other']) {
    for (const at of codes.keys()) await ask('POST', `${path}?at=${at}`, { model: 'm1' })
    await ask('POST', path, { model: 'x'.repeat(200_000) })
  }
  assert.deepEqual(
    rejections.map(({ endpoint, model, status, code, caller }) => [endpoint, model, status, code, caller]),
    [
      ['/chat', 'm1', 422, 'model_not_found', undefined],
      ['/chat', 'm1', 402, 'insufficient_credit', undefined],
      ['/chat', undefined, 413, 'body_too_large', undefined],
    ],
  )
})
