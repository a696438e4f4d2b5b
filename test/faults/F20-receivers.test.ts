/** Every kind of receiver, on loopback: what its delivery's log says, and what a receiver can do to the gateway. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { errorOf } from '../support/client.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { createTestAuthority, type TestAuthority } from '../support/identity/test-authority.ts'
import { freePort } from '../support/process/free-port.ts'
import {
  type Answer,
  HUGE_BYTES,
  huge,
  KINDS,
  type Receiver,
  redirect,
  startReceiver,
  whole,
} from '../support/webhooks/receiver.ts'
import {
  type Customer,
  LOOPBACK_ALLOWED,
  makeDue,
  type NewWebhook,
  newCustomer,
  type WireAttempt,
  type WireDelivery,
} from '../support/webhooks/webhook-client.ts'
import { body, delay, head } from './kit/byte-script.ts'

const KEPT_BYTES = 4096
/** WH-6 allows 20 kB to be read; the rest is what buffers take in one turn. */
const READ_AT_MOST = 100_000
const FIRST_RETRY = { afterMs: 60_000, atMostMs: 72_000 }

let gateway: Gateway
let receiver: Receiver
let customer: Customer
let authority: TestAuthority
const endings: (() => void)[] = []

before(async () => {
  authority = createTestAuthority((remove) => endings.push(remove))
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-receivers-'))
  endings.push(() => rmSync(folder, { recursive: true }))
  const trusted = join(folder, 'ca.pem')
  writeFileSync(trusted, authority.ca)
  const env = { NODE_EXTRA_CA_CERTS: trusted }
  ;[gateway, receiver] = await Promise.all([startGateway({ config: LOOPBACK_ALLOWED, env }), startReceiver()])
  customer = await newCustomer(gateway)
})

after(async () => {
  await Promise.all([gateway?.stop(), receiver?.close()])
  for (const end of endings) end()
})

interface Logged {
  readonly webhook: NewWebhook
  readonly delivery: WireDelivery
  readonly attempt: WireAttempt
}

let paths = 0

/** The first attempt at a receiver of its own, and what the log says of it; the endpoint is gone afterwards. */
async function attemptAt(answer: Answer): Promise<Logged & { readonly path: string }> {
  const path = `/${paths++}`
  receiver.answer(path, answer)
  return { path, ...(await attemptTo(`${receiver.url}${path}`)) }
}

async function attemptTo(url: string): Promise<Logged> {
  const webhook = await customer.create({ url })
  const delivery = await customer.attempted(webhook.id, 'webhook.test')
  const [attempt] = delivery.attempts
  assert.ok(attempt)
  assert.equal((await customer.ask('DELETE', `/v1/webhooks/${webhook.id}`)).status, 204)
  return { webhook, delivery, attempt }
}

function assertDelivered({ delivery, attempt }: Logged, status = 200): void {
  assert.deepEqual([delivery.status, delivery.error, delivery.next_attempt_at], ['delivered', null, null])
  assert.deepEqual([attempt.number, attempt.status_code, attempt.error], [1, status, null])
  assert.ok(delivery.ended_at !== null && delivery.ended_at >= attempt.at)
}

/** Failed, and to be tried again when the contract says. */
function assertRetried({ delivery, attempt }: Logged, status: number | null, error: string): void {
  assert.deepEqual([delivery.status, delivery.ended_at], ['pending', null])
  assert.deepEqual([attempt.number, attempt.status_code], [1, status], JSON.stringify(attempt))
  assert.deepEqual([attempt.error, delivery.error], [error, error])
  const next = Date.parse(delivery.next_attempt_at ?? '')
  assert.ok(next >= Date.parse(attempt.at) + FIRST_RETRY.afterMs, `${delivery.next_attempt_at}`)
  assert.ok(next <= Date.now() + FIRST_RETRY.atMostMs, `${delivery.next_attempt_at}`)
}

test('F20: success: delivered, with the status, the time and the answer in the log', async () => {
  const begun = Date.now()
  const logged = await attemptAt([delay(120), ...KINDS.success])
  assertDelivered(logged)
  assert.equal(logged.attempt.response_body, 'thank you')
  assert.ok(logged.attempt.duration_ms >= 119, `${logged.attempt.duration_ms} ms`)
  const startedAt = Date.parse(logged.attempt.at)
  assert.ok(startedAt >= begun && startedAt <= Date.now())
})

test('F20: every 2xx succeeds, also without a body', async () => {
  const statuses = [201, 202, 299]
  const [none, ...others] = await Promise.all(
    [KINDS.noContent, ...statuses.map((status) => whole(status))].map(attemptAt),
  )
  assert.ok(none)
  assertDelivered(none, 204)
  for (const [index, logged] of others.entries()) assertDelivered(logged, statuses[index])
})

test('F20: unsuccessful answers are retried a minute later, whatever Retry-After says', async () => {
  const answers: readonly (readonly [Answer, number, string])[] = [
    [KINDS.broken, 500, 'status 500'],
    [KINDS.tooMany, 429, 'status 429'],
    [KINDS.unavailable, 503, 'status 503'],
    [whole(404, 'nobody here'), 404, 'status 404'],
    [whole(304), 304, 'redirect'],
  ]
  await Promise.all(
    answers.map(async ([answer, status, error]) => assertRetried(await attemptAt(answer), status, error)),
  )
})

test('WH-4, F20: no redirect is followed: each is a failure, and the canary receives no connection', async (t) => {
  const canary = await startReceiver()
  t.after(() => canary.close())
  const redirects = [300, 301, 302, 303, 307, 308].map(async (status) => {
    const logged = await attemptAt(redirect(`${canary.url}/metadata`, status))
    assertRetried(logged, status, 'redirect')
    assert.equal(logged.attempt.response_body, 'over there')
  })
  const near = attemptAt(redirect('/near')).then((logged) => assertRetried(logged, 302, 'redirect'))
  await Promise.all([...redirects, near])
  assert.equal(receiver.at('/near').length, 0)
  assert.equal(canary.connections(), 0)
})

test('F20: an incomplete answer is a failure, even if it begins with 200', async () => {
  const answers: readonly (readonly [Answer, number | null, string])[] = [
    [KINDS.closesHalfway, 200, 'connection closed'],
    [KINDS.chunkedGarbage, 200, 'invalid answer'],
    [KINDS.noHttp, null, 'invalid answer'],
    [KINDS.hangsUp, null, 'connection closed'],
  ]
  await Promise.all(
    answers.map(async ([answer, status, error]) => assertRetried(await attemptAt(answer), status, error)),
  )
})

test('F20: a port without a listener is reported in the log', async () => {
  const logged = await attemptTo(`http://127.0.0.1:${await freePort()}/`)
  assertRetried(logged, null, 'connection refused')
  assert.equal(logged.attempt.response_body, null)
})

test('F20: TLS: a trusted certificate receives deliveries, an unknown authority’s and another name’s do not', async (t) => {
  const untrusted = createTestAuthority((remove) => t.after(remove))
  const trials = [
    { tls: authority.certify('IP:127.0.0.1'), error: null },
    { tls: untrusted.certify('IP:127.0.0.1'), error: 'TLS: certificate not trusted' },
    { tls: authority.certify('DNS:hooks.customer.com'), error: 'TLS: certificate of another name' },
  ]
  const attempts = trials.map(async ({ tls, error }) => {
    const secured = await startReceiver({ tls })
    t.after(() => secured.close())
    const logged = await attemptTo(`${secured.url}/`)
    if (error === null) assertDelivered(logged)
    else assertRetried(logged, null, error)
    assert.equal(secured.received.length, error === null ? 1 : 0, 'nothing is sent to an untrusted receiver')
  })
  await Promise.all(attempts)
})

test('F20: a server of http where https is expected: a failure of TLS', async (t) => {
  const plain = createServer() // answers 400 to what is no request
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
  t.after(() => plain.close())
  const { port } = plain.address() as AddressInfo // a TCP server's
  assertRetried(await attemptTo(`https://127.0.0.1:${port}/`), null, 'TLS: handshake failed')
})

test('WH-6, F20: of an answer of 10 MB some kB are read and 4 KiB are kept', async () => {
  const logged = await attemptAt(huge)
  assertDelivered(logged)
  assert.equal(logged.attempt.response_body, 'x'.repeat(KEPT_BYTES))
  const [received] = receiver.at(logged.path)
  const sent = received?.sentBytes ?? HUGE_BYTES
  console.log(`F20: of ${HUGE_BYTES} bytes ${sent} were taken`)
  assert.ok(sent < READ_AT_MOST, `${sent} bytes`)
})

test('WH-6, F20: an answer is kept as received: binary, NUL, colour codes, and nothing is decompressed', async () => {
  const bytes = Buffer.from([0x61, 0, 0xff, 0xfe, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x7a])
  const text = 'é'.repeat(KEPT_BYTES)
  const packed = gzipSync(Buffer.alloc(1_000_000, 'x'))
  const [odd, long, bomb] = await Promise.all([
    attemptAt([head(500, {}, bytes.length), body(bytes)]),
    attemptAt(whole(500, text)),
    attemptAt([head(200, { 'content-encoding': 'gzip' }, packed.length), body(packed)]),
  ])
  assertRetried(odd, 500, 'status 500')
  assert.match(odd.attempt.response_body ?? '', /^a[\s\S]*z$/)
  const kept = (long.attempt.response_body ?? '').replace(/\ufffd$/, '')
  assert.ok(text.startsWith(kept))
  assert.ok(Math.abs(Buffer.byteLength(kept) - KEPT_BYTES) <= 1, `${Buffer.byteLength(kept)} bytes are kept`)
  assertDelivered(bomb)
  assert.ok(!bomb.attempt.response_body?.includes('xxxx'))
  assert.equal((await customer.ask('GET', '/v1/webhooks')).status, 200)
})

test('F20: flapping: the same event is sent again with a new time until it is accepted, and the log has every attempt', async () => {
  receiver.answer('/flapping', KINDS.success, KINDS.broken, KINDS.hangsUp, KINDS.success)
  const webhook = await customer.create({ url: `${receiver.url}/flapping`, events: ['agent.failed'] })
  await customer.attempted(webhook.id, 'webhook.test')
  const event = await customer.trigger('agent.failed')
  for (const attempts of [1, 2]) {
    await customer.attempted(webhook.id, 'agent.failed', attempts)
    await makeDue(gateway, webhook.id)
  }
  const delivery = await customer.attempted(webhook.id, 'agent.failed', 3)
  assert.deepEqual([delivery.status, delivery.event_id], ['delivered', event.id])
  assert.deepEqual(
    delivery.attempts.map(({ number, status_code: status, response_body: response }) => ({ number, status, response })),
    [
      { number: 1, status: 500, response: 'we are down' },
      { number: 2, status: null, response: null },
      { number: 3, status: 200, response: 'thank you' },
    ],
  )
  assert.deepEqual(
    delivery.attempts.map(({ error }) => error === null),
    [false, false, true],
  )
  const [, ...received] = receiver.at('/flapping')
  assert.deepEqual(new Set(received.map(({ headers }) => headers['webhook-id'])), new Set([event.id]))
  assert.equal(new Set(received.map(({ bytes }) => bytes.toString('base64'))).size, 1, 'the same bytes each time')
  const { failing_since: failing, status } = await customer.webhook(webhook.id)
  assert.deepEqual([failing, status], [null, 'enabled'], 'a success ends what failed')
})

test('F20: 410 ends the delivery and disables the endpoint; enabled again, it is redelivered by hand', async () => {
  receiver.answer('/gone', KINDS.success, KINDS.gone, KINDS.success)
  const webhook = await customer.create({ url: `${receiver.url}/gone` })
  await customer.attempted(webhook.id, 'webhook.test')
  await customer.trigger('agent.started')
  const gone = await customer.attempted(webhook.id, 'agent.started')
  assert.deepEqual([gone.status, gone.next_attempt_at, gone.attempts[0]?.status_code], ['failed', null, 410])
  const disabled = await customer.webhook(webhook.id)
  assert.deepEqual([disabled.status, disabled.disabled_reason], ['disabled', 'gone'])
  assert.ok(disabled.disabled_at)
  await customer.trigger('agent.completed')
  assert.equal((await customer.deliveries(webhook.id)).length, 2, 'a disabled endpoint gets no events')

  const enabled = await customer.patch(webhook.id, { status: 'enabled' })
  assert.deepEqual(
    [enabled.status, enabled.disabled_reason, enabled.disabled_at, enabled.failing_since],
    ['enabled', null, null, null],
  )
  const again = await customer.redeliver(webhook.id, gone.id)
  assert.deepEqual([again.id, again.status], [gone.id, 'pending'])
  const delivered = await customer.attempted(webhook.id, 'agent.started', 2)
  assert.deepEqual([delivered.id, delivered.status], [gone.id, 'delivered'])
  assert.deepEqual(
    delivered.attempts.map(({ number, status_code: status }) => [number, status]),
    [
      [1, 410],
      [2, 200],
    ],
  )
  const ids = receiver.at('/gone').map(({ headers }) => headers['webhook-id'])
  assert.deepEqual(ids.slice(1), [gone.event_id, gone.event_id])
})

test('F20: a pending delivery cannot be redelivered; a delivered one can, and is the same event', async () => {
  receiver.answer('/again', KINDS.success, KINDS.success, KINDS.broken)
  const webhook = await customer.create({ url: `${receiver.url}/again` })
  const first = await customer.attempted(webhook.id, 'webhook.test')
  await customer.redeliver(webhook.id, first.id)
  const second = await customer.attempted(webhook.id, 'webhook.test', 2)
  assert.deepEqual([second.id, second.status], [first.id, 'delivered'])
  await customer.trigger('agent.failed')
  const pending = await customer.attempted(webhook.id, 'agent.failed')
  const refused = await customer.ask('POST', `/v1/webhooks/${webhook.id}/deliveries/${pending.id}/redeliver`, {})
  assert.deepEqual([refused.status, errorOf(refused).type], [409, 'conflict'], refused.text)
  const ids = receiver.at('/again').map(({ headers }) => headers['webhook-id'])
  assert.deepEqual(ids, [first.event_id, first.event_id, pending.event_id])
})

test('F20: after disabling, waiting deliveries fail with `endpoint_disabled`; all are redelivered immediately', async () => {
  receiver.answer('/paused', KINDS.success, KINDS.broken, KINDS.broken, KINDS.success)
  const webhook = await customer.create({ url: `${receiver.url}/paused` })
  await customer.attempted(webhook.id, 'webhook.test')
  const since = new Date(Date.now() - 60_000).toISOString()
  const types = ['agent.started', 'agent.failed']
  for (const type of types) await customer.trigger(type)
  for (const type of types) await customer.attempted(webhook.id, type)
  const paused = await customer.patch(webhook.id, { status: 'disabled' })
  assert.deepEqual([paused.status, paused.disabled_reason], ['disabled', 'by_request'])
  if ((await customer.deliveries(webhook.id, '&status=pending')).length > 0) await makeDue(gateway, webhook.id)
  await waitFor(async () => (await customer.deliveries(webhook.id, '&status=failed')).length === 2)
  for (const { error, attempts } of await customer.deliveries(webhook.id, '&status=failed')) {
    assert.deepEqual([error, attempts.length], ['endpoint_disabled', 1])
  }
  await customer.patch(webhook.id, { status: 'enabled' })
  const answer = await customer.ask('POST', `/v1/webhooks/${webhook.id}/redeliver`, { failed_since: since })
  assert.deepEqual([answer.status, answer.text], [202, '{"redelivered":2}'])
  await waitFor(async () => (await customer.deliveries(webhook.id, '&status=delivered')).length === 3)
  assert.equal(receiver.at('/paused').length, 5)
})

test('F20: a deleted endpoint receives nothing more, and its deliveries are deleted', async () => {
  receiver.answer('/deleted', KINDS.broken)
  const webhook = await customer.create({ url: `${receiver.url}/deleted` })
  const { id } = await customer.attempted(webhook.id, 'webhook.test')
  assert.equal((await customer.ask('DELETE', `/v1/webhooks/${webhook.id}`)).status, 204)
  for (const path of ['', '/deliveries', `/deliveries/${id}`]) {
    assert.equal((await customer.ask('GET', `/v1/webhooks/${webhook.id}${path}`)).status, 404, path)
  }
  const other = await customer.create({ url: `${receiver.url}/other` })
  await customer.trigger('agent.failed')
  await customer.attempted(other.id, 'agent.failed')
  assert.equal(receiver.at('/deleted').length, 1)
})

async function waitFor(isSo: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
  const until = performance.now() + withinMs
  while (!(await isSo())) {
    assert.ok(performance.now() < until, 'it is not so in time')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
