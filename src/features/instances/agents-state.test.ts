import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCreditDesk, serveRoutes } from '../../../test/support/credit-desk.ts'
import { openApp } from '../../../test/support/signed-in.ts'
import { type AgentsStateDeps, agentsStateRoute } from './agents-state.ts'

test('a process tells whether it runs agents, behind what, and why not', async (t) => {
  const desk = await openCreditDesk(t)
  const { id: account } = await desk.account('pro')
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
    const ask = await serveRoutes(t, desk, [agentsStateRoute(deps)])
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
