/** The operator's setting is that of the attempt, not of the day on which an endpoint was made. Runs on one database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorOf } from '../../support/client.ts'
import { startGateway } from '../../support/gateway.ts'
import { startReceiver } from '../../support/webhooks/receiver.ts'
import { customerOf, LOOPBACK_ALLOWED, newCustomer } from '../../support/webhooks/webhook-client.ts'

test('WH-4, F22: private networks that are closed again are closed to endpoints that are there', async (t) => {
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const open = await startGateway({ config: LOOPBACK_ALLOWED })
  t.after(() => open.stop())
  const before = await newCustomer(open)
  const webhook = await before.create({ url: `${receiver.url}/inside` })
  await before.attempted(webhook.id, 'webhook.test')
  open.signal('SIGTERM')
  await open.exited
  const connections = receiver.connections()

  const closed = await startGateway({ config: {}, dataDir: open.dataDir })
  t.after(() => closed.stop())
  const customer = customerOf(closed, before.key)
  await customer.trigger('agent.failed')
  const delivery = await customer.attempted(webhook.id, 'agent.failed')
  const [attempt] = delivery.attempts
  assert.deepEqual([delivery.status, attempt?.status_code], ['pending', null])
  assert.match(attempt?.error ?? '', /not allowed/)
  assert.equal(receiver.connections(), connections, 'no connection')
  const refused = await customer.ask('POST', '/v1/webhooks', { url: `${receiver.url}/another` })
  assert.deepEqual([refused.status, errorOf(refused).param], [400, 'url'])
})
