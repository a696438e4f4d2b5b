import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { currentLocation } from '../../../test/support/database.ts'
import { auditedLedger } from '../../../test/support/ledger/audited-ledger.ts'
import { completionRecord } from '../../../test/support/ledger/completions.ts'
import { type CreditFixture, openCreditFixture, termsOf } from '../../../test/support/ledger/credit-service.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { chargeNanoUsd, storePrice } from '../../domain/price/price.ts'
import type { Price } from '../../domain/price/tariff.ts'
import { ALL_TIME } from '../../http/period.ts'
import type { Account } from '../accounts/queries.ts'
import { reconcile } from './reconcile.ts'
import { type RerateInput, rerate } from './rerate.ts'

const DEAR: Price = { inputMicroUsd: 2_000_000, outputMicroUsd: 6_000_000, cachedInputMicroUsd: 1_000_000 }
const CHEAP: Price = { inputMicroUsd: 1_000_000, outputMicroUsd: 3_000_000 }
const TOKENS = { promptTokens: 10, completionTokens: 5 }
const AT_DEAR = { ...TOKENS, costNanoUsd: 50_000n, priceVersion: 'dear' }

async function setUp(t: TestContext) {
  const creditService = await openCreditFixture(t)
  const account = await creditService.account('pro')
  await creditService.credit.enter(account, {
    kind: 'purchase',
    nanoUsd: 10n ** 12n,
    note: undefined,
    adjusts: undefined,
  })
  return { ...creditService, payer: account }
}

function rated(creditService: CreditFixture, account: Account, over: Partial<RerateInput> = {}) {
  const whole = { accountId: account.id, terms: termsOf(account.plan), model: 'm1', period: ALL_TIME, dryRun: false }
  return rerate(creditService, { ...whole, price: CHEAP, priceVersion: 'cheap', ...over })
}

const ledgerOf = ({ db }: CreditFixture, { id }: Account) =>
  db
    .selectFrom('ledger')
    .select(['number', 'kind', 'amount_nano_usd', 'adjusts', 'price_version', 'completion_id', 'key_id', 'note'])
    .where('account_id', '=', id)
    .where('kind', '<>', 'purchase')
    .orderBy('number')
    .execute()

test('a charge for a call with the account’s own credential is corrected by the share that is charged', async (t) => {
  const creditService = await setUp(t)
  const { payer, spend } = creditService
  const usageDetail = { byok: { feePpm: 50_000, listNanoUsd: '50000' } }
  await spend(payer, { ...AT_DEAR, costNanoUsd: 2_500n, usageDetail })
  const summary = await rated(creditService, payer)
  assert.deepEqual([summary.corrected, summary.refundedNanoUsd], [1, 1_250n])
})

test('a charge at another price is corrected by a new row that names it, once, and none of the others', async (t) => {
  const creditService = await setUp(t)
  const { payer, spend } = creditService
  const [dear] = await spend(
    payer,
    AT_DEAR,
    { ...TOKENS, costNanoUsd: 25_000n, priceVersion: 'cheap' },
    { ...AT_DEAR, model: 'm2' },
    { ...AT_DEAR, costNanoUsd: 0n, status: 'failed' },
  )
  await spend(await creditService.account('pro'), AT_DEAR)
  const dry = await rated(creditService, payer, { dryRun: true })
  assert.equal((await ledgerOf(creditService, payer)).length, 3)
  const summary = await rated(creditService, payer)
  assert.deepEqual(summary, dry)
  assert.deepEqual(summary, {
    charges: 2,
    corrected: 1,
    chargedNanoUsd: 0n,
    refundedNanoUsd: 25_000n,
    withoutUsage: 0,
    refused: 0,
  })
  const rows = await ledgerOf(creditService, payer)
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
  assert.deepEqual(await rated(creditService, payer), { ...summary, corrected: 0, refundedNanoUsd: 0n })
  const { rowsNanoUsd, ledgerNanoUsd, balanceNanoUsd, expectedBalanceNanoUsd } = await reconcile(
    creditService.db,
    payer.id,
  )
  assert.deepEqual([rowsNanoUsd, balanceNanoUsd], [ledgerNanoUsd, expectedBalanceNanoUsd])
})

test('each further price corrects the last correction, there and back again', async (t) => {
  const creditService = await setUp(t)
  const { payer, spend } = creditService
  await spend(payer, AT_DEAR, { ...AT_DEAR, cachedTokens: 4, costNanoUsd: 46_000n })
  for (const [price, priceVersion] of [
    [CHEAP, 'cheap'],
    [DEAR, 'dear'],
    [CHEAP, 'cheap'],
  ] as const)
    assert.equal((await rated(creditService, payer, { price, priceVersion })).corrected, 2)
  const rows = await ledgerOf(creditService, payer)
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
  const creditService = await setUp(t)
  const { payer, spend, clock, db } = creditService
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
  const { charges, corrected, withoutUsage } = await rated(creditService, payer, { period })
  assert.deepEqual([charges, corrected, withoutUsage], [2, 1, 1])
  assert.equal((await ledgerOf(creditService, payer)).at(-1)?.adjusts, 4)
})

/** $1 and $3 per million, twice that above 100 tokens, four times that of the service `priority`, and a fee. */
const TARIFF: Price = {
  ...CHEAP,
  tiers: [{ abovePromptTokens: 100, appliesTo: 'request', inputMicroUsd: 2_000_000, outputMicroUsd: 6_000_000 }],
  serviceTiers: { priority: { inputMicroUsd: 4_000_000, outputMicroUsd: 12_000_000, tiers: [] } },
  perRequestNanoUsd: 500,
}

const SHORT = { promptTokens: 100, completionTokens: 10, cachedTokens: 0 }
const LONG = { ...SHORT, promptTokens: 101 }
/** What is used, and what it comes to by the tariff above. */
const RERATED: readonly (readonly [used: Partial<CompletionRecord>, nanoUsd: bigint])[] = [
  [SHORT, 130_500n],
  [LONG, 262_500n],
  [{ ...LONG, usageSource: 'bounded' }, 262_500n],
  [{ ...LONG, usageDetail: { serviceTier: 'priority' } }, 524_500n],
  [{ ...LONG, usageDetail: { calls: 2 } }, 132_000n], // two prompts, neither above the threshold
]
/** The most that is charged for these. */
const CAP = 50_000n
const CAPPED: typeof RERATED = [
  [{ ...LONG, costNanoUsd: 131_001n }, CAP],
  [{ ...SHORT, promptTokens: 10, priceVersion: 'pv_old', costNanoUsd: 80_000n }, 40_500n],
]

test('LED-7: a charge is corrected by the rule of the tariff; what the cap left unbilled stays unbilled', async (t) => {
  const ledger = await auditedLedger(t)
  const { db, clock, commit } = ledger
  const version = { id: 'tariff', model: 'm1', first_seen_at: clock.now, ...storePrice(TARIFF) }
  await db.insertInto('price_version').values(version).execute()
  const payer = await ledger.account('pro')
  const [accountId, terms] = [payer.id, termsOf('pro')]
  await ledger.submit({ kind: 'settings', accountId, terms, maxOverrunNanoUsd: 0n })
  const records = await ledger.use(payer, ...RERATED.map(([used]) => used))
  for (const [used] of CAPPED) {
    const record = completionRecord({ createdAt: clock.now, priceVersion: 'pv_now', ...used, accountId })
    records.push(record)
    await commit([{ kind: 'settle', record, terms, unrecorded: true, promisedNanoUsd: CAP, kept: undefined }])
  }
  const input = { accountId, terms, model: 'm1', period: ALL_TIME, dryRun: false }
  const { corrected } = await rerate({ db, commit }, { ...input, price: TARIFF, priceVersion: 'tariff' })
  assert.equal(corrected, records.length - 1)
  const rows = await db.selectFrom('ledger').selectAll().where('account_id', '=', accountId).execute()
  const taken = records.map(({ id }) =>
    rows
      .filter(({ completion_id: of }) => of === id)
      .reduce((sum, row) => sum + (row.kind === 'charge' ? row.amount_nano_usd : -row.amount_nano_usd), 0n),
  )
  const expected = [...RERATED, ...CAPPED].map(([, nanoUsd]) => nanoUsd)
  assert.deepEqual(taken, expected)
  assert.deepEqual((await ledger.audit()).findings, [], 'the auditor comes to the same')
})

test('INV-4: two at the same time correct each charge once', async (t) => {
  const path = await currentLocation(t)
  const creditService = await openCreditFixture(t, path)
  const other = await openCreditFixture(t, path)
  const payer = await creditService.account('pro')
  await creditService.spend(payer, ...Array.from({ length: 450 }, () => AT_DEAR))
  const both = await Promise.all([rated(creditService, payer), rated(other, payer), rated(creditService, payer)])
  assert.equal(
    both.reduce((sum, { corrected }) => sum + corrected, 0),
    450,
  )
  const { balanceNanoUsd, expectedBalanceNanoUsd } = await reconcile(creditService.db, payer.id)
  assert.deepEqual([balanceNanoUsd, expectedBalanceNanoUsd], [-450n * 25_000n, -450n * 25_000n])
  assert.equal((await rated(creditService, payer)).corrected, 0)
})

test('INV-10: whatever prices came and went, in the end each charge is what its tokens cost at the last', async (t) => {
  const creditService = await setUp(t)
  const tokens = fc.record({ promptTokens: fc.nat(5000), completionTokens: fc.nat(5000), cachedTokens: fc.nat(5000) })
  const prices = fc.array(fc.record({ inputMicroUsd: fc.nat(5_000_000), outputMicroUsd: fc.nat(5_000_000) }), {
    minLength: 1,
    maxLength: 4,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(tokens, { maxLength: 6 }), prices, async (used, later) => {
      const payer = await creditService.account('unlimited')
      const cost = (price: Price) => (each: (typeof used)[number]) =>
        chargeNanoUsd(
          { prompt: each.promptTokens, completion: each.completionTokens, cached: each.cachedTokens },
          price,
        )
      const records = used.map((each) => ({ ...each, costNanoUsd: cost(DEAR)(each), priceVersion: 'dear' }))
      await creditService.spend(payer, ...records)
      for (const price of later) await rated(creditService, payer, { price, priceVersion: JSON.stringify(price) })
      const last = later.at(-1) ?? DEAR
      const charged = used.filter((each) => cost(DEAR)(each) > 0n)
      const total = charged.map(cost(last)).reduce((sum, each) => sum + each, 0n)
      assert.equal((await reconcile(creditService.db, payer.id)).balanceNanoUsd, -total)
    }),
    { numRuns: 40 },
  )
})
