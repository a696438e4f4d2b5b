import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/ids.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { callerOf } from '../../http/caller.ts'
import { auditWriter } from '../audit/log.ts'
import { createBudgets } from '../credit/budgets/store.ts'
import { createAuthenticator } from '../keys/authenticator.ts'
import { createKey, FULL_ACCESS } from '../keys/queries.ts'
import { accountRoutes, accountsAdminRoutes } from './routes.ts'

const PLANS = {
  free: { monthly_credit_usd: 5, requests_per_minute: 20, tokens_per_minute: 40_000, max_in_flight: 8 },
  pro: { billing: 'prepaid', requests_per_minute: 600 },
  unlimited: { billing: 'postpaid' },
} as const

async function setUp(t: TestContext) {
  const fixture = await openCreditFixture(t)
  const { db, now, credit, database } = fixture
  const { batch, onChange } = database
  const authenticator = createAuthenticator({ db, batch, onChange, now })
  const writeAudit = auditWriter({ now, ids: testIds })
  const plans = () => ({ all: PLANS, standard: 'pro' })
  const budgets = createBudgets({ db, now, ids: testIds, writeAudit })
  const deps = { db, now, ids: testIds, callerOf, credit, plans, writeAudit, budgets, changed: authenticator.refresh }
  const admin = accountsAdminRoutes({ ...deps, cursorKey: Buffer.alloc(32, 1) })
  const ask = await serveRoutes(t, fixture, [accountRoutes(deps), admin])
  return { ...fixture, authenticator, ask }
}

test('GET /v1/account grants the due allowance first', async (t) => {
  const { account, ask, db } = await setUp(t)
  const free = await account('free')
  const { status, body } = await ask('/account', free.id)
  assert.equal(status, 200)
  assert.deepEqual(body, {
    id: free.id,
    object: 'account',
    name: 'on free',
    plan: 'free',
    data_policy: null,
    created_at: '2026-05-05T12:00:00.000Z',
    monthly_budget_usd: null,
    alert_thresholds: [50, 80, 100],
    allowance_usd: 5,
    limits: { requests_per_minute: 20, tokens_per_minute: 40_000, max_in_flight: 8 },
    budgets: [],
  })
  const { balance_nano_usd } = await db.selectFrom('credit').select('balance_nano_usd').executeTakeFirstOrThrow()
  assert.equal(balance_nano_usd, 5_000_000_000n)
})

test('R-D8: every setting is returned unchanged, and absent ones stay', async (t) => {
  const { account, ask } = await setUp(t)
  const { id } = await account('pro')
  const patch = async (body: object) => (await ask('/account', id, { method: 'PATCH', body })).body
  const seen = async (body: object) => {
    const answer = await patch(body)
    assert.deepEqual((await ask('/account', id)).body, answer)
    return [answer.name, answer.monthly_budget_usd, answer.alert_thresholds]
  }
  assert.deepEqual(await seen({ monthly_budget_usd: 12.345678901 }), ['on pro', 12.345678901, [50, 80, 100]])
  assert.deepEqual(await seen({ alert_thresholds: [1, 1000] }), ['on pro', 12.345678901, [1, 1000]])
  assert.deepEqual(await seen({ name: ' new name ' }), ['new name', 12.345678901, [1, 1000]])
  assert.deepEqual(await seen({ monthly_budget_usd: null, alert_thresholds: [] }), ['new name', null, []])
  assert.deepEqual(await seen({ monthly_budget_usd: 0, name: 'n' }), ['n', 0, []])
  assert.deepEqual(await seen({}), ['n', 0, []])
  assert.deepEqual(await seen({ monthly_budget_usd: 1e9 }), ['n', 1e9, []])
  assert.deepEqual(await seen({ monthly_budget_usd: 1e-9 }), ['n', 1e-9, []])
})

test('R-D10: an invalid setting is 400 with its name, and changes nothing [limit: alert-thresholds]', async (t) => {
  const { account, ask } = await setUp(t)
  const { id } = await account('pro')
  const cases: readonly [object, string, string][] = [
    [{ monthly_budget_usd: -1e-9 }, 'monthly_budget_usd', 'out_of_range'],
    [{ monthly_budget_usd: 1e9 + 1 }, 'monthly_budget_usd', 'out_of_range'],
    [{ monthly_budget_usd: 1e-10, name: 'x' }, 'monthly_budget_usd', 'invalid_value'],
    [{ monthly_budget_usd: '5' }, 'monthly_budget_usd', 'invalid_type'],
    [{ alert_thresholds: [0] }, 'alert_thresholds[0]', 'out_of_range'],
    [{ alert_thresholds: [50, 1001] }, 'alert_thresholds[1]', 'out_of_range'],
    [{ alert_thresholds: [50.5] }, 'alert_thresholds[0]', 'invalid_type'],
    [{ alert_thresholds: [80, 50] }, 'alert_thresholds', 'invalid_value'],
    [{ alert_thresholds: [50, 50], name: 'x' }, 'alert_thresholds', 'invalid_value'],
    [{ alert_thresholds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] }, 'alert_thresholds', 'out_of_range'],
    [{ alert_thresholds: 50 }, 'alert_thresholds', 'invalid_type'],
    [{ name: '' }, 'name', 'out_of_range'],
    [{ name: '  ' }, 'name', 'invalid_value'],
    [{ plan: 'unlimited' }, 'plan', 'unknown_field'],
  ]
  for (const [body, param, code] of cases) {
    const answer = await ask('/account', id, { method: 'PATCH', body })
    const { error } = answer.body
    assert.deepEqual([answer.status, error.param, error.code], [400, param, code], JSON.stringify(body))
  }
  const { name, monthly_budget_usd, alert_thresholds } = (await ask('/account', id)).body
  assert.deepEqual([name, monthly_budget_usd, alert_thresholds], ['on pro', null, [50, 80, 100]])
})

test('/account requires the scope billing, /admin/accounts the scope operator', async (t) => {
  const { account, ask } = await setUp(t)
  const { id } = await account('pro')
  for (const [url, credential, method] of [
    ['/account', `${id} keys,usage:read`, 'GET'],
    ['/account', `${id} keys,usage:read`, 'PATCH'],
    ['/admin/accounts', `${id} billing,keys`, 'GET'],
    ['/admin/accounts', `${id} billing,keys`, 'POST'],
    [`/admin/accounts/${id}`, `${id} billing,keys`, 'GET'],
    ['/admin/plans', `${id} billing,keys`, 'GET'],
    [`/admin/accounts/${id}`, `${id} billing,keys`, 'PATCH'],
  ] as const) {
    const { status } = await ask(url, credential, { method, ...(method === 'GET' ? {} : { body: { name: 'x' } }) })
    assert.equal(status, 403, `${method} ${url}`)
  }
})

test('the operator creates accounts, which receive their allowance at once', async (t) => {
  const { account, ask, db } = await setUp(t)
  const operator = `${(await account('unlimited')).id} operator`
  const make = (body: object) => ask('/admin/accounts', operator, { method: 'POST', body })
  const { status, body } = await make({ name: ' team ', plan: 'free' })
  assert.equal(status, 201)
  const { id, created_at, ...rest } = body
  assert.match(id, /^acc_[0-9A-Za-z]{22}$/)
  const figures = {
    balance_usd: 5,
    held_usd: 0,
    spent_this_month_usd: 0,
    margin_this_month_usd: 0,
    members: 0,
    max_overrun_usd: null,
  }
  const shown = { object: 'account', name: 'team', plan: 'free', data_policy: null, ...figures, budgets: [] }
  assert.deepEqual(rest, shown)
  const row = db.selectFrom('credit').select('balance_nano_usd').where('account_id', '=', id)
  assert.equal((await row.executeTakeFirst())?.balance_nano_usd, 5_000_000_000n)
  assert.equal((await make({ name: 'standard' })).body.plan, 'pro')
  const cases: readonly [object, string, RegExp][] = [
    [{ name: 'x', plan: 'fre' }, 'plan', /did you mean 'free'.*Plans: free, pro, unlimited/],
    [{ name: 'x', plan: 'constructor' }, 'plan', /Plan 'constructor' does not exist\. Plans: /],
    [{ name: 'x', plan: '' }, 'plan', /./],
    [{ plan: 'free' }, 'name', /./],
    [{ name: 'x', id: 'acc_mine' }, 'id', /./],
  ]
  for (const [wrong, param, message] of cases) {
    const answer = await make(wrong)
    assert.deepEqual([answer.status, answer.body.error.param], [400, param], JSON.stringify(wrong))
    assert.match(answer.body.error.message, message)
  }
})

test('SUP-3: the audit log has the changed settings of an account with their values', async (t) => {
  const { account, ask, db } = await setUp(t)
  const { id } = await account('pro')
  await ask('/account', id, { method: 'PATCH', body: {} })
  await ask('/account', id, {
    method: 'PATCH',
    body: { monthly_budget_usd: null, alert_thresholds: [50, 90], name: 'n' },
  })
  const [event, ...more] = await db.selectFrom('audit').selectAll().execute()
  assert.deepEqual(
    [event?.account_id, event?.actor_id, event?.action, event?.subject],
    [id, 'key_a', 'account.changed', id],
  )
  assert.deepEqual(JSON.parse(event?.details ?? ''), {
    monthly_budget_usd: null,
    alert_thresholds: ['50', '90'],
    name: 'n',
  })
  assert.deepEqual(more, [])
})

test('SUP-3: an operator’s action is in both audit logs, in the account’s without key and address', async (t) => {
  const { account, ask, db } = await setUp(t)
  const { id: own } = await account('unlimited')
  const credential = `${own} operator`
  const made = await ask('/admin/accounts', credential, { method: 'POST', body: { name: 'team', plan: 'free' } })
  await ask(`/admin/accounts/${made.body.id}`, credential, { method: 'PATCH', body: { plan: 'pro' } })
  await ask(`/admin/accounts/${own}`, credential, { method: 'PATCH', body: { plan: 'pro' } })
  const rows = await db.selectFrom('audit').selectAll().orderBy('id').execute()
  const seen = (accountId: string) =>
    rows
      .filter(({ account_id: of }) => of === accountId)
      .map(({ action, subject, actor_kind: kind, actor_id: id, address }) => [action, subject, kind, id, address])
      .sort()
  assert.deepEqual(seen(made.body.id), [
    ['account.changed', made.body.id, 'system', null, null],
    ['account.created', made.body.id, 'system', null, null],
  ])
  assert.deepEqual(
    seen(own),
    [
      ['account.changed', made.body.id, 'key', 'key_a', '127.0.0.1'],
      ['account.changed', own, 'key', 'key_a', '127.0.0.1'],
      ['account.created', made.body.id, 'key', 'key_a', '127.0.0.1'],
    ].sort(),
  )
})

test('the operator lists accounts in pages, by age', async (t) => {
  const { account, ask, clock } = await setUp(t)
  const made: string[] = []
  for (let index = 0; index < 5; index++) {
    made.push((await account('pro')).id)
    clock.now += 1
  }
  const operator = `${made[0]} operator`
  for (const [order, expected] of [
    ['asc', made.toSorted()],
    ['desc', made.toSorted().reverse()],
  ] as const) {
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await ask(`/admin/accounts?limit=2&order=${order}${cursor}`, operator)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      if (!body.has_more) break
      cursor = `&cursor=${body.next_cursor}`
    }
    assert.deepEqual(seen, expected)
  }
  const wrong = await ask('/admin/accounts?limit=101', operator)
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'limit'])
})

test('a new plan takes effect at once, also for cached keys, and grants its allowance once', async (t) => {
  const { account, ask, db, now, authenticator, credit } = await setUp(t)
  const team = await account('pro')
  const operator = `${team.id} operator`
  const { secret } = await createKey(db, { accountId: team.id, name: 'k', ...FULL_ACCESS }, { now, ids: testIds })
  const plan = async () => (await authenticator.authenticate(`Bearer ${secret}`, '127.0.0.1')).plan
  const patch = (body: object) => ask(`/admin/accounts/${team.id}`, operator, { method: 'PATCH', body })
  assert.equal(await plan(), 'pro')
  const { status, body } = await patch({ plan: 'free' })
  assert.deepEqual([status, body.plan, body.name], [200, 'free', 'on pro'])
  assert.equal(await plan(), 'free')
  assert.equal((await credit.read({ id: team.id, plan: 'free' })).balanceNanoUsd, 5_000_000_000n)
  await patch({ plan: 'pro' })
  await patch({ plan: 'free', name: 'renamed' })
  assert.equal((await ask('/account', team.id)).body.name, 'renamed')
  assert.equal((await credit.read({ id: team.id, plan: 'free' })).balanceNanoUsd, 5_000_000_000n)
  assert.equal((await patch({ plan: 'gold' })).status, 400)
  assert.equal((await patch({ max_overrun_usd: 0.25 })).body.max_overrun_usd, 0.25)
  assert.equal((await patch({ name: 'still' })).body.max_overrun_usd, 0.25)
  assert.equal((await patch({ max_overrun_usd: null })).body.max_overrun_usd, null)
  assert.equal((await patch({ max_overrun_usd: -1 })).body.error.param, 'max_overrun_usd')
  assert.equal((await patch({ max_overrun_usd: 1e-10 })).body.error.param, 'max_overrun_usd')
  await patch({ name: 'renamed' })
  assert.equal((await patch({ credit: 5 })).body.error.param, 'credit')
  const nobody = await ask('/admin/accounts/acc_none', operator, { method: 'PATCH', body: { plan: 'free' } })
  assert.equal(nobody.status, 404)
})

test('the operator lists balance, holds, spending and members of accounts', async (t) => {
  const { account, ask, clock, db, spend, reserve } = await setUp(t)
  const [team, idle] = [await account('free'), await account('pro')]
  const operator = `${idle.id} operator`
  await spend(team, { costNanoUsd: 1_250_000_000n })
  await reserve(team, 500_000_000)
  for (const removed_at of [null, null, 5]) {
    const userId = testIds.user()
    const person = { id: userId, email: 'a@example.com', name: 'A', created_at: 1, disabled_at: null, changed_at: 1 }
    await db.insertInto('person').values(person).execute()
    const member = { account_id: team.id, user_id: userId, role: 'developer', created_at: 1, changed_at: 1 } as const
    await db
      .insertInto('member')
      .values({ ...member, removed_at })
      .execute()
  }
  const figures = {
    balance_usd: 3.75,
    held_usd: 0.5,
    spent_this_month_usd: 1.25,
    margin_this_month_usd: 0,
    members: 2,
    max_overrun_usd: null,
  }
  const nothing = {
    balance_usd: 0,
    held_usd: 0,
    spent_this_month_usd: 0,
    margin_this_month_usd: 0,
    members: 0,
    max_overrun_usd: null,
  }
  const created_at = '2026-05-05T12:00:00.000Z'
  const one = {
    id: team.id,
    object: 'account',
    name: 'on free',
    plan: 'free',
    data_policy: null,
    created_at,
    ...figures,
  }
  const two = { id: idle.id, object: 'account', name: 'on pro', plan: 'pro', data_policy: null, created_at, ...nothing }
  const listed = (await ask('/admin/accounts', operator)).body.data
  assert.deepEqual(
    [one, two].map(({ id }) => listed.find((each: { id: string }) => each.id === id)),
    [one, two],
  )
  assert.deepEqual((await ask(`/admin/accounts/${team.id}`, operator)).body, { ...one, budgets: [] })
  assert.equal((await ask('/admin/accounts/acc_none', operator)).status, 404)
  clock.now = Date.UTC(2026, 5, 1)
  const inJune = async (path: string) => (await ask(path, operator)).body
  const rows: { id: string; balance_usd: number; spent_this_month_usd: number }[] = (await inJune('/admin/accounts'))
    .data
  const row = rows.find(({ id }) => id === team.id)
  assert.deepEqual([row?.balance_usd, row?.spent_this_month_usd], [3.75, 0])
  const granted = await inJune(`/admin/accounts/${team.id}`)
  assert.deepEqual([granted.balance_usd, granted.held_usd, granted.spent_this_month_usd], [5, 0.5, 0])
  assert.equal((await ask('/account', team.id)).body.allowance_usd, 5)
})

test('the operator lists the plans, and an account with a removed plan has the default limits', async (t) => {
  const { account, ask } = await setUp(t)
  const gone = await account('gone')
  const { body } = await ask('/admin/plans', `${gone.id} operator`)
  const plan = {
    object: 'plan',
    default: false,
    monthly_credit_usd: 0,
    max_overrun_usd: 0.05,
    prepaid: true,
    markup_percent: 0,
    request_fee_usd: 0,
  }
  const limits = { requests_per_minute: null, tokens_per_minute: null, max_in_flight: 500 }
  assert.deepEqual(body, {
    object: 'list',
    data: [
      {
        ...plan,
        id: 'free',
        monthly_credit_usd: 5,
        requests_per_minute: 20,
        tokens_per_minute: 40_000,
        max_in_flight: 8,
      },
      { ...plan, ...limits, id: 'pro', default: true, requests_per_minute: 600 },
      { ...plan, ...limits, id: 'unlimited', prepaid: false },
    ],
  })
  assert.deepEqual((await ask('/account', gone.id)).body.limits, limits)
})

test('new thresholds that the spending of a budget has reached already raise its alerts', async (t) => {
  const { account, ask, spend, db } = await setUp(t)
  const payer = await account('unlimited')
  const patch = (body: object) => ask('/account', payer.id, { method: 'PATCH', body })
  await patch({ alert_thresholds: [100], budgets: [{ usd: 10, window: 'day' }] })
  await spend(payer, { costNanoUsd: 4_000_000_000n })
  const alerts = async () => {
    const rows = await db.selectFrom('budget_alert').select(['threshold', 'spent_nano_usd']).execute()
    return rows.map((row) => `${row.threshold}% ${row.spent_nano_usd}`).sort()
  }
  await patch({ name: 'renamed' })
  assert.deepEqual(await alerts(), [])
  await patch({ alert_thresholds: [25, 40, 100] })
  assert.deepEqual(await alerts(), ['25% 4000000000', '40% 4000000000'])
})
