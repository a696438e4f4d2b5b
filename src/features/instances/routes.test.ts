import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCreditDesk, serveRoutes } from '../../../test/support/credit-desk.ts'
import { testIds } from '../../../test/support/ids.ts'
import { recordingLog } from '../../../test/support/spooled-credit.ts'
import { callerOf } from '../../http/caller.ts'
import { createInstanceLease, type InstanceReport, LEASE_MS } from '../credit/instance-lease.ts'
import { instancesRoutes } from './routes.ts'

async function setUp(t: TestContext) {
  const desk = await openCreditDesk(t)
  const { db, now } = desk
  const deps = { db, now, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1), goneAfterMs: LEASE_MS }
  const ask = await serveRoutes(t, desk, [instancesRoutes(deps)])
  const { id: account } = await desk.account('pro')
  const start = async (report?: () => InstanceReport) => {
    const instanceId = testIds.instance()
    const place = { version: '1.2.3', role: 'all', address: 'http://a:1' }
    const lease = createInstanceLease({ db, instanceId, ...place, report, log: recordingLog() })
    t.after(() => lease.close())
    await lease.start()
    return { id: instanceId as string, lease }
  }
  return { db, ask, account, start }
}

test('each running process shows its version, since when it runs, its load, lag and requests', async (t) => {
  const { ask, account, start } = await setUp(t)
  const vitals = { load: 0.25, lagMs: 3.4, activeRequests: 7 }
  const { id, lease } = await start(() => vitals)
  const { status, body } = await ask('/admin/instances', account)
  assert.equal(status, 200)
  const [{ started_at: startedAt, seen_at: seenAt, ...shown }] = body.data
  assert.deepEqual(shown, {
    id,
    object: 'instance',
    version: '1.2.3',
    role: 'all',
    address: 'http://a:1',
    load: 0.25,
    lag_ms: 3,
    active_requests: 7,
  })
  assert.match(startedAt, /^\d{4}-.*T.*\.\d{3}Z$/)
  assert.equal(seenAt, startedAt)
  assert.deepEqual([body.has_more, body.next_cursor], [false, null])
  vitals.load = 1.5
  vitals.activeRequests = 0
  await lease.renew()
  const [after] = (await ask('/admin/instances', account)).body.data
  assert.deepEqual([after.load, after.active_requests, after.started_at], [1.5, 0, startedAt])
})

test('a process that has said nothing of itself shows null', async (t) => {
  const { ask, account, start } = await setUp(t)
  await start()
  const [shown] = (await ask('/admin/instances', account)).body.data
  assert.deepEqual([shown.load, shown.lag_ms, shown.active_requests], [null, null, null])
})

test('a process that has ended, or was not seen for 30 s, is not listed', async (t) => {
  const { ask, account, start, db } = await setUp(t)
  const [ended, killed, running] = [await start(), await start(), await start()]
  await ended.lease.close()
  await db
    .updateTable('instance')
    .set({ seen_at: Date.now() - LEASE_MS - 10_000 })
    .where('id', '=', killed.id)
    .execute()
  const { data } = (await ask('/admin/instances', account)).body
  assert.deepEqual(
    data.map(({ id }: { id: string }) => id),
    [running.id],
  )
})

test('they come in pages, by age', async (t) => {
  const { ask, account, start } = await setUp(t)
  const ids = [(await start()).id, (await start()).id, (await start()).id].sort()
  const first = (await ask('/admin/instances?limit=2&order=asc', account)).body
  const second = (await ask(`/admin/instances?limit=2&order=asc&cursor=${first.next_cursor}`, account)).body
  const seen = [...first.data, ...second.data].map(({ id }: { id: string }) => id)
  assert.deepEqual([seen, first.has_more, second.has_more], [ids, true, false])
  assert.deepEqual((await ask('/admin/instances?limit=1', account)).body.data[0].id, ids[2])
})

test('only the operator sees them', async (t) => {
  const { ask, account } = await setUp(t)
  assert.equal((await ask('/admin/instances', `${account} chat,billing,keys`)).status, 403)
})
