import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { type CreditDeskForTests, openCreditDesk, termsOf } from '../../../test/support/credit-desk.ts'
import { currentPlace } from '../../../test/support/database.ts'
import { chargeNanoUsd, type Price } from '../../domain/price.ts'
import { ALL_TIME } from '../../http/period.ts'
import type { Account } from '../accounts/queries.ts'
import { reconcile } from './reconcile.ts'
import { type RerateInput, rerate } from './rerate.ts'

const DEAR: Price = { inputMicroUsd: 2_000_000, outputMicroUsd: 6_000_000, cachedInputMicroUsd: 1_000_000 }
const CHEAP: Price = { inputMicroUsd: 1_000_000, outputMicroUsd: 3_000_000 }
const TOKENS = { promptTokens: 10, completionTokens: 5 }
const AT_DEAR = { ...TOKENS, costNanoUsd: 50_000n, priceVersion: 'dear' }

async function setUp(t: TestContext) {
  const desk = await openCreditDesk(t)
  const account = await desk.account('pro')
  await desk.credit.enter(account, { kind: 'purchase', nanoUsd: 10n ** 12n, note: undefined, adjusts: undefined })
  return { ...desk, payer: account }
}

function rated(desk: CreditDeskForTests, account: Account, over: Partial<RerateInput> = {}) {
  const whole = { accountId: account.id, terms: termsOf(account.plan), model: 'm1', period: ALL_TIME, dryRun: false }
  return rerate(desk, { ...whole, price: CHEAP, priceVersion: 'cheap', ...over })
}

const ledgerOf = ({ db }: CreditDeskForTests, { id }: Account) =>
  db
    .selectFrom('ledger')
    .select(['number', 'kind', 'amount_nano_usd', 'adjusts', 'price_version', 'completion_id', 'key_id', 'note'])
    .where('account_id', '=', id)
    .where('kind', '<>', 'purchase')
    .orderBy('number')
    .execute()

test('a charge at another price is corrected by a new row that names it, once, and none of the others', async (t) => {
  const desk = await setUp(t)
  const { payer, spend } = desk
  const [dear] = await spend(
    payer,
    AT_DEAR,
    { ...TOKENS, costNanoUsd: 25_000n, priceVersion: 'cheap' },
    { ...AT_DEAR, model: 'm2' },
    { ...AT_DEAR, costNanoUsd: 0n, status: 'failed' },
  )
  await spend(await desk.account('pro'), AT_DEAR)
  const dry = await rated(desk, payer, { dryRun: true })
  assert.equal((await ledgerOf(desk, payer)).length, 3)
  const summary = await rated(desk, payer)
  assert.deepEqual(summary, dry)
  assert.deepEqual(summary, {
    charges: 2,
    corrected: 1,
    chargedNanoUsd: 0n,
    refundedNanoUsd: 25_000n,
    withoutUsage: 0,
    refused: 0,
  })
  const rows = await ledgerOf(desk, payer)
  assert.deepEqual(rows.slice(3), [
    {
      number: 5,
      kind: 'refund',
      amount_nano_usd: 25_000n,
      adjusts: 2,
      price_version: 'cheap',
      completion_id: dear?.id,
      key_id: dear?.keyId,
      note: 'price correction',
    },
  ])
  assert.deepEqual(await rated(desk, payer), { ...summary, corrected: 0, refundedNanoUsd: 0n })
  const { rowsNanoUsd, ledgerNanoUsd, balanceNanoUsd, expectedBalanceNanoUsd } = await reconcile(desk.db, payer.id)
  assert.deepEqual([rowsNanoUsd, balanceNanoUsd], [ledgerNanoUsd, expectedBalanceNanoUsd])
})

test('each further price corrects the last correction, there and back again', async (t) => {
  const desk = await setUp(t)
  const { payer, spend } = desk
  await spend(payer, AT_DEAR, { ...AT_DEAR, cachedTokens: 4, costNanoUsd: 46_000n })
  for (const [price, priceVersion] of [
    [CHEAP, 'cheap'],
    [DEAR, 'dear'],
    [CHEAP, 'cheap'],
  ] as const)
    assert.equal((await rated(desk, payer, { price, priceVersion })).corrected, 2)
  const rows = await ledgerOf(desk, payer)
  assert.deepEqual(
    rows.map(({ number, kind, amount_nano_usd, adjusts }) => [number, kind, amount_nano_usd, adjusts]),
    [
      [2, 'charge', 50_000n, null],
      [3, 'charge', 46_000n, null],
      [4, 'refund', 25_000n, 2],
      [5, 'refund', 21_000n, 3],
      [6, 'charge', 25_000n, 4],
      [7, 'charge', 21_000n, 5],
      [8, 'refund', 25_000n, 6],
      [9, 'refund', 21_000n, 7],
    ],
  )
})

test('only charges of the period are re-rated, and those without usage rows are counted and left alone', async (t) => {
  const desk = await setUp(t)
  const { payer, spend, clock, db } = desk
  const start = clock.now
  const records = []
  for (let day = 0; day < 4; day++) {
    clock.now = start + day * 86_400_000
    records.push(...(await spend(payer, AT_DEAR)))
  }
  const period = { start: start + 86_400_000, end: start + 3 * 86_400_000 }
  const price = { id: 'dear', model: 'm1', input_micro_usd: 1, output_micro_usd: 1, first_seen_at: 1 }
  await db
    .insertInto('price_version')
    .values({ ...price, cached_input_micro_usd: null, cache_write_micro_usd: null })
    .execute()
  const gone = records[1]
  assert.ok(gone)
  await db.deleteFrom('completion').where('id', '=', gone.id).execute()
  const { charges, corrected, withoutUsage } = await rated(desk, payer, { period })
  assert.deepEqual([charges, corrected, withoutUsage], [2, 1, 1])
  assert.equal((await ledgerOf(desk, payer)).at(-1)?.adjusts, 4)
})

test('INV-4: two at the same time correct each charge once', async (t) => {
  const path = await currentPlace(t)
  const desk = await openCreditDesk(t, path)
  const other = await openCreditDesk(t, path)
  const payer = await desk.account('pro')
  await desk.spend(payer, ...Array.from({ length: 450 }, () => AT_DEAR))
  const both = await Promise.all([rated(desk, payer), rated(other, payer), rated(desk, payer)])
  assert.equal(
    both.reduce((sum, { corrected }) => sum + corrected, 0),
    450,
  )
  const { balanceNanoUsd, expectedBalanceNanoUsd } = await reconcile(desk.db, payer.id)
  assert.deepEqual([balanceNanoUsd, expectedBalanceNanoUsd], [-450n * 25_000n, -450n * 25_000n])
  assert.equal((await rated(desk, payer)).corrected, 0)
})

test('INV-10: whatever prices came and went, in the end each charge is what its tokens cost at the last', async (t) => {
  const desk = await setUp(t)
  const tokens = fc.record({ promptTokens: fc.nat(5000), completionTokens: fc.nat(5000), cachedTokens: fc.nat(5000) })
  const prices = fc.array(fc.record({ inputMicroUsd: fc.nat(5_000_000), outputMicroUsd: fc.nat(5_000_000) }), {
    minLength: 1,
    maxLength: 4,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(tokens, { maxLength: 6 }), prices, async (used, later) => {
      const payer = await desk.account('unlimited')
      const cost = (price: Price) => (each: (typeof used)[number]) =>
        chargeNanoUsd(
          { prompt: each.promptTokens, completion: each.completionTokens, cached: each.cachedTokens },
          price,
        )
      const records = used.map((each) => ({ ...each, costNanoUsd: cost(DEAR)(each), priceVersion: 'dear' }))
      await desk.spend(payer, ...records)
      for (const price of later) await rated(desk, payer, { price, priceVersion: JSON.stringify(price) })
      const last = later.at(-1) ?? DEAR
      const charged = used.filter((each) => cost(DEAR)(each) > 0n)
      const total = charged.map(cost(last)).reduce((sum, each) => sum + each, 0n)
      assert.equal((await reconcile(desk.db, payer.id)).balanceNanoUsd, -total)
    }),
    { numRuns: 40 },
  )
})
