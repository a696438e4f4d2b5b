import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocks, createServer, createSimulation, createThreads } from './events.ts'
import { createRandom, type Installation, type ServiceTimes, simulateBench, simulateInstallation } from './model.ts'
import { predict, SCENARIOS } from './predictions.ts'

const TIMES: ServiceTimes = {
  requestUs: 160,
  batchUs: 100,
  databaseBatchUs: 300,
  databaseUnitUs: 40,
  flushUs: 500,
}
const INSTALLATION: Installation = {
  processes: 4,
  primaryCores: 16,
  roundTripUs: 500,
  perSecond: 2_000,
  accounts: 1_000,
  hotShare: 0,
  providerMs: 10,
  seconds: 4,
}

const near = (value: number, wanted: number, share: number): void =>
  assert.ok(Math.abs(value - wanted) <= share * wanted, `${value} is not ${wanted} within ${share * 100} %`)

test('a server queues as theory says: the mean wait of M/D/1 at 80 % is twice the service time', () => {
  const simulation = createSimulation()
  const server = createServer(simulation, 1)
  const random = createRandom()
  let [waitedUs, served] = [0, 0]
  const arrive = (): void => {
    const arrivedUs = simulation.now()
    server.serve(100, () => {
      waitedUs += simulation.now() - arrivedUs - 100
      served++
    })
    simulation.after(-Math.log(1 - random()) * 125, arrive)
  }
  arrive()
  simulation.runUntil(60e6)
  near(waitedUs / served, 200, 0.05)
  near(server.busyUs() / 60e6, 0.8, 0.02)
})

test('events run in the order of their times, and of their scheduling at one time', () => {
  const simulation = createSimulation()
  const order: string[] = []
  for (const [delay, name] of [
    [30, 'd'],
    [10, 'a'],
    [20, 'b'],
    [20, 'c'],
    [40, 'late'],
  ] as const)
    simulation.after(delay, () => order.push(`${name}${simulation.now()}`))
  simulation.runUntil(35)
  assert.deepEqual(order, ['a10', 'b20', 'c20', 'd30'])
})

test('two threads on one core take turns, on two cores they do not wait', () => {
  for (const [cores, endUs] of [
    [1, 300],
    [2, 200],
  ] as const) {
    const simulation = createSimulation()
    const [one, other] = createThreads(simulation, cores, 2)
    let lastUs = 0
    const done = (): void => {
      lastUs = simulation.now()
    }
    one?.serve(100, done)
    one?.serve(100, done)
    other?.serve(100, done)
    simulation.runUntil(1_000)
    assert.equal(lastUs, endUs)
  }
})

test('a lock has one holder at a time, in the order of asking', () => {
  const locks = createLocks()
  const held: string[] = []
  for (const name of ['first', 'second', 'third']) locks.acquire(1, () => held.push(name))
  assert.deepEqual(held, ['first'])
  locks.release(1)
  locks.release(1)
  assert.deepEqual(held, ['first', 'second', 'third'])
  locks.release(1)
  locks.acquire(1, () => held.push('fourth'))
  assert.equal(held.length, 4)
})

test('one request in flight takes the sum of its service times', () => {
  const { perSecond, batchesPerRequest } = simulateBench(TIMES, { cores: 2, clientUs: 60, providerUs: 40 }, 1)
  // The settlement of a request rides with the hold of the next one: a batch and two units a request.
  near(1e6 / perSecond, 60 + 40 + 160 + 100 + 300 + 2 * 40 + 500, 0.01)
  near(batchesPerRequest, 1, 0.01)
})

test('with many in flight batches grow, until the main thread is the limit', () => {
  const times = { ...TIMES, databaseUnitUs: 1 }
  const { perSecond, mainBusy, batchesPerRequest } = simulateBench(
    times,
    { cores: 4, clientUs: 60, providerUs: 40 },
    256,
  )
  assert.ok(batchesPerRequest < 0.1)
  near(mainBusy, 1, 0.05)
  near(perSecond, (mainBusy * 1e6) / (160 + 100 * batchesPerRequest), 0.02)
})

test('an installation answers what is offered below its limit, and the primary is as busy as its work', () => {
  const { perSecond, databaseBusy, batchesPerRequest, p50Ms } = simulateInstallation(TIMES, INSTALLATION)
  near(perSecond, 2_000, 0.05)
  near(databaseBusy, (2_000 * (2 * 40 + 300 * batchesPerRequest)) / 16e6, 0.05)
  assert.ok(p50Ms > 2.5) // two and a half round trips, the work and the flush
})

test('an account that has all requests is limited by the lock of its row, however many processes there are', () => {
  const offered = { ...INSTALLATION, perSecond: 300_000, processes: 100, hotShare: 1, seconds: 0.6 }
  const { perSecond, databaseBusy } = simulateInstallation(TIMES, offered)
  assert.ok(perSecond < 200_000)
  assert.ok(databaseBusy < 0.5)
})

test('predictions name what ends first: a primary that is too slow, or an account that is too busy', () => {
  const [alike, , half] = SCENARIOS
  assert.ok(alike !== undefined && half !== undefined)
  const [slow, hot] = [predict(alike, { ...TIMES, databaseUnitUs: 2_000 }, 8_000), predict(half, TIMES, 8_000)]
  assert.equal(slow.first, 'the CPU of the primary')
  near(slow.limit, 16e6 / 4_000, 0.15)
  assert.equal(hot.first, 'locks of accounts')
})
