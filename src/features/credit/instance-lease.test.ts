import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { recordingLog } from '../../../test/support/spooled-credit.ts'
import { createInstanceLease, forgetInstances, isGone, LEASE_MS } from './instance-lease.ts'

const HOUR_MS = 3_600_000

/** Renewed when the test says so. */
async function leased(t: TestContext, id = 'ins_a') {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const database = await temporaryDatabase(t)
  const { db } = database
  const log = recordingLog()
  const lease = createInstanceLease({ db, instanceId: id, version: '1.2.3', role: 'all', address: 'a:1', log })
  t.after(() => lease.close())
  const row = (of = id) => db.selectFrom('instance').selectAll().where('id', '=', of).executeTakeFirst()
  /** As if it had been last seen so long ago. */
  const setBack = (ms: number, of = id) =>
    db
      .updateTable('instance')
      .set({ seen_at: Date.now() - ms })
      .where('id', '=', of)
      .execute()
  const add = (other: string, ms: number) =>
    db
      .insertInto('instance')
      .values({ id: other, version: '1', role: 'all', address: null, started_at: 0, seen_at: Date.now() - ms })
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
  const { lease, add, db, setBack } = await leased(t)
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
  const { lease, add } = await leased(t)
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
