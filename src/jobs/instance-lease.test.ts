import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/client.ts'
import { temporaryDatabase } from '../../test/support/database.ts'
import { recordingLog } from '../../test/support/ledger/spooled-credit.ts'
import { timedDatabase } from '../../test/support/timed-database.ts'
import {
  createInstanceLease,
  createVitalsMonitor,
  forgetInstances,
  isGone,
  LAPSE_MS,
  LEASE_GAP_MS,
  LEASE_MS,
  RENEW_EVERY_MS,
  unbrokenSince,
} from './instance-lease.ts'

const HOUR_MS = 3_600_000
const NOW = Date.UTC(2026, 10, 20)

/** Renewed when the test says so. @param at The database's time; undefined: its own clock. */
async function leased(t: TestContext, at?: number) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const opened = await temporaryDatabase(t)
  const database = at === undefined ? opened : timedDatabase(opened, () => at)
  const now = () => at ?? Date.now()
  const id = 'ins_a'
  const { db } = database
  const log = recordingLog()
  const lease = createInstanceLease({ db, instanceId: id, version: '1.2.3', role: 'all', address: 'a:1', log })
  t.after(() => lease.close())
  const row = (of = id) => db.selectFrom('instance').selectAll().where('id', '=', of).executeTakeFirst()
  /** As if it had been last seen so long ago. */
  const setBack = (ms: number, of = id) =>
    db
      .updateTable('instance')
      .set({ seen_at: now() - ms })
      .where('id', '=', of)
      .execute()
  const add = (other: string, ms: number) =>
    db
      .insertInto('instance')
      .values({ id: other, version: '1', role: 'all', address: null, started_at: 0, seen_at: now() - ms })
      .execute()
  return { database, db, log, lease, row, setBack, add }
}

test('others see where it is reached, and that it is not reached any more; what has ended does not come back', async (t) => {
  const { lease, row } = await leased(t)
  await lease.start()
  await Promise.all([lease.renew(), lease.moveTo('http://b:2')])
  assert.equal((await row())?.address, 'http://b:2')
  await lease.renew()
  assert.equal((await row())?.address, 'http://b:2')
  await lease.moveTo(undefined)
  assert.equal((await row())?.address, null)
  await lease.close()
  await lease.moveTo('http://c:3')
  assert.equal(await row(), undefined)
})

test('others see a process from its start to its end, by the clock of the database', async (t) => {
  const { lease, row, setBack } = await leased(t)
  const before = Date.now()
  await lease.start()
  const first = await row()
  assert.deepEqual([first?.version, first?.role, first?.address], ['1.2.3', 'all', 'a:1'])
  assert.ok(Math.abs((first?.seen_at ?? 0) - before) < HOUR_MS)
  assert.equal(first?.started_at, first?.seen_at)
  await setBack(HOUR_MS)
  await lease.renew()
  const renewed = await row()
  assert.ok((renewed?.seen_at ?? 0) >= (first?.seen_at ?? 0))
  assert.equal(renewed?.started_at, first?.started_at)
  await lease.close()
  assert.equal(await row(), undefined)
})

test('it renews itself every 5 s, once at a time', async (t) => {
  const { lease, row, setBack } = await leased(t)
  await lease.start()
  await setBack(HOUR_MS)
  t.mock.timers.tick(5_000)
  await lease.renew()
  assert.ok(Date.now() - ((await row())?.seen_at ?? 0) < HOUR_MS / 2)
})

test('a start without a database fails; a renewal does not, and is told of', async (t) => {
  const { lease, database, log } = await leased(t)
  await lease.start()
  await database.close()
  await lease.renew()
  assert.deepEqual(
    log.lines.map(({ level }) => level),
    ['warn'],
  )
  await assert.rejects(lease.start())
  await lease.close()
})

test('a row that was deleted meanwhile is made again', async (t) => {
  const { lease, db, row } = await leased(t)
  await lease.start()
  await db.deleteFrom('instance').execute()
  await lease.renew()
  assert.notEqual(await row(), undefined)
})

/** A lease on a database whose clock the test sets. */
function onClock() {
  const clock = { now: 1_000_000 }
  const one = { seen_at: 0 }
  const chain = {
    values: () => chain,
    onConflict: () => chain,
    returning: () => chain,
    where: () => chain,
    select: () => chain,
    execute: async () => [],
    executeTakeFirstOrThrow: async () => ({ ...one, seen_at: clock.now }),
  }
  const db = { insertInto: () => chain, deleteFrom: () => chain, selectFrom: () => chain } as never // as much of a database as a lease uses
  const lease = createInstanceLease({
    db,
    instanceId: 'ins_a',
    version: '1',
    role: 'all',
    address: undefined,
    log: recordingLog(),
  })
  const renewEvery = async (ms: number, times: number) => {
    for (let time = 0; time < times; time++) {
      clock.now += ms
      await lease.renew()
    }
  }
  return { clock, lease, renewEvery }
}

test('others may be taken for gone only after 30 s in which the lease was renewed without a gap', async () => {
  const { lease, renewEvery, clock } = onClock()
  assert.equal(lease.steady(), false)
  await renewEvery(5_000, 6)
  assert.equal(lease.steady(), false, 'for 25 s')
  await renewEvery(5_000, 1)
  assert.equal(lease.steady(), true)
  await renewEvery(15_000, 1)
  assert.equal(lease.steady(), true)
  clock.now += 15_001
  await lease.renew()
  assert.equal(lease.steady(), false, 'after an outage everybody looks dead')
  await renewEvery(5_000, 6)
  assert.equal(lease.steady(), true)
  clock.now -= 10 * HOUR_MS
  await lease.renew()
  assert.equal(lease.steady(), false, 'a clock that was set back says nothing of the past')
  await renewEvery(5_000, 6)
  assert.equal(lease.steady(), true)
})

test('who was not seen for 30 s is gone, unless we were not seen ourselves', async (t) => {
  const { lease, add, db, setBack } = await leased(t, NOW)
  await lease.start()
  await add('ins_fresh', LEASE_MS - 10_000)
  await add('ins_old', LEASE_MS + 10_000)
  assert.equal(await isGone(db, 'ins_fresh', 'ins_a'), false)
  assert.equal(await isGone(db, 'ins_old', 'ins_a'), true)
  assert.equal(await isGone(db, 'ins_never', 'ins_a'), true)
  await setBack(20_000)
  assert.equal(await isGone(db, 'ins_old', 'ins_a'), false)
  assert.equal(await isGone(db, 'ins_never', 'ins_a'), false)
})

test('it knows how many processes there are: those seen in the last 30 s', async (t) => {
  const { lease, add } = await leased(t, NOW)
  assert.equal(lease.processes(), 1)
  await add('ins_b', 10_000)
  await add('ins_c', LEASE_MS + 10_000)
  await lease.start()
  assert.equal(lease.processes(), 2)
  await add('ins_d', 0)
  await lease.renew()
  assert.equal(lease.processes(), 3)
})

test('what a process says of itself is written with each renewal', async (t) => {
  const { db } = await leased(t)
  const vitals = { load: 0.1234, lagMs: 1.6, activeRequests: 2 }
  const place = { instanceId: 'ins_v', version: '1', role: 'all', address: undefined, log: recordingLog() }
  const lease = createInstanceLease({ db, ...place, report: () => vitals })
  t.after(() => lease.close())
  const written = async () => {
    const row = await db.selectFrom('instance').selectAll().where('id', '=', 'ins_v').executeTakeFirstOrThrow()
    return [row.load_permille, row.lag_ms, row.active_requests]
  }
  await lease.start()
  assert.deepEqual(await written(), [123, 2, 2])
  vitals.activeRequests = 0
  await lease.renew()
  assert.deepEqual(await written(), [123, 2, 0])
})

test('rows of processes that were not seen for a day are deleted, at a start and now and then', async (t) => {
  const { lease, add, row, db } = await leased(t)
  await add('ins_old', 25 * HOUR_MS)
  await add('ins_recent', 23 * HOUR_MS)
  await lease.start()
  assert.equal(await row('ins_old'), undefined)
  assert.notEqual(await row('ins_recent'), undefined)
  await add('ins_old', 25 * HOUR_MS)
  await forgetInstances(db)
  assert.equal(await row('ins_old'), undefined)
  assert.notEqual(await row('ins_a'), undefined)
})

/** With clocks that the test sets, and a note of what its guard was told. */
async function guarded(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const database = await temporaryDatabase(t)
  const { db } = database
  const log = recordingLog()
  const told: string[] = []
  let ms = 0
  const lease = createInstanceLease({
    db,
    instanceId: 'ins_a',
    version: '1',
    role: 'all',
    address: undefined,
    guard: {
      lapsed: () => void told.push('lapsed'),
      regained: async () => void told.push('regained'),
    },
    clock: () => ms,
    now: () => 0,
    log,
  })
  t.after(() => lease.close())
  const others = (count: number) =>
    db
      .insertInto('instance')
      .values(
        Array.from({ length: count }, (_, index) => ({
          id: `ins_other${index}`,
          version: '1',
          role: 'all',
          address: null,
          started_at: Date.now() - 3_600_000,
          seen_at: Date.now(),
        })),
      )
      .execute()
  const pass = (more: number) => {
    ms += more
  }
  const beat = () => t.mock.timers.tick(RENEW_EVERY_MS)
  return { database, log, lease, told, others, pass, beat }
}

test('INV-10: a lease that has lapsed is renewed before anything new, and then what is held is checked, three times', async (t) => {
  const { lease, told, pass } = await guarded(t)
  await lease.start()
  pass(LAPSE_MS - 1)
  assert.equal(lease.ensure(), true, 'no wait while it is fresh')
  pass(1)
  assert.ok(lease.ensure() instanceof Promise)
  await eventually(async () => lease.ensure(), Boolean) // it waits for 3 s, which a busy machine may need
  assert.deepEqual(told, ['regained'])
  assert.equal(lease.ensure(), true)
  for (let time = 0; time < 4; time++) await lease.renew()
  assert.deepEqual(told, ['regained', 'regained', 'regained'])
})

for (const [title, count] of [
  ['a process that is not alone ends its requests', 1],
  ['a process that is alone goes on, since nobody is there to sweep', 0],
] as const) {
  test(`INV-10: where a lease that has lapsed cannot be renewed, ${title}`, async (t) => {
    const { database, lease, told, others, pass, beat, log } = await guarded(t)
    if (count > 0) await others(count)
    await lease.start()
    await database.close()
    pass(LAPSE_MS)
    assert.equal(await lease.ensure(), false)
    const failures = log.lines.length
    beat()
    await eventually(
      async () => log.lines.length,
      (lines) => lines >= failures + 2,
    )
    await new Promise(setImmediate)
    assert.deepEqual(told, count === 0 ? [] : ['lapsed'])
  })
}

test('INV-4: what came to a quick end counts for how long renewals went on, in a crash loop as well', () => {
  const lived = (id: string, bornAgo: number, seenAgo: number) => ({
    id,
    startedAt: NOW - bornAgo * 1_000,
    seenAt: NOW - seenAgo * 1_000,
  })
  const ago = (...instances: ReturnType<typeof lived>[]) =>
    (NOW - unbrokenSince(instances, { own: 'me', now: NOW })) / 1_000
  assert.equal(ago(lived('me', 0, 0)), 0, 'who starts alone must wait')
  assert.equal(ago(lived('a', 40, 30), lived('b', 25, 12), lived('c', 9, 1), lived('me', 0, 0)), 40)
  assert.equal(ago(lived('a', 40, 30), lived('c', 9, 1)), 9, 'a gap of more than 15 s ends the chain')
  assert.equal(ago(lived('long', 90, 1)), 0, 'who lived for long could have swept by itself')
  assert.ok(LEASE_GAP_MS < LEASE_MS)
})

function monitor(t: TestContext) {
  const time = { clock: 0, cpu: 0, active: 0 }
  const vitals = createVitalsMonitor({
    activeRequests: () => time.active,
    clock: () => time.clock,
    cpuMs: () => time.cpu,
  })
  t.after(() => vitals.close())
  const after = (ms: number, cpuMs: number) => {
    time.clock += ms
    time.cpu += cpuMs
    return vitals.read()
  }
  return { time, vitals, after }
}

test('the load is CPU time of the last minute, and more than 1 when several threads work', (t) => {
  const { after } = monitor(t)
  assert.equal(after(5_000, 5_000).load, 1)
  assert.equal(after(5_000, 0).load, 0.5)
  for (let reading = 0; reading < 12; reading++) after(5_000, 10_000)
  assert.equal(after(5_000, 10_000).load, 2, 'what was before is forgotten')
})

test('a reading in the moment of the start says that nothing was done', (t) => {
  const { vitals, time } = monitor(t)
  time.active = 3
  const { load, lagMs, activeRequests } = vitals.read()
  assert.deepEqual([load, activeRequests], [0, 3])
  assert.ok(lagMs >= 0 && Number.isFinite(lagMs))
})

test('a process counts its own CPU time', (t) => {
  const vitals = createVitalsMonitor({ activeRequests: () => 0, clock: () => performance.now() })
  t.after(() => vitals.close())
  const { load } = vitals.read()
  assert.ok(load >= 0 && Number.isFinite(load))
})
