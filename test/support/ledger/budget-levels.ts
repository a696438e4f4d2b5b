/** Budgets of all levels of one account, and a model of them: what is spent and held in each window, said without the rules. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import {
  BUDGET_LEVELS,
  BUDGET_WINDOWS,
  type BudgetLevel,
  type BudgetSubject,
  type BudgetTerms,
  type BudgetWindow,
} from '../../../src/domain/budget.ts'
import type { KeyId, TeamId, UserId } from '../../../src/domain/ids.ts'
import { auditWriter } from '../../../src/features/audit/log.ts'
import { takeSnapshot } from '../../../src/features/credit/audit/chain.ts'
import { createBudgets } from '../../../src/features/credit/budgets/store.ts'
import type { Outcome, Unit } from '../../../src/features/credit/ledger/unit.ts'
import { createKey, FULL_ACCESS } from '../../../src/features/keys/queries.ts'
import { temporaryDatabase, testIds } from '../database.ts'
import { A, hold, kinds, NOW, purchase, release, settle, storeOn } from './ledger-store.ts'
import { NUMBER_OF } from './memory-budgets.ts'

const PERSON = 'usr_1' as UserId
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const AUDITED = {
  accountId: A,
  actor: { kind: 'system', id: undefined, name: undefined },
  address: undefined,
  userAgent: undefined,
  requestId: undefined,
} as const

export const monthly = (limitNanoUsd: bigint, over: Partial<BudgetTerms> = {}): BudgetTerms => ({
  limitNanoUsd,
  window: 'month',
  timezone: 'UTC',
  startsAt: undefined,
  action: 'block',
  ...over,
})

/** An account with a person, whose key created another. */
export async function openLevels(t: TestContext, ref?: string) {
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

export const scopeOf = (outcome: Outcome | undefined) => (outcome?.kind === 'refused' ? outcome.scope : outcome?.kind)

type Windows = Readonly<Record<BudgetLevel, BudgetWindow>>

const level = fc.constantFrom(...BUDGET_LEVELS)
const hours = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 2_500 }))
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('hold' as const), amount: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('settle' as const), at: fc.nat(9), cost: fc.nat(50) }) },
  fc.record({ kind: fc.constant('release' as const), at: fc.nat(9) }),
  fc.record({ kind: fc.constant('advance' as const), hours }),
  fc.record({ kind: fc.constant('limit' as const), level, limit: fc.integer({ min: 0, max: 200 }) }),
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

const window = fc.constantFrom(...BUDGET_WINDOWS)
const WINDOWS: fc.Arbitrary<Windows> = fc.record({
  account: window,
  team: window,
  member: window,
  key: window,
  tag: window,
})

type Levels = Awaited<ReturnType<typeof openLevels>>

interface OpenHold {
  readonly id: string
  readonly at: number
  readonly amount: number
  /** Those that had a budget when it was held. */
  readonly levels: ReadonlySet<BudgetLevel>
}

interface Modelled {
  readonly windows: Windows
  readonly startsAt: number
  readonly limits: Map<BudgetLevel, number>
  /** What settlements charged, by level and window. */
  readonly spent: Map<string, number>
  readonly open: OpenHold[]
  now: number
}

function usedOf({ windows, spent, open, now }: Modelled, of: BudgetLevel): number {
  const numberOf = NUMBER_OF[windows[of]]
  const held = open.filter(({ at, levels }) => numberOf(at) === numberOf(now) && levels.has(of))
  return held.reduce((sum, { amount }) => sum + amount, spent.get(`${of} ${numberOf(now)}`) ?? 0)
}

async function perform(on: Levels, model: Modelled, what: Step): Promise<void> {
  const { limits, open, spent, windows, startsAt, now } = model
  if (what.kind === 'advance') model.now += what.hours * HOUR_MS
  else if (what.kind === 'limit') {
    on.setNow(now)
    const of = windows[what.level]
    // A budget in total would go on in the next run if it began at the same time.
    await on.set(
      what.level,
      monthly(BigInt(what.limit), { window: of, startsAt: of === 'total' ? startsAt : undefined }),
    )
    limits.set(what.level, what.limit)
  } else if (what.kind === 'hold') {
    const id = `model-${++serial}`
    const [outcome] = await on.commitAt(now, on.ask(id, what.amount))
    const tooSmall = BUDGET_LEVELS.find((of) => what.amount > (limits.get(of) ?? Infinity) - usedOf(model, of))
    assert.equal(scopeOf(outcome), tooSmall === undefined ? 'held' : `${tooSmall}_budget`)
    if (tooSmall === undefined) open.push({ id, at: now, amount: what.amount, levels: new Set(limits.keys()) })
  } else {
    const [found] = open.splice(what.at % Math.max(1, open.length), 1)
    if (found === undefined) return
    const cost = what.kind === 'settle' ? what.cost : 0
    const charge = settle(found.id, { keyId: on.key, costNanoUsd: BigInt(cost) })
    assert.deepEqual(kinds(await on.commitAt(now, what.kind === 'settle' ? charge : release(found.id))), ['done'])
    for (const of of found.levels) {
      const name = `${of} ${NUMBER_OF[windows[of]](found.at)}`
      spent.set(name, (spent.get(name) ?? 0) + cost)
    }
  }
}

let serial = 0

/** Each run is years after the one before, in windows of its own. */
async function play(on: Levels, windows: Windows, steps: readonly Step[]): Promise<void> {
  const startsAt = NOW + ++serial * 1_000 * DAY_MS
  const model: Modelled = { windows, startsAt, limits: new Map(), spent: new Map(), open: [], now: startsAt }
  for (const what of steps) await perform(on, model, what)
  on.setNow(model.now)
  for (const of of model.limits.keys()) {
    const [budget] = await on.read(of)
    assert.equal(Number((budget?.spentNanoUsd ?? 0n) + (budget?.heldNanoUsd ?? 0n)), usedOf(model, of), of)
  }
  await on.commitAt(model.now, ...model.open.map(({ id }) => release(id)))
  for (const of of BUDGET_LEVELS) await on.set(of)
}

/** After so many runs the database is a new one: the ledger of its account grows with each. */
const RUNS_A_DATABASE = 200

/** Runs any sequence of units, with a budget of any window on any levels, and compares all levels with the model. */
export async function assertLevelsAsModelled(t: TestContext, runs: number): Promise<void> {
  const steps = fc.array(step, { minLength: 4, maxLength: 25 })
  for (let done = 0; done < runs; done += RUNS_A_DATABASE) {
    serial = 0
    const on = await openLevels(t)
    const property = fc.asyncProperty(WINDOWS, steps, (windows, all) => play(on, windows, all))
    await fc.assert(property, { numRuns: Math.min(RUNS_A_DATABASE, runs - done) })
    assert.deepEqual(await on.findings(), [])
    await on.close()
  }
}
