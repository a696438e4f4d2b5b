import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { currentLocation, dialect, temporaryDatabase, testIds } from '../../../../test/support/database.ts'
import { completionId } from '../../../../test/support/ledger/credit-model.ts'
import {
  A,
  hold,
  kinds,
  NOW,
  purchase,
  release,
  settle,
  storeOn,
} from '../../../../test/support/ledger/ledger-store.ts'
import { holdInThreeProcesses } from '../../../../test/support/ledger/other-processes.ts'
import { BUDGET_LEVELS, type BudgetLevel, type BudgetSubject, type BudgetTerms } from '../../../domain/budget.ts'
import type { KeyId, TeamId, UserId } from '../../../domain/ids.ts'
import { auditWriter } from '../../audit/log.ts'
import { createKey, FULL_ACCESS } from '../../keys/queries.ts'
import { takeSnapshot } from '../audit/chain.ts'
import type { Outcome, Unit } from '../ledger/unit.ts'
import { createBudgets } from './store.ts'

const PERSON = 'usr_1' as UserId
const HOUR_MS = 3_600_000
const AUDITED = {
  accountId: A,
  actor: { kind: 'system', id: undefined, name: undefined },
  address: undefined,
  userAgent: undefined,
  requestId: undefined,
} as const

const monthly = (limitNanoUsd: bigint, over: Partial<BudgetTerms> = {}): BudgetTerms => ({
  limitNanoUsd,
  window: 'month',
  timezone: 'UTC',
  startsAt: undefined,
  action: 'block',
  ...over,
})

/** An account with a person, whose key created another. */
async function setUp(t: TestContext, ref?: string) {
  const database = await temporaryDatabase(t, ref)
  const on = await storeOn(database)
  const { db } = database
  let now = NOW
  const clock = () => now
  const setNow = (at: number) => {
    now = at
  }
  await db
    .insertInto('person')
    .values({ id: PERSON, email: 'p@example.com', name: 'P', created_at: 1, disabled_at: null, changed_at: 1 })
    .execute()
  const born = { now: clock, ids: testIds }
  const create = async (parentId?: KeyId) =>
    (await createKey(db, { ...FULL_ACCESS, accountId: A, name: 'k', parentId, createdBy: PERSON }, born)).key.id
  const parent = await create()
  const key = await create(parent)
  const budgets = createBudgets({ db, now: clock, ids: testIds, writeAudit: auditWriter(born) })
  const subjects: Readonly<Record<BudgetLevel, BudgetSubject>> = {
    account: { level: 'account', id: A },
    team: { level: 'team', id: 'team_1' },
    member: { level: 'member', id: PERSON },
    key: { level: 'key', id: parent },
    tag: { level: 'tag', id: 'customer=acme' },
  }
  const set = (level: BudgetLevel, ...terms: readonly BudgetTerms[]) =>
    db
      .transaction()
      .execute((inside) =>
        budgets.replace(inside, { subject: { accountId: A, ...subjects[level] }, budgets: terms, audited: AUDITED }),
      )
  const counted = {
    keyId: key,
    ancestors: [{ keyId: parent, nanoUsd: undefined }],
    teamId: 'team_1' as TeamId,
    subjects: [subjects.tag],
    createdAt: NOW,
  }
  const ask = (name: string | number, outputTokens: number) => hold(name, { ...counted, outputTokens })
  const commitAt = (at: number, ...units: readonly Unit[]) => {
    now = at
    return on.store.commit({ units, now: at })
  }
  const read = async (level: BudgetLevel) => {
    const found = await budgets.read(A, [subjects[level]])
    return [...found.values()].flat()
  }
  const findings = async () => {
    const found: string[] = []
    await takeSnapshot(db, A, (kind, subject) => found.push(`${kind} ${subject}`))
    return found
  }
  await on.commit(purchase(10n ** 12n))
  return { ...on, budgets, set, ask, commitAt, read, findings, key, counted, setNow }
}

const scopeOf = (outcome: Outcome | undefined) => (outcome?.kind === 'refused' ? outcome.scope : outcome?.kind)

test(`each level holds, refuses, charges and gives back, on ${dialect}`, async (t) => {
  for (const level of BUDGET_LEVELS) {
    const { set, ask, commit, commitAt, read, findings, key } = await setUp(t)
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
  const { set, ask, commit, commitAt, db, findings, key } = await setUp(t)
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
  const { set, commit, read, key } = await setUp(t)
  await set('member', monthly(100n))
  await set('key', monthly(100n))
  await commit(settle(1, { keyId: key, costNanoUsd: 30n }, { unrecorded: true }))
  assert.deepEqual([(await read('member'))[0]?.spentNanoUsd, (await read('key'))[0]?.spentNanoUsd], [30n, 30n])
})

test(`a budget that only warns admits beyond it, and alerts come once a window and threshold, on ${dialect}`, async (t) => {
  const { set, ask, commit, db, key } = await setUp(t)
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

test(`a hold is raised within all levels, and a removed budget limits nothing more, on ${dialect}`, async (t) => {
  const { set, ask, commit, read, findings } = await setUp(t)
  await set('team', monthly(100n))
  await set('account', monthly(90n))
  const terms = { billing: 'prepaid', monthlyCreditNanoUsd: 0n } as const
  const raise = (nanoUsd: bigint): Unit => ({
    kind: 'extend',
    accountId: A,
    id: completionId(1),
    terms,
    keyBudgetNanoUsd: undefined,
    nanoUsd,
  })
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
  const { set, ask, commit, read, key, db } = await setUp(t)
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
  const { set, ask, commitAt, read } = await setUp(t)
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

test(`a raise counts until its end, on ${dialect}`, async (t) => {
  const { set, ask, commitAt, read, db } = await setUp(t)
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
  const { set, db, findings, counted } = await setUp(t, ref)
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

const level = fc.constantFrom(...BUDGET_LEVELS)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('hold' as const), amount: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('settle' as const), at: fc.nat(9), cost: fc.nat(50) }) },
  fc.record({ kind: fc.constant('release' as const), at: fc.nat(9) }),
  fc.record({ kind: fc.constant('advance' as const), hours: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('limit' as const), level, limit: fc.integer({ min: 0, max: 200 }) }),
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** The budgets of all levels, by day, said without the rules: what is spent and held is kept for each day. */
test(`any sequence of units moves all levels as a model of them says, on ${dialect}`, async (t) => {
  const on = await setUp(t)
  let ids = 0
  const run = async (steps: readonly Step[]): Promise<void> => {
    let now = NOW + ++ids * 1000 * 24 * HOUR_MS
    const limits = new Map<BudgetLevel, number>()
    const spent = new Map<number, number>()
    const open: {
      readonly id: string
      readonly day: number
      readonly amount: number
      readonly levels: Set<BudgetLevel>
    }[] = []
    const usage = new Map<string, number>()
    const used = (of: BudgetLevel, day: number) =>
      (usage.get(`${of} ${day}`) ?? 0) +
      open.filter((one) => one.day === day && one.levels.has(of)).reduce((sum, { amount }) => sum + amount, 0)
    for (const what of steps) {
      const day = Math.floor(now / (24 * HOUR_MS))
      if (what.kind === 'advance') now += what.hours * HOUR_MS
      else if (what.kind === 'limit') {
        on.setNow(now)
        await on.set(what.level, monthly(BigInt(what.limit), { window: 'day' }))
        limits.set(what.level, what.limit)
      } else if (what.kind === 'hold') {
        const id = `model-${++ids}`
        const [outcome] = await on.commitAt(now, on.ask(id, what.amount))
        const tooSmall = BUDGET_LEVELS.find((of) => {
          const limit = limits.get(of)
          return limit !== undefined && what.amount > limit - used(of, day)
        })
        assert.equal(scopeOf(outcome), tooSmall === undefined ? 'held' : `${tooSmall}_budget`)
        if (tooSmall === undefined) open.push({ id, day, amount: what.amount, levels: new Set(limits.keys()) })
      } else {
        const [found] = open.splice(what.at % Math.max(1, open.length), 1)
        if (found === undefined) continue
        const cost = what.kind === 'settle' ? what.cost : 0
        const unit =
          what.kind === 'settle' ? settle(found.id, { keyId: on.key, costNanoUsd: BigInt(cost) }) : release(found.id)
        assert.deepEqual(kinds(await on.commitAt(now, unit)), ['done'])
        for (const of of found.levels) {
          const name = `${of} ${found.day}`
          usage.set(name, (usage.get(name) ?? 0) + cost)
        }
        spent.set(found.day, (spent.get(found.day) ?? 0) + cost)
      }
    }
    on.setNow(now)
    const today = Math.floor(now / (24 * HOUR_MS))
    for (const of of limits.keys()) {
      const [budget] = await on.read(of)
      assert.equal(Number((budget?.spentNanoUsd ?? 0n) + (budget?.heldNanoUsd ?? 0n)), used(of, today), of)
    }
    assert.deepEqual(await on.findings(), [])
    await on.commitAt(now, ...open.map(({ id }) => release(id)))
    for (const of of BUDGET_LEVELS) await on.set(of)
  }
  const steps = fc.array(step, { minLength: 4, maxLength: 25 })
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: dialect === 'sqlite' ? 40 : 12 })
})
