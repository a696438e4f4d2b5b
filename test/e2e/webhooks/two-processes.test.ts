/** Two processes on one database share the work. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/client.ts'
import { startGateway } from '../../support/gateway.ts'
import { everyRow } from '../../support/ledger/money.ts'
import { startReceiver } from '../../support/webhooks/receiver.ts'
import { customerOf, LOOPBACK_ALLOWED, newCustomer, type WireDelivery } from '../../support/webhooks/webhook-client.ts'

const EVENTS = 300
const ENDPOINTS = 2
const AT_ONCE = 10
const DELIVERED_WITHIN_MS = 180_000

test(`JOB-1, WH-3: two processes deliver ${EVENTS} events once each, in one attempt, and either shows all of them`, async (t) => {
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const first = await startGateway({ config: LOOPBACK_ALLOWED })
  t.after(() => first.stop())
  const second = await startGateway({ config: LOOPBACK_ALLOWED, dataDir: first.dataDir })
  t.after(() => second.stop())
  const { key } = await newCustomer(first)
  const customers = [customerOf(first, key), customerOf(second, key)] as const
  const paths = Array.from({ length: ENDPOINTS }, (_, index) => `/${index}`)
  const webhooks = await Promise.all(paths.map((path) => customers[0].create({ url: receiver.url + path })))

  let left = EVENTS
  const ids: string[] = []
  const trigger = async (worker: number): Promise<void> => {
    while (left-- > 0) ids.push((await customers[worker % 2 === 0 ? 0 : 1].trigger('agent.completed')).id)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, worker) => trigger(worker)))
  assert.equal(new Set(ids).size, EVENTS)

  for (const [index, webhook] of webhooks.entries()) {
    const ofWebhook = `/v1/webhooks/${webhook.id}/deliveries`
    await receiver.until(`/${index}`, EVENTS + 1, DELIVERED_WITHIN_MS)
    for (const gateway of [first, second]) {
      const deliveries = await eventually(
        () => everyRow<WireDelivery>(gateway, key, ofWebhook),
        (all) => all.length === EVENTS + 1 && all.every(({ status }) => status === 'delivered'),
        DELIVERED_WITHIN_MS,
      )
      assert.equal(deliveries.length, EVENTS + 1)
      assert.ok(deliveries.every(({ attempts }) => attempts.length === 1))
    }
    const delivered = receiver.at(`/${index}`).map(({ headers }) => headers['webhook-id'])
    assert.equal(delivered.length, EVENTS + 1, 'nothing twice')
    const arrived = new Set(delivered)
    assert.ok(
      ids.every((id) => arrived.has(id)),
      'nothing never',
    )
  }
})
