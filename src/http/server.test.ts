import assert from 'node:assert/strict'
import { METHODS, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../test/support/ids.ts'
import { createHttpServer } from './server.ts'

interface Answer {
  readonly status: number
  readonly allow: string | undefined
  readonly code: string | undefined
}

async function listen(t: TestContext, corsOrigins: readonly string[] = []) {
  const errors: string[] = []
  const app = await createHttpServer({
    ...{ newRequestId: testIds.request, trustProxy: [], corsOrigins, draining: () => false },
    onError: (error) => errors.push(error.code),
  })
  app.get('/v1/things', () => 'all')
  app.post('/v1/things', () => 'made')
  app.delete('/v1/things/:id', () => 'gone')
  app.get('/v1/files/*', () => 'file')
  await app.listen({ port: 0 })
  t.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const send = (method: string, path: string, body?: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const sent = request({ port, method, path, headers, agent: false }, (response) => {
        let text = ''
        response.on('data', (piece) => (text += piece))
        response.on('end', () => {
          const code = text.startsWith('{') ? JSON.parse(text).error.code : undefined
          resolve({ status: response.statusCode ?? 0, allow: response.headers.allow, code })
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  return { app, send, errors }
}

const refused = (allow: string): Answer => ({ status: 405, allow, code: 'method_not_allowed' })

test('every method of HTTP that a path does not have is answered 405 with the methods it has', async (t) => {
  const { send, errors } = await listen(t)
  const has = new Set(['GET', 'HEAD', 'POST'])
  const others = METHODS.filter((method) => !has.has(method) && method !== 'CONNECT') // a proxy's, with its own event
  assert.ok(others.length > 20 && others.includes('QUERY'))
  for (const method of others) {
    assert.deepEqual(await send(method, '/v1/things?limit=2'), refused('GET, HEAD, POST'), method)
  }
  assert.ok(!errors.includes('internal_error'))
})

test('parameters and wildcards belong to their paths, a trailing slash does not matter', async (t) => {
  const { send } = await listen(t)
  assert.deepEqual(await send('GET', '/v1/things/a'), refused('DELETE'))
  assert.deepEqual(await send('PUT', '/v1/things/', '{}'), refused('GET, HEAD, POST'))
  assert.deepEqual(await send('DELETE', '/v1/files/a/b'), refused('GET, HEAD'))
  assert.equal((await send('GET', '/v1/files/a/b')).status, 200)
})

test('a path that no route has is 404, whatever the method and however large the body', async (t) => {
  const { send } = await listen(t)
  const unknown: Answer = { status: 404, allow: undefined, code: 'not_found' }
  assert.deepEqual(await send('GET', '/v1/thing'), unknown)
  assert.deepEqual(await send('QUERY', '/v1/thing'), unknown)
  assert.deepEqual(await send('DELETE', '/v1/things/a/b'), unknown)
  assert.deepEqual(await send('POST', '/v1/thing', `"${'x'.repeat(1024 * 1024)}"`), unknown)
})

test('its sockets have TCP_NODELAY: no event of a stream waits for an acknowledgement', async (t) => {
  const { app } = await listen(t)
  assert.ok('noDelay' in app.server && app.server.noDelay) // Node's types lack it
})

test('preflights are no method of a path', async (t) => {
  const { send } = await listen(t, ['*'])
  assert.deepEqual(await send('PATCH', '/v1/things'), refused('GET, HEAD, POST'))
  assert.equal((await send('GET', '/v1/thing')).status, 404)
})
