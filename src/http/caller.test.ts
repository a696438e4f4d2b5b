import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callerOf as callerWith } from '../../test/support/data-plane.ts'
import { testIds } from '../../test/support/ids.ts'
import { GatewayError } from '../domain/errors.ts'
import { type Authenticate, callerOf, requireCaller } from './caller.ts'
import { createHttpServer } from './server.ts'

async function setUp(t: TestContext, authenticate: Authenticate) {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: ['127.0.0.1'],
    corsOrigins: [],
    draining: () => false,
    onError: () => {},
  })
  t.after(() => app.close())
  app.get('/open', (request) => ({ account: callerOf(request).accountId }))
  await app.register(async (inner) => {
    requireCaller(inner, authenticate)
    inner.get('/plain', (request) => ({ account: callerOf(request).accountId }))
    inner.get('/keys', { config: { scope: 'keys' } }, (request) => ({ account: callerOf(request).accountId }))
  })
  return async (url: string, headers: Record<string, string> = {}) => {
    const response = await app.inject({ method: 'GET', url, headers })
    return { status: response.statusCode, body: response.json() }
  }
}

const CALLER = callerWith({ scopes: new Set(['chat']) })

for (const [name, give] of [
  ['at once', (): ReturnType<Authenticate> => CALLER],
  ['later', (): ReturnType<Authenticate> => Promise.resolve(CALLER)],
] as const) {
  test(`a caller that is known ${name} reaches the routes its scopes allow`, async (t) => {
    const ask = await setUp(t, give)
    assert.deepEqual(await ask('/plain'), { status: 200, body: { account: 'acc_1' } })
    const { status, body } = await ask('/keys')
    assert.deepEqual([status, body.error.type, body.error.code], [403, 'permission_denied', 'insufficient_scope'])
    assert.match(body.error.message, /'keys'/)
  })
}

for (const [name, refuse] of [
  [
    'at once',
    () => {
      throw new GatewayError('invalid_credential', 'No.')
    },
  ],
  ['later', () => Promise.reject(new GatewayError('invalid_credential', 'No.'))],
] satisfies [string, Authenticate][]) {
  test(`a caller that is refused ${name} reaches no route`, async (t) => {
    const ask = await setUp(t, refuse)
    for (const url of ['/plain', '/keys']) {
      const { status, body } = await ask(url)
      assert.deepEqual([status, body.error.code], [401, 'invalid_credential'])
    }
  })
}

test('who calls is told by the Authorization header and the address, behind a trusted proxy the one it names', async (t) => {
  const seen: unknown[] = []
  const ask = await setUp(t, (...given) => {
    seen.push(given)
    return CALLER
  })
  await ask('/plain', { authorization: 'Bearer x', 'x-forwarded-for': '203.0.113.9' })
  await ask('/plain')
  assert.deepEqual(seen, [
    ['Bearer x', '203.0.113.9'],
    [undefined, '127.0.0.1'],
  ])
})

test('a route without authentication that asks for its caller fails, and serves nobody', async (t) => {
  const ask = await setUp(t, () => CALLER)
  assert.equal((await ask('/open')).status, 500)
})
