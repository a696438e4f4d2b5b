import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../test/support/ids.ts'
import { callerOf } from '../../test/support/ledger/data-plane.ts'
import { GatewayError } from '../domain/errors.ts'
import { requireCaller } from './caller.ts'
import { type ChatRouteInput, chatRoute } from './chat-route.ts'
import { createHttpServer } from './server.ts'

type Complete = ChatRouteInput['complete']

async function setUp(t: TestContext, complete: Complete) {
  const errors: GatewayError[] = []
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    onError: (error) => errors.push(error),
  })
  t.after(() => app.close())
  requireCaller(app, () => callerOf())
  chatRoute(app, { bodyLimitBytes: 100, clock: () => 42, complete })
  const ask = (payload: string, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/chat/completions',
      headers: { 'content-type': 'application/json', ...headers },
      payload,
    })
  return { ask, errors }
}

test('the gateway is given caller, body and time, and answers by itself', async (t) => {
  const seen: unknown[] = []
  const { ask, errors } = await setUp(t, async (incoming, client) => {
    seen.push(incoming)
    client.sendJson('{"own":true}', { 'x-own': 'yes' })
  })
  const answer = await ask('{"any":["thing"]}', { 'x-client-request-id': 'a.b:c-1_2', 'idempotency-key': 'k1' })
  assert.deepEqual([answer.statusCode, answer.json(), answer.headers['x-own']], [200, { own: true }, 'yes'])
  assert.match(String(answer.headers['x-request-id']), /^req_/)
  assert.deepEqual(seen, [
    {
      caller: callerOf(),
      body: { any: ['thing'] },
      headers: undefined,
      routing: undefined,
      findings: undefined,
      requestId: answer.headers['x-request-id'],
      clientRequestId: 'a.b:c-1_2',
      idempotencyKey: 'k1',
      lastEventId: undefined,
      receivedAt: 42,
      attribution: undefined,
      trace: undefined,
    },
  ])
  assert.deepEqual(errors, [])
})

test('a client’s own request id is taken only if it is harmless', async (t) => {
  const seen: (string | undefined)[] = []
  const { ask } = await setUp(t, async ({ clientRequestId }, client) => {
    seen.push(clientRequestId)
    client.sendJson('{}', {})
  })
  for (const id of ['a', 'x'.repeat(128), 'x'.repeat(129), '', 'a b', 'a"b', 'ä']) {
    await ask('{}', { 'x-client-request-id': id })
  }
  await ask('{}')
  assert.deepEqual(seen, ['a', 'x'.repeat(128), undefined, undefined, undefined, undefined, undefined, undefined])
})

test('IDEM-1: a key that is none is refused before the gateway hears of it', async (t) => {
  const { ask } = await setUp(t, () => assert.fail('asked'))
  for (const key of ['', 'x'.repeat(256), 'ä']) {
    const answer = await ask('{}', { 'idempotency-key': key })
    const { code, param } = answer.json().error
    assert.deepEqual([answer.statusCode, code, param], [400, 'invalid_header', 'Idempotency-Key'])
  }
})

test('IDEM-4: an answer that was kept is sent as it is, under the id of this request', async (t) => {
  for (const status of [200, 503]) {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'idempotent-replayed': 'true' }
    const { ask, errors } = await setUp(t, async () => ({ status, headers, body: '{"kept": true}' }))
    const answer = await ask('{}')
    assert.deepEqual([answer.statusCode, answer.body], [status, '{"kept": true}'])
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(answer.headers['idempotent-replayed'], 'true')
    assert.match(String(answer.headers['x-request-id']), /^req_/)
    assert.deepEqual(errors, [])
  }
})

test('contract rule 1: what fails before anything was written is an error with its status', async (t) => {
  const thrown = new GatewayError('provider_error', 'Broken.', { retryAfterMs: 3000 })
  const { ask, errors } = await setUp(t, (_incoming, client) => {
    client.expectStream(() => ({ 'x-stream': 'yes' }))
    return Promise.reject(thrown)
  })
  const answer = await ask('{}')
  assert.deepEqual([answer.statusCode, answer.headers['retry-after']], [503, '3'])
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  assert.deepEqual([answer.json().error.code, answer.headers['x-stream']], ['provider_error', undefined])
  assert.deepEqual(errors, [thrown])
})

test('what fails after the answer was sent changes nothing of it', async (t) => {
  const { ask } = await setUp(t, (_incoming, client) => {
    client.sendJson('{"own":true}', {})
    return Promise.reject(new Error('late'))
  })
  const answer = await ask('{}')
  assert.deepEqual([answer.statusCode, answer.json()], [200, { own: true }])
})

test('a stream is written as it comes', async (t) => {
  const { ask } = await setUp(t, async (_incoming, client) => {
    client.expectStream(() => ({ 'x-attempts': '1' }))
    client.write('data: 1\n\n')
    client.write('data: [DONE]\n\n')
    client.endStream()
  })
  const answer = await ask('{}')
  assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.equal(answer.headers['x-attempts'], '1')
  assert.equal(answer.body, 'data: 1\n\ndata: [DONE]\n\n')
})

test('EDGE-3: the limit of the route’s body is the configured one', async (t) => {
  const { ask } = await setUp(t, async (_incoming, client) => {
    client.sendJson('{}', {})
  })
  assert.equal((await ask(JSON.stringify({ a: 'x'.repeat(92) }))).statusCode, 200)
  assert.equal((await ask(JSON.stringify({ a: 'x'.repeat(93) }))).statusCode, 413)
})
