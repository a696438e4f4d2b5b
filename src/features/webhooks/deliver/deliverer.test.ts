import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createTestAuthority } from '../../../../test/support/identity/test-authority.ts'
import {
  type LoggedAttempt,
  openDeliveryFixture,
  SECRETS,
  until,
  type WorkerOptions,
} from '../../../../test/support/webhooks/deliveries.ts'
import { mintWebhookSecret } from '../../../domain/webhook-signature.ts'

type Answering = (request: IncomingMessage, response: ServerResponse) => void

async function listen(t: TestContext, server: Server & { closeAllConnections(): void }): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port // it listens on a port
}

interface Receiver {
  readonly url: string
  readonly requests: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly url: string
  }[]
}

async function startReceiver(t: TestContext, answer: Answering): Promise<Receiver> {
  const requests: Receiver['requests'] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    requests.push({ headers, body: Buffer.concat(pieces).toString(), url: request.url ?? '' })
    answer(request, response)
  })
  return { url: `http://127.0.0.1:${await listen(t, server)}`, requests }
}

/** Makes first attempts, one worker for all of a test. */
async function attempting(t: TestContext, options: WorkerOptions = {}) {
  const fixture = await openDeliveryFixture(t)
  fixture.work(options)
  return async (url: string) => {
    const endpoint = await fixture.endpoint(url)
    await fixture.event(endpoint)
    const delivery = await fixture.tried(endpoint, 1)
    const [attempt] = await fixture.attempts(endpoint)
    assert.ok(attempt !== undefined)
    return { delivery, attempt, webhook: await fixture.webhook(endpoint) }
  }
}

test('WH-1: what arrives is verified by the stock verifier over the bytes that came, and is delivered', async (t) => {
  const receiver = await startReceiver(t, (_request, response) => response.writeHead(200).end('thank you'))
  const fixture = await openDeliveryFixture(t)
  const endpoint = await fixture.endpoint(`${receiver.url}/hooks?to=me`)
  const eventId = await fixture.event(endpoint, 1_700_000_000_123)
  fixture.work()
  const delivery = await fixture.tried(endpoint, 1)
  assert.deepEqual([delivery.status, delivery.attempts, delivery.error], ['delivered', 1, null])
  assert.equal(delivery.next_attempt_at, null)
  assert.ok(delivery.ended_at !== null)
  const [request, ...others] = receiver.requests
  assert.ok(request !== undefined && others.length === 0)
  const verified = new Webhook(endpoint.secret).verify(request.body, request.headers)
  const data = { webhook_id: endpoint.id, message: 'This is a test.' }
  assert.deepEqual(verified, { event_id: eventId, type: 'webhook.test', created_at: '2023-11-14T22:13:20.123Z', data })
  assert.equal(request.url, '/hooks?to=me')
  assert.equal(request.headers['webhook-id'], eventId)
  assert.equal(request.headers['content-type'], 'application/json')
  assert.equal(request.headers['user-agent'], 'Turnpike-Webhooks/1.2.3')
  const [attempt] = await fixture.attempts(endpoint)
  assert.deepEqual([attempt?.number, attempt?.status, attempt?.error, attempt?.response], [1, 200, null, 'thank you'])
  assert.equal((await fixture.webhook(endpoint)).failing_since, null)
})

test('WH-1: during a rotation both secrets sign, and after it the new one alone', async (t) => {
  const receiver = await startReceiver(t, (_request, response) => response.writeHead(204).end())
  const fixture = await openDeliveryFixture(t)
  const old = mintWebhookSecret((size) => new Uint8Array(size).fill(7))
  for (const overlapsFor of [600_000, -1]) {
    const endpoint = await fixture.endpoint(receiver.url)
    const previous = { previous_secret: SECRETS.seal(old, endpoint.id), previous_until: Date.now() + overlapsFor }
    await fixture.database.db.updateTable('webhook').set(previous).where('id', '=', endpoint.id).execute()
    await fixture.event(endpoint)
    const { runner } = fixture.work()
    assert.equal((await fixture.tried(endpoint, 1)).status, 'delivered')
    await runner.stop()
    const { body = '', headers = {} } = receiver.requests.at(-1) ?? {}
    assert.ok(new Webhook(endpoint.secret).verify(body, headers))
    if (overlapsFor > 0) assert.ok(new Webhook(old).verify(body, headers))
    else assert.throws(() => new Webhook(old).verify(body, headers))
  }
})

test('WH-2: every status but 2xx fails, in words that stay the same, and waits for its next attempt', async (t) => {
  const firstAttempt = await attempting(t)
  for (const [status, error] of [
    [500, 'status 500'],
    [404, 'status 404'],
    [429, 'status 429'],
    [302, 'redirect'],
    [304, 'redirect'],
  ] as const) {
    const headers = { 'retry-after': '7200', location: 'http://169.254.169.254/' }
    const receiver = await startReceiver(t, (_request, response) => response.writeHead(status, headers).end('no'))
    const { delivery, attempt, webhook } = await firstAttempt(receiver.url)
    assert.deepEqual([delivery.status, delivery.error, delivery.ended_at], ['pending', error, null])
    assert.deepEqual([attempt.status, attempt.error], [status, error])
    const waitMs = (delivery.next_attempt_at ?? 0) - attempt.started_at
    assert.ok(waitMs >= 60_000 && waitMs < 7_200_000, `${waitMs}`) // Retry-After changes nothing
    assert.equal(webhook.failing_since, attempt.started_at)
    assert.equal(receiver.requests.length, 1)
  }
})

test('a receiver that is not there, that hangs up or that talks nonsense: why is in the log', async (t) => {
  const firstAttempt = await attempting(t)
  const refused = await firstAttempt('http://127.0.0.1:1/')
  assert.deepEqual([refused.attempt.status, refused.attempt.error], [null, 'connection refused'])
  const hangsUp = await startReceiver(t, (request) => request.socket.destroy())
  assert.equal((await firstAttempt(hangsUp.url)).attempt.error, 'connection closed')
  const nonsense = await startReceiver(t, (request) => request.socket.end('hello\r\n\r\n'))
  assert.equal((await firstAttempt(nonsense.url)).attempt.error, 'invalid answer')
  const cut = await startReceiver(t, (request) => {
    request.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')
  })
  const { attempt } = await firstAttempt(cut.url)
  assert.deepEqual([attempt.status, attempt.error, attempt.response], [200, 'connection closed', 'half'])
  const unknown = await firstAttempt('http://nobody.invalid:8080/')
  assert.equal(unknown.attempt.error, 'name not found')
})

/** An attempt in which something has arrived by the deadline, which a busy machine may need to be longer. */
async function attemptWithBytes(t: TestContext, url: string, deadlineMs = 2_000): Promise<LoggedAttempt> {
  const { attempt } = await (await attempting(t, { deadlineMs }))(url)
  return attempt.response || deadlineMs > 100_000 ? attempt : attemptWithBytes(t, url, 10 * deadlineMs)
}

test('WH-6 [limit: webhook-deadline]: the deadline is one over all, however the answer drips', async (t) => {
  const drips = await startReceiver(t, (_request, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('.'), 20)
    response.once('close', () => clearInterval(timer))
  })
  const dripped = await attemptWithBytes(t, drips.url)
  assert.deepEqual([dripped.status, dripped.error], [200, 'timeout'])
  assert.match(dripped.response ?? '', /^\.+$/)
  const silent = await startReceiver(t, () => undefined)
  const waited = await (await attempting(t, { deadlineMs: 150 }))(silent.url)
  assert.deepEqual([waited.attempt.status, waited.attempt.error, waited.attempt.response], [null, 'timeout', null])
})

test('WH-6 [limit: webhook-answer]: of an answer 20 kB are read and 4 KiB kept, and the rest is nobody’s work', async (t) => {
  const firstAttempt = await attempting(t)
  let sent = 0
  const receiver = await startReceiver(t, async (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    const piece = Buffer.alloc(1_024, 'x')
    while (!response.destroyed && sent < 10_000_000) {
      sent += piece.length
      if (!response.write(piece)) await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })
  const { delivery, attempt } = await firstAttempt(receiver.url)
  assert.deepEqual([delivery.status, attempt.status], ['delivered', 200])
  assert.equal(attempt.response, 'x'.repeat(4_096)) // as it came: nothing was unpacked
  assert.ok(sent < 10_000_000)
})

test('what no database keeps of an answer is replaced, and a character that is cut is left out', async (t) => {
  const firstAttempt = await attempting(t)
  const receiver = await startReceiver(t, (_request, response) => {
    response.writeHead(200).end(Buffer.concat([Buffer.from('a\0b\xff', 'latin1'), Buffer.from('ü'.repeat(4_000))]))
  })
  const { attempt } = await firstAttempt(receiver.url)
  assert.equal(attempt.response, `a\uFFFDb\uFFFD${'ü'.repeat(2_046)}`)
})

test('TLS with a certificate that is not trusted, or of another name, fails and says so', async (t) => {
  const firstAttempt = await attempting(t)
  const authority = createTestAuthority((remove) => t.after(remove))
  const tls = createTlsServer(authority.certify('DNS:elsewhere.test'), (_request, response) => response.end())
  const url = `https://127.0.0.1:${await listen(t, tls)}/`
  assert.equal((await firstAttempt(url)).attempt.error, 'TLS: certificate not trusted')
  const plain = await startReceiver(t, (_request, response) => response.end())
  const spokenTo = await firstAttempt(plain.url.replace('http:', 'https:'))
  assert.equal(spokenTo.attempt.error, 'TLS: handshake failed')
})

test('WH-4: an address that the setting no longer allows gets no connection at the next attempt', async (t) => {
  const receiver = await startReceiver(t, (_request, response) => response.end())
  const fixture = await openDeliveryFixture(t)
  let allowed = true
  fixture.work({ allowPrivateNetworks: () => allowed })
  const first = await fixture.endpoint(receiver.url)
  await fixture.event(first)
  assert.equal((await fixture.tried(first, 1)).status, 'delivered')
  allowed = false
  const second = await fixture.endpoint(receiver.url)
  await fixture.event(second)
  assert.equal((await fixture.tried(second, 1)).error, 'address not allowed')
  const third = await fixture.endpoint('https://inside.test/')
  await fixture.event(third)
  fixture.work({ allowPrivateNetworks: () => false, resolve: async () => ['127.0.0.1'] })
  assert.match((await fixture.tried(third, 1)).error ?? '', /^(?:address not allowed|name not found)$/)
  assert.equal(receiver.requests.length, 1)
})

test('a secret that cannot be read sends nothing unsigned', async (t) => {
  const receiver = await startReceiver(t, (_request, response) => response.end())
  const fixture = await openDeliveryFixture(t)
  const endpoint = await fixture.endpoint(receiver.url, { secret: new Uint8Array(40) })
  await fixture.event(endpoint)
  fixture.work()
  const delivery = await fixture.tried(endpoint, 1)
  assert.deepEqual([delivery.status, delivery.error], ['pending', 'secret unreadable'])
  assert.equal(receiver.requests.length, 0)
})

test('a delivery whose endpoint is gone, and one that has ended, end their jobs without a word', async (t) => {
  const fixture = await openDeliveryFixture(t)
  const endpoint = await fixture.endpoint('http://127.0.0.1:9/')
  await fixture.event(endpoint)
  await fixture.database.db.deleteFrom('webhook').execute()
  const { runner, warnings, errors } = fixture.work()
  await runner.looked()
  await until(async () => runner.running() === 0)
  await runner.stop()
  const job = await fixture.database.db.selectFrom('job').selectAll().executeTakeFirstOrThrow()
  assert.equal(job.outcome, 'done')
  assert.deepEqual([warnings, errors], [[], []])
})
