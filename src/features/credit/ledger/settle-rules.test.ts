import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { temporaryDatabase } from '../../../../test/support/database.ts'
import {
  A,
  hold,
  KEY,
  kinds,
  NOW,
  purchase,
  release,
  settle,
  storeOn,
} from '../../../../test/support/ledger/ledger-store.ts'
import type { CompletionRecord } from '../../../domain/completion.ts'
import { monthNumber, monthStart } from '../../../lib/time.ts'
import { reconcile } from '../reconcile.ts'
import { LATE_SETTLEMENT } from './movements.ts'
import { type Unit, unchargedUnit } from './unit.ts'

const GIVEN = 1_000n
const NEXT_MONTH = monthStart(monthNumber(NOW) + 1) + 1

/** What a sweep makes of a hold: all it knows is an estimate. */
const swept = (name: string | number, over: Partial<CompletionRecord> = {}) =>
  settle(
    name,
    { status: 'incomplete', usageSource: 'estimated', promptTokens: 9, completionTokens: 5, costNanoUsd: 30n, ...over },
    { provisional: true },
  )

/** What its process says later. */
const exact = (name: string | number, over: Partial<CompletionRecord> = {}) =>
  settle(name, { promptTokens: 10, completionTokens: 50, costNanoUsd: 70n, ...over })

const budgeted = (name: string | number) => hold(name, { keyBudgetNanoUsd: 10_000n })

async function openStore(t: TestContext) {
  const { db, store, commit } = await storeOn(await temporaryDatabase(t))
  await commit(purchase(GIVEN))
  const entries = () => db.selectFrom('ledger').selectAll().where('number', '>', 1).orderBy('number').execute()
  const at = (now: number, ...units: readonly Unit[]) => store.commit({ units, now })
  return { db, commit, entries, at }
}

type Store = Awaited<ReturnType<typeof openStore>>

/** Rows, sums, ledger, balance, and what is spent say that each completion cost this much. */
async function assertAllSay({ db }: Store, costs: readonly bigint[], spent?: bigint): Promise<void> {
  const total = costs.reduce((sum, each) => sum + each, 0n)
  const sums = await reconcile(db, A)
  assert.deepEqual(sums, {
    rowsNanoUsd: total,
    rollupsNanoUsd: total,
    ledgerNanoUsd: total,
    balanceNanoUsd: GIVEN - total,
    expectedBalanceNanoUsd: GIVEN - total,
    heldNanoUsd: 0n,
    openHoldsNanoUsd: 0n,
  })
  const rows = await db.selectFrom('completion').selectAll().execute()
  assert.deepEqual(rows.map(({ cost_nano_usd }) => cost_nano_usd).sort(), [...costs].sort())
  const tokens = rows.reduce((sum, row) => sum + row.prompt_tokens + row.completion_tokens, 0)
  for (const table of ['usage_hour', 'usage_rollup'] as const) {
    const [sum] = await db.selectFrom(table).selectAll().execute()
    assert.deepEqual(
      [sum?.requests, (sum?.prompt_tokens ?? 0) + (sum?.completion_tokens ?? 0), sum?.cost_nano_usd],
      [costs.length, tokens, total],
      table,
    )
  }
  const credit = await db.selectFrom('credit').selectAll().executeTakeFirstOrThrow()
  const key = await db.selectFrom('key_spending').selectAll().executeTakeFirstOrThrow()
  const expected = spent ?? total
  assert.deepEqual([credit.spent_nano_usd, key.spent_nano_usd, key.held_nano_usd], [expected, expected, 0n])
}

test('INV-10: a settlement after the sweep corrects the charge upwards, once, and all sums with it', async (t) => {
  const store = await openStore(t)
  const { db, commit, entries } = store
  await commit(budgeted(1), budgeted(2))
  assert.deepEqual(kinds(await commit(swept(1), exact(2))), ['done', 'done'])
  assert.deepEqual(await commit(exact(1)), [{ kind: 'corrected', nanoUsd: 40n }])
  await assertAllSay(store, [70n, 70n])
  const [charge, , correction] = await entries()
  assert.deepEqual(
    [correction?.kind, correction?.amount_nano_usd, correction?.adjusts, correction?.note, correction?.completion_id],
    ['charge', 40n, charge?.number, LATE_SETTLEMENT, exact(1).record.id],
  )
  const row = await db.selectFrom('completion').selectAll().where('id', '=', exact(1).record.id).executeTakeFirst()
  assert.deepEqual(
    [row?.status, row?.usage_source, row?.prompt_tokens, row?.completion_tokens],
    ['completed', 'provider', 10, 50],
  )
  assert.deepEqual(kinds(await commit(exact(1), swept(1), release(1), exact(1))), [
    'already',
    'already',
    'already',
    'already',
  ])
  await assertAllSay(store, [70n, 70n])
})

test('INV-10: an estimate that was too high is refunded, and does not count as spent any more', async (t) => {
  const store = await openStore(t)
  const { commit, entries } = store
  await commit(budgeted(1))
  await commit(swept(1, { costNanoUsd: 90n, completionTokens: 80 }))
  assert.deepEqual(await commit(exact(1)), [{ kind: 'corrected', nanoUsd: -20n }])
  await assertAllSay(store, [70n])
  const [charge, refund] = await entries()
  assert.deepEqual([refund?.kind, refund?.amount_nano_usd, refund?.adjusts], ['refund', 20n, charge?.number])
})

test('a refund of what was charged last month leaves this month’s spending alone, a charge counts in its own', async (t) => {
  const store = await openStore(t)
  const { db, commit, at } = store
  await commit(budgeted(1), budgeted(2))
  await commit(swept(1, { costNanoUsd: 90n }), swept(2))
  await at(NEXT_MONTH, exact(1))
  const { spent_nano_usd: spent } = await db.selectFrom('credit').selectAll().executeTakeFirstOrThrow()
  assert.equal(spent, 0n)
  await at(NEXT_MONTH, exact(2))
  await assertAllSay(store, [70n, 70n], 40n)
})

test('an estimate of nothing is followed by a charge, an exact nothing by a refund of everything', async (t) => {
  const store = await openStore(t)
  const { commit, entries } = store
  await commit(budgeted(1), budgeted(2))
  await commit(swept(1, { costNanoUsd: 0n }), swept(2))
  await commit(exact(1), exact(2, { costNanoUsd: 0n, promptTokens: 0, completionTokens: 0, status: 'failed' }))
  await assertAllSay(store, [70n, 0n])
  assert.deepEqual(
    (await entries()).map(({ kind, amount_nano_usd, adjusts }) => [kind, amount_nano_usd, adjusts]),
    [
      ['charge', 30n, null],
      ['charge', 70n, null],
      ['refund', 30n, 2],
    ],
  )
})

test('INV-10: what was never sent costs nothing, also where a sweep charged its estimate, and leaves no row otherwise', async (t) => {
  const store = await openStore(t)
  const { db, commit, entries } = store
  const uncharged = (name: string | number) => unchargedUnit(budgeted(name))
  await commit(budgeted(1), budgeted(2))
  await commit(swept(1))
  const outcomes = await commit(uncharged(1), uncharged(2), uncharged(3))
  assert.deepEqual(
    [outcomes[0], ...kinds(outcomes.slice(1))],
    [{ kind: 'corrected', nanoUsd: -30n }, 'done', 'already'],
  )
  await assertAllSay(store, [0n])
  const [charge, refund] = await entries()
  assert.deepEqual([refund?.kind, refund?.amount_nano_usd, refund?.adjusts], ['refund', 30n, charge?.number])
  const rows = await db.selectFrom('completion').selectAll().execute()
  assert.deepEqual(
    rows.map(({ status, prompt_tokens, completion_tokens, attempts }) => [
      status,
      prompt_tokens,
      completion_tokens,
      attempts,
    ]),
    [['failed', 0, 0, 0]],
  )
  assert.deepEqual(kinds(await commit(uncharged(1), uncharged(2), swept(1), swept(2))), Array(4).fill('already'))
  await commit(budgeted(4), uncharged(4))
  await assertAllSay(store, [0n])
})

test('LED-6: a correction of a charge whose price was corrected names that correction', async (t) => {
  const store = await openStore(t)
  const { db, commit, entries } = store
  await commit(budgeted(1))
  await commit(swept(1))
  const { id: completionId } = exact(1).record
  const adjusts = { number: 2, completionId, keyId: KEY, priceVersion: 'new' }
  const entry = { kind: 'refund', nanoUsd: 5n, note: 'price correction', adjusts } as const
  await commit({ kind: 'entry', accountId: A, terms: exact(1).terms, entry })
  assert.deepEqual(await commit(exact(1)), [{ kind: 'corrected', nanoUsd: 40n }])
  assert.deepEqual((await entries()).at(-1)?.adjusts, 3)
  const sums = await reconcile(db, A)
  assert.deepEqual([sums.rowsNanoUsd, sums.rollupsNanoUsd, sums.ledgerNanoUsd], [70n, 70n, 70n])
  assert.equal(sums.balanceNanoUsd, sums.expectedBalanceNanoUsd)
})

test('a settlement whose hold is lost is charged; one that may be older than the oldest usage row is not', async (t) => {
  const store = await openStore(t)
  const { commit } = store
  const old = { createdAt: NOW - 366 * 86_400_000 }
  assert.deepEqual(kinds(await commit(exact(1), exact(2, old), swept(3))), ['done', 'already', 'already'])
  assert.deepEqual(kinds(await commit(exact(1))), ['already'])
  const sums = await reconcile(store.db, A)
  assert.deepEqual([sums.rowsNanoUsd, sums.rollupsNanoUsd, sums.ledgerNanoUsd], [70n, 70n, 70n])
})

test('INV-4, INV-10: sweeps, settlements and their repeats in any order and batches come to the exact figure', async (t) => {
  const store = await openStore(t)
  const { db, commit } = store
  let made = 0
  let total = 0n
  const step = fc.constantFrom('sweep', 'settle', 'release')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.boolean()), { minLength: 1, maxLength: 8 }),
      fc.bigInt(0n, 90n),
      fc.bigInt(0n, 90n),
      async (steps, estimate, cost) => {
        const name = `any-${made++}`
        await commit(budgeted(name))
        let batch: Unit[] = []
        for (const [kind, ends] of steps) {
          if (kind === 'sweep') batch.push(swept(name, { costNanoUsd: estimate }))
          else batch.push(kind === 'settle' ? exact(name, { costNanoUsd: cost }) : release(name))
          if (ends) await commit(...batch.splice(0))
        }
        batch = [...batch, exact(name, { costNanoUsd: cost })]
        const outcomes = await commit(...batch)
        assert.ok(outcomes.every(({ kind }) => kind !== 'failed'))
        total += cost
        const sums = await reconcile(db, A)
        assert.deepEqual(
          [sums.rowsNanoUsd, sums.rollupsNanoUsd, sums.ledgerNanoUsd, sums.heldNanoUsd],
          [total, total, total, 0n],
        )
        assert.equal(sums.balanceNanoUsd, sums.expectedBalanceNanoUsd)
      },
    ),
    { numRuns: 60 },
  )
})
