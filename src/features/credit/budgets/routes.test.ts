import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openLocation, testIds } from '../../../../test/support/database.ts'
import { holdUnit } from '../../../../test/support/ledger/credit-model.ts'
import { openCreditFixture, serveRoutes, termsOf } from '../../../../test/support/ledger/credit-service.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { callerOf } from '../../../http/caller.ts'
import { auditWriter } from '../../audit/log.ts'
import { createKey, FULL_ACCESS } from '../../keys/queries.ts'
import { alertEndedRaises } from './raises.ts'
import { budgetsRoutes } from './routes.ts'
import { createBudgets, readFills } from './store.ts'

const HOUR_MS = 3_600_000
/** The time of a fixture's clock. */
const START = Date.UTC(2026, 4, 5, 12)

async function setUp(t: TestContext) {
  const fixture = await openCreditFixture(t)
  const { db, now } = fixture
  const writeAudit = auditWriter({ now, ids: testIds })
  const budgets = createBudgets({ db, now, ids: testIds, writeAudit })
  const cursorKey = Buffer.alloc(32, 1)
  const routes = budgetsRoutes({ db, now, ids: testIds, callerOf, budgets, writeAudit, cursorKey })
  const ask = await serveRoutes(t, fixture, [routes])
  const payer = await fixture.account('free')
  const put = (body: object) => ask('/budgets', payer.id, { method: 'PUT', body })
  return { ...fixture, ask, payer, put }
}

test('budgets of an account are set, charged and shown with what is left and the forecast', async (t) => {
  const { ask, put, payer, clock, spend, db } = await setUp(t)
  const budget = { usd: 10, window: 'day', timezone: 'America/New_York' }
  const set = await put({
    level: 'account',
    budgets: [budget, { ...budget, usd: 0.000000001, window: 'total', action: 'warn' }],
  })
  assert.equal(set.status, 200, set.text)
  clock.now = Date.UTC(2026, 4, 5, 13)
  await spend(payer, { costNanoUsd: 1_000_000_000n })
  const { body } = await ask('/budgets?order=asc', payer.id)
  const [daily] = body.data.filter(({ window }: { window: string }) => window === 'day')
  const { id, ...shown } = daily
  assert.deepEqual(shown, {
    object: 'budget',
    level: 'account',
    subject: payer.id,
    usd: 10,
    window: 'day',
    starts: null,
    timezone: 'America/New_York',
    action: 'block',
    limit_usd: 10,
    spent_usd: 1,
    held_usd: 0,
    remaining_usd: 9,
    window_start: '2026-05-05T04:00:00.000Z',
    resets_at: '2026-05-06T04:00:00.000Z',
    // $1 in the hour since it was created at 12:00
    forecast_exhausted_at: '2026-05-05T22:00:00.000Z',
    raises: [],
  })
  assert.deepEqual((await ask(`/budgets/${id}`, payer.id)).body, daily)
  const fills = await readFills(db, clock.now)
  assert.deepEqual(
    fills.find(({ budget: of }) => of === id),
    { budget: id, leftNanoUsd: 9_000_000_000n, limitNanoUsd: 10_000_000_000n },
  )
  assert.deepEqual(
    (await readFills(db, clock.now + 24 * HOUR_MS)).map(({ limitNanoUsd }) => limitNanoUsd),
    [1n],
    'the window of a day is over',
  )
  assert.equal((await ask('/budgets?level=key', payer.id)).body.data.length, 0)
  assert.equal((await put({ level: 'account', budgets: [] })).body.data.length, 0)
  assert.equal((await ask(`/budgets/${id}`, payer.id)).status, 404)
})

test('budgets that mean nothing are refused with the path of the field [limit: budgets] [limit: budget-zone]', async (t) => {
  const { put } = await setUp(t)
  const day = { usd: 1, window: 'day' }
  const cases: readonly [object, string][] = [
    [{ level: 'account', budgets: [{ ...day, usd: -1 }] }, 'budgets[0].usd'],
    [{ level: 'account', budgets: [{ ...day, usd: 0.0000000001 }] }, 'budgets[0].usd'],
    [{ level: 'account', budgets: [{ usd: 1, window: 'year' }] }, 'budgets[0].window'],
    [{ level: 'account', budgets: [day, { ...day, timezone: 'Berlin' }] }, 'budgets[1].timezone'],
    [{ level: 'account', budgets: [{ ...day, starts: '2026-02-30' }] }, 'budgets[0].starts'],
    [{ level: 'account', budgets: [day, { ...day, usd: 2 }] }, 'budgets[1].window'],
    [{ level: 'account', budgets: [{ ...day, limit: 1 }] }, 'budgets[0].limit'],
    [{ level: 'account', budgets: Array.from({ length: 11 }, () => day) }, 'budgets'],
    [{ level: 'organisation', budgets: [] }, 'level'],
    [{ level: 'tag', subject: 'acme', budgets: [] }, 'subject'],
    [{ level: 'account', budgets: [{ ...day, timezone: 'E'.repeat(65) }] }, 'budgets[0].timezone'],
  ]
  for (const [body, param] of cases) {
    const answer = await put(body)
    assert.deepEqual([answer.status, answer.body.error.param], [400, param], answer.text)
  }
})

test('subjects and budgets of another account are unknown, and setting them needs the scope billing', async (t) => {
  const { ask, put, payer, account, db, now } = await setUp(t)
  const other = await account('free')
  const born = { now, ids: testIds }
  const make = async (accountId: AccountId) =>
    (await createKey(db, { ...FULL_ACCESS, accountId, name: 'k' }, born)).key.id
  const budgets = [{ usd: 1, window: 'month' }]
  assert.equal((await put({ level: 'key', subject: await make(other.id), budgets })).status, 404)
  assert.equal((await put({ level: 'account', subject: other.id, budgets })).status, 404)
  assert.equal((await put({ level: 'member', subject: 'usr_none', budgets })).status, 404)
  const own = await put({ level: 'key', subject: await make(payer.id), budgets })
  assert.equal(own.status, 200, own.text)
  const id = own.body.data[0].id
  assert.equal((await ask(`/budgets/${id}`, other.id)).status, 404)
  const raise = { usd: 1, ends_at: '2030-01-01T00:00:00Z', reason: 'r' }
  assert.equal((await ask(`/budgets/${id}/raises`, other.id, { method: 'POST', body: raise })).status, 404)
  const readOnly = `${payer.id} usage:read`
  assert.equal((await ask(`/budgets/${id}`, readOnly)).status, 200)
  assert.equal((await ask('/budgets', readOnly, { method: 'PUT', body: { level: 'account', budgets } })).status, 403)
})

test('a raise admits more until it ends, and the audit log has its reason [limit: budget-texts]', async (t) => {
  const { ask, put, payer, clock, reserve, db, credit } = await setUp(t)
  await credit.read(payer)
  const set = await put({ level: 'account', budgets: [{ usd: 0.0000001, window: 'total' }] })
  const { id } = set.body.data[0]
  assert.equal((await reserve(payer, 101)).kind, 'refused')
  const raise = { usd: 0.00000005, ends_at: new Date(clock.now + HOUR_MS).toISOString(), reason: ' launch day ' }
  const raised = await ask(`/budgets/${id}/raises`, payer.id, { method: 'POST', body: raise })
  assert.equal(raised.status, 201, raised.text)
  assert.deepEqual([raised.body.limit_usd, raised.body.raises[0].reason], [0.00000015, 'launch day'])
  assert.equal((await reserve(payer, 101)).kind, 'held')
  const late = { ...raise, ends_at: new Date(clock.now).toISOString() }
  assert.equal((await ask(`/budgets/${id}/raises`, payer.id, { method: 'POST', body: late })).status, 400)
  const long = { ...raise, reason: 'r'.repeat(501) }
  assert.equal(
    (await ask(`/budgets/${id}/raises`, payer.id, { method: 'POST', body: long })).body.error.param,
    'reason',
  )
  const named = await put({ level: 'tag', subject: 's'.repeat(129), budgets: [] })
  assert.equal(named.body.error.code, 'out_of_range')
  const ended = await ask(`/budgets/${id}/raises/${raised.body.raises[0].id}`, payer.id, { method: 'DELETE' })
  assert.deepEqual([ended.status, ended.body.limit_usd, ended.body.remaining_usd], [200, 0.0000001, 0])
  const refusal = await reserve(payer, 1)
  assert.ok(refusal.kind === 'refused' && refusal.scope === 'account_budget' && refusal.resetsAt === undefined)
  const rows = await db.selectFrom('audit').select(['action', 'details']).orderBy('id').execute()
  const found = rows.find(({ action }) => action === 'budget.raised')
  assert.match(found?.details ?? '', /"reason":"launch day"/)
  assert.ok(rows.some(({ action }) => action === 'budget.raise_ended'))
})

test('a raise that is ended early alerts for the limit below what is spent', async (t) => {
  const { ask, put, payer, clock, spend, db } = await setUp(t)
  const { id } = (await put({ level: 'account', budgets: [{ usd: 100, window: 'quarter' }] })).body.data[0]
  const body = { usd: 900, ends_at: new Date(clock.now + HOUR_MS).toISOString(), reason: 'launch' }
  const raised = await ask(`/budgets/${id}/raises`, payer.id, { method: 'POST', body })
  await spend(payer, { costNanoUsd: 3_000_000_000n })
  await put({ level: 'account', budgets: [{ usd: 5, window: 'quarter' }] })
  const alerts = () => db.selectFrom('budget_alert').select(['threshold', 'limit_nano_usd', 'told']).execute()
  assert.deepEqual(await alerts(), [])
  await ask(`/budgets/${id}/raises/${raised.body.raises[0].id}`, payer.id, { method: 'DELETE' })
  assert.deepEqual(await alerts(), [{ threshold: 50, limit_nano_usd: 5_000_000_000n, told: 0 }])
})

test('a raise that ends by time alerts once, whoever looks, and before any request', async (t) => {
  const { ask, put, payer, clock, spend, db, path } = await setUp(t)
  const { id } = (await put({ level: 'account', budgets: [{ usd: 5, window: 'quarter' }] })).body.data[0]
  const raise = (usd: number, ms: number) => {
    const body = { usd, ends_at: new Date(clock.now + ms).toISOString(), reason: 'launch' }
    return ask(`/budgets/${id}/raises`, payer.id, { method: 'POST', body })
  }
  await raise(5, HOUR_MS)
  await raise(990, HOUR_MS / 2)
  await spend(payer, { costNanoUsd: 5_500_000_000n })
  const others = [await openLocation(path), await openLocation(path)]
  t.after(() => Promise.all(others.map(({ close }) => close())))
  const lookAt = async (ms: number) => {
    clock.now += ms
    const all = [db, ...others.map((other) => other.db)]
    await Promise.all(all.map((each) => alertEndedRaises({ db: each, now: () => clock.now })))
    const alerts = await db.selectFrom('budget_alert').selectAll().orderBy('threshold').execute()
    return alerts.map((row) => [row.threshold, row.limit_nano_usd, row.created_at - START])
  }
  assert.deepEqual(await lookAt(HOUR_MS / 2 - 1), [])
  const first = [50, 10_000_000_000n, HOUR_MS / 2]
  assert.deepEqual(await lookAt(1), [first])
  assert.deepEqual(await lookAt(HOUR_MS / 2 - 1), [first])
  const all = [first, [80, 5_000_000_000n, HOUR_MS], [100, 5_000_000_000n, HOUR_MS]]
  assert.deepEqual(await lookAt(1), all)
  await db.updateTable('budget_alert').set({ told: 1 }).execute()
  assert.deepEqual(await lookAt(HOUR_MS), all)
  const untold = db.selectFrom('budget_alert').select('threshold').where('told', '=', 0)
  assert.deepEqual(await untold.execute(), [])
})

test('a tag has budgets, and a request with the tag counts', async (t) => {
  const { put, payer, submit, ask, credit } = await setUp(t)
  await credit.read(payer)
  await put({ level: 'tag', subject: 'customer=acme', budgets: [{ usd: 0.0000001, window: 'week' }] })
  const unit = holdUnit({
    accountId: payer.id,
    terms: termsOf('free'),
    outputTokens: 0,
    inputPrice: 1000,
    createdAt: 1,
    subjects: [{ level: 'tag', id: 'customer=acme' }],
  })
  assert.equal((await submit({ ...unit, id: testIds.completion(), promptTokens: 60 })).kind, 'held')
  assert.equal((await submit({ ...unit, id: testIds.completion(), promptTokens: 41 })).kind, 'refused')
  assert.equal((await submit({ ...unit, id: testIds.completion(), promptTokens: 41, subjects: [] })).kind, 'held')
  assert.equal((await ask('/budgets?level=tag&subject=customer%3Dacme', payer.id)).body.data[0].held_usd, 0.00000006)
})
