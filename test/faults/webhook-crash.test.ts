/** A gateway is killed between the POST of a webhook and the note that it was made; its lease has to pass: slow. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'
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

/** Each test needs an endpoint of its own, which has had a test event. */
const TESTS = 3

interface Scene {
  readonly receiver: Receiver
  readonly customer: Customer
  readonly webhookId: string
}

/** It dies at the first event that is none of those tests. */
const first = await startGateway({ config: LOOPBACK_ALLOWED, env: crashAt('after_webhook_post', TESTS + 1) })
/** The process on its data; each test goes on with the one that the test before leaves. */
let gateway = first
const scenes = await Promise.all(Array.from({ length: TESTS }, makeScene))
after(async () => {
  await gateway.stop()
  await first.stop()
  for (const { receiver } of scenes) await receiver.close()
})

/** An endpoint that has been delivered to. */
async function makeScene(): Promise<Scene> {
  const receiver = await startReceiver()
  const customer = await newCustomer(gateway)
  const { id } = await customer.create({ url: `${receiver.url}/hook` })
  await customer.attempted(id, 'webhook.test')
  return { receiver, customer, webhookId: id }
}

function sceneOf(number: number): Scene {
  const { customer, ...scene } = scenes[number] ?? assert.fail()
  return { ...scene, customer: customerOf(gateway, customer.key) }
}

/** Starts the next process. */
async function goOn(): Promise<void> {
  gateway = await startGateway({ config: LOOPBACK_ALLOWED, dataDir: first.dataDir })
}

const idOf = ({ headers }: Received): string => headers['webhook-id'] ?? ''

async function kill(): Promise<void> {
  gateway.signal('SIGKILL')
  await gateway.exited
}

/** Every delivery, when none is pending. */
function settled({ customer, webhookId }: Scene): Promise<readonly WireDelivery[]> {
  return eventually(
    () => everyRow<WireDelivery>(gateway, customer.key, `/v1/webhooks/${webhookId}/deliveries`),
    (all) => all.every(({ status }) => status !== 'pending'),
    TAKEN_OVER_WITHIN_MS,
  )
}

test('WH-3, F16: killed between the POST and the commit: sent again with the same ID, and the log has one attempt', async () => {
  const scene = sceneOf(0)
  const asked = scene.customer.trigger('agent.failed').catch(() => undefined)
  const [, first] = await scene.receiver.until('/hook', 2, TAKEN_OVER_WITHIN_MS)
  assert.ok(first)
  assert.equal(await gateway.exited, null, 'it was killed')
  await asked

  await goOn()
  const [, , second] = await scene.receiver.until('/hook', 3, TAKEN_OVER_WITHIN_MS)
  assert.ok(second)
  assert.equal(idOf(second), idOf(first))
  assert.deepEqual(second.bytes, first.bytes)
  const deliveries = await settled(scene)
  const delivery = deliveries.find(({ event_id: id }) => id === idOf(first))
  assert.equal(delivery?.status, 'delivered')
  assert.deepEqual(
    delivery.attempts.map(({ number, status_code: status }) => ({ number, status })),
    [{ number: 1, status: 200 }],
  )
})

test('WH-3, F16: killed while the receiver has the request: sent again with the same ID', async () => {
  const scene = sceneOf(1)
  scene.receiver.answer('/hook', KINDS.neverAnswers, KINDS.success)
  const event = await scene.customer.trigger('agent.failed')
  await scene.receiver.until('/hook', 2, TAKEN_OVER_WITHIN_MS)
  await kill()
  await goOn()
  const received = await scene.receiver.until('/hook', 3, TAKEN_OVER_WITHIN_MS)
  assert.deepEqual(received.slice(1).map(idOf), [event.id, event.id])
  const delivery = (await settled(scene)).find(({ event_id: id }) => id === event.id)
  assert.deepEqual([delivery?.status, delivery?.attempts.length], ['delivered', 1])
})

test(`WH-3, F16: ${KILLS} kills among ${EVENTS} events: each confirmed one arrives, and no other`, async () => {
  const scene = sceneOf(2)
  const accepted: string[] = []
  for (let round = 0; round < KILLS; round++) {
    const { customer } = sceneOf(2)
    const triggers = Array.from({ length: EVENTS / KILLS }, async () => {
      const event = await customer.trigger('agent.completed').catch(() => undefined)
      if (event !== undefined) accepted.push(event.id)
    })
    // What the process before had begun keeps its places at the endpoint until its leases have passed.
    await scene.receiver.until('/hook', scene.receiver.at('/hook').length + 3, TAKEN_OVER_WITHIN_MS)
    await kill()
    await Promise.all(triggers)
    await goOn()
  }
  const deliveries = await settled(scene)
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
