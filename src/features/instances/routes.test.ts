import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openApp } from '../../../test/support/browser/signed-in.ts'
import { testIds } from '../../../test/support/ids.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { recordingLog } from '../../../test/support/ledger/spooled-credit.ts'
import { callerOf } from '../../http/caller.ts'
import { createInstanceLease, type InstanceReport, LEASE_MS } from '../../jobs/instance-lease.ts'
import { type AgentsStateDeps, agentsStateRoute, instancesRoutes } from './routes.ts'

async function setUp(t: TestContext) {
  const fixture = await openCreditFixture(t)
  const { db, now } = fixture
  const deps = { db, now, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1), goneAfterMs: LEASE_MS }
  const ask = await serveRoutes(t, fixture, [instancesRoutes(deps)])
  const { id: account } = await fixture.account('pro')
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
  t.mock.timers.enable({ apis: ['setInterval'] }) // it is renewed when the test says so
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

test('a process tells whether it runs agents, behind what, and why not', async (t) => {
  const fixture = await openCreditFixture(t)
  const { id: account } = await fixture.account('pro')
  const cases: readonly [AgentsStateDeps, object][] = [
    [
      { backend: 'bubblewrap', availability: async () => ({ ok: true }), active: () => 2 },
      { backend: 'bubblewrap', available: true, reason: null, running: 2 },
    ],
    [
      {
        backend: 'bubblewrap',
        availability: async () => ({ ok: false, reason: 'no bwrap. Install it.' }),
        active: () => 0,
      },
      { backend: 'bubblewrap', available: false, reason: 'no bwrap. Install it.', running: 0 },
    ],
    [
      { backend: 'none', availability: undefined, active: () => 0 },
      { backend: 'none', available: null, reason: null, running: 0 },
    ],
  ]
  for (const [deps, expected] of cases) {
    const ask = await serveRoutes(t, fixture, [agentsStateRoute(deps)])
    const { status, body } = await ask('/admin/agents', account)
    assert.deepEqual([status, body], [200, { object: 'agents_state', ...expected }])
    assert.equal((await ask('/admin/agents', `${account} agents:read,agents:write`)).status, 403)
  }
})

test('a process that only answers requests does not say that agents can be run', async (t) => {
  const app = await openApp(t, { role: 'api' })
  const { db } = app.database
  const home = await app.account()
  await db.insertInto('setting').values({ key: 'first_account', value: home }).execute()
  const token = await app.token(await app.browser(await app.person(home, 'owner')))
  const { available, running } = (await app.ask('GET', '/v1/admin/agents', { token })).json()
  assert.deepEqual([available, running], [null, 0])
})
