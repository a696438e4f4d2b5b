/** What is one account's is nobody else's: endpoints, deliveries, events, on every route. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { errorOf, open } from '../../support/client.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { KINDS, type Receiver, startReceiver } from '../../support/webhooks/receiver.ts'
import {
  type Customer,
  LOOPBACK_ALLOWED,
  type NewWebhook,
  newCustomer,
  type WireDelivery,
} from '../../support/webhooks/webhook-client.ts'

let gateway: Gateway
let receiver: Receiver
let owner: Customer
let outsider: Customer
let webhook: NewWebhook
let delivery: WireDelivery

before(async () => {
  ;[gateway, receiver] = await Promise.all([startGateway({ config: LOOPBACK_ALLOWED }), startReceiver()])
  ;[owner, outsider] = await Promise.all([newCustomer(gateway), newCustomer(gateway)])
  receiver.answer('/owner', KINDS.success, KINDS.gone)
  webhook = await owner.create({ url: `${receiver.url}/owner` })
  await owner.attempted(webhook.id, 'webhook.test')
  await owner.trigger('agent.failed')
  delivery = await owner.attempted(webhook.id, 'agent.failed')
  await owner.patch(webhook.id, { status: 'enabled' })
})

after(() => Promise.all([gateway?.stop(), receiver?.close()]))

test('another account’s endpoint is not found on any route, and does not change', async () => {
  const before = await owner.webhook(webhook.id)
  const of = `/v1/webhooks/${webhook.id}`
  const asked: readonly (readonly [string, string, object?])[] = [
    ['GET', of],
    ['PATCH', of, { status: 'disabled' }],
    ['PATCH', of, { url: `${receiver.url}/stolen` }],
    ['DELETE', of],
    ['POST', `${of}/rotate_secret`, {}],
    ['POST', `${of}/test`, {}],
    ['GET', `${of}/deliveries`],
    ['GET', `${of}/deliveries/${delivery.id}`],
    ['POST', `${of}/deliveries/${delivery.id}/redeliver`, {}],
    ['POST', `${of}/redeliver`, { failed_since: '2026-01-01T00:00:00.000Z' }],
  ]
  for (const [method, path, body] of asked) {
    const answer = await outsider.ask(method, path, body)
    assert.deepEqual([answer.status, errorOf(answer).type], [404, 'not_found'], `${method} ${path}: ${answer.text}`)
    assert.ok(!answer.text.includes(receiver.url))
  }
  assert.deepEqual(await owner.webhook(webhook.id), before)
  assert.equal((await owner.delivery(webhook.id, delivery.id)).status, 'failed')
})

test('another account’s delivery is not found under an own endpoint', async () => {
  const own = await outsider.create({ url: `${receiver.url}/outsider`, events: ['usage.alert'] })
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/redeliver'],
  ] as const) {
    const at = `/v1/webhooks/${own.id}/deliveries/${delivery.id}${path}`
    assert.equal((await outsider.ask(method, at, method === 'POST' ? {} : undefined)).status, 404, at)
  }
  assert.equal((await outsider.ask('DELETE', `/v1/webhooks/${own.id}`)).status, 204)
})

test('lists contain own items only, also with another account’s cursor', async () => {
  const other = await newCustomer(gateway)
  for (const path of ['/v1/webhooks', '/v1/events']) {
    const answer = await other.ask('GET', path)
    assert.deepEqual(JSON.parse(answer.text), { data: [], has_more: false, next_cursor: null }, path)
  }
  await owner.trigger('agent.started')
  const page = JSON.parse((await owner.ask('GET', '/v1/events?limit=1')).text) as { next_cursor: string }
  const behind = await other.ask('GET', `/v1/events?cursor=${encodeURIComponent(page.next_cursor)}`)
  if (behind.status === 200) assert.deepEqual((JSON.parse(behind.text) as { data: unknown[] }).data, [])
  else assert.equal(behind.status, 400, behind.text)
})

test('an event goes to its account’s endpoints and stream, and to no other’s', async () => {
  const own = await outsider.create({ url: `${receiver.url}/own` })
  await outsider.attempted(own.id, 'webhook.test')
  const leave = new AbortController()
  const { statusCode, body } = await open(gateway, '/v1/events/stream', {
    key: outsider.key,
    signal: leave.signal,
    fresh: true,
  })
  assert.equal(statusCode, 200)
  const theirs = await owner.trigger('agent.cancelled')
  const mine = await outsider.trigger('agent.cancelled')
  let seen = ''
  for await (const piece of body) {
    seen += String(piece)
    if (seen.includes(mine.id)) break
  }
  leave.abort()
  assert.ok(!seen.includes(theirs.id))
  await outsider.attempted(own.id, 'agent.cancelled')
  const ids = receiver.at('/own').map(({ headers }) => headers['webhook-id'])
  assert.ok(!ids.includes(theirs.id))
})

test('a key needs the scope `webhooks`, and needs nothing more', async () => {
  const account = await gateway.cli('accounts', 'create', '--name', 'scoped')
  const chat = await gateway.key('--account', account, '--scopes', 'chat')
  const webhooks = await gateway.key('--account', account, '--scopes', 'webhooks')
  for (const path of ['/v1/webhooks', '/v1/events']) {
    assert.equal(await ask(chat, path), 403, path)
    assert.equal(await ask(webhooks, path), 200, path)
    assert.equal(await ask('tp_nobody', path), 401, path)
  }
})

async function ask(key: string, path: string): Promise<number> {
  const { statusCode, body } = await open(gateway, path, { key })
  await body.dump()
  return statusCode
}
