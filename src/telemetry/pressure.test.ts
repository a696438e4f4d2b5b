import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { testIds } from '../../test/support/ids.ts'
import { createHttpServer } from '../http/server.ts'
import { createPressure, PRESSURE_LIMITS, type Pressure, processGauges, type Strain } from './pressure.ts'

interface Machine {
  readonly pressure: Pressure
  heapShare: number
  loopDelayMs: number
  active: number
  readonly told: unknown[]
  /** One look after another. @returns what each of them found. */
  look(times: number): (Strain | undefined)[]
}

/** A process whose state the test sets, at its busiest. */
function watch(t: TestContext): Machine {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  const told: unknown[] = []
  const machine: Machine = {
    pressure: createPressure({
      clock: () => now,
      active: () => machine.active,
      log: { warn: (fields: unknown) => told.push(fields) },
      gauges: { heapShare: () => machine.heapShare, loopDelayMs: () => machine.loopDelayMs, close: () => {} },
    }),
    heapShare: 0.2,
    loopDelayMs: 5,
    active: PRESSURE_LIMITS.completions,
    told,
    look: (times) =>
      Array.from({ length: times }, () => {
        now += 1_000
        t.mock.timers.tick(1_000)
        return machine.pressure.strain()
      }),
  }
  t.after(() => machine.pressure.close())
  return machine
}

test('OVL-2: more than 85 % of the heap is too much at once, 85 % is not [limit: heap]', (t) => {
  const machine = watch(t)
  machine.heapShare = 0.85
  assert.deepEqual(machine.look(2), [undefined, undefined])
  machine.heapShare = 0.851
  machine.active = 0
  assert.deepEqual(machine.look(1), ['heap'])
  machine.heapShare = 0.8
  assert.deepEqual(machine.look(1), [undefined])
})

test('OVL-2: an event loop that is late by more than 200 ms is too much at the third look in a row, until it is not [limit: loop-delay]', (t) => {
  const machine = watch(t)
  machine.loopDelayMs = 200
  assert.deepEqual(machine.look(4), [undefined, undefined, undefined, undefined])
  machine.loopDelayMs = 201
  assert.deepEqual(machine.look(4), [undefined, undefined, 'event loop', 'event loop'])
  machine.loopDelayMs = 5
  assert.deepEqual(machine.look(1), [undefined])
  machine.loopDelayMs = 201
  assert.deepEqual(machine.look(2), [undefined, undefined])
})

test('OVL-2: a busy machine is no overload: with fewer than 32 completions under way no delay counts', (t) => {
  const machine = watch(t)
  machine.loopDelayMs = 5_000
  machine.active = 31
  assert.deepEqual(machine.look(5), Array(5).fill(undefined))
  machine.active = 32
  assert.deepEqual(machine.look(3), [undefined, undefined, 'event loop'])
})

test('OVL-2: an overload is told once a minute, with what is wrong', (t) => {
  const machine = watch(t)
  machine.heapShare = 0.9
  machine.look(60)
  assert.deepEqual(machine.told, [{ strain: 'heap', heapShare: 0.9, loopDelayMs: 5, active: 32 }])
  machine.look(1)
  assert.equal(machine.told.length, 2)
})

test('OVL-2: the gauges of the process are a share of its heap, and how late its event loop is', async (t) => {
  const gauges = processGauges()
  t.after(() => gauges.close())
  const share = gauges.heapShare()
  assert.ok(share > 0 && share < 1, `${share}`)
  await sleep(50)
  const until = performance.now() + 300
  while (performance.now() < until);
  await sleep(50)
  const delayMs = gauges.loopDelayMs()
  assert.ok(delayMs > 200, `${delayMs} ms`)
})

const SHED = [
  '/v1/chat/completions',
  '/chat/completions',
  '/v1/models',
  '/models',
  '/models/m',
  '/v1/%75sage',
  '/v1/usage/',
]
const SERVED = ['/healthz', '/readyz', '/metrics', '/internal/streams/s', '/v1/admin/providers', '/openapi.json']

test('OVL-2: under strain the API answers 503 before anything else is done; probes, operators and relays are served', async (t) => {
  let strain: Strain | undefined
  const logged: string[] = []
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    strain: () => strain,
    onError: ({ code }) => logged.push(code),
  })
  t.after(() => app.close())
  let asked = 0
  app.addHook('onRequest', async () => {
    asked += 1 // where authentication is
  })
  const routes = ['/v1/chat/completions', '/chat/completions', '/v1/models', '/models', '/models/:id', '/v1/usage']
  for (const url of [...routes, ...SERVED]) app.get(url, () => ({}))
  const statusOf = async (url: string): Promise<number> => (await app.inject({ url })).statusCode
  for (const url of [...SHED, ...SERVED]) assert.equal(await statusOf(url), 200, url)
  asked = 0
  strain = 'heap'
  for (const url of SHED) {
    const answer = await app.inject({ url })
    assert.equal(answer.statusCode, 503, url)
    const { error } = answer.json()
    assert.deepEqual([error.code, error.type, error.retry_after], ['overloaded', 'service_unavailable', 2])
    assert.equal(answer.headers['retry-after'], '2')
    assert.equal(answer.headers['x-request-id'], error.request_id)
  }
  assert.deepEqual([asked, logged], [0, []])
  for (const url of SERVED) assert.equal(await statusOf(url), 200, url)
  strain = undefined
  assert.equal(await statusOf('/v1/models'), 200)
})

test('OVL-2: a request that is turned away is answered before its body is there', async (t) => {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    strain: () => 'heap',
    onError: () => {},
  })
  t.after(() => app.close())
  app.post('/v1/chat/completions', () => assert.fail('its body was waited for'))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const { promise: body, resolve: sendBody } = Promise.withResolvers<Buffer>()
  const pieces = async function* () {
    yield Buffer.from('{')
    yield await body
  }
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: ReadableStream.from(pieces()),
    duplex: 'half',
  })
  assert.equal(answer.status, 503)
  sendBody(Buffer.from('}'))
  await answer.text()
})
