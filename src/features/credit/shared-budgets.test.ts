import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dialect, temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { A, hold, NOW, purchase, release, settle, storeOn } from '../../../test/support/ledger/ledger-store.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import type { KeyId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { createKey, FULL_ACCESS } from '../keys/queries.ts'
import { takeSnapshot } from './audit/chain.ts'
import type { Unit } from './ledger/unit.ts'

/** `leaf` was created by `child`; that and `other` by `root`. */
const NAMES = ['root', 'child', 'leaf', 'other'] as const
type Name = (typeof NAMES)[number]
const CHAINS: Readonly<Record<Name, readonly Name[]>> = {
  root: ['root'],
  child: ['child', 'root'],
  leaf: ['leaf', 'child', 'root'],
  other: ['other', 'root'],
}
type Keys = Readonly<Record<Name, KeyId>>
type Budgets = Readonly<Record<Name, number | undefined>>

async function createKeys({ db }: OpenedDatabase): Promise<Keys> {
  const born = { now: Date.now, ids: testIds }
  const create = async (name: Name, parentId?: KeyId) =>
    (await createKey(db, { ...FULL_ACCESS, accountId: A, name, parentId }, born)).key.id
  const root = await create('root')
  const child = await create('child', root)
  return { root, child, leaf: await create('leaf', child), other: await create('other', root) }
}

const name = fc.constantFrom(...NAMES)
const budget = fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined })
const budgets: fc.Arbitrary<Budgets> = fc.record({ root: budget, child: budget, leaf: budget, other: budget })
const amount = fc.integer({ min: 1, max: 25 })
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('hold' as const), of: name, amount, budgets }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('settle' as const), at: fc.nat(9), cost: amount }) },
  fc.record({ kind: fc.constant('release' as const), at: fc.nat(9) }),
  fc.record({ kind: fc.constant('extend' as const), at: fc.nat(9), amount, budgets }),
  fc.record({ kind: fc.constant('settle without a hold' as const), of: name, cost: amount }),
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

interface Held {
  readonly id: number
  readonly of: Name
  /** Of whose budget it holds. */
  readonly counted: readonly Name[]
  readonly amount: number
}

/** What the keys of one run have come to, said without the rules. */
function createModel() {
  const open: Held[] = []
  const spent: Record<Name, number> = { root: 0, child: 0, leaf: 0, other: 0 }
  const held = (of: Name) =>
    open.filter(({ counted }) => counted.includes(of)).reduce((sum, one) => sum + one.amount, 0)
  const room = (names: readonly Name[], limits: Budgets) =>
    Math.min(...names.map((of) => (limits[of] ?? Number.POSITIVE_INFINITY) - spent[of] - held(of)))
  return {
    open,
    spent,
    held,
    room,
    charge: (of: Name, cost: number) => {
      for (const one of CHAINS[of]) spent[one] += cost
    },
  }
}

type Model = ReturnType<typeof createModel>
interface Asked {
  readonly unit: Unit
  readonly expected: string
}

const budgetsOf = (keys: Keys, of: Name, limits: Budgets) => {
  const nanoUsd = (one: Name) => (limits[one] === undefined ? undefined : BigInt(limits[one]))
  const above = CHAINS[of].slice(1).map((one) => ({ keyId: keys[one], nanoUsd: nanoUsd(one) }))
  return { keyBudgetNanoUsd: nanoUsd(of), ancestors: above.length === 0 ? undefined : above }
}

/** Undefined: there is nothing that it could be about. */
function askFor(model: Model, keys: Keys, what: Step, id: number): Asked | undefined {
  if (what.kind === 'hold') {
    const { of, amount: outputTokens, budgets: limits } = what
    const unit = hold(id, { keyId: keys[of], outputTokens, createdAt: NOW, ...budgetsOf(keys, of, limits) })
    if (model.room(CHAINS[of], limits) < outputTokens) return { unit, expected: 'refused' }
    const counted = CHAINS[of].filter((one) => limits[one] !== undefined)
    model.open.push({ id, of, counted, amount: outputTokens })
    return { unit, expected: 'held' }
  }
  if (what.kind === 'settle without a hold') {
    model.charge(what.of, what.cost)
    return { unit: settle(id, { keyId: keys[what.of], costNanoUsd: BigInt(what.cost) }), expected: 'done' }
  }
  const at = what.at % Math.max(1, model.open.length)
  const found = model.open[at]
  if (found === undefined) return undefined
  if (what.kind === 'extend') {
    const { amount: more, budgets: limits } = what
    const terms = { billing: 'prepaid', monthlyCreditNanoUsd: 0n } as const
    const target = { accountId: A, id: hold(found.id).id, terms, nanoUsd: BigInt(more) }
    const unit: Unit = { kind: 'extend', ...target, ...budgetsOf(keys, found.of, limits) }
    if (model.room(found.counted, limits) < more) return { unit, expected: 'refused' }
    model.open[at] = { ...found, amount: found.amount + more }
    return { unit, expected: 'held' }
  }
  model.open.splice(at, 1)
  if (what.kind === 'release') return { unit: release(found.id), expected: 'done' }
  model.charge(found.of, what.cost)
  return { unit: settle(found.id, { keyId: keys[found.of], costNanoUsd: BigInt(what.cost) }), expected: 'done' }
}

test(`a key spends and holds within its budget and those of all keys above it, in whatever batches, on ${dialect}`, async (t) => {
  const database = await temporaryDatabase(t)
  const { commit, db } = await storeOn(database)
  await commit(purchase(1_000_000n))
  let ids = 0
  let refused = 0
  const run = async (batches: readonly (readonly Step[])[]): Promise<void> => {
    const keys = await createKeys(database)
    const model = createModel()
    for (const steps of batches) {
      const asked = steps.map((what) => askFor(model, keys, what, ++ids)).filter((one) => one !== undefined)
      const outcomes = await commit(...asked.map(({ unit }) => unit))
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        asked.map(({ expected }) => expected),
      )
      refused += outcomes.filter(({ kind }) => kind === 'refused').length
    }
    const rows = await db.selectFrom('key_spending').selectAll().execute()
    for (const one of NAMES) {
      const row = rows.find(({ key_id: id }) => id === keys[one])
      if (row === undefined) assert.equal(model.held(one), 0, one)
      else
        assert.deepEqual([row.spent_nano_usd, row.held_nano_usd], [model.spent[one], model.held(one)].map(BigInt), one)
    }
    const findings: string[] = []
    await takeSnapshot(db, A, (kind, subject) => findings.push(`${kind} ${subject}`))
    assert.deepEqual(findings, [])
    await commit(...model.open.map(({ id }) => release(id)))
  }
  const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 8 })
  await fc.assert(fc.asyncProperty(batches, run), { numRuns: dialect === 'sqlite' ? 60 : 20 })
  assert.ok(refused > 5)
})

test('a budget that a key is given later counts what the keys below it have spent this month', async (t) => {
  const database = await temporaryDatabase(t)
  const { commit } = await storeOn(database)
  const keys = await createKeys(database)
  await commit(purchase(1_000n), settle('before', { keyId: keys.leaf, costNanoUsd: 30n }))
  const limits: Budgets = { root: 40, child: undefined, leaf: undefined, other: undefined }
  const ask = (id: string, of: Name, outputTokens: number) =>
    hold(id, { keyId: keys[of], outputTokens, createdAt: NOW, ...budgetsOf(keys, of, limits) })
  const [tooMuch, fits, full] = await commit(ask('a', 'other', 11), ask('b', 'child', 10), ask('c', 'root', 1))
  assert.deepEqual([tooMuch?.kind, fits?.kind, full?.kind], ['refused', 'held', 'refused'])
  const available: NanoUsd | undefined = full?.kind === 'refused' ? full.availableNanoUsd : undefined
  assert.equal(available, 0n)
  assert.equal(full?.kind === 'refused' ? full.scope : undefined, 'key_budget')
})
