/** Receivers that take their time, all at once: each is given 10 s, so this is slow. Runs on one database: it is about sockets. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { type Answer, KINDS, type Receiver, startReceiver } from '../support/webhooks/receiver.ts'
import { type Customer, LOOPBACK_ALLOWED, newCustomer, type WireDelivery } from '../support/webhooks/webhook-client.ts'
import { delay, head, repeat, send, stall } from './kit/byte-script.ts'

const DEADLINE_MS = 10_000
/** F20: by then it is cut, on whatever machine. */
const CUT_MS = 30_000
const EVENTS = 40

let gateway: Gateway
let receiver: Receiver
let customer: Customer

before(async () => {
  ;[gateway, receiver] = await Promise.all([startGateway({ config: LOOPBACK_ALLOWED }), startReceiver()])
  customer = await newCustomer(gateway)
})

after(() => Promise.all([gateway?.stop(), receiver?.close()]))

const SLOW: Readonly<Record<string, { readonly answer: Answer; readonly status: number | null }>> = {
  'a minute before the answer': { answer: KINDS.slow, status: null },
  'a byte of the body each second': { answer: KINDS.drip, status: 200 },
  'no answer at all': { answer: KINDS.neverAnswers, status: null },
  'a byte of the head each second': {
    answer: [send('HTTP/1.1 200 OK\r\nx-slow: '), repeat(60, delay(1000), send('x'))],
    status: null,
  },
  'a head, and nothing after it': { answer: [head(200, {}, 10), stall], status: 200 },
  'interim answers without an end': {
    answer: [repeat(60, send('HTTP/1.1 103 Early Hints\r\n\r\n'), delay(1000))],
    status: null,
  },
}

/** Ends 10 s after it began, whatever was or was not said meanwhile. */
function assertCut({ attempts: [attempt], status, error }: WireDelivery, expected: number | null): void {
  assert.ok(attempt)
  assert.deepEqual([status, error, attempt.error], ['pending', 'timeout', 'timeout'])
  assert.ok(attempt.status_code === expected || attempt.status_code === null, `${attempt.status_code}`)
  const { duration_ms: ms } = attempt
  assert.ok(ms >= DEADLINE_MS - 100 && ms < CUT_MS, `${ms} ms`)
}

suite('F20: slow receivers', { concurrency: true }, () => {
  for (const [index, [name, { answer, status }]] of Object.entries(SLOW).entries()) {
    test(`WH-6, F20: ${name}: cut after 10 s over all`, async () => {
      receiver.answer(`/slow-${index}`, answer)
      const webhook = await customer.create({ url: `${receiver.url}/slow-${index}`, events: ['usage.alert'] })
      assertCut(await customer.attempted(webhook.id, 'webhook.test'), status)
      const [received] = receiver.at(`/slow-${index}`)
      const keptMs = (received?.leftAtMs ?? 0) - (received?.receivedAtMs ?? 0)
      assert.ok(keptMs < CUT_MS, `the connection is closed after ${keptMs} ms`)
    })
  }

  test('F20: a port that accepts connections and completes no TLS handshake: the same 10 s', async (t) => {
    const silent = await startReceiver()
    t.after(() => silent.close())
    const url = `${silent.url.replace('http:', 'https:')}/`
    const webhook = await customer.create({ url, events: ['usage.alert'] })
    assertCut(await customer.attempted(webhook.id, 'webhook.test'), null)
  })

  test('F20: a receiver that accepts connections and never reads: the same 10 s', async (t) => {
    const deaf = createServer({ pauseOnConnect: true })
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
    t.after(() => deaf.close())
    const { port } = deaf.address() as AddressInfo // a TCP server's
    const webhook = await customer.create({ url: `http://127.0.0.1:${port}/`, events: ['usage.alert'] })
    assertCut(await customer.attempted(webhook.id, 'webhook.test'), null)
  })

  test('WH-5, F20: while one receiver hangs with all its deliveries, another of the same account receives its own', async () => {
    const other = await newCustomer(gateway)
    receiver.answer('/hangs', KINDS.neverAnswers)
    await other.create({ url: `${receiver.url}/hangs` })
    await other.create({ url: `${receiver.url}/quick` })
    await receiver.until('/hangs', 1)
    for (let event = 0; event < EVENTS; event++) await other.trigger('agent.started')
    await receiver.until('/quick', EVENTS + 1, 60_000)
    const hanging = receiver.at('/hangs').filter(({ leftAtMs }) => leftAtMs === undefined)
    assert.ok(hanging.length <= 10, `${hanging.length} in flight at once`)
    const opened = receiver.at('/hangs').length
    assert.ok(opened < EVENTS, `${opened} had their turn before the others were through`)
  })
})
