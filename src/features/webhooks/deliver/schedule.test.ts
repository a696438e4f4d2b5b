import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type Endpoint, openDeliveryFixture, until } from '../../../../test/support/webhooks/deliveries.ts'
import type { AccountId, DeliveryId, EventId, WebhookId } from '../../../domain/ids.ts'
import { deliveriesAtOnce } from '../jobs.ts'
import { type DeliveryEnd, endpointStatesAfter, FAILING_MS } from './delivery.ts'

const BEGINNING = Date.UTC(2026, 0, 1)
const SECOND_MS = 1_000
const DELAYS_MS = [60, 300, 1_800, 7_200, 43_200].map((seconds) => seconds * SECOND_MS)
const HOUR_MS = 3_600_000

/** An endpoint whose time is the test's. */
async function staged(t: TestContext, random: () => number = () => 0) {
  let now = BEGINNING
  let status = 500
  const times: number[] = []
  const server = createServer((_request, response) => {
    times.push(now - BEGINNING)
    response.writeHead(status).end('an answer')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const fixture = await openDeliveryFixture(t, { now: () => now })
  const { port } = server.address() as AddressInfo // it listens on a port
  const endpoint = await fixture.endpoint(`http://127.0.0.1:${port}/`)
  return {
    fixture,
    endpoint,
    /** Of the requests, in milliseconds since the beginning. */
    times,
    answer(next: number) {
      status = next
    },
    /** Lets the time be one, and a worker do what is due then. */
    async at(ms: number): Promise<void> {
      now = BEGINNING + ms
      const { runner } = fixture.work({ random, pollMs: HOUR_MS })
      await runner.looked()
      await until(async () => runner.running() === 0)
      await runner.stop()
    },
  }
}

async function only(stage: Awaited<ReturnType<typeof staged>>, endpoint: Endpoint = stage.endpoint) {
  const [delivery] = await stage.fixture.deliveries(endpoint)
  assert.ok(delivery !== undefined)
  return delivery
}

for (const [random, factor] of [
  [0, 1],
  [0.5, 1.01],
  [0.999_999_999, 1.02],
] as const) {
  test(`WH-2: six attempts, ${factor} times each delay apart to the millisecond, then failed, listed, and sent again by hand`, async (t) => {
    const stage = await staged(t, () => random)
    const { fixture, endpoint, times } = stage
    await fixture.event(endpoint)
    const dues: number[] = []
    let due = 0
    for (const delayMs of [0, ...DELAYS_MS]) {
      due += Math.round(delayMs * factor)
      if (due > 0) {
        const { status, next_attempt_at: nextAt } = await only(stage)
        assert.deepEqual([status, nextAt], ['pending', BEGINNING + due])
        await stage.at(due - 1)
        assert.deepEqual(times, dues)
      }
      await stage.at(due)
      dues.push(due)
      assert.deepEqual(times, dues)
    }
    const failed = await only(stage)
    assert.deepEqual([failed.status, failed.attempts, failed.error], ['failed', 6, 'status 500'])
    assert.deepEqual([failed.next_attempt_at, failed.ended_at], [null, BEGINNING + due])
    const attempts = await fixture.attempts(endpoint)
    assert.deepEqual(
      attempts.map(({ number, started_at }) => [number, started_at - BEGINNING]),
      dues.map((at, index) => [index + 1, at]),
    )
    await stage.at(due * 2)
    assert.deepEqual(times, dues)

    await fixture.redeliver(endpoint)
    await stage.at(due * 2 + 1)
    const again = await only(stage)
    const firstDelay = Math.round(60_000 * factor)
    assert.deepEqual([again.status, again.attempts, again.round], ['pending', 7, 2])
    assert.equal(again.next_attempt_at, BEGINNING + due * 2 + 1 + firstDelay) // the whole schedule again
    stage.answer(200)
    await stage.at(due * 2 + 1 + firstDelay)
    const delivered = await only(stage)
    assert.deepEqual([delivered.status, delivered.attempts, delivered.error], ['delivered', 8, null])
  })
}

test('an endpoint that answers 410 is disabled at once, and what waits for it ends when its time comes', async (t) => {
  const stage = await staged(t)
  const { fixture, endpoint, times } = stage
  await fixture.event(endpoint)
  await stage.at(0)
  stage.answer(410)
  await fixture.event(endpoint)
  await stage.at(1)
  const gone = await fixture.webhook(endpoint)
  assert.deepEqual([gone.disabled_reason, gone.disabled_at], ['gone', BEGINNING + 1])
  const [first, second] = await fixture.deliveries(endpoint)
  assert.deepEqual([first?.status, second?.status, second?.error], ['pending', 'failed', 'status 410'])
  await stage.at(DELAYS_MS[0] ?? 0)
  const [ended] = await fixture.deliveries(endpoint)
  assert.deepEqual([ended?.status, ended?.error, ended?.attempts], ['failed', 'endpoint_disabled', 1])
  assert.deepEqual(times, [0, 1])
})

test('an endpoint that fails for 5 days running is disabled by its next failure, not before', async (t) => {
  const stage = await staged(t)
  const { fixture, endpoint } = stage
  await fixture.event(endpoint)
  await stage.at(0)
  assert.equal((await fixture.webhook(endpoint)).failing_since, BEGINNING)
  await fixture.event(endpoint)
  await stage.at(FAILING_MS - 1)
  const failing = await fixture.webhook(endpoint)
  assert.deepEqual([failing.failing_since, failing.disabled_at], [BEGINNING, null])
  await fixture.event(endpoint)
  await stage.at(FAILING_MS)
  const disabled = await fixture.webhook(endpoint)
  assert.deepEqual([disabled.disabled_reason, disabled.disabled_at], ['failing', BEGINNING + FAILING_MS])
})

test('a success in between restarts the five days', async (t) => {
  const stage = await staged(t)
  const { fixture, endpoint } = stage
  await fixture.event(endpoint)
  await stage.at(0)
  stage.answer(204)
  await fixture.event(endpoint)
  await stage.at(HOUR_MS)
  assert.equal((await fixture.webhook(endpoint)).failing_since, null)
  stage.answer(500)
  await fixture.event(endpoint)
  await stage.at(FAILING_MS)
  const failing = await fixture.webhook(endpoint)
  assert.deepEqual([failing.failing_since, failing.disabled_at], [BEGINNING + FAILING_MS, null])
})

test('a failure that was written when its process ended is counted, and the next attempt is not early', async (t) => {
  const stage = await staged(t)
  const { fixture, endpoint, times } = stage
  const { db } = fixture.database
  await fixture.event(endpoint)
  await stage.at(0)
  // As if the job's own end had been lost with the process.
  await db.updateTable('job').set({ run_at: BEGINNING, failures: 0, last_error: null }).execute()
  await stage.at(10_000)
  assert.deepEqual(times, [0])
  const job = await db.selectFrom('job').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual([job.run_at - BEGINNING, job.failures], [DELAYS_MS[0], 1])
  await stage.at(DELAYS_MS[0] ?? 0)
  assert.deepEqual(times, [0, DELAYS_MS[0]])
  assert.equal((await only(stage)).next_attempt_at, BEGINNING + 60_000 + 300_000)
})

test('[limit: webhook-starts] a delivery whose process died a hundred times in it fails, and is not tried again', async (t) => {
  const stage = await staged(t)
  await stage.fixture.event(stage.endpoint)
  await stage.fixture.database.db.updateTable('job').set({ attempt: 100 }).execute()
  await stage.at(0)
  const { status, error, attempts } = await only(stage)
  assert.deepEqual([status, error, attempts, stage.times], ['failed', 'interrupted too often', 0, []])
})

function end(webhookId: string, at: number, status: number | undefined, url = 'https://a.test/'): DeliveryEnd {
  const error = status === 200 ? undefined : status === undefined ? 'timeout' : `status ${status}`
  const ids = { accountId: 'acc_1' as AccountId, webhookId: webhookId as WebhookId, deliveryId: 'dlv_1' as DeliveryId }
  const none = { previous_secret: null, previous_until: null, failing_since: null, disabled_at: null }
  const event = { id: 'evt_1' as EventId, type: 'webhook.test' as const, data: '{}', created_at: 1 }
  const job = { job: { id: 'job_1', attempt: 1 }, payload: ids, round: 1 }
  return {
    delivery: {
      ...{ ...job, attempts: 0, failures: 0, waitMs: 0, event },
      webhook: { kind: 'webhook', url, secret: new Uint8Array(), ...none },
    },
    attempt: { status, error, text: '', startedAt: at, durationMs: 1 },
    ...{ status: 'pending', error, retryInMs: 1, endedAt: at },
  }
}

test('of attempts that end together, those after the last success say how an endpoint fares', () => {
  const ends = [
    ...[end('whk_b', 1, 500), end('whk_b', 2, 200), end('whk_b', 3, undefined), end('whk_b', 4, 500)],
    ...[end('whk_a', 5, 500), end('whk_a', 6, 200)],
    ...[end('whk_c', 7, 410), end('whk_c', 8, 500)],
  ]
  const states = endpointStatesAfter(ends).map(({ webhookId, hasSucceeded, failedAt, lastFailedAt, goneAt }) => [
    ...[webhookId, hasSucceeded, failedAt, lastFailedAt, goneAt],
  ])
  assert.deepEqual(states, [
    ['whk_a', true, undefined, undefined, undefined],
    ['whk_b', true, 3, 4, undefined],
    ['whk_c', false, 7, 8, 7],
  ])
})

test('an endpoint whose address was changed meanwhile is not judged by the one before', () => {
  const ends = [end('whk_a', 1, 410, 'https://old.test/'), end('whk_a', 2, 200, 'https://new.test/')]
  assert.deepEqual(
    endpointStatesAfter(ends).map(({ url, goneAt }) => [url, goneAt]),
    [
      ['https://old.test/', 1],
      ['https://new.test/', undefined],
    ],
  )
})

test('[limit: webhook-attempts] deliveries take an eighth of the files that may be open, and 1 200 at most', () => {
  assert.deepEqual([undefined, 524_288, 1_024, 64].map(deliveriesAtOnce), [1_200, 1_200, 128, 20])
})
