import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../test/support/ids.ts'
import { callerOf as callerWith } from '../../test/support/ledger/data-plane.ts'
import { GatewayError } from '../domain/errors.ts'
import { invalidCredential, missingCredential } from '../domain/identity/credential.ts'
import { type Authenticate, callerOf, limitUnknownKeys, requireCaller } from './caller.ts'
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

/* Runs on one database. */

const KNOWN_CALLER = callerWith()

/** Knows one key, and needs the database for every other one that ends with `stored`. */
const known: Authenticate = (authorization) => {
  if (authorization === undefined) throw missingCredential()
  if (authorization === 'right') return KNOWN_CALLER
  if (authorization === 'right stored') return Promise.resolve(KNOWN_CALLER)
  if (authorization.endsWith('stored')) return Promise.reject(invalidCredential())
  throw invalidCredential()
}

async function statusOf(ask: () => unknown): Promise<number> {
  try {
    await ask()
    return 200
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    return error.status
  }
}

test('after 60 wrong keys in a minute an address is answered 429, and right keys pass [limit: unknown-keys]', async () => {
  let now = 0
  const authenticate = limitUnknownKeys(known, () => now)
  const statuses = new Set<number>()
  for (let sent = 0; sent < 60; sent++) {
    statuses.add(await statusOf(() => authenticate(sent % 2 ? 'wrong' : 'wrong stored', '203.0.113.7')))
  }
  assert.deepEqual([...statuses], [401])
  const ask = (key: string | undefined, address = '203.0.113.7') => statusOf(() => authenticate(key, address))
  for (let sent = 0; sent < 3_000; sent++) assert.equal(await ask('wrong'), 429)
  assert.equal(await ask('wrong stored'), 429)
  assert.deepEqual([await ask('right'), await ask('right stored')], [200, 200], 'behind the same address')
  assert.equal(await ask(undefined), 401, 'no key is none that is wrong')
  assert.equal(await ask('wrong', '203.0.113.8'), 401)
  now += 1_000
  assert.deepEqual([await ask('wrong'), await ask('wrong')], [401, 429], 'what was refused does not count')
})

test('of IPv6 a /64 is one address', async () => {
  const authenticate = limitUnknownKeys(known, () => 0)
  const ask = (address: string) => statusOf(() => authenticate('wrong', address))
  for (let sent = 0; sent < 60; sent++) assert.equal(await ask(`2001:db8:1:2::${sent.toString(16)}`), 401)
  assert.deepEqual([await ask('2001:db8:1:2:ffff::1'), await ask('2001:db8:1:3::1')], [429, 401])
})

test('of 10 000 addresses each one is remembered, of more the longest unseen is forgotten [limit: unknown-key-addresses]', async () => {
  const authenticate = limitUnknownKeys(known, () => 0)
  const ask = (address: string) => statusOf(() => authenticate('wrong', address))
  for (let sent = 0; sent < 61; sent++) await ask('192.0.2.1')
  for (let number = 1; number < 10_000; number++) await ask(`10.0.${number >> 8}.${number & 255}`)
  assert.equal(await ask('192.0.2.1'), 429)
  for (let number = 0; number < 10_000; number++) await ask(`10.1.${number >> 8}.${number & 255}`)
  assert.equal(await ask('192.0.2.1'), 401)
})
