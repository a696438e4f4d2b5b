/** A gateway is killed between the POST of a webhook and the note that it was made; its lease has to pass: slow. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../support/client.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { everyRow } from '../support/ledger/money.ts'
import { KINDS, type Received, type Receiver, startReceiver } from '../support/webhooks/receiver.ts'
import {
  type Customer,
  customerOf,
  LOOPBACK_ALLOWED,
  newCustomer,
  type WireDelivery,
} from '../support/webhooks/webhook-client.ts'
import { crashAt } from './kit/crash.ts'

/** A lease of a job, and what a busy machine adds. */
const TAKEN_OVER_WITHIN_MS = 150_000
const EVENTS = 60
const KILLS = 3

interface Scene {
  readonly receiver: Receiver
  readonly customer: Customer
  readonly webhookId: string
  /** The next process on the same data. */
  next(env?: Readonly<Record<string, string>>): Promise<Customer>
}

/** An installation with an endpoint that has been delivered to, whose process has ended. */
async function beginScene(t: TestContext): Promise<Scene> {
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const first = await startGateway({ config: LOOPBACK_ALLOWED })
  t.after(() => first.stop())
  const customer = await newCustomer(first)
  const { id } = await customer.create({ url: `${receiver.url}/hook` })
  await customer.attempted(id, 'webhook.test')
  first.signal('SIGTERM')
  await first.exited
  return {
    receiver,
    customer,
    webhookId: id,
    async next(env = {}) {
      const gateway = await startGateway({ config: LOOPBACK_ALLOWED, dataDir: first.dataDir, env })
      t.after(() => gateway.stop())
      return customerOf(gateway, customer.key)
    },
  }
}

const idOf = ({ headers }: Received): string => headers['webhook-id'] ?? ''

async function kill({ gateway }: Customer): Promise<void> {
  gateway.signal('SIGKILL')
  await gateway.exited
}

/** Every delivery, when none is pending. */
function settled(gateway: Gateway, { customer, webhookId }: Scene): Promise<readonly WireDelivery[]> {
  return eventually(
    () => everyRow<WireDelivery>(gateway, customer.key, `/v1/webhooks/${webhookId}/deliveries`),
    (all) => all.every(({ status }) => status !== 'pending'),
    TAKEN_OVER_WITHIN_MS,
  )
}

test('WH-3, F16: killed between the POST and the commit: sent again with the same ID, and the log has one attempt', async (t) => {
  const scene = await beginScene(t)
  const victim = await scene.next(crashAt('after_webhook_post'))
  const asked = victim.trigger('agent.failed').catch(() => undefined)
  const [, first] = await scene.receiver.until('/hook', 2, TAKEN_OVER_WITHIN_MS)
  assert.ok(first)
  assert.equal(await victim.gateway.exited, null, 'it was killed')
  await asked

  const successor = await scene.next()
  const [, , second] = await scene.receiver.until('/hook', 3, TAKEN_OVER_WITHIN_MS)
  assert.ok(second)
  assert.equal(idOf(second), idOf(first))
  assert.deepEqual(second.bytes, first.bytes)
  const deliveries = await settled(successor.gateway, scene)
  const delivery = deliveries.find(({ event_id: id }) => id === idOf(first))
  assert.equal(delivery?.status, 'delivered')
  assert.deepEqual(
    delivery.attempts.map(({ number, status_code: status }) => ({ number, status })),
    [{ number: 1, status: 200 }],
  )
})

test('WH-3, F16: killed while the receiver has the request: sent again with the same ID', async (t) => {
  const scene = await beginScene(t)
  scene.receiver.answer('/hook', KINDS.neverAnswers, KINDS.success)
  const victim = await scene.next()
  const event = await victim.trigger('agent.failed')
  await scene.receiver.until('/hook', 2, TAKEN_OVER_WITHIN_MS)
  await kill(victim)
  const successor = await scene.next()
  const received = await scene.receiver.until('/hook', 3, TAKEN_OVER_WITHIN_MS)
  assert.deepEqual(received.slice(1).map(idOf), [event.id, event.id])
  const delivery = (await settled(successor.gateway, scene)).find(({ event_id: id }) => id === event.id)
  assert.deepEqual([delivery?.status, delivery?.attempts.length], ['delivered', 1])
})

test(`WH-3, F16: ${KILLS} kills among ${EVENTS} events: each confirmed one arrives, and no other`, async (t) => {
  const scene = await beginScene(t)
  const accepted: string[] = []
  for (let round = 0; round < KILLS; round++) {
    const victim = await scene.next()
    const triggers = Array.from({ length: EVENTS / KILLS }, async () => {
      const event = await victim.trigger('agent.completed').catch(() => undefined)
      if (event !== undefined) accepted.push(event.id)
    })
    // What the process before had begun keeps its places at the endpoint until its leases have passed.
    await scene.receiver.until('/hook', scene.receiver.at('/hook').length + 3, TAKEN_OVER_WITHIN_MS)
    await kill(victim)
    await Promise.all(triggers)
  }
  const last = await scene.next()
  const deliveries = await settled(last.gateway, scene)
  assert.ok(deliveries.every(({ status }) => status === 'delivered'))
  const arrived = new Set(scene.receiver.at('/hook').map(idOf))
  assert.ok(accepted.length > 0)
  for (const id of accepted) assert.ok(arrived.has(id), id)
  const listed = new Set(deliveries.map(({ event_id: id }) => id))
  assert.deepEqual(arrived, listed, 'what arrived is what happened')
  const posts = scene.receiver.at('/hook').length
  const attempts = deliveries.reduce((sum, each) => sum + each.attempts.length, 0)
  console.log(
    `webhooks: ${arrived.size} events over ${KILLS} kills, ${posts} requests, ${attempts} attempts in the log`,
  )
  assert.ok(attempts <= posts)
})
