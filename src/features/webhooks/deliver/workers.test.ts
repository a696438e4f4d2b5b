import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { currentLocation } from '../../../../test/support/database.ts'
import { openDeliveryFixture, until } from '../../../../test/support/webhooks/deliveries.ts'

interface Receiver {
  readonly url: string
  /** `webhook-id` of each request. */
  readonly ids: readonly string[]
  /** Requests that have no answer yet, by their paths. */
  readonly open: (path: string) => number
}

async function startReceiver(
  t: TestContext,
  answer: (response: ServerResponse, path: string) => void,
): Promise<Receiver> {
  const ids: string[] = []
  const open = new Map<string, number>()
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const count = (by: number): unknown => open.set(path, (open.get(path) ?? 0) + by)
    ids.push(String(request.headers['webhook-id']))
    count(1)
    response.once('close', () => count(-1))
    request.resume().once('end', () => answer(response, path))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // it listens on a port
  return { url: `http://127.0.0.1:${port}`, ids, open: (path) => open.get(path) ?? 0 }
}

test('two workers on one database never make the same attempt: each event comes six times, and six are in its log', async (t) => {
  const receiver = await startReceiver(t, (response) => response.writeHead(500).end())
  const fixture = await openDeliveryFixture(t)
  const endpoints = await Promise.all(['a', 'b', 'c'].map((name) => fixture.endpoint(`${receiver.url}/${name}`)))
  const events = await Promise.all(endpoints.flatMap((each) => [1, 2, 3, 4].map(() => fixture.event(each))))
  const delaysMs = [1, 1, 1, 1, 1]
  for (let worker = 0; worker < 2; worker++) fixture.work({ delaysMs, pollMs: 5 })
  const { db } = fixture.database
  const failed = db.selectFrom('delivery').select(['id', 'attempts', 'event_id']).where('status', '=', 'failed')
  const rows = await until(async () => {
    const ended = await failed.execute()
    return ended.length === events.length && ended
  })
  assert.deepEqual(
    rows.map(({ attempts }) => attempts),
    events.map(() => 6),
  )
  for (const event of events) assert.equal(receiver.ids.filter((id) => id === event).length, 6)
  const logged = await db.selectFrom('delivery_attempt').select(['delivery_id', 'number']).execute()
  assert.equal(new Set(logged.map((row) => `${row.delivery_id} ${row.number}`)).size, events.length * 6)
})

test('WH-5 [limit: webhook-endpoint]: ten at once go to an endpoint that is slow, and no other waits for it', async (t) => {
  const held: ServerResponse[] = []
  const receiver = await startReceiver(t, (response, path) => {
    if (path === '/slow') held.push(response)
    else response.writeHead(204).end()
  })
  const fixture = await openDeliveryFixture(t)
  const [slow, quick] = [
    await fixture.endpoint(`${receiver.url}/slow`),
    await fixture.endpoint(`${receiver.url}/quick`),
  ]
  for (let events = 0; events < 25; events++) await fixture.event(slow)
  for (let worker = 0; worker < 2; worker++) fixture.work()
  await until(async () => receiver.open('/slow') === 10)
  for (let events = 0; events < 5; events++) await fixture.event(quick)
  await until(async () => (await fixture.deliveries(quick)).every(({ status }) => status === 'delivered'))
  assert.equal(receiver.open('/slow'), 10)
  await until(async () => {
    for (const response of held.splice(0)) response.writeHead(204).end()
    assert.ok(receiver.open('/slow') <= 10)
    return (await fixture.deliveries(slow)).every(({ status }) => status === 'delivered')
  })
  assert.equal(receiver.ids.length, 30)
})

test('an endpoint that is known to fail is asked at most so often by each of its ten attempts', async (t) => {
  const receiver = await startReceiver(t, (response) => response.writeHead(500).end())
  const fixture = await openDeliveryFixture(t)
  const endpoint = await fixture.endpoint(receiver.url, { failing_since: Date.now() })
  for (let events = 0; events < 15; events++) await fixture.event(endpoint)
  const { runner } = fixture.work({ failingAttemptMs: 60_000 })
  await until(async () => receiver.ids.length >= 10)
  await runner.looked()
  assert.equal(receiver.ids.length, 10)
  await runner.stop() // does not wait for the minute, and what was learnt is written
  const rows = await fixture.deliveries(endpoint)
  assert.equal(rows.filter(({ attempts }) => attempts === 1).length, 10)
})

test('JOB-1: what a worker learns after its job was taken over is not written', async (t) => {
  const held: ServerResponse[] = []
  const receiver = await startReceiver(t, (response) => void held.push(response))
  const fixture = await openDeliveryFixture(t)
  const endpoint = await fixture.endpoint(receiver.url)
  await fixture.event(endpoint)
  const { runner, warnings } = fixture.work()
  await until(async () => held.length === 1)
  await fixture.database.db.updateTable('job').set({ attempt: 9, owner: 'another' }).execute()
  held[0]?.writeHead(500).end()
  await until(async () => runner.running() === 0)
  const [delivery] = await fixture.deliveries(endpoint)
  assert.deepEqual([delivery?.status, delivery?.attempts, delivery?.error], ['pending', 0, null])
  assert.deepEqual(await fixture.attempts(endpoint), [])
  assert.ok(warnings.includes('job was taken over by another process'))
})

test('an attempt whose job is lost is given up at once', async (t) => {
  const receiver = await startReceiver(t, () => undefined)
  const fixture = await openDeliveryFixture(t)
  const endpoint = await fixture.endpoint(receiver.url)
  await fixture.event(endpoint)
  const { runner } = fixture.work({ leaseMs: 1_000 })
  await until(async () => receiver.open('/') === 1)
  await fixture.database.db
    .updateTable('job')
    .set({ attempt: 9, owner: 'another', lease_until: Date.now() + 60_000 })
    .execute()
  await until(async () => runner.running() === 0 && receiver.open('/') === 0)
  assert.deepEqual(await fixture.attempts(endpoint), [])
})

test('a stop lets attempts end that are about to, and gives back the others, which come again with the same id', async (t) => {
  const held: ServerResponse[] = []
  const receiver = await startReceiver(t, (response) => void held.push(response))
  const fixture = await openDeliveryFixture(t)
  const [patient, never] = [
    await fixture.endpoint(`${receiver.url}/patient`),
    await fixture.endpoint(`${receiver.url}/never`),
  ]
  const first = fixture.work({ stopGraceMs: 60_000, stopMs: 90_000 })
  const begun = await fixture.event(patient)
  await until(async () => held.length === 1)
  const stopped = first.runner.stop()
  held[0]?.writeHead(200).end()
  await stopped
  assert.equal((await fixture.deliveries(patient))[0]?.status, 'delivered')
  const second = fixture.work({ stopGraceMs: 150, stopMs: 60_000 })
  const left = await fixture.event(never)
  await until(async () => held.length === 2)
  await second.runner.stop()
  const [given] = await fixture.deliveries(never)
  assert.deepEqual([given?.status, given?.attempts], ['pending', 0])
  for (const { warnings, errors } of [first, second]) assert.deepEqual([warnings, errors], [[], []])
  fixture.work()
  await until(async () => held.length === 3)
  held[2]?.writeHead(200).end()
  assert.equal((await fixture.tried(never, 1)).attempts, 1)
  assert.deepEqual(receiver.ids, [begun, left, left])
})

/** A worker in a process of its own, which dies when it has its first answer. */
function victim(t: TestContext, place: string) {
  const url = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href)
  const code = `
    import { openLocation, testIds } from ${url('../../../../test/support/database.ts')}
    import { SECRETS } from ${url('../../../../test/support/webhooks/deliveries.ts')}
    import { createJobRunner } from ${url('../../../jobs/runner.ts')}
    import { onReach } from ${url('../../../lib/crash-point.ts')}
    import { webhookJobs } from ${url('../jobs.ts')}
    import { eventRecorder } from ${url('../events.ts')}
    import { createDeliverer } from ${url('./deliverer.ts')}
    onReach((point) => point === 'after_webhook_post' && process.kill(process.pid, 'SIGKILL'))
    const { db, batch } = await openLocation(${JSON.stringify(place)})
    const [now, clock, log] = [Date.now, () => performance.now(), { warn() {}, error: console.error }]
    const usual = { db, batch, secrets: SECRETS, version: '1', now, clock, random: Math.random, log }
    const deliverer = createDeliverer({ ...usual, deadlineMs: 600_000, allowPrivateNetworks: () => true })
    const recordEvent = eventRecorder({ now, ids: testIds })
    const kinds = webhookJobs({ db, now, recordEvent, deliverer, writeDueAlerts: async () => undefined })
    createJobRunner({ db, ids: testIds, owner: 'victim', log, clock, kinds }).start()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  return once(child, 'exit')
}

test('WH-3: killed between the answer and the commit, the event comes again with the same id, and is in the log once', async (t) => {
  const receiver = await startReceiver(t, (response) => response.writeHead(204).end())
  const place = await currentLocation(t)
  const fixture = await openDeliveryFixture(t, { place })
  const endpoint = await fixture.endpoint(receiver.url)
  const eventId = await fixture.event(endpoint)
  assert.deepEqual(await victim(t, place), [null, 'SIGKILL'])
  assert.deepEqual(receiver.ids, [eventId])
  assert.deepEqual(await fixture.attempts(endpoint), [])
  await fixture.database.db.updateTable('job').set({ lease_until: 1 }).execute() // nobody renews it
  fixture.work()
  const delivery = await fixture.tried(endpoint, 1)
  assert.deepEqual([delivery.status, delivery.attempts], ['delivered', 1])
  assert.deepEqual(receiver.ids, [eventId, eventId])
  assert.equal((await fixture.attempts(endpoint)).length, 1)
})
