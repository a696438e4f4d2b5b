import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { currentLocation, dialect } from '../../../../test/support/database.ts'
import { assertLevelsAsModelled, monthly, openLevels, scopeOf } from '../../../../test/support/ledger/budget-levels.ts'
import { completionId, PREPAID } from '../../../../test/support/ledger/credit-model.ts'
import { A, kinds, NOW, release, settle } from '../../../../test/support/ledger/ledger-store.ts'
import { holdInThreeProcesses } from '../../../../test/support/ledger/other-processes.ts'
import { BUDGET_LEVELS, BUDGET_WINDOWS, type BudgetLevel } from '../../../domain/budget.ts'
import type { Unit } from '../ledger/unit.ts'

const HOUR_MS = 3_600_000

test(`each level holds, refuses, charges and gives back, on ${dialect}`, async (t) => {
  for (const level of BUDGET_LEVELS) {
    const { set, ask, commit, commitAt, read, findings, key } = await openLevels(t)
    await set(level, monthly(100n))
    const outcomes = await commit(ask(1, 60), ask(2, 41), ask(3, 40), ask(4, 1))
    assert.deepEqual(outcomes.map(scopeOf), ['held', `${level}_budget`, 'held', `${level}_budget`])
    const refusal = outcomes[1]
    assert(refusal?.kind === 'refused')
    assert.deepEqual([refusal.availableNanoUsd, refusal.limitNanoUsd], [40n, 100n])
    assert.equal(refusal.resetsAt, Date.UTC(2026, 5, 1))
    const charge = settle(1, { keyId: key, costNanoUsd: 25n })
    assert.deepEqual(kinds(await commit(charge, release(3), ask(5, 75), ask(6, 1))), [
      'done',
      'done',
      'held',
      'refused',
    ])
    const [budget] = await read(level)
    assert.deepEqual([budget?.spentNanoUsd, budget?.heldNanoUsd, budget?.resetsAt], [25n, 75n, Date.UTC(2026, 5, 1)])
    assert.deepEqual(await findings(), [])
    assert.deepEqual(kinds(await commitAt(Date.UTC(2026, 5, 1), ask(7, 100), ask(8, 1))), ['held', 'refused'])
    assert.deepEqual(await findings(), [])
  }
})

test(`a settlement counts in the window in which it was held, and a late one corrects it there, on ${dialect}`, async (t) => {
  const { set, ask, commit, commitAt, db, findings, key } = await openLevels(t)
  await set('account', monthly(100n, { window: 'day', timezone: 'Europe/Berlin' }))
  await commit(ask(1, 60), ask(2, 40))
  const tomorrow = NOW + 24 * HOUR_MS
  const estimate = settle(1, { keyId: key, costNanoUsd: 30n, status: 'incomplete', usageSource: 'estimated' })
  await commitAt(tomorrow, ask(3, 100), estimate, settle(2, { keyId: key, costNanoUsd: 40n }))
  const windows = async () => {
    const rows = await db.selectFrom('budget_window').selectAll().orderBy('starts_at').execute()
    return rows.map((row) => [row.starts_at, row.spent_nano_usd, row.held_nano_usd])
  }
  const today = Date.UTC(2026, 4, 19, 22)
  assert.deepEqual(await windows(), [
    [today, 70n, 0n],
    [today + 24 * HOUR_MS, 0n, 100n],
  ])
  await commitAt(tomorrow, settle(1, { keyId: key, costNanoUsd: 12n }))
  assert.deepEqual((await windows())[0], [today, 52n, 0n])
  assert.deepEqual(await findings(), [])
})

test(`what is admitted without the database counts in the current window, on ${dialect}`, async (t) => {
  const { set, commit, read, key } = await openLevels(t)
  await set('member', monthly(100n))
  await set('key', monthly(100n))
  await commit(settle(1, { keyId: key, costNanoUsd: 30n }, { unrecorded: true }))
  assert.deepEqual([(await read('member'))[0]?.spentNanoUsd, (await read('key'))[0]?.spentNanoUsd], [30n, 30n])
})

test(`a limit below what is spent alerts at once, once a window and threshold, on ${dialect}`, async (t) => {
  const { set, ask, commitAt, db, key } = await openLevels(t)
  const alerts = async () => {
    const rows = db.selectFrom('budget_alert').innerJoin('budget', 'budget.id', 'budget_alert.budget_id')
    const found = await rows
      .select(['period', 'threshold', 'spent_nano_usd', 'budget_alert.limit_nano_usd as limit'])
      .execute()
    return found.map((row) => `${row.period} ${row.threshold}% ${row.spent_nano_usd}/${row.limit}`).sort()
  }
  for (const [at, level] of BUDGET_LEVELS.entries()) {
    const [day, ...others] = BUDGET_WINDOWS.map((window) => (limit: bigint) => monthly(limit, { window }))
    assert.ok(day !== undefined)
    const all = [day, ...others]
    const start = NOW + at * 24 * HOUR_MS
    await commitAt(start) // the clock
    await set(level, ...all.map((terms) => terms(1_000n)))
    await commitAt(start, ask(level, 85), settle(level, { keyId: key, costNanoUsd: 85n }))
    assert.deepEqual(await alerts(), [])
    await set(level, ...all.map((terms) => terms(100n)))
    const reached = BUDGET_WINDOWS.flatMap((window) => [`${window} 50% 85/100`, `${window} 80% 85/100`])
    assert.deepEqual(await alerts(), reached.sort(), level)
    await set(level, ...all.map((terms) => terms(90n)))
    assert.deepEqual(await alerts(), reached, 'once')
    await set(level, ...all.map((terms) => terms(85n)))
    assert.deepEqual(await alerts(), [...reached, ...BUDGET_WINDOWS.map((window) => `${window} 100% 85/85`)].sort())
    await commitAt(start + 24 * HOUR_MS)
    await set(level, day(1n))
    assert.equal((await alerts()).length, 15, 'nothing is spent in the next window')
    await set(level)
    await db.deleteFrom('budget_alert').execute()
  }
})

test(`new thresholds alert for budgets of all levels whose spending has reached them, on ${dialect}`, async (t) => {
  const { budgets, set, ask, commit, db, key } = await openLevels(t)
  for (const level of BUDGET_LEVELS) await set(level, monthly(100n, { window: 'week' }))
  await set('tag', ...Array.from({ length: 10 }, (_, at) => monthly(100n, { startsAt: NOW - at, action: 'warn' })))
  await commit(ask(1, 40), settle(1, { keyId: key, costNanoUsd: 40n }))
  const alertThresholds = [20, 40, 60]
  await commit({ kind: 'settings', accountId: A, terms: PREPAID, alertThresholds })
  for (let repeat = 0; repeat < 2; repeat++) {
    await db.transaction().execute((inside) => budgets.alertAll(inside, A))
    const alerts = await db.selectFrom('budget_alert').select(['budget_id', 'threshold']).execute()
    const thresholds = [...Map.groupBy(alerts, (row) => row.budget_id).values()].map((rows) =>
      rows.map(({ threshold }) => threshold).sort(),
    )
    assert.deepEqual(
      thresholds,
      Array.from({ length: 14 }, () => [20, 40]),
    )
  }
})

test(`a budget that only warns admits beyond it, and alerts come once a window and threshold, on ${dialect}`, async (t) => {
  const { set, ask, commit, db, key } = await openLevels(t)
  await set('tag', monthly(100n, { action: 'warn' }), monthly(50n, { window: 'total', action: 'warn' }))
  await commit(ask(1, 200), settle(1, { keyId: key, costNanoUsd: 79n }), ask(2, 5), ask(3, 50))
  await commit(settle(2, { keyId: key, costNanoUsd: 5n }), settle(3, { keyId: key, costNanoUsd: 50n }))
  const alerts = await db
    .selectFrom('budget_alert')
    .selectAll()
    .orderBy('limit_nano_usd')
    .orderBy('threshold')
    .execute()
  assert.deepEqual(
    alerts.map((row) => [row.limit_nano_usd, row.threshold, row.spent_nano_usd]),
    [
      [50n, 50, 79n],
      [50n, 80, 79n],
      [50n, 100, 79n],
      [100n, 50, 79n],
      [100n, 80, 84n],
      [100n, 100, 134n],
    ],
  )
})

const raise = (nanoUsd: bigint): Unit => ({
  kind: 'extend',
  accountId: A,
  id: completionId(1),
  terms: { billing: 'prepaid', monthlyCreditNanoUsd: 0n },
  keyBudgetNanoUsd: undefined,
  nanoUsd,
})

test(`a hold of nothing counts in its windows once it is raised or charged, on ${dialect}`, async (t) => {
  const { set, ask, commit, read, findings, key } = await openLevels(t)
  const used = async () => (await read('team')).map(({ spentNanoUsd: spent, heldNanoUsd: held }) => [spent, held])
  await set('team', monthly(100n))
  assert.deepEqual(kinds(await commit(ask(1, 0))), ['held'])
  assert.deepEqual(kinds(await commit(raise(101n))), ['refused'])
  assert.deepEqual(kinds(await commit(raise(30n))), ['held'])
  assert.deepEqual(await used(), [[0n, 30n]])
  assert.deepEqual((await commit(ask(2, 71), ask(3, 70))).map(scopeOf), ['team_budget', 'held'])
  await commit(release(1), release(3))
  assert.deepEqual(await used(), [[0n, 0n]])
  await set('team')
  await set('team', monthly(100n, { window: 'day' }))
  await commit(ask(4, 0))
  await commit(settle(4, { keyId: key, costNanoUsd: 5n }))
  assert.deepEqual(await used(), [[5n, 0n]])
  assert.deepEqual(await findings(), [])
})

test(`a hold is raised within all levels, and a removed budget limits nothing more, on ${dialect}`, async (t) => {
  const { set, ask, commit, read, findings } = await openLevels(t)
  await set('team', monthly(100n))
  await set('account', monthly(90n))
  assert.deepEqual(kinds(await commit(ask(1, 50), raise(41n), raise(40n))), ['held', 'refused', 'held'])
  await set('account')
  assert.deepEqual(kinds(await commit(raise(11n), raise(10n))), ['refused', 'held'])
  assert.deepEqual((await read('team'))[0]?.heldNanoUsd, 100n)
  await set('team')
  assert.deepEqual(kinds(await commit(raise(1_000n), ask(2, 1_000))), ['held', 'held'])
  await commit(release(1), release(2))
  assert.deepEqual(await findings(), [])
})

test(`replacing budgets keeps what is spent in those with the same window, zone and start, on ${dialect}`, async (t) => {
  const { set, ask, commit, read, key, db } = await openLevels(t)
  await set('account', monthly(100n), monthly(500n, { window: 'total' }))
  await commit(ask(1, 60), settle(1, { keyId: key, costNanoUsd: 60n }))
  await set('account', monthly(70n), monthly(30n, { timezone: 'Asia/Tokyo' }))
  const after = (await read('account')).map(({ limitNanoUsd, spentNanoUsd }) => [limitNanoUsd, spentNanoUsd])
  assert.deepEqual(after, [
    [70n, 60n],
    [30n, 0n],
  ])
  assert.deepEqual((await commit(ask(2, 11), ask(3, 10))).map(scopeOf), ['account_budget', 'held'])
  const audited = await db.selectFrom('audit').select(['action', 'details']).execute()
  assert.equal(audited.length, 2)
  assert.match(audited[1]?.details ?? '', /0\.00000007 USD, month, UTC, block/)
})

test(`a clock that goes back does not reopen a window, and a budget does not count before its start, on ${dialect}`, async (t) => {
  const { set, ask, commitAt, read } = await openLevels(t)
  await set(
    'account',
    monthly(100n, { window: 'day' }),
    monthly(1n, { window: 'total', startsAt: NOW + 100 * HOUR_MS }),
  )
  const outcomes = [
    ...(await commitAt(NOW + 24 * HOUR_MS, ask(1, 80))),
    ...(await commitAt(NOW, ask(2, 21), ask(3, 20))),
    ...(await commitAt(NOW + 100 * HOUR_MS, ask(4, 2))),
  ]
  assert.deepEqual(outcomes.map(scopeOf), ['held', 'account_budget', 'held', 'account_budget'])
  assert.equal((await read('account'))[1]?.windowStart, NOW + 100 * HOUR_MS)
})

/** Windows in which clocks are set forward, and back, in years of their own: time only advances. */
const CLOCK_CHANGES = {
  day: [
    ['2027-03-27T23:00Z', '2027-03-28T22:00Z'],
    ['2027-10-30T22:00Z', '2027-10-31T23:00Z'],
  ],
  week: [
    ['2028-03-19T23:00Z', '2028-03-26T22:00Z'],
    ['2028-10-22T22:00Z', '2028-10-29T23:00Z'],
  ],
  month: [
    ['2029-02-28T23:00Z', '2029-03-31T22:00Z'],
    ['2029-09-30T22:00Z', '2029-10-31T23:00Z'],
  ],
  quarter: [
    ['2029-12-31T23:00Z', '2030-03-31T22:00Z'],
    ['2030-09-30T22:00Z', '2030-12-31T23:00Z'],
  ],
} as const

test(`each window ends at the midnight of its zone to the millisecond, through changes of clocks, on ${dialect}`, async (t) => {
  const { set, ask, commitAt } = await openLevels(t)
  let asked = 0
  const fill = async (at: number) => (await commitAt(at, ask(++asked, 100), ask(++asked, 1))).map(scopeOf)
  for (const window of ['day', 'week', 'month', 'quarter'] as const) {
    await set('team', monthly(100n, { window, timezone: 'Europe/Berlin' }))
    for (const [from, to] of CLOCK_CHANGES[window]) {
      const [start, end] = [Date.parse(from), Date.parse(to)]
      const filled = ['held', 'team_budget']
      assert.deepEqual(await fill(start - 1), filled, `before ${from}`)
      assert.deepEqual(await fill(start), filled, from)
      const [late] = await commitAt(end - 1, ask(++asked, 1))
      assert.deepEqual([scopeOf(late), late?.kind === 'refused' && late.resetsAt], ['team_budget', end], to)
      assert.deepEqual(await fill(end), filled, to)
    }
  }
})

test(`a raise counts until its end, on ${dialect}`, async (t) => {
  const { set, ask, commitAt, read, db } = await openLevels(t)
  await set('account', monthly(100n, { window: 'total' }))
  const [budget] = await read('account')
  assert(budget !== undefined)
  const raise = { account_id: A, budget_id: budget.budgetId, id: 'r', reason: 'launch', created_at: NOW }
  await db
    .insertInto('budget_raise')
    .values({ ...raise, amount_nano_usd: 50n, ends_at: NOW + HOUR_MS })
    .execute()
  assert.deepEqual((await commitAt(NOW, ask(1, 151), ask(2, 120))).map(scopeOf), ['account_budget', 'held'])
  assert.equal((await read('account'))[0]?.raisedLimitNanoUsd, 150n)
  assert.deepEqual((await commitAt(NOW + HOUR_MS, ask(3, 1))).map(scopeOf), ['account_budget'])
})

async function race(t: TestContext, limits: Partial<Record<BudgetLevel, bigint>>) {
  const ref = await currentLocation(t)
  const { set, db, findings, counted } = await openLevels(t, ref)
  for (const level of BUDGET_LEVELS) {
    const limit = limits[level]
    if (limit !== undefined) await set(level, monthly(limit))
  }
  const { keyId, teamId, ancestors, subjects } = counted
  const outcome = await holdInThreeProcesses(t, { ref, count: 200, over: { keyId, teamId, ancestors, subjects } })
  const held = await db.selectFrom('budget_window').select('held_nano_usd').execute()
  assert.deepEqual(await findings(), [])
  return { ...outcome, windows: held.map((row) => row.held_nano_usd) }
}

for (const level of BUDGET_LEVELS) {
  test(`of 200 holds at once from three processes exactly the 10 that fit a budget of the ${level} are granted, on ${dialect}`, async (t) => {
    assert.deepEqual(await race(t, { [level]: 1_099n }), { held: 10, refused: 190, windows: [1_000n] })
  })
}

test(`of 200 holds at once from three processes exactly those that fit all levels are granted, on ${dialect}`, async (t) => {
  const outcome = await race(t, { account: 5_000n, team: 3_000n, member: 2_000n, key: 1_299n, tag: 1_700n })
  assert.deepEqual(outcome, { held: 12, refused: 188, windows: [1_200n, 1_200n, 1_200n, 1_200n, 1_200n] })
})

test(`any sequence of units moves all levels and windows as a model of them says, on ${dialect}`, async (t) => {
  await assertLevelsAsModelled(t, dialect === 'sqlite' ? 60 : 15)
})
