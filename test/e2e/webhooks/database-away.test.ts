/** Runs on one database: it starts its own PostgreSQL, which goes away while deliveries are under way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, send } from '../../support/client.ts'
import { startGateway } from '../../support/gateway.ts'
import { startPostgres } from '../../support/process/postgres-server.ts'
import { KINDS, type Receiver, startReceiver } from '../../support/webhooks/receiver.ts'
import {
  LOOPBACK_ALLOWED,
  newCustomer,
  type WireDelivery,
  type WirePage,
} from '../../support/webhooks/webhook-client.ts'

/** Where it comes again, that is after a lease. */
const BACK_WITHIN_MS = 180_000

/** A receiver that answers when the test says. */
function holdAnswers(receiver: Receiver, path: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  receiver.answer(path, KINDS.success, async ({ socket }) => {
    await promise
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nthank you')
  })
  return resolve
}

test('WH-3, F13: the database goes while a receiver has the event: it is reported as delivered, or sent again, with one ID', async (t) => {
  const [postgres, receiver] = await Promise.all([startPostgres(), startReceiver()])
  const env = { DATABASE_URL: postgres.url, TURNPIKE_SECRET: 'a secret of tests, known to everybody' }
  const gateway = await startGateway({ config: LOOPBACK_ALLOWED, env, args: ['--migrate'] })
  t.after(async () => {
    await gateway.stop()
    await Promise.all([postgres.stop(), receiver.close()])
  })
  const customer = await newCustomer(gateway)
  const answer = holdAnswers(receiver, '/held')
  const webhook = await customer.create({ url: `${receiver.url}/held` })
  await customer.attempted(webhook.id, 'webhook.test')
  const event = await customer.trigger('agent.failed')
  await receiver.until('/held', 2)
  await postgres.crash()
  answer()
  await eventually(
    () => send(gateway, '/readyz', { fresh: true }),
    ({ status }) => status === 503,
  )
  await postgres.start()
  const delivery = await eventually(
    async () => {
      const page = await customer.ask('GET', `/v1/webhooks/${webhook.id}/deliveries`).catch(() => undefined)
      if (page?.status !== 200) return undefined
      const { data } = JSON.parse(page.text) as WirePage<WireDelivery>
      return data.find(({ event_id: id }) => id === event.id)
    },
    (found) => found?.status === 'delivered',
    BACK_WITHIN_MS,
  )
  assert.equal(delivery?.status, 'delivered', JSON.stringify(delivery))
  const received = receiver.at('/held').slice(1)
  assert.ok(received.every(({ headers }) => headers['webhook-id'] === event.id))
  assert.equal(delivery.attempts.at(-1)?.status_code, 200)
  assert.ok(delivery.attempts.length <= received.length, 'no attempt is in the log that was none')
  const next = await customer.trigger('agent.completed')
  await customer.attempted(webhook.id, 'agent.completed')
  assert.equal(receiver.at('/held').at(-1)?.headers['webhook-id'], next.id)
})
