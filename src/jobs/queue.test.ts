import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { temporaryDatabase, testIds } from '../../test/support/database.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { findDueJobs, findReadyKinds, findSleeping, wakeSleeping } from './lanes.ts'
import { claim, enqueue, finish, forgetEnded, type NewJob, renew, schedule } from './queue.ts'
import { databaseNow } from './sql.ts'

const LEASE_MS = 60_000
const HOUR_MS = 3_600_000

const mail = (name: string, over: Partial<NewJob> = {}): NewJob => ({
  kind: 'mail',
  name,
  payload: { to: name },
  ...over,
})
const rowsOf = ({ db }: OpenedDatabase) => db.selectFrom('job').selectAll().orderBy('id').execute()

/** Mail that can be claimed, after what is due was woken. */
async function findDue({ db }: OpenedDatabase) {
  const sleeping = await findSleeping(db, { kinds: ['mail'], limit: 100 })
  await wakeSleeping(
    db,
    sleeping.filter(({ dueInMs }) => dueInMs <= 0),
  )
  return (await findDueJobs(db, { kind: 'mail', room: 100, laneConcurrency: undefined, after: '' })).jobs
}

/** Claims everything that is due, for `owner`. */
async function claimAll(database: OpenedDatabase, owner: string, leaseMs = LEASE_MS) {
  const due = await findDue(database)
  return due.length === 0 ? [] : claim(database.db, { jobs: due, owner, leaseMs })
}

test('a kind and a name are enqueued once, also after the job has ended', async (t) => {
  const database = await temporaryDatabase(t)
  assert.equal(await enqueue(database.db, mail('ada'), testIds), true)
  assert.equal(await enqueue(database.db, mail('ada', { payload: 'other' }), testIds), false)
  assert.equal(await enqueue(database.db, { ...mail('ada'), kind: 'post' }, testIds), true)
  const [job] = await claimAll(database, 'one')
  assert.ok(job)
  assert.deepEqual([job.kind, job.name, job.payload, job.attempt], ['mail', 'ada', { to: 'ada' }, 1])
  assert.equal(await finish(database.db, { ...job, owner: 'one' }, { kind: 'done' }), true)
  assert.equal(await enqueue(database.db, mail('ada'), testIds), false)
  assert.deepEqual(await claimAll(database, 'one'), [])
})

test('a job that is enqueued in a transaction is there exactly if that is committed', async (t) => {
  const database = await temporaryDatabase(t)
  const rolledBack = database.db.transaction().execute(async (transaction) => {
    await enqueue(transaction, mail('lost'), testIds)
    throw new Error('no')
  })
  await assert.rejects(rolledBack, /no/)
  await database.db.transaction().execute((transaction) => enqueue(transaction, mail('kept'), testIds))
  assert.deepEqual(
    (await rowsOf(database)).map(({ name }) => name),
    ['kept'],
  )
})

test('jobs wait for their time, by the database’s clock, and come in its order', async (t) => {
  const database = await temporaryDatabase(t)
  await enqueue(database.db, mail('later', { runAt: Date.now() + HOUR_MS }), testIds)
  await enqueue(database.db, mail('second', { runAt: 2 }), testIds)
  await enqueue(database.db, mail('first', { runAt: 1 }), testIds)
  const seen = await findSleeping(database.db, { kinds: ['mail'], limit: 100 })
  assert.deepEqual(
    seen.map(({ dueInMs }) => dueInMs > 0),
    [false, false, true],
  )
  assert.ok((seen[2]?.dueInMs ?? 0) <= HOUR_MS)
  assert.deepEqual((await claimAll(database, 'one')).map(({ name }) => name).sort(), ['first', 'second'])
  assert.deepEqual(await findSleeping(database.db, { kinds: ['other'], limit: 100 }), [])
  assert.deepEqual(await findReadyKinds(database.db, ['mail', 'other']), [])
})

test('JOB-1: of many that claim the same job at once, one gets it', async (t) => {
  const database = await temporaryDatabase(t)
  for (const name of ['a', 'b', 'c', 'd', 'e']) await enqueue(database.db, mail(name), testIds)
  const jobs = await findDue(database)
  const owners = Array.from({ length: 20 }, (_, index) => `owner ${index}`)
  const claims = await Promise.all(owners.map((owner) => claim(database.db, { jobs, owner, leaseMs: LEASE_MS })))
  assert.deepEqual(
    claims
      .flat()
      .map(({ name }) => name)
      .sort(),
    ['a', 'b', 'c', 'd', 'e'],
  )
  assert.deepEqual(new Set((await rowsOf(database)).map(({ attempt }) => attempt)), new Set([1]))
})

test('JOB-1: what is leased is nobody else’s until the lease is over; then every late write is refused', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  await enqueue(db, mail('ada'), testIds)
  const [first] = await claimAll(database, 'one')
  assert.ok(first)
  assert.deepEqual(await claimAll(database, 'two'), [])
  assert.deepEqual(await renew(db, { jobs: [first], owner: 'one', leaseMs: 0 }), [first.id])
  const [second] = await claimAll(database, 'two')
  assert.equal(second?.attempt, 2)
  const before = await rowsOf(database)
  assert.deepEqual(await renew(db, { jobs: [first], owner: 'one', leaseMs: LEASE_MS }), [])
  for (const kind of ['done', 'failed', 'again'] as const) {
    const ending =
      kind === 'again' ? { kind, inMs: 0, error: 'x' } : kind === 'failed' ? { kind, error: 'x' } : { kind }
    assert.equal(await finish(db, { ...first, owner: 'one' }, ending), false)
  }
  assert.deepEqual(await rowsOf(database), before)
  assert.equal(await finish(db, { ...second, owner: 'two' }, { kind: 'done' }), true)
})

test('JOB-1: renew never revives an expired lease, though nobody else has claimed the job', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  await enqueue(db, mail('ada'), testIds)
  await enqueue(db, mail('bea'), testIds)
  const [expired, leased] = await claimAll(database, 'one')
  assert.ok(expired && leased)
  await db.updateTable('job').set({ lease_until: databaseNow() }).where('id', '=', expired.id).execute()
  const before = await rowsOf(database)
  assert.deepEqual(await renew(db, { jobs: [expired, leased], owner: 'one', leaseMs: 2 * LEASE_MS }), [leased.id])
  const leases = (rows: Awaited<ReturnType<typeof rowsOf>>) => new Map(rows.map((row) => [row.id, row.lease_until]))
  assert.equal(leases(await rowsOf(database)).get(expired.id), leases(before).get(expired.id))
  assert.deepEqual(
    (await claimAll(database, 'two')).map(({ id, attempt }) => ({ id, attempt })),
    [{ id: expired.id, attempt: 2 }],
  )
})

test('JOB-1: the same owner with an earlier start is refused as well', async (t) => {
  const database = await temporaryDatabase(t)
  await enqueue(database.db, mail('ada'), testIds)
  const [first] = await claimAll(database, 'one', 0)
  const [second] = await claimAll(database, 'one')
  assert.ok(first && second)
  assert.deepEqual(await renew(database.db, { jobs: [first], owner: 'one', leaseMs: LEASE_MS }), [])
  assert.equal(await finish(database.db, { ...first, owner: 'one' }, { kind: 'done' }), false)
  assert.equal(await finish(database.db, { ...second, owner: 'one' }, { kind: 'done' }), true)
  assert.equal(await finish(database.db, { ...second, owner: 'one' }, { kind: 'failed', error: 'late' }), false)
})

test('JOB-1: a job that another claimed, or its owner put off or ended, after it was seen as abandoned is not claimed', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  for (const name of ['claimed', 'put off', 'ended', 'abandoned']) await enqueue(db, mail(name), testIds)
  const held = new Map((await claimAll(database, 'one', 0)).map((job) => [job.name, job]))
  const jobs = await findDue(database)
  assert.equal(jobs.length, 4)
  const [taken, putOff, ended] = ['claimed', 'put off', 'ended'].map((name) => held.get(name))
  assert.ok(taken && putOff && ended)
  await claim(db, { jobs: [taken], owner: 'three', leaseMs: LEASE_MS })
  await finish(db, { ...putOff, owner: 'one' }, { kind: 'again', inMs: HOUR_MS, error: undefined })
  await finish(db, { ...ended, owner: 'one' }, { kind: 'done' })
  const claimed = await claim(db, { jobs, owner: 'two', leaseMs: LEASE_MS })
  assert.deepEqual(
    claimed.map(({ name }) => name),
    ['abandoned'],
  )
})

test('how a job ended is kept: outcome, time, and the last error', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  for (const name of ['done', 'failed', 'again']) await enqueue(db, mail(name), testIds)
  for (const job of await claimAll(database, 'one')) {
    const held = { ...job, owner: 'one' }
    if (job.name === 'done') await finish(db, held, { kind: 'done' })
    if (job.name === 'failed') await finish(db, held, { kind: 'failed', error: 'never' })
    if (job.name === 'again') await finish(db, held, { kind: 'again', inMs: HOUR_MS, error: 'not now' })
  }
  const rows = new Map((await rowsOf(database)).map((row) => [row.name, row]))
  const now = Number((await sql<{ now: number }>`select ${databaseNow()} as now`.execute(db)).rows[0]?.now)
  assert.deepEqual([rows.get('done')?.outcome, rows.get('done')?.last_error], ['done', null])
  assert.deepEqual([rows.get('failed')?.outcome, rows.get('failed')?.last_error], ['failed', 'never'])
  const again = rows.get('again')
  assert.deepEqual([again?.outcome, again?.ended_at, again?.owner, again?.lease_until], [null, null, null, null])
  assert.equal(again?.last_error, 'not now')
  assert.ok((again?.run_at ?? 0) > now && (again?.run_at ?? 0) <= now + HOUR_MS)
  assert.ok((rows.get('done')?.ended_at ?? 0) <= now)
})

test('a schedule is one job however often it is made; a shorter interval brings it forward', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  await schedule(db, { kind: 'mail', everyMs: HOUR_MS }, testIds)
  await schedule(db, { kind: 'mail', everyMs: HOUR_MS }, testIds)
  const [job] = await claimAll(database, 'one')
  assert.ok(job)
  await finish(db, { ...job, owner: 'one' }, { kind: 'again', inMs: HOUR_MS, error: undefined })
  const dueIn = async () => (await findSleeping(db, { kinds: ['mail'], limit: 9 })).map(({ dueInMs }) => dueInMs)
  await schedule(db, { kind: 'mail', everyMs: 2 * HOUR_MS }, testIds)
  assert.ok(((await dueIn())[0] ?? 0) > HOUR_MS / 2)
  await schedule(db, { kind: 'mail', everyMs: HOUR_MS / 4 }, testIds)
  const due = await dueIn()
  assert.equal(due.length, 1)
  assert.ok((due[0] ?? HOUR_MS) <= HOUR_MS / 4)
})

test('ended jobs are forgotten, so many at a time; open ones never', async (t) => {
  const { db } = await temporaryDatabase(t)
  const old = { payload: 'null', run_at: 1, attempt: 1, created_at: 1, kind: 'mail' }
  const rows = Array.from({ length: 7 }, (_, index) => ({ ...old, id: `job_00000000${index}`, name: `n${index}` }))
  const ended = { ended_at: 5, outcome: 'done' as const }
  await db
    .insertInto('job')
    .values(rows.map((row, index) => (index < 5 ? { ...row, ...ended } : row)))
    .execute()
  await enqueue(db, mail('new'), testIds)
  const endedBefore = Date.now() - HOUR_MS
  assert.equal(await forgetEnded(db, { endedBefore: 5, limit: 3 }), 0)
  assert.equal(await forgetEnded(db, { endedBefore, limit: 3 }), 3)
  assert.equal(await forgetEnded(db, { endedBefore, limit: 3 }), 2)
  assert.equal(await forgetEnded(db, { endedBefore, limit: 3 }), 0)
  const left = await db.selectFrom('job').select('name').orderBy('name').execute()
  assert.deepEqual(
    left.map(({ name }) => name),
    ['n5', 'n6', 'new'],
  )
})
