/** Runs on one database: it is about the wire. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { CHAT, errorOf, hello, raw, rawStatus, send } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { bodyOf, ordinary } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const BODY_LIMIT = 1024 * 1024
const ORIGIN = 'https://app.example.com'
const provider = await startFakeProvider(ordinary)
const server = {
  body_limit_bytes: BODY_LIMIT,
  cors_origins: [ORIGIN],
  trust_proxy: ['127.0.0.0/8'],
  metrics_open: false,
}
const gateway = await startGateway({ config: oneModel(provider.url, {}, { server }) })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

const BODY = JSON.stringify(hello())
const STANDARD = [
  'Host: a',
  `Authorization: Bearer ${key}`,
  'Content-Type: application/json',
  `Content-Length: ${BODY.length}`,
]
const post = (lines: readonly string[], body = BODY): string =>
  `POST ${CHAT} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`

function answersIn(text: string): number {
  return text.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0
}

test('the request that the vectors below spoil is answered', async () => {
  const text = await raw(gateway, [post([...STANDARD, 'Connection: close'])])
  assert.equal(rawStatus(text), 200)
})

for (const line of [
  `Authorization: Bearer tp_x`,
  'Host: b',
  'Content-Type: text/plain',
  `Content-Length: ${BODY.length}`,
]) {
  test(`EDGE-2: a second ${line.split(':')[0]} is 400, wherever it is`, async () => {
    const calls = provider.calls.length
    for (const lines of [
      [...STANDARD, line],
      [line, ...STANDARD],
    ]) {
      const text = await raw(gateway, [post([...lines, 'Connection: close'])])
      assert.equal(rawStatus(text), 400)
      assert.equal(answersIn(text), 1)
      assert.match(text, /"type":"invalid_request"/)
    }
    assert.equal(provider.calls.length, calls)
  })
}

test('EDGE-2: two idempotency keys are 400, one is not', async () => {
  const twice = await raw(gateway, [
    post([...STANDARD, 'Idempotency-Key: k1', 'idempotency-key: k2', 'Connection: close']),
  ])
  assert.equal(rawStatus(twice), 400)
  assert.match(twice, /"code":"invalid_header"/)
  const once = await raw(gateway, [post([...STANDARD, 'Idempotency-Key: k1', 'Connection: close'])])
  assert.equal(rawStatus(once), 200)
})

const chunked = (lines: readonly string[], body: string): string =>
  post(['Host: a', `Authorization: Bearer ${key}`, 'Content-Type: application/json', ...lines], body)
const SMUGGLED = 'GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n'
const one = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`

/** Each must be refused with one answer and the end of the connection, whatever follows it on the socket. */
const SMUGGLING: readonly (readonly [name: string, bytes: string])[] = [
  [
    'Transfer-Encoding and Content-Length',
    chunked([`Content-Length: ${BODY.length}`, 'Transfer-Encoding: chunked'], one),
  ],
  ['Transfer-Encoding before Content-Length', chunked(['Transfer-Encoding: chunked', 'Content-Length: 5'], one)],
  ['two different Content-Lengths', chunked(['Content-Length: 5', `Content-Length: ${BODY.length}`], BODY)],
  ['a list of Content-Lengths', chunked([`Content-Length: ${BODY.length}, ${BODY.length}`], BODY)],
  ['a signed Content-Length', chunked([`Content-Length: +${BODY.length}`], BODY)],
  ['a negative Content-Length', chunked(['Content-Length: -1'], BODY)],
  ['a hexadecimal Content-Length', chunked([`Content-Length: 0x${BODY.length.toString(16)}`], BODY)],
  ['a Content-Length with a space inside', chunked(['Content-Length: 1 2'], BODY)],
  ['an empty Content-Length', chunked(['Content-Length:'], BODY)],
  ['Content-Length beyond 64 bits', chunked(['Content-Length: 99999999999999999999999'], BODY)],
  ['chunked, identity', chunked(['Transfer-Encoding: chunked, identity'], one)],
  ['identity', chunked(['Transfer-Encoding: identity'], one)],
  ['an unknown Transfer-Encoding', chunked(['Transfer-Encoding: xchunked'], one)],
  ['Transfer-Encoding with a trailing comma', chunked(['Transfer-Encoding: chunked,'], one)],
  ['Transfer-Encoding twice, last unknown', chunked(['Transfer-Encoding: chunked', 'Transfer-Encoding: x'], one)],
  ['gzip, chunked that is not last', chunked(['Transfer-Encoding: chunked, gzip'], one)],
  ['a space before the colon', chunked(['Transfer-Encoding : chunked'], one)],
  ['a tab before the colon', chunked(['Content-Length\t: 5'], BODY)],
  ['a folded header', chunked(['X-A: a\r\n b', `Content-Length: ${BODY.length}`], BODY)],
  ['a folded Transfer-Encoding', chunked(['Transfer-Encoding:\r\n chunked'], one)],
  ['a header without a colon', chunked(['Transfer-Encoding'], one)],
  ['a header without a name', chunked([': chunked'], one)],
  ['a NUL in a header', chunked(['X-A: a\0b', `Content-Length: ${BODY.length}`], BODY)],
  ['a bare CR in a header', chunked(['X-A: a\rTransfer-Encoding: chunked', `Content-Length: ${BODY.length}`], BODY)],
  ['bare LF line ends', post(STANDARD).replaceAll('\r\n', '\n')],
  ['a bare LF in the head', post(STANDARD).replace('\r\nAuthorization', '\nAuthorization')],
  ['no Host', post(STANDARD.slice(1))],
  ['a chunk size with a sign', chunked(['Transfer-Encoding: chunked'], `+${one}`)],
  ['a chunk size with 0x', chunked(['Transfer-Encoding: chunked'], `0x${one}`)],
  ['a chunk size that is no number', chunked(['Transfer-Encoding: chunked'], `zz\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk size beyond 64 bits', chunked(['Transfer-Encoding: chunked'], `fffffffffffffffff1\r\n${BODY}`)],
  ['a chunk longer than it says', chunked(['Transfer-Encoding: chunked'], `5\r\n${BODY}\r\n0\r\n\r\n`)],
  [
    'a chunk that ends in LF alone',
    chunked(['Transfer-Encoding: chunked'], `${BODY.length.toString(16)}\n${BODY}\n0\n\n`),
  ],
  ['an unknown version', `POST ${CHAT} HTTP/9.9\r\n${STANDARD.join('\r\n')}\r\n\r\n${BODY}`],
  ['a method that does not exist', post(STANDARD).replace('POST', 'PO ST')],
  ['lower-case method', post(STANDARD).replace('POST', 'post')],
  ['a space before the first header', post([' X-A: b', ...STANDARD])],
  ['a control character in the path', post(STANDARD).replace(CHAT, `${CHAT}\x01`)],
]
for (const [name, bytes] of SMUGGLING) {
  test(`EDGE-5: ${name} is refused, and nothing after it is taken for a request`, async () => {
    const calls = provider.calls.length
    const text = await raw(gateway, [bytes, SMUGGLED], 60_000)
    assert.equal(rawStatus(text), 400, text.slice(0, 200))
    assert.equal(answersIn(text), 1)
    assert.equal(provider.calls.length, calls)
  })
}

test('EDGE-1: 17 KiB of headers are 431, in the shape of every error', async () => {
  const text = await raw(gateway, [post([...STANDARD, `X-Big: ${'x'.repeat(17 * 1024)}`])])
  assert.equal(rawStatus(text), 431)
  assert.match(text, /"code":"headers_too_large"/)
  assert.match(text, /\r\nx-request-id: req_/i)
})

test('EDGE-5: 20 KiB of chunk extension are 413', async () => {
  const text = await raw(gateway, [
    chunked(['Transfer-Encoding: chunked'], `5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`),
  ])
  assert.equal(rawStatus(text), 413)
})

test('a chunked body is as good as one with a length', async () => {
  const text = await raw(gateway, [chunked(['Transfer-Encoding: chunked', 'Connection: close'], one)])
  assert.equal(rawStatus(text), 200)
})

test('two requests in one packet receive two answers, in order', async () => {
  const text = await raw(gateway, [post(STANDARD) + post([...STANDARD, 'Connection: close'])])
  assert.equal(answersIn(text), 2)
})

for (const declared of [true, false]) {
  test(`EDGE-3: a body over the limit is read on and answered with 413, length declared: ${declared}`, async () => {
    const body = JSON.stringify(hello({ messages: [{ role: 'user', content: 'x'.repeat(1.5 * BODY_LIMIT) }] }))
    const head = declared
      ? post([...STANDARD.slice(0, 3), `Content-Length: ${body.length}`], body)
      : chunked(['Transfer-Encoding: chunked'], `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
    const { received, sent } = await sendAll(Buffer.from(head))
    assert.equal(sent, true, 'the whole body was taken')
    assert.equal(rawStatus(received), 413)
    assert.match(received, /"code":"body_too_large"/)
  })
}

/** Writes it all, and waits for an answer and for the last byte to have been handed over. */
function sendAll(bytes: Uint8Array): Promise<{ received: string; sent: boolean }> {
  return new Promise((resolve) => {
    let received = ''
    let sent = false
    const socket = connect(gateway.port, '127.0.0.1')
    const look = (): void => {
      if (!sent || !received.includes('}}')) return
      socket.destroy()
      resolve({ received, sent })
    }
    socket.write(bytes, () => {
      sent = true
      look()
    })
    socket.on('data', (piece) => {
      received += piece.toString()
      look()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve({ received, sent }))
  })
}

for (const declared of [true, false]) {
  test(`a body of 40 MiB to an unknown path is 404, and its connection serves on, length declared: ${declared}`, async () => {
    const body = Buffer.alloc(40 * 1024 * 1024, 'x')
    const length = declared ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked'
    const head = `POST /v1/nothing HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${length}\r\n\r\n`
    const request = declared ? [head, body] : [head, `${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n']
    const next = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    const received = await raw(gateway, [...request, next], 120_000)
    assert.deepEqual(received.match(/HTTP\/1\.1 \d{3} /g), ['HTTP/1.1 404 ', 'HTTP/1.1 200 '])
    assert.match(received, /"code":"not_found"/)
  })
}

test('EDGE-3: a body without end is not read for ever', async () => {
  const head = post([...STANDARD.slice(0, 3), `Content-Length: ${1024 ** 3}`], '')
  const socket = connect(gateway.port, '127.0.0.1')
  let received = ''
  let taken = 0
  socket.on('error', () => {})
  socket.on('data', (piece) => {
    received += piece.toString()
  })
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  const block = Buffer.alloc(65_536, 120)
  const feed = (): void => {
    while (!socket.destroyed && taken < 64 * BODY_LIMIT) {
      taken += block.length
      if (!socket.write(block)) return void socket.once('drain', feed)
    }
  }
  socket.write(head, feed)
  const timer = setTimeout(() => socket.destroy(), 15_000)
  await closed
  clearTimeout(timer)
  // Twice the limit is read so that the answer is seen; whoever goes on writing may lose it with the connection.
  if (received !== '') assert.equal(rawStatus(received), 413)
  assert.ok(taken < 32 * BODY_LIMIT, `${taken} bytes were taken`)
})

test('EDGE-3: compressed bodies and other types are 415', async () => {
  const encoded = await send(gateway, CHAT, { key, body: hello(), headers: { 'content-encoding': 'gzip' } })
  assert.deepEqual([encoded.status, errorOf(encoded).code], [415, 'unsupported_media_type'])
  const plain = await send(gateway, CHAT, { key, body: 'a=b', headers: { 'content-type': 'text/plain' } })
  assert.deepEqual([plain.status, errorOf(plain).code], [415, 'unsupported_media_type'])
})

test('EDGE-4: no header of the client reaches the provider', async () => {
  const headers = {
    'x-secret': 'canary-1',
    cookie: 'a=canary-2',
    'x-forwarded-for': '203.0.113.9',
    'user-agent': 'canary-3',
    'openai-organization': 'canary-4',
    te: 'trailers',
    'accept-language': 'canary-5',
    referer: 'https://canary-6.example',
    'idempotency-key': 'canary-7',
    'x-stainless-lang': 'canary-8',
  }
  assert.equal((await send(gateway, CHAT, { key, body: hello(), headers })).status, 200)
  const received = provider.calls.at(-1)
  const seen = received?.rawHeaders.join('\n') ?? ''
  assert.doesNotMatch(seen, /canary|203\.0\.113\.9/)
  assert.equal(bodyOf(received ?? assert.fail()).model, 'up-model')
})

test('a browser of an allowed origin may call, one of another origin may not', async () => {
  const preflight = (origin: string): ReturnType<typeof send> =>
    send(gateway, CHAT, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-stainless-os',
      },
    })
  const allowed = await preflight(ORIGIN)
  assert.ok(allowed.status === 204 || allowed.status === 200)
  assert.equal(allowed.headers['access-control-allow-origin'], ORIGIN)
  assert.match(allowed.headers['access-control-allow-headers'] ?? '', /authorization.*content-type.*x-stainless-os/)
  assert.equal(allowed.headers['access-control-allow-credentials'], undefined)
  assert.notEqual(
    (await preflight('https://evil.example')).headers['access-control-allow-origin'],
    'https://evil.example',
  )

  for (const stream of [false, true]) {
    const answer = await send(gateway, CHAT, { key, body: hello({ stream }), headers: { origin: ORIGIN } })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['access-control-allow-origin'], ORIGIN)
    assert.match(answer.headers['access-control-expose-headers'] ?? '', /x-request-id/)
  }
})

test('SSE-3: a stream’s head forbids caches and buffers in between', async () => {
  const { headers } = await send(gateway, CHAT, { key, body: hello({ stream: true }) })
  assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.match(headers['cache-control'] ?? '', /no-store/)
  assert.equal(headers['x-accel-buffering'], 'no')
})

test('ERR-1: every error has an id, a type, a message and a code, unknown paths included', async () => {
  for (const [path, call] of [
    ['/v1/nope', { key }],
    ['/nowhere', {}],
    [CHAT, { key, method: 'DELETE' }],
    [CHAT, { body: hello() }],
    [CHAT, { key, body: '{' }],
    [CHAT, { key, body: '' }],
    [CHAT, { key, body: `{"model":"m1","messages":${'['.repeat(5000)}${']'.repeat(5000)}}` }],
  ] as const) {
    const answer = await send(gateway, path, call)
    assert.ok(answer.status >= 400 && answer.status < 500, `${path}: ${answer.status}`)
    const error = errorOf(answer)
    for (const field of [error.type, error.message, error.code]) assert.equal(typeof field, 'string')
    assert.equal(error.request_id, answer.headers['x-request-id'])
    assert.equal(answer.headers['x-should-retry'], 'false')
  }
})

test('metrics are available to operators only', async () => {
  await send(gateway, CHAT, { key, body: hello() })
  const operator = await gateway.key('--operator')
  const read = await send(gateway, '/metrics', { key: operator })
  assert.equal(read.status, 200)
  assert.match(read.headers['content-type'] ?? '', /^text\/plain/)
  assert.match(read.text, /^# HELP /m)
  assert.match(read.text, /^turnpike_\w+\{?.* [1-9]/m)
  assert.ok(!read.text.includes(key))

  const afar = { 'x-forwarded-for': '203.0.113.9' }
  for (const headers of [{}, { host: 'localhost' }, { 'x-real-ip': '203.0.113.9' }, afar]) {
    assert.equal((await send(gateway, '/metrics', { headers })).status, 401)
    assert.equal((await send(gateway, '/metrics', { headers, key })).status, 403)
  }
  assert.equal((await send(gateway, '/metrics', { headers: afar, key: operator })).status, 200)
})

test('health and readiness answer without a key', async () => {
  assert.equal((await send(gateway, '/healthz')).status, 200)
  assert.equal((await send(gateway, '/readyz')).status, 200)
})
