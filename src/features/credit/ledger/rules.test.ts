import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  ACCOUNT,
  type AppliedUnit,
  applyBatch,
  checkLedger,
  completionId,
  holdUnit,
  KEY,
  type MemoryLedger,
  memoryLedger,
  POSTPAID,
  PREPAID,
  rowsOf,
  settleUnit,
} from '../../../../test/support/ledger/credit-model.ts'
import type { LedgerKind } from '../../../db/schema/schema.ts'
import { monthNumber, monthStart } from '../../../lib/time.ts'
import { applyUnit } from './rules.ts'
import type { AccountState } from './state.ts'
import type { Adjusted, HoldUnit, NewEntry, Outcome, PlanTerms } from './unit.ts'

const JUNE = Date.UTC(2026, 5, 15)
const JULY = Date.UTC(2026, 6, 1)
const AUGUST = Date.UTC(2026, 7, 1)
const FREE: PlanTerms = { billing: 'prepaid', monthlyCreditNanoUsd: 1000n }

interface Bench {
  readonly ledger: MemoryLedger
  now: number
  run(unit: AppliedUnit): Outcome
  account(): AccountState
  /** `kind amount` of every row. */
  rows(): string[]
}

/** An account with what was bought. Everything is checked after every unit. */
function bench(purchased = 0n, now = JUNE): Bench {
  const ledger = memoryLedger()
  const made: Bench = {
    ledger,
    now,
    run(unit) {
      const outcome = applyBatch(ledger, unit, made.now)
      checkLedger(ledger)
      return outcome
    },
    account() {
      const state = ledger.accounts.get(ACCOUNT)
      assert.ok(state)
      return state
    },
    rows: () => rowsOf(ledger, ACCOUNT).map(({ kind, amount }) => `${kind} ${amount}`),
  }
  if (purchased > 0n) made.run(entry('purchase', purchased))
  return made
}

function entry(kind: NewEntry['kind'], nanoUsd: bigint, rest: { adjusts?: Adjusted; terms?: PlanTerms } = {}) {
  const made: NewEntry = { kind, nanoUsd, note: undefined, adjusts: rest.adjusts }
  return { kind: 'entry', accountId: ACCOUNT, terms: rest.terms ?? PREPAID, entry: made } as const
}

const touch = (terms: PlanTerms = PREPAID) => ({ kind: 'touch', accountId: ACCOUNT, terms }) as const
const release = (id: string | number = 1) => ({ kind: 'release', accountId: ACCOUNT, id: completionId(id) }) as const
const settings = (changes: { monthlyBudgetNanoUsd?: bigint | null; alertThresholds?: readonly number[] }) =>
  ({ kind: 'settings', accountId: ACCOUNT, terms: PREPAID, ...changes }) as const

function extend(nanoUsd: bigint, keyBudgetNanoUsd?: bigint) {
  return { kind: 'extend', accountId: ACCOUNT, id: completionId(1), terms: PREPAID, keyBudgetNanoUsd, nanoUsd } as const
}

/** Holds and settles at once. */
function spend(on: Bench, id: string | number, nanoUsd: number, changes: Partial<HoldUnit> = {}): void {
  const unit = holdUnit({ id: completionId(id), outputTokens: nanoUsd, ...changes })
  assert.equal(on.run(unit).kind, 'held')
  const settled = settleUnit({ id: unit.id, keyId: unit.keyId, costNanoUsd: BigInt(nanoUsd) }, { terms: unit.terms })
  assert.equal(on.run(settled).kind, 'done')
}

const alertsOf = ({ ledger }: Bench): string[] =>
  [...ledger.alerts.values()]
    .filter(({ event }) => event === 'usage.alert')
    .map(({ basis, threshold, spent, limit }) => `${basis} ${threshold}% ${spent}/${limit}`)

/** Months after June, what was spent of what, and what is left. */
const exhaustedOf = ({ ledger }: Bench): string[] =>
  [...ledger.alerts.values()]
    .filter(({ event, basis, threshold }) => event === 'credit.exhausted' && basis === 'credit' && threshold === 100)
    .map(({ month, spent, limit }) => `${month - monthNumber(JUNE)}: ${spent}/${limit}, ${limit - spent} left`)

test('months are numbered from 1970-01 UTC and begin at midnight of the first', () => {
  assert.equal(monthNumber(0), 0)
  assert.equal(monthNumber(JULY - 1) + 1, monthNumber(JULY))
  assert.equal(monthNumber(Date.UTC(1970, 11, 31, 23, 59, 59, 999)), 11)
  for (let month = 0; month < 3000; month += 1) {
    assert.equal(monthNumber(monthStart(month)), month)
    assert.equal(monthNumber(monthStart(month) - 1), month - 1)
  }
})

test('LED-3: a hold that fits exactly is granted, one nano-dollar more is refused with what is left', () => {
  const on = bench(100n)
  assert.deepEqual(on.run(holdUnit({ outputTokens: 101 })), {
    kind: 'refused',
    scope: 'credit',
    limitNanoUsd: undefined,
    budget: undefined,
    requiredNanoUsd: 101n,
    availableNanoUsd: 100n,
    affordableTokens: 100,
    resetsAt: undefined,
  })
  assert.deepEqual(on.run(holdUnit({ outputTokens: 100 })), { kind: 'held', nanoUsd: 100n, outputTokens: 100 })
  assert.deepEqual([on.account().held, on.account().balance], [100n, 100n])
  const refused = on.run(holdUnit({ id: completionId(2), outputTokens: 1 }))
  assert.ok(refused.kind === 'refused' && refused.availableNanoUsd === 0n && refused.affordableTokens === 0)
})

test('INV-10: a hold is input and all choices at their prices, rounded up once to the next nano-dollar', () => {
  const amounts: readonly [Partial<HoldUnit>, bigint][] = [
    [{ promptTokens: 1, inputPrice: 1, outputTokens: 0 }, 1n],
    [{ promptTokens: 3, inputPrice: 333, outputTokens: 1, outputPrice: 1 }, 1n],
    [{ promptTokens: 3, inputPrice: 333, outputTokens: 2, outputPrice: 1 }, 2n],
    [{ promptTokens: 10, inputPrice: 150, outputTokens: 7, outputPrice: 600, choices: 3 }, 15n],
    [{ promptTokens: 10, inputPrice: 150, outputTokens: 7, outputPrice: 600, choices: 3, fixedNanoUsd: 25 }, 40n],
    [{ promptTokens: 0, outputTokens: 9_000_000, outputPrice: 9_000_000_000, choices: 16 }, 1_296_000_000_000_000n],
  ]
  for (const [asked, amount] of amounts) {
    const outcome = bench(2_000_000_000_000_000n).run(holdUnit(asked))
    assert.ok(outcome.kind === 'held')
    assert.equal(outcome.nanoUsd, amount)
  }
})

test('what costs nothing is admitted whatever is owed; what costs anything is not', () => {
  const on = bench()
  on.run(settleUnit({ id: completionId('late'), costNanoUsd: 5n }, { unrecorded: true }))
  assert.equal(on.account().balance, -5n)
  assert.equal(on.run(holdUnit({ outputPrice: 0 })).kind, 'held')
  const refused = on.run(holdUnit({ id: completionId(2), outputTokens: 1 }))
  assert.ok(refused.kind === 'refused' && refused.availableNanoUsd === -5n && refused.affordableTokens === 0)
})

test('LED-7: after a settlement beyond its hold nothing is admitted until the balance is above zero', () => {
  const on = bench(100n)
  on.run(holdUnit({ outputTokens: 100 }))
  assert.equal(on.run(settleUnit({ costNanoUsd: 130n })).kind, 'done')
  assert.deepEqual([on.account().balance, on.account().held], [-30n, 0n])
  const one = holdUnit({ id: completionId(2), outputTokens: 1 })
  assert.equal(on.run(one).kind, 'refused')
  on.run(entry('purchase', 30n))
  assert.equal(on.run(one).kind, 'refused')
  on.run(entry('purchase', 1n))
  assert.equal(on.run(one).kind, 'held')
})

const CAPPED: PlanTerms = { ...PREPAID, maxOverrunNanoUsd: 40n }

test('LED-7: what is beyond hold, free credit and overrun cap is recorded and not charged', () => {
  const on = bench(150n)
  on.run(holdUnit({ outputTokens: 100 }))
  on.run(holdUnit({ id: completionId(2), outputTokens: 20 }))
  // 100 held, 30 free, and 40 below what the other one holds
  const settled = on.run(settleUnit({ costNanoUsd: 1_000n }, { terms: CAPPED }))
  assert.deepEqual(settled, { kind: 'done', unbilledNanoUsd: 830n })
  assert.deepEqual([on.account().balance, on.account().held], [-20n, 20n])
  const record = on.ledger.completions.get(completionId(1))
  assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd], [170n, 830n])
  // The cap is used up: the other is charged what it holds, and no more.
  on.run(settleUnit({ id: completionId(2), costNanoUsd: 1_000n }, { terms: CAPPED }))
  assert.equal(on.account().balance, -40n)
})

test('LED-7: an account has its own cap before the plan’s, else the larger of $0.05 and 1 % of the allowance', () => {
  const lowest = (terms: PlanTerms, own?: bigint | null): bigint => {
    const on = bench()
    on.run(touch(terms))
    if (own !== undefined) on.run({ ...settings({}), terms, maxOverrunNanoUsd: own })
    on.run(holdUnit({ terms, outputTokens: 0 }))
    on.run(settleUnit({ costNanoUsd: 10n ** 15n }, { terms }))
    return on.account().balance
  }
  const big = { ...PREPAID, monthlyCreditNanoUsd: 10_000_000_000n }
  assert.deepEqual([lowest(PREPAID), lowest(big)], [-50_000_000n, -100_000_000n])
  assert.deepEqual(
    [lowest(CAPPED), lowest(CAPPED, 7n), lowest(CAPPED, 0n), lowest(CAPPED, null)],
    [-40n, -7n, 0n, -40n],
  )
})

test('LED-7: a plan that is billed afterwards is charged whatever it costs', () => {
  const on = bench()
  on.run(holdUnit({ terms: POSTPAID }))
  on.run(settleUnit({ costNanoUsd: 10n ** 12n }, { terms: { ...POSTPAID, maxOverrunNanoUsd: 0n } }))
  assert.equal(on.account().balance, -(10n ** 12n))
})

test('LED-7: of what was admitted without the database at least its exposure is charged', () => {
  const on = bench(10n)
  const unit = { ...settleUnit({ costNanoUsd: 500n }, { terms: CAPPED, unrecorded: true }), promisedNanoUsd: 200n }
  assert.deepEqual(on.run(unit), { kind: 'done', unbilledNanoUsd: 300n })
  assert.equal(on.account().balance, -190n)
})

test('INV-3, LED-7: N requests in flight and a provider that reports any usage take the balance to the cap at most', () => {
  const request = fc.record({ held: fc.nat({ max: 300 }), more: fc.nat({ max: 200 }), cost: fc.bigInt(0n, 2n ** 60n) })
  const property = fc.property(
    fc.array(request, { minLength: 1, maxLength: 40 }),
    fc.nat({ max: 2_000 }),
    fc.nat({ max: 100 }),
    (requests, purchased, cap) => {
      const on = bench(BigInt(purchased))
      const terms = { ...PREPAID, maxOverrunNanoUsd: BigInt(cap) }
      const isHeld = requests.map(
        ({ held }, at) => on.run(holdUnit({ terms, id: completionId(at), outputTokens: held })).kind === 'held',
      )
      requests.forEach(({ more, cost }, at) => {
        if (!isHeld[at]) return
        if (more > 0) on.run({ ...extend(BigInt(more)), terms, id: completionId(at) })
        const before = on.account().balance
        const held = on.ledger.holds.get(completionId(at))?.amount ?? 0n
        on.run(settleUnit({ id: completionId(at), costNanoUsd: cost }, { terms }))
        assert.ok(on.account().balance >= -BigInt(cap), 'balance ≥ −cap')
        const charged = before - on.account().balance
        assert.ok(charged >= (cost < held ? cost : held), 'what was held for is charged')
        const { costNanoUsd, unbilledNanoUsd = 0n } = on.ledger.completions.get(completionId(at)) ?? assert.fail()
        assert.deepEqual([costNanoUsd, costNanoUsd + unbilledNanoUsd], [charged, cost], 'the row adds up')
      })
      assert.equal(on.account().held, 0n)
    },
  )
  fc.assert(property, { numRuns: 2_000 })
})

test('a plan that is billed afterwards admits below zero, but within its budgets', () => {
  const on = bench()
  spend(on, 1, 500, { terms: POSTPAID })
  assert.equal(on.account().balance, -500n)
  on.run(settings({ monthlyBudgetNanoUsd: 600n }))
  assert.equal(on.run(holdUnit({ id: completionId(2), outputTokens: 100, terms: POSTPAID })).kind, 'held')
  const refused = on.run(holdUnit({ id: completionId(3), outputTokens: 1, terms: POSTPAID }))
  assert.ok(refused.kind === 'refused' && refused.scope === 'account_budget')
})

test('a flexible request is lowered to the largest answer that fits, from 256 tokens on', () => {
  const asked = { outputTokens: 1000, flexible: true }
  assert.deepEqual(bench(256n).run(holdUnit(asked)), { kind: 'held', nanoUsd: 256n, outputTokens: 256 })
  const refused = bench(255n).run(holdUnit(asked))
  assert.ok(refused.kind === 'refused')
  assert.deepEqual([refused.requiredNanoUsd, refused.affordableTokens], [1000n, 255])
  assert.equal(bench(999n).run(holdUnit({ ...asked, flexible: false })).kind, 'refused')
  assert.deepEqual(bench(1000n).run(holdUnit(asked)), { kind: 'held', nanoUsd: 1000n, outputTokens: 1000 })
  assert.equal(bench(200n).run(holdUnit({ outputTokens: 200, flexible: true })).kind, 'held')
})

test('a flexible request is lowered to the tightest of credit, budget and key budget', () => {
  const limits: readonly [purchased: bigint, budget: bigint | null, keyBudget: bigint | undefined, tokens: number][] = [
    [300n, 900n, 900n, 300],
    [900n, 310n, 900n, 310],
    [900n, 900n, 320n, 320],
    [900n, null, undefined, 900],
  ]
  for (const [purchased, monthlyBudgetNanoUsd, keyBudgetNanoUsd, tokens] of limits) {
    const on = bench(purchased)
    on.run(settings({ monthlyBudgetNanoUsd }))
    const outcome = on.run(holdUnit({ outputTokens: 1000, flexible: true, keyBudgetNanoUsd }))
    assert.deepEqual(outcome, { kind: 'held', nanoUsd: BigInt(tokens), outputTokens: tokens })
  }
})

test('affordable tokens are of one choice, none where the prompt alone is too much or output is free', () => {
  const affordable = (changes: Partial<HoldUnit>): number => {
    const outcome = bench(100n).run(holdUnit(changes))
    assert.ok(outcome.kind === 'refused')
    return outcome.affordableTokens
  }
  assert.equal(affordable({ outputTokens: 1000, choices: 3 }), 33)
  assert.equal(affordable({ outputTokens: 1000, promptTokens: 40, inputPrice: 1000 }), 60)
  assert.equal(affordable({ outputTokens: 1000, promptTokens: 40, inputPrice: 1000, fixedNanoUsd: 25 }), 35)
  assert.equal(affordable({ outputTokens: 1000, fixedNanoUsd: 101 }), 0)
  assert.equal(affordable({ outputTokens: 1000, promptTokens: 101, inputPrice: 1000 }), 0)
  assert.equal(affordable({ outputTokens: 1000, promptTokens: 101, inputPrice: 1000, outputPrice: 0 }), 0)
})

test('LED-4: one token more than what is affordable never fits, what is affordable always does', () => {
  const natural = (max: number) => fc.integer({ min: 0, max })
  const asked = fc.record({
    promptTokens: natural(1000),
    inputPrice: natural(3000),
    fixedNanoUsd: natural(300),
    outputPrice: fc.integer({ min: 1, max: 3000 }),
    choices: fc.integer({ min: 1, max: 16 }),
  })
  fc.assert(
    fc.property(asked, natural(5000), natural(5000), (prices, credit, budget) => {
      const fresh = (): Bench => {
        const on = bench(BigInt(credit))
        on.run(settings({ monthlyBudgetNanoUsd: BigInt(budget) }))
        return on
      }
      const refused = fresh().run(holdUnit({ ...prices, outputTokens: 10_000_000 }))
      assert.ok(refused.kind === 'refused')
      const { affordableTokens: outputTokens } = refused
      assert.equal(fresh().run(holdUnit({ ...prices, outputTokens: outputTokens + 1 })).kind, 'refused')
      if (outputTokens > 0) assert.equal(fresh().run(holdUnit({ ...prices, outputTokens })).kind, 'held')
    }),
    { numRuns: 500 },
  )
})

test('the first scope that is too small is told: credit, the account, the key; budgets say when they begin again', () => {
  const told = (purchased: bigint, monthlyBudgetNanoUsd: bigint, keyBudgetNanoUsd: bigint) => {
    const on = bench(purchased)
    on.run(settings({ monthlyBudgetNanoUsd }))
    const outcome = on.run(holdUnit({ keyBudgetNanoUsd }))
    assert.ok(outcome.kind === 'refused')
    return [outcome.scope, outcome.availableNanoUsd, outcome.resetsAt]
  }
  assert.deepEqual(told(99n, 98n, 97n), ['credit', 99n, undefined])
  assert.deepEqual(told(100n, 98n, 97n), ['account_budget', 98n, JULY])
  assert.deepEqual(told(100n, 100n, 97n), ['key_budget', 97n, JULY])
})

test('INV-11: a refusal by any scope leaves nothing held by account or key', () => {
  for (const [purchased, budget, keyBudget] of [
    [99n, 100n, 100n],
    [100n, 99n, 100n],
    [100n, 100n, 99n],
  ] as const) {
    const on = bench(purchased)
    on.run(settings({ monthlyBudgetNanoUsd: budget }))
    assert.equal(on.run(holdUnit({ keyBudgetNanoUsd: keyBudget })).kind, 'refused')
    assert.equal(on.account().held, 0n)
    assert.equal(on.ledger.keys.size + on.ledger.holds.size, 0)
  }
})

test('a key budget counts what the key holds and spends, and what it spent before it had a budget', () => {
  const on = bench(10_000n)
  spend(on, 'before', 300)
  const keyBudgetNanoUsd = 1000n
  assert.equal(on.run(holdUnit({ outputTokens: 701, keyBudgetNanoUsd })).kind, 'refused')
  assert.equal(on.run(holdUnit({ outputTokens: 400, keyBudgetNanoUsd })).kind, 'held')
  assert.deepEqual(on.ledger.keys.get(KEY), { month: monthNumber(JUNE), spent: 300n, held: 400n })
  assert.equal(on.run(holdUnit({ id: completionId(2), outputTokens: 301, keyBudgetNanoUsd })).kind, 'refused')
  on.run(settleUnit({ costNanoUsd: 50n }))
  assert.deepEqual(on.ledger.keys.get(KEY), { month: monthNumber(JUNE), spent: 350n, held: 0n })
  spend(on, 'without budget', 70)
  assert.equal(on.ledger.keys.get(KEY)?.spent, 420n, 'counted also while the key has no budget')
})

test('a key budget starts again with the month, and what it holds goes on', () => {
  const on = bench(10_000n)
  const keyBudgetNanoUsd = 1000n
  on.run(holdUnit({ outputTokens: 600, keyBudgetNanoUsd }))
  spend(on, 2, 400, { keyBudgetNanoUsd })
  on.now = JULY
  assert.equal(on.run(holdUnit({ id: completionId(3), outputTokens: 401, keyBudgetNanoUsd })).kind, 'refused')
  assert.equal(on.run(holdUnit({ id: completionId(3), outputTokens: 400, keyBudgetNanoUsd })).kind, 'held')
  on.run(settleUnit({ costNanoUsd: 600n }))
  assert.deepEqual(on.ledger.keys.get(KEY), { month: monthNumber(JULY), spent: 600n, held: 400n })
})

test('INV-4: a hold is resolved once, whatever comes after', () => {
  const charge = settleUnit({ costNanoUsd: 60n })
  for (const [first, second] of [
    [charge, charge],
    [charge, release()],
    [release(), charge],
    [release(), release()],
  ] as const) {
    const on = bench(100n)
    on.run(holdUnit())
    assert.equal(on.run(first).kind, 'done')
    const { balance, held } = on.account()
    assert.deepEqual(on.run(second), { kind: 'already' })
    assert.deepEqual([on.account().balance, on.account().held], [balance, held])
  }
})

test('INV-4: a hold of an id that is held already, and units without their hold, move nothing', () => {
  const on = bench(1000n)
  on.run(holdUnit())
  assert.deepEqual(on.run(holdUnit()), { kind: 'already' })
  assert.equal(on.account().held, 100n)
  on.run(release())
  assert.deepEqual(on.run(extend(1n)), { kind: 'already' })
  assert.deepEqual(on.run(settleUnit({ id: completionId('unknown'), costNanoUsd: 1n })), { kind: 'already' })
  assert.deepEqual(on.rows(), ['purchase 1000'])
})

test('INV-8: what was admitted while the database was away is charged once, with or without a hold', () => {
  const on = bench(100n)
  const unit = settleUnit({ costNanoUsd: 130n }, { unrecorded: true })
  assert.equal(on.run(unit).kind, 'done')
  assert.equal(on.run(unit).kind, 'already')
  assert.equal(on.account().balance, -30n)
  const held = bench(100n)
  held.run(holdUnit())
  assert.equal(held.run(unit).kind, 'done')
  assert.deepEqual([held.account().balance, held.account().held], [-30n, 0n])
})

test('a settlement of nothing ends the hold and leaves a completion, but no ledger row', () => {
  const on = bench(100n)
  on.run(holdUnit())
  assert.equal(on.run(settleUnit({ costNanoUsd: 0n })).kind, 'done')
  assert.deepEqual([on.rows(), on.account().held, on.ledger.completions.size], [['purchase 100'], 0n, 1])
})

test('INV-14: a charge says whose it is, for what and at which price', () => {
  const on = bench(100n)
  on.run(holdUnit())
  on.run(settleUnit({ costNanoUsd: 7n, priceVersion: 'price_7' }))
  const { completionId: id, keyId, priceVersion, debit, credit } = rowsOf(on.ledger, ACCOUNT)[1] ?? {}
  assert.deepEqual([id, keyId, priceVersion, debit, credit], [completionId(1), KEY, 'price_7', 'credit', 'revenue'])
})

test('LED-5: a hold is raised within the same limits, and settled or released whole', () => {
  const on = bench(150n)
  const keyBudgetNanoUsd = 140n
  on.run(holdUnit({ keyBudgetNanoUsd }))
  const refused = on.run(extend(41n, keyBudgetNanoUsd))
  assert.ok(refused.kind === 'refused' && refused.scope === 'key_budget' && refused.availableNanoUsd === 40n)
  assert.deepEqual(on.run(extend(40n, keyBudgetNanoUsd)), { kind: 'held', nanoUsd: 140n, outputTokens: 0 })
  assert.equal(on.ledger.keys.get(KEY)?.held, 140n)
  const broke = on.run(extend(11n))
  assert.ok(broke.kind === 'refused' && broke.scope === 'credit')
  on.run(extend(10n))
  assert.equal(on.ledger.keys.get(KEY)?.held, 150n, 'a budget that was taken away still holds what was held')
  on.run(release())
  assert.deepEqual([on.account().held, on.ledger.keys.get(KEY)?.held], [0n, 0n])
})

test('a budget that a key is given while it runs does not count for holds from before', () => {
  const on = bench(150n)
  on.run(holdUnit())
  assert.equal(on.run(extend(50n, 1n)).kind, 'held')
  assert.equal(on.ledger.keys.size, 0)
})

test('each kind of entry moves between its books, and its number and time only grow', () => {
  const moves: readonly [NewEntry['kind'], string, string, bigint][] = [
    ['grant', 'grants', 'credit', 7n],
    ['purchase', 'payments', 'credit', 14n],
    ['refund', 'refunds', 'credit', 21n],
    ['charge', 'credit', 'revenue', 14n],
  ]
  const on = bench()
  const adjusts = { number: 1, completionId: completionId(9), keyId: KEY, priceVersion: 'price_1' }
  moves.forEach(([kind, debit, credit, balance], index) => {
    on.now = JUNE - index
    const outcome = on.run(entry(kind, 7n, { adjusts }))
    assert.ok(outcome.kind === 'entered')
    assert.deepEqual(outcome.entry, {
      accountId: ACCOUNT,
      number: index + 1,
      kind,
      nanoUsd: 7n,
      balanceNanoUsd: balance,
      completionId: completionId(9),
      keyId: KEY,
      priceVersion: 'price_1',
      adjusts: 1,
      note: undefined,
      createdAt: JUNE,
    })
    const row = rowsOf(on.ledger, ACCOUNT).at(-1)
    assert.deepEqual([row?.debit, row?.credit], [debit, credit])
  })
  assert.equal(on.account().spent, 7n, 'a charge counts as spent; a refund takes nothing back')
})

test('an entry of nothing is refused and leaves no trace', () => {
  const on = bench()
  assert.equal(on.run(entry('grant', 0n, { terms: FREE })).kind, 'failed')
  assert.equal(on.run(entry('purchase', -1n)).kind, 'failed')
  assert.equal(on.ledger.accounts.size, 0)
})

test('an account that was never touched is granted its month with the first unit, also when that is refused', () => {
  const on = bench()
  const refused = on.run(holdUnit({ outputTokens: 1001, terms: FREE }))
  assert.ok(refused.kind === 'refused' && refused.availableNanoUsd === 1000n)
  assert.deepEqual(on.rows(), ['grant 1000'])
  assert.deepEqual(on.account().thresholds, [50, 80, 100])
  assert.equal(rowsOf(on.ledger, ACCOUNT)[0]?.note, 'monthly allowance')
})

test('the allowance comes once a month, does not accumulate, and is spent before what was bought', () => {
  const on = bench()
  on.run(touch(FREE))
  on.run(entry('purchase', 500n, { terms: FREE }))
  spend(on, 1, 300, { terms: FREE })
  assert.equal(on.account().allowance, 700n)
  on.run(touch(FREE))
  on.now = JULY - 1
  on.run(touch(FREE))
  assert.equal(on.account().balance, 1200n)
  on.now = JULY
  on.run(touch(FREE))
  assert.deepEqual(on.rows(), ['grant 1000', 'purchase 500', 'charge 300', 'expiry 700', 'grant 1000'])
  assert.deepEqual([on.account().balance, on.account().allowance, on.account().spent], [1500n, 1000n, 0n])
  spend(on, 2, 1200, { terms: FREE })
  assert.deepEqual([on.account().balance, on.account().allowance], [300n, 0n])
  on.now = AUGUST
  on.run(touch())
  assert.equal(on.account().balance, 300n, 'what was bought does not expire')
})

test('months without a visit are neither granted nor lost later', () => {
  const on = bench()
  on.run(touch(FREE))
  on.now = Date.UTC(2027, 2, 3)
  on.run(touch(FREE))
  assert.deepEqual(on.rows(), ['grant 1000', 'expiry 1000', 'grant 1000'])
})

test('a clock that goes back grants nothing twice and turns no month back', () => {
  const on = bench(0n, JULY)
  on.run(touch(FREE))
  spend(on, 1, 100, { terms: FREE })
  on.now = JULY - 1
  on.run(touch(FREE))
  spend(on, 2, 100, { terms: FREE, keyBudgetNanoUsd: 200n })
  on.now = JULY
  on.run(touch(FREE))
  assert.deepEqual(on.rows(), ['grant 1000', 'charge 100', 'charge 100'])
  assert.deepEqual([on.account().month, on.account().spent], [monthNumber(JULY), 200n])
  assert.deepEqual(on.ledger.keys.get(KEY), { month: monthNumber(JULY), spent: 200n, held: 0n })
})

test('what open holds need of an allowance stays until they end', () => {
  const on = bench()
  on.run(holdUnit({ outputTokens: 900, terms: FREE }))
  on.now = JULY
  on.run(touch())
  assert.deepEqual([on.account().balance, on.account().allowance], [900n, 900n], 'only 100 were free')
  on.run(settleUnit({ costNanoUsd: 200n }))
  assert.deepEqual([on.account().balance, on.account().allowance], [700n, 700n])
  on.run(touch())
  assert.deepEqual(on.rows(), ['grant 1000', 'expiry 100', 'charge 200', 'expiry 700'])
})

test('holds that the new allowance covers keep nothing of the old one', () => {
  const on = bench()
  on.run(holdUnit({ outputTokens: 900, terms: FREE }))
  on.now = JULY
  on.run(touch(FREE))
  assert.deepEqual([on.account().balance, on.account().allowance, on.account().held], [1000n, 1000n, 900n])
  const postpaid: PlanTerms = { billing: 'postpaid', monthlyCreditNanoUsd: 1000n }
  const after = bench()
  after.run(holdUnit({ outputTokens: 9000, terms: postpaid }))
  after.now = JULY
  after.run(touch(postpaid))
  assert.equal(after.account().allowance, 1000n, 'billed afterwards: holds need no credit')
})

test('an allowance first makes up for what is owed, so that no later purchase can expire with it', () => {
  const on = bench()
  on.run(settleUnit({ costNanoUsd: 300n }, { unrecorded: true }))
  on.run(touch(FREE))
  assert.deepEqual([on.account().balance, on.account().allowance], [700n, 700n])
  on.run(entry('purchase', 5000n, { terms: FREE }))
  on.now = JULY
  on.run(touch())
  assert.equal(on.account().balance, 5000n)
})

test('a change of plan in the middle of a month grants at once, but not a second time', () => {
  const on = bench(50n)
  on.run(touch(FREE))
  assert.deepEqual(on.rows(), ['purchase 50', 'grant 1000'])
  on.run(touch({ billing: 'prepaid', monthlyCreditNanoUsd: 9000n }))
  on.run(touch(PREPAID))
  on.run(touch(FREE))
  assert.equal(on.account().balance, 1050n, 'granted once this month, and kept until it ends')
  on.now = JULY
  on.run(touch(PREPAID))
  assert.equal(on.account().balance, 50n)
  on.now = JULY + 5
  on.run(touch(FREE))
  assert.equal(on.account().balance, 1050n)
})

test('a hold from last month is charged to this one, and keeps its key budget in line', () => {
  const on = bench(5000n)
  on.run(settings({ monthlyBudgetNanoUsd: 1000n }))
  spend(on, 'june', 900)
  on.run(holdUnit({ outputTokens: 100, keyBudgetNanoUsd: 1000n }))
  on.now = JULY
  assert.equal(on.run(holdUnit({ id: completionId(2), outputTokens: 901 })).kind, 'refused', 'what is held goes on')
  on.run(settleUnit({ costNanoUsd: 100n }))
  assert.deepEqual([on.account().month, on.account().spent], [monthNumber(JULY), 100n])
  assert.deepEqual(on.ledger.keys.get(KEY), { month: monthNumber(JULY), spent: 100n, held: 0n })
})

test('settings change what they name; null takes the budget away; the answer is how the account stands', () => {
  const on = bench(10n)
  assert.deepEqual(on.run(settings({ monthlyBudgetNanoUsd: 5n })), {
    kind: 'touched',
    view: {
      balanceNanoUsd: 10n,
      heldNanoUsd: 0n,
      spentNanoUsd: 0n,
      monthlyBudgetNanoUsd: 5n,
      alertThresholds: [50, 80, 100],
    },
  })
  on.run(settings({ alertThresholds: [90] }))
  assert.deepEqual([on.account().monthlyBudget, on.account().thresholds], [5n, [90]])
  on.run(settings({ monthlyBudgetNanoUsd: null }))
  assert.deepEqual([on.account().monthlyBudget, on.account().thresholds], [undefined, [90]])
})

test('a unit that changes nothing of the account says so, and is not written', () => {
  const on = bench(10n)
  const snapshot = { account: on.account(), key: undefined, hold: undefined, charged: undefined, keySpentBefore: 0n }
  assert.equal(applyUnit(touch(), snapshot, JUNE).account, undefined)
  assert.equal(applyUnit(holdUnit(), snapshot, JUNE).account, undefined, 'refused')
  assert.equal(applyUnit(settleUnit({ costNanoUsd: 3n }), snapshot, JULY).account, undefined, 'resolved before')
})

test('an alert comes with the charge that reaches its threshold, once a month, of the budget where there is one', () => {
  const on = bench(10_000n)
  on.run(settings({ monthlyBudgetNanoUsd: 100n }))
  spend(on, 1, 49)
  assert.deepEqual(alertsOf(on), [])
  spend(on, 2, 1)
  assert.deepEqual(alertsOf(on), ['budget 50% 50/100'])
  spend(on, 3, 29)
  spend(on, 4, 21)
  assert.deepEqual(alertsOf(on), ['budget 50% 50/100', 'budget 80% 100/100', 'budget 100% 100/100'])
  on.now = JULY
  spend(on, 5, 100)
  assert.equal(alertsOf(on).length, 6)
})

test('a budget below what is spent already comes with the alerts that no later charge would reach', () => {
  const on = bench(10_000n)
  on.run(settings({ alertThresholds: [] }))
  spend(on, 1, 85)
  on.run(settings({ monthlyBudgetNanoUsd: 0n }))
  on.run(settings({ monthlyBudgetNanoUsd: 100n, alertThresholds: [50, 80, 100] }))
  assert.deepEqual(alertsOf(on), ['budget 50% 85/100', 'budget 80% 85/100'])
  on.run(settings({}))
  on.run(touch())
  assert.equal(alertsOf(on).length, 2)
})

test('without a budget alerts are of the credit that there was this month; billed afterwards there are none', () => {
  const on = bench(100n)
  spend(on, 1, 50)
  on.run(entry('purchase', 100n))
  spend(on, 2, 109)
  assert.deepEqual(alertsOf(on), ['credit 50% 50/100'])
  spend(on, 3, 1)
  assert.deepEqual(alertsOf(on), ['credit 50% 50/100', 'credit 80% 160/200'])
  const after = bench(100n)
  spend(after, 1, 100, { terms: POSTPAID })
  assert.deepEqual(alertsOf(after), [])
})

test('a charge beyond a threshold that was reached before asks for no alert', () => {
  const on = bench(1000n)
  spend(on, 1, 500)
  on.run(holdUnit())
  const hold = { keyId: KEY, amount: 100n, ofKeyBudget: false }
  const snapshot = { account: on.account(), key: undefined, hold, charged: undefined, keySpentBefore: 0n }
  assert.deepEqual(applyUnit(settleUnit({ costNanoUsd: 1n }), snapshot, JUNE).alerts, [])
})

test('an alert does not come again when a purchase moves its threshold away and back', () => {
  const on = bench(100n)
  spend(on, 1, 50)
  on.run(entry('purchase', 100n))
  spend(on, 2, 50)
  assert.deepEqual(alertsOf(on), ['credit 50% 50/100'])
})

test('a refusal of what is really used up is the last alert, since holds stop short of it', () => {
  const on = bench(1000n)
  spend(on, 1, 900)
  assert.deepEqual(alertsOf(on), ['credit 50% 900/1000', 'credit 80% 900/1000'])
  on.run(holdUnit({ id: completionId(2), outputTokens: 500 }))
  assert.equal(alertsOf(on)[2], 'credit 100% 900/1000')
  const budgeted = bench(1000n)
  budgeted.run(settings({ monthlyBudgetNanoUsd: 600n, alertThresholds: [100] }))
  spend(budgeted, 1, 500)
  budgeted.run(holdUnit({ id: completionId(2), outputTokens: 300 }))
  assert.deepEqual(alertsOf(budgeted), ['budget 100% 500/600'])
})

test('a refusal is no alert while the credit is there: too large a request, held by others, not asked for, never any', () => {
  const tooLarge = bench(1000n)
  tooLarge.run(holdUnit({ outputTokens: 100_000 }))
  const heldByOthers = bench(1000n)
  heldByOthers.run(holdUnit({ outputTokens: 900 }))
  heldByOthers.run(holdUnit({ id: completionId(2), outputTokens: 900 }))
  const notAskedFor = bench(1000n)
  notAskedFor.run(settings({ alertThresholds: [50] }))
  spend(notAskedFor, 1, 400)
  spend(notAskedFor, 2, 600)
  notAskedFor.run(holdUnit({ id: completionId(3) }))
  const exactlyThere = bench(200n)
  exactlyThere.run(holdUnit({ outputTokens: 150 }))
  exactlyThere.run(holdUnit({ id: completionId(2), outputTokens: 200 }))
  const neverAny = bench()
  neverAny.run(holdUnit())
  neverAny.run(settleUnit({ costNanoUsd: 9n }, { unrecorded: true }))
  const keyOnly = bench(1000n)
  keyOnly.run(holdUnit({ keyBudgetNanoUsd: 1n }))
  for (const on of [tooLarge, heldByOthers, exactlyThere, neverAny, keyOnly]) assert.deepEqual(alertsOf(on), [])
  assert.deepEqual(alertsOf(notAskedFor), ['credit 50% 1000/1000'])
})

test('an extension that finds nothing left is an alert too', () => {
  const on = bench(100n)
  on.run(settings({ alertThresholds: [100] }))
  on.run(holdUnit())
  on.run(extend(1n))
  assert.deepEqual(alertsOf(on), ['credit 100% 0/100'])
  assert.deepEqual(exhaustedOf(on), ['0: 0/100, 100 left'])
})

test('credit is exhausted by the charge that brings the balance to zero or below, whatever the thresholds and the budget', () => {
  const exactly = bench(100n)
  exactly.run(settings({ alertThresholds: [] }))
  spend(exactly, 1, 99)
  assert.deepEqual(exhaustedOf(exactly), [])
  spend(exactly, 2, 1)
  assert.deepEqual([exhaustedOf(exactly), alertsOf(exactly)], [['0: 100/100, 0 left'], []])
  const budgeted = bench(100n)
  budgeted.run(settings({ monthlyBudgetNanoUsd: 1000n }))
  spend(budgeted, 1, 100)
  assert.deepEqual([exhaustedOf(budgeted), alertsOf(budgeted)], [['0: 100/100, 0 left'], []])
  const overrun = bench(100n)
  overrun.run(holdUnit({ outputTokens: 100 }))
  overrun.run(settleUnit({ costNanoUsd: 130n }))
  assert.deepEqual(exhaustedOf(overrun), ['0: 130/100, -30 left'])
  const corrected = bench(100n)
  spend(corrected, 1, 60)
  const adjusts = { number: 2, completionId: completionId(1), keyId: KEY, priceVersion: 'v2' }
  corrected.run(entry('charge', 40n, { adjusts }))
  assert.deepEqual(exhaustedOf(corrected), ['0: 100/100, 0 left'])
})

test('credit is exhausted by the refusal that shows it, whatever the thresholds and the budget', () => {
  const on = bench(1000n)
  on.run(settings({ alertThresholds: [], monthlyBudgetNanoUsd: 5000n }))
  spend(on, 1, 900)
  assert.deepEqual(exhaustedOf(on), [])
  on.run(holdUnit({ id: completionId(2), outputTokens: 500 }))
  on.run(holdUnit({ id: completionId(3), outputTokens: 101 }))
  assert.deepEqual([exhaustedOf(on), alertsOf(on)], [['0: 900/1000, 100 left'], []])
})

test('credit is not exhausted by a budget, by what others hold, by a plan billed afterwards, or where there never was any', () => {
  const ofBudget = bench(1000n)
  ofBudget.run(settings({ monthlyBudgetNanoUsd: 100n }))
  spend(ofBudget, 1, 100)
  ofBudget.run(holdUnit({ id: completionId(2) }))
  assert.deepEqual(alertsOf(ofBudget).at(-1), 'budget 100% 100/100')
  const ofKey = bench(1000n)
  ofKey.run(holdUnit({ keyBudgetNanoUsd: 1n }))
  const heldByOthers = bench(1000n)
  heldByOthers.run(holdUnit({ outputTokens: 1000 }))
  heldByOthers.run(holdUnit({ id: completionId(2), outputTokens: 1000 }))
  const afterwards = bench(100n)
  spend(afterwards, 1, 500, { terms: POSTPAID })
  const neverAny = bench()
  neverAny.run(holdUnit())
  neverAny.run(settleUnit({ costNanoUsd: 9n }, { unrecorded: true }))
  const expired = bench()
  expired.run(touch(FREE))
  expired.now = JULY
  expired.run(touch({ billing: 'prepaid', monthlyCreditNanoUsd: 0n }))
  expired.run(holdUnit())
  assert.equal(expired.account().balance, 0n)
  for (const on of [ofBudget, ofKey, heldByOthers, afterwards, neverAny, expired]) assert.deepEqual(exhaustedOf(on), [])
})

test('credit is exhausted once a month: a purchase clears nothing, and what is used up again is not told again', () => {
  const on = bench(100n)
  spend(on, 1, 100)
  on.run(holdUnit({ id: completionId(2) }))
  const [told] = [...on.ledger.alerts].filter(([name]) => name.includes('credit.exhausted'))
  on.run(entry('purchase', 50n))
  spend(on, 3, 50)
  on.run(holdUnit({ id: completionId(4) }))
  assert.deepEqual(exhaustedOf(on), ['0: 100/100, 0 left'])
  assert.equal(on.ledger.alerts.get(told?.[0] ?? ''), told?.[1], 'what was told stays as it was')
})

test('each month tells its own end of credit, of what there was in that month', () => {
  const on = bench()
  on.run(touch(FREE))
  spend(on, 1, 1000, { terms: FREE })
  on.now = JULY
  on.run(touch(FREE))
  assert.deepEqual(exhaustedOf(on), ['0: 1000/1000, 0 left'])
  spend(on, 2, 600, { terms: FREE })
  on.run(holdUnit({ id: completionId(3), terms: FREE, outputTokens: 1000 }))
  assert.equal(exhaustedOf(on).length, 1)
  on.run(holdUnit({ id: completionId(4), terms: FREE, outputTokens: 300, choices: 2 }))
  assert.deepEqual(exhaustedOf(on), ['0: 1000/1000, 0 left', '1: 600/1000, 400 left'])
})

test('a hold of June that is charged in July exhausts the credit of July', () => {
  const on = bench(100n, JULY - 1)
  on.run(holdUnit())
  on.now = JULY
  on.run(settleUnit({ costNanoUsd: 100n }))
  assert.deepEqual(exhaustedOf(on), ['1: 100/100, 0 left'])
  on.now = JULY - 1
  on.run(entry('purchase', 30n))
  spend(on, 2, 30)
  assert.deepEqual(exhaustedOf(on), ['1: 100/100, 0 left'], 'a clock that goes back tells no month again')
})

test('what is owed into a new month is nothing new: only credit that there is can be used up', () => {
  const on = bench(100n)
  on.run(holdUnit())
  on.run(settleUnit({ costNanoUsd: 130n }))
  on.now = JULY
  on.run(holdUnit({ id: completionId(2) }))
  assert.deepEqual(exhaustedOf(on), ['0: 130/100, -30 left'])
  on.run(entry('purchase', 50n))
  spend(on, 3, 20)
  assert.deepEqual(exhaustedOf(on), ['0: 130/100, -30 left', '1: 20/20, 0 left'])
})

test('INV-1: every kind of row takes from one book what it gives to another', () => {
  const kinds: readonly LedgerKind[] = ['grant', 'purchase', 'refund', 'charge', 'expiry']
  const on = bench()
  on.run(touch(FREE))
  on.run(entry('purchase', 10n, { terms: FREE }))
  spend(on, 1, 10, { terms: FREE })
  on.run(entry('refund', 3n, { terms: FREE }))
  on.now = JULY
  on.run(touch(FREE))
  assert.deepEqual(new Set(rowsOf(on.ledger, ACCOUNT).map(({ kind }) => kind)), new Set(kinds))
})
