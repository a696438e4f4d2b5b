/**
 * What a receiver gets of a running gateway, verified by code that is not ours.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { Webhook } from 'standardwebhooks'
import { WEBHOOK_EVENT_TYPES } from '../../../src/domain/webhook-event.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { type Received, type Receiver, startReceiver } from '../../support/webhooks/receiver.ts'
import { type Customer, LOOPBACK_ALLOWED, newCustomer, type WireBody } from '../../support/webhooks/webhook-client.ts'

const OPENAI = new OpenAI({ apiKey: 'unused', baseURL: 'http://127.0.0.1:9' })

let gateway: Gateway
let receiver: Receiver
let customer: Customer

before(async () => {
  ;[gateway, receiver] = await Promise.all([startGateway({ config: LOOPBACK_ALLOWED }), startReceiver()])
  customer = await newCustomer(gateway)
})

after(() => Promise.all([gateway?.stop(), receiver?.close()]))

function bodyOf({ bytes }: Received): WireBody {
  return JSON.parse(bytes.toString()) as WireBody
}

/** What `openssl dgst` makes of the bytes as they came. */
function opensslHmac(bytes: Buffer, secret: string): string | undefined {
  const { stdout } = spawnSync('openssl', ['dgst', '-sha256', '-hmac', secret], { input: bytes, encoding: 'utf8' })
  return /[0-9a-f]{64}/.exec(stdout)?.[0]
}

/** Each of the secrets verifies, and nothing else does. */
async function assertSigned(received: Received, secrets: readonly string[]): Promise<void> {
  const { headers, bytes } = received
  const text = bytes.toString()
  assert.equal(headers['webhook-signature']?.split(' ').length, secrets.length)
  for (const secret of secrets) {
    assert.deepEqual(new Webhook(secret).verify(text, headers), JSON.parse(text))
    assert.deepEqual(await OPENAI.webhooks.unwrap(text, headers, secret), JSON.parse(text))
  }
  const hex = secrets.map((secret) => opensslHmac(bytes, secret))
  assert.equal(headers['turnpike-signature'], hex.join(','))
  const otherSecret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
  assert.throws(() => new Webhook(otherSecret).verify(text, headers), /No matching signature/)
}

function assertNotSignedBy({ headers, bytes }: Received, secret: string): void {
  assert.throws(() => new Webhook(secret).verify(bytes.toString(), headers), /No matching signature/)
  assert.ok(!headers['turnpike-signature']?.split(',').includes(opensslHmac(bytes, secret) ?? ''))
}

test('WH-1: every type arrives signed: standardwebhooks, the openai SDK and openssl verify the bytes received', async () => {
  const webhook = await customer.create({ url: `${receiver.url}/all` })
  assert.match(webhook.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  for (const type of WEBHOOK_EVENT_TYPES) await customer.trigger(type)
  const received = await receiver.until('/all', WEBHOOK_EVENT_TYPES.length + 1)
  const types = received.map((each) => bodyOf(each).type)
  assert.deepEqual(new Set(types), new Set(WEBHOOK_EVENT_TYPES))
  for (const each of received) await assertSigned(each, [webhook.secret])
})

test('WH-1: a request is a POST of JSON with the four fields, and its headers agree with its body', async () => {
  await customer.create({ url: `${receiver.url}/shape?tenant=7&to=a%20b`, events: ['usage.alert'] })
  const [received] = await receiver.until('/shape?tenant=7&to=a%20b', 1)
  assert.ok(received)
  const body = bodyOf(received)
  assert.deepEqual(Object.keys(body), ['event_id', 'type', 'created_at', 'data'])
  assert.equal(received.method, 'POST')
  assert.equal(received.headers['webhook-id'], body.event_id)
  assert.match(body.event_id, /^evt_[0-9A-Za-z]{20,}$/)
  assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.match(received.headers['webhook-timestamp'] ?? '', /^\d{10}$/)
  assert.match(received.headers['content-type'] ?? '', /^application\/json/)
  assert.match(received.headers['user-agent'] ?? '', /^Turnpike-Webhooks\/\S+$/)
  assert.equal(received.headers['content-length'], String(received.bytes.length))
  for (const name of ['authorization', 'cookie', 'accept-encoding'])
    assert.equal(received.headers[name], undefined, name)
})

test('WH-1: webhook.test is sent at creation whatever `events` says, and again on request', async () => {
  const webhook = await customer.create({ url: `${receiver.url}/test`, events: ['usage.alert'] })
  const [first] = await receiver.until('/test', 1)
  assert.ok(first)
  assert.deepEqual(bodyOf(first).data['webhook_id'], webhook.id)
  const asked = await customer.test(webhook.id)
  assert.deepEqual([asked.type, asked.webhook_id, asked.status], ['webhook.test', webhook.id, 'pending'])
  const [, second] = await receiver.until('/test', 2)
  assert.equal(second?.headers['webhook-id'], asked.event_id)
  assert.notEqual(asked.event_id, first.headers['webhook-id'])
})

test('WH-1: an endpoint receives the types that it requests, all without `events` or with null, and no others', async () => {
  const one = await customer.create({ url: `${receiver.url}/one`, events: ['agent.failed'] })
  const all = await customer.create({ url: `${receiver.url}/null`, events: null })
  assert.deepEqual([one.events, all.events], [['agent.failed'], null])
  for (const type of ['agent.started', 'agent.failed', 'credit.exhausted']) await customer.trigger(type)
  const toAll = await receiver.until('/null', 4)
  await receiver.until('/one', 2) // side by side, in whatever order
  await customer.attempted(one.id, 'agent.failed')
  const typesAt = (path: string) => receiver.at(path).map((each) => bodyOf(each).type)
  assert.deepEqual(typesAt('/one').toSorted(), ['agent.failed', 'webhook.test'])
  assert.deepEqual(toAll.map((each) => bodyOf(each).type).toSorted(), [
    'agent.failed',
    'agent.started',
    'credit.exhausted',
    'webhook.test',
  ])
  const stored = await customer.deliveries(one.id)
  assert.equal(stored.length, 2, 'what nobody asked for is no delivery')
})

test('WH-1: after a PATCH of `events` the new filter holds, and null brings all of them back', async () => {
  const webhook = await customer.create({ url: `${receiver.url}/patched`, events: ['agent.failed'] })
  const narrowed = await customer.patch(webhook.id, { events: ['agent.completed'] })
  assert.deepEqual(narrowed.events, ['agent.completed'])
  await customer.trigger('agent.failed')
  await customer.trigger('agent.completed')
  await receiver.until('/patched', 2)
  assert.equal((await customer.patch(webhook.id, { events: null })).events, null)
  await customer.trigger('agent.failed')
  const received = await receiver.until('/patched', 3)
  const types = received.map((each) => bodyOf(each).type).toSorted()
  assert.deepEqual(types, ['agent.completed', 'agent.failed', 'webhook.test'])
})

test('WH-1: a triggered event is marked as a test, and listed as it was sent', async () => {
  const webhook = await customer.create({ url: `${receiver.url}/sample`, events: ['agent.cancelled'] })
  const event = await customer.trigger('agent.cancelled')
  assert.deepEqual([event.object, event.type, event.data['test']], ['event', 'agent.cancelled', true])
  const delivery = await customer.attempted(webhook.id, 'agent.cancelled')
  const sent = receiver.at('/sample').find(({ headers }) => headers['webhook-id'] === event.id)
  assert.ok(sent)
  const { payload } = await customer.delivery(webhook.id, delivery.id)
  assert.deepEqual(payload, bodyOf(sent))
  assert.deepEqual(bodyOf(sent), {
    event_id: event.id,
    type: event.type,
    created_at: event.created_at,
    data: event.data,
  })
  const listed = (await customer.events('&type=agent.cancelled')).find(({ id }) => id === event.id)
  assert.deepEqual(listed, event)
})

test('WH-1: while a rotation overlaps both secrets verify; with an overlap of 0 the new one alone', async () => {
  const webhook = await customer.create({ url: `${receiver.url}/rotated`, events: ['usage.alert'] })
  await receiver.until('/rotated', 1)
  const rotated = await customer.rotate(webhook.id)
  assert.notEqual(rotated.secret, webhook.secret)
  const overlapMs = Date.parse(rotated.previous_secret_expires_at ?? '') - Date.now()
  assert.ok(overlapMs > 23.9 * 3_600_000 && overlapMs <= 24 * 3_600_000, `${overlapMs} ms`)
  await customer.test(webhook.id)
  const [, both] = await receiver.until('/rotated', 2)
  assert.ok(both)
  await assertSigned(both, [rotated.secret, webhook.secret])

  const again = await customer.rotate(webhook.id, { overlap: 0 })
  assert.equal(again.previous_secret_expires_at, null)
  await customer.test(webhook.id)
  const [, , alone] = await receiver.until('/rotated', 3)
  assert.ok(alone)
  await assertSigned(alone, [again.secret])
  for (const old of [webhook.secret, rotated.secret]) assertNotSignedBy(alone, old)
})

test('WH-1: an overlap ends by itself', async () => {
  const webhook = await customer.create({ url: `${receiver.url}/ends`, events: ['usage.alert'] })
  await receiver.until('/ends', 1)
  const rotated = await customer.rotate(webhook.id, { overlap: 1 })
  const endsAt = Date.parse(rotated.previous_secret_expires_at ?? '')
  while (Date.now() <= endsAt) await new Promise((resolve) => setTimeout(resolve, endsAt - Date.now() + 1))
  await customer.test(webhook.id)
  const [, received] = await receiver.until('/ends', 2)
  assert.ok(received)
  await assertSigned(received, [rotated.secret])
  assertNotSignedBy(received, webhook.secret)
})
