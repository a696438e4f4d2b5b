import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../test/support/ids.ts'
import { appHeaders } from './pages/context.ts'
import { rejectCrossSite } from './request-origin.ts'
import { createHttpServer } from './server.ts'

async function setUp(t: TestContext, publicUrl = 'https://ai.example.com') {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    draining: () => false,
    onError: () => {},
  })
  t.after(() => app.close())
  rejectCrossSite(app, { publicUrl })
  for (const method of ['GET', 'POST', 'DELETE'] as const) app.route({ method, url: '/', handler: () => ({}) })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return { port, app }
}

/** The status of an answer to exactly these bytes. */
async function raw(port: number, lines: readonly string[]): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.end(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`)
  let text = ''
  socket.on('data', (piece) => {
    text += piece.toString()
  })
  await once(socket, 'close')
  return Number(text.split(' ')[1])
}

const COOKIE = 'Cookie: __Host-turnpike=x'
const HOST = 'Host: gateway.internal:7575'
const MATRIX: readonly (readonly [string, readonly string[], number])[] = [
  ['same-origin', ['Sec-Fetch-Site: same-origin', COOKIE], 200],
  ['none: nobody types what changes something', ['Sec-Fetch-Site: none', COOKIE], 403],
  ['same-site', ['Sec-Fetch-Site: same-site', COOKIE], 403],
  ['cross-site', ['Sec-Fetch-Site: cross-site', COOKIE], 403],
  ['cross-site without a cookie', ['Sec-Fetch-Site: cross-site'], 403],
  ['cross-site that claims our origin', ['Sec-Fetch-Site: cross-site', 'Origin: https://ai.example.com', COOKIE], 403],
  ['no site, the public origin', ['Origin: https://ai.example.com', COOKIE], 200],
  ["no site, the host's origin", ['Origin: http://gateway.internal:7575', COOKIE], 200],
  ['no site, another origin', ['Origin: https://evil.example', COOKIE], 403],
  ['no site, our host with another scheme', ['Origin: http://ai.example.com', COOKIE], 403],
  ['no site, our name as the beginning of another', ['Origin: https://ai.example.com.evil.example', COOKIE], 403],
  ['no site, origin null', ['Origin: null', COOKIE], 403],
  ['neither, with a cookie', [COOKIE], 403],
  ['neither, without a cookie', [], 200],
]

test('WEB-2: what changes something is taken from our own pages alone', async (t) => {
  const { port } = await setUp(t)
  for (const [name, headers, status] of MATRIX) {
    for (const method of ['POST', 'DELETE']) {
      assert.equal(await raw(port, [`${method} / HTTP/1.1`, HOST, ...headers]), status, `${method}: ${name}`)
    }
    assert.equal(await raw(port, ['GET / HTTP/1.1', HOST, ...headers]), 200, `GET: ${name}`)
  }
})

test('WEB-2: a refusal says what it is', async (t) => {
  const { app } = await setUp(t)
  const answer = await app.inject({ method: 'POST', url: '/', headers: { cookie: 'a=b' } })
  const { error } = answer.json()
  assert.deepEqual([error.type, error.code], ['permission_denied', 'cross_site_request'])
})

test('WEB-3: the headers of pages, to the letter; HSTS only where there is TLS', () => {
  const headers = appHeaders('https://ai.example.com')
  assert.deepEqual(headers, {
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-store',
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
  })
  assert.equal(appHeaders('http://localhost:7575')['strict-transport-security'], undefined)
})
