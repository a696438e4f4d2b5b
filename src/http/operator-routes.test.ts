import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../test/support/ids.ts'
import { callerOf } from '../../test/support/ledger/data-plane.ts'
import { GatewayError } from '../domain/errors.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Authenticate } from './caller.ts'
import { metricsRoute, type ProbeInput, probeRoutes } from './operator-routes.ts'
import { createHttpServer } from './server.ts'

async function server(t: TestContext, draining: () => boolean = () => false) {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining,
    onError: () => {},
  })
  t.after(() => app.close())
  return app
}

const fine = (): Promise<void> => Promise.resolve()
const broken = (): Promise<void> => Promise.reject(new Error('password=secret'))

async function probe(t: TestContext, input: Partial<ProbeInput>) {
  const { draining = () => false } = input
  const app = await server(t, draining)
  probeRoutes(app, { version: '1.2.3', checks: { database: fine }, draining, ...input })
  return app
}

test('readiness names each store, and says nothing of why one fails', async (t) => {
  const app = await probe(t, { checks: { database: fine, redis: broken } })
  const answer = await app.inject('/readyz')
  assert.equal(answer.statusCode, 503)
  assert.equal(answer.headers['retry-after'], '1')
  assert.deepEqual(answer.json(), { status: 'unavailable', checks: { database: 'ok', redis: 'unavailable' } })
})

test('a process that can serve is ready', async (t) => {
  const app = await probe(t, {})
  const answer = await app.inject('/readyz')
  assert.deepEqual([answer.statusCode, answer.json()], [200, { status: 'ready', checks: { database: 'ok' } }])
})

test('R-A15: a process that drains is alive and not ready, and turns everything else away', async (t) => {
  const app = await probe(t, { draining: () => true })
  app.get('/other', () => ({}))
  assert.deepEqual((await app.inject('/healthz')).json(), { status: 'ok', version: '1.2.3' })
  const ready = await app.inject('/readyz')
  assert.deepEqual([ready.statusCode, ready.json().status], [503, 'draining'])
  const other = await app.inject('/other')
  assert.deepEqual([other.statusCode, other.json().error.code], [503, 'shutting_down'])
  for (const { headers } of [ready, other]) {
    assert.equal(headers['connection'], 'close')
    assert.match(String(headers['retry-after']), /^[1-9]\d?$/)
  }
})

async function metricsServer(
  t: TestContext,
  { open, isShared = false }: { readonly open: boolean; readonly isShared?: boolean },
) {
  const app = await server(t)
  const metrics = createMetrics({ active: () => 0, unwritten: () => 0 })
  t.after(() => metrics.close())
  const authenticate: Authenticate = (authorization) => {
    if (authorization === 'Bearer operator') return callerOf({ scopes: new Set(['operator']) })
    if (authorization === 'Bearer chat') return callerOf({ scopes: new Set(['chat']) })
    throw new GatewayError('missing_credential', 'No.')
  }
  metricsRoute(app, { metrics, authenticate, open, isShared: () => isShared })
  return async (remoteAddress: string, headers: Record<string, string> = {}): Promise<number> =>
    (await app.inject({ url: '/metrics', remoteAddress, headers })).statusCode
}

test('metrics need a key with the scope operator, wherever the request comes from', async (t) => {
  const ask = await metricsServer(t, { open: false })
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1']) {
    assert.equal(await ask(address), 401, address)
    assert.equal(await ask(address, { host: 'localhost' }), 401, address)
    assert.equal(await ask(address, { authorization: 'Bearer chat' }), 403, address)
    assert.equal(await ask(address, { authorization: 'Bearer operator' }), 200, address)
  }
})

test('open metrics are for peers on this machine, unless they speak for somebody else', async (t) => {
  const ask = await metricsServer(t, { open: true })
  for (const address of ['127.0.0.1', '127.5.5.5', '::1', '::ffff:127.0.0.1'])
    assert.equal(await ask(address), 200, address)
  for (const address of ['203.0.113.9', '10.0.0.1', '::ffff:10.0.0.1', '1270.0.0.1', '::2']) {
    assert.equal(await ask(address), 401, address)
  }
  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via', 'x-forwarded-host'])
    assert.equal(await ask('127.0.0.1', { [name]: '127.0.0.1' }), 401, `a proxy with ${name}`)
  assert.equal(await ask('203.0.113.9', { authorization: 'Bearer operator' }), 200)
  assert.equal(await ask('127.0.0.1', { authorization: 'Bearer chat' }), 403)
})

test('a port that several processes share has no metrics: each answer would be of another process', async (t) => {
  const ask = await metricsServer(t, { open: true, isShared: true })
  assert.equal(await ask('127.0.0.1'), 404)
  assert.equal(await ask('10.0.0.1'), 401)
})
