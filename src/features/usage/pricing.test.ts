import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { testIds } from '../../../test/support/database.ts'
import { completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import { openCreditFixture, serveRoutes, termsOf } from '../../../test/support/ledger/credit-service.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AccountId } from '../../domain/ids.ts'
import { chargeNanoUsd, priceUsage, storePrice, usageDetailOf } from '../../domain/price/price.ts'
import type { ChargeableUsage, Price } from '../../domain/price/tariff.ts'
import { callerOf } from '../../http/caller.ts'
import { usageRoutes } from './routes.ts'

async function setUp(t: TestContext) {
  const fixture = await openCreditFixture(t)
  const ask = await serveRoutes(t, fixture, [
    usageRoutes({ ...fixture, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1) }),
  ])
  let made = 0
  /** Under a name of its own. */
  const price = async (of: Price, model = 'm1') => {
    const id = `v${++made}`
    const row = { id, model, ...storePrice(of), first_seen_at: 1 }
    await fixture.db.insertInto('price_version').values(row).execute()
    return id
  }
  const pricingOf = async ({ id, accountId }: CompletionRecord) =>
    (await ask(`/usage/completions/${id}`, accountId)).body.pricing
  return { ...fixture, price, pricingOf }
}

const PRICE: Price = { inputMicroUsd: 270_000, outputMicroUsd: 1_100_000, cachedInputMicroUsd: 27_000 }

test('the arithmetic of a cost is shown line by line, at the price that it was charged at', async (t) => {
  const { database, price, pricingOf } = await setUp(t)
  const tokens = { promptTokens: 1_001, completionTokens: 37, cachedTokens: 300, cacheWriteTokens: 100 }
  const charged = { prompt: 1_001, completion: 37, cached: 300, cacheWrite: 100 }
  const priceVersion = await price(PRICE)
  const record = completionRecord({ ...tokens, priceVersion, costNanoUsd: chargeNanoUsd(charged, PRICE) })
  const plain = completionRecord({ promptTokens: 3, completionTokens: 0, priceVersion, costNanoUsd: 810n })
  await recordCompletions(database, [record, plain])
  const million = { input_per_million: 0.27, cached_input_per_million: 0.027, output_per_million: 1.1 }
  assert.deepEqual(await pricingOf(record), {
    price_version: priceVersion,
    ...million,
    cache_write_per_million: null,
    rule: 'base',
    lines: [
      { kind: 'input', tokens: 601, usd_per_million: 0.27, cost_usd: 0.00016227 },
      { kind: 'cached_input', tokens: 300, usd_per_million: 0.027, cost_usd: 0.0000081 },
      { kind: 'cache_write', tokens: 100, usd_per_million: 0.27, cost_usd: 0.000027 },
      { kind: 'output', tokens: 37, usd_per_million: 1.1, cost_usd: 0.0000407 },
    ],
  })
  assert.deepEqual((await pricingOf(plain)).lines, [
    { kind: 'input', tokens: 3, usd_per_million: 0.27, cost_usd: 8.1e-7 },
    { kind: 'output', tokens: 0, usd_per_million: 1.1, cost_usd: 0 },
  ])
})

test('the lines, rounded up once, are the cost, whatever was used at whatever price', async (t) => {
  const { database, price, pricingOf } = await setUp(t)
  const micro = fc.oneof(fc.nat(2_000), fc.nat(100_000_000))
  const some = fc.option(micro, { nil: undefined })
  const prices = fc.record({
    inputMicroUsd: micro,
    outputMicroUsd: micro,
    cachedInputMicroUsd: some,
    cacheWriteMicroUsd: some,
  })
  const count = fc.oneof(fc.nat(20), fc.nat(2_000_000))
  await fc.assert(
    fc.asyncProperty(prices, count, count, count, count, async (of, prompt, completion, cached, cacheWrite) => {
      const record = completionRecord({
        promptTokens: prompt,
        completionTokens: completion,
        cachedTokens: cached,
        cacheWriteTokens: cacheWrite,
        priceVersion: await price(of),
        costNanoUsd: chargeNanoUsd({ prompt, completion, cached, cacheWrite }, of),
      })
      await recordCompletions(database, [record])
      const { lines } = await pricingOf(record)
      const picoUsd = (usd: number) => BigInt(Math.round(usd * 1e12))
      for (const { tokens, usd_per_million: rate, cost_usd: usd } of lines)
        assert.equal(picoUsd(usd), BigInt(tokens) * BigInt(Math.round(rate * 1e6)))
      const sum = lines.reduce((all: bigint, { cost_usd }: { cost_usd: number }) => all + picoUsd(cost_usd), 0n)
      assert.equal((sum + 999n) / 1000n, record.costNanoUsd)
      const ofPrompt = lines.filter(({ kind }: { kind: string }) => kind !== 'output')
      assert.equal(
        ofPrompt.reduce((all: number, { tokens }: { tokens: number }) => all + tokens, 0),
        prompt,
      )
    }),
    { numRuns: 60 },
  )
})

test('each line of a tariff is shown with the rule that applied: classes, tier, service tier, lifetime and fees', async (t) => {
  const { database, price, pricingOf } = await setUp(t)
  const tariff: Price = {
    ...PRICE,
    cacheWrite1hMicroUsd: 540_000,
    perRequestNanoUsd: 5,
    serverToolNanoUsd: { web_search: 10_000_000 },
    serviceTiers: {
      priority: {
        inputMicroUsd: 500_000,
        tiers: [{ abovePromptTokens: 100, appliesTo: 'request', outputMicroUsd: 7 }],
      },
    },
  }
  const usage: ChargeableUsage = {
    prompt: 1000,
    completion: 50,
    cacheWrite: 300,
    cacheWrite1h: 200,
    serviceTier: 'priority',
    serverTools: { web_search: 2, unknown_tool: 1 },
  }
  const { nanoUsd, rule } = priceUsage(usage, tariff)
  const record = completionRecord({
    promptTokens: 1000,
    completionTokens: 50,
    cacheWriteTokens: 300,
    usageDetail: usageDetailOf(usage),
    priceRule: rule,
    priceVersion: await price(tariff),
    costNanoUsd: nanoUsd,
  })
  await recordCompletions(database, [record])
  const row = await database.db.selectFrom('completion').selectAll().where('id', '=', record.id).executeTakeFirst()
  assert.equal(row?.price_rule, 'priority+above_100+cache_write_1h')
  assert.deepEqual(JSON.parse(row?.usage_detail ?? ''), {
    cacheWrite1h: 200,
    serviceTier: 'priority',
    serverTools: { web_search: 2, unknown_tool: 1 },
  })
  const shown = await pricingOf(record)
  assert.equal(shown.rule, 'priority+above_100+cache_write_1h')
  assert.deepEqual(shown.lines, [
    { kind: 'input', tokens: 700, usd_per_million: 0.5, cost_usd: 0.00035 },
    { kind: 'cache_write', tokens: 100, usd_per_million: 0.5, cost_usd: 0.00005 },
    { kind: 'cache_write_1h', tokens: 200, usd_per_million: 0.54, cost_usd: 0.000108 },
    { kind: 'output', tokens: 50, usd_per_million: 0.000007, cost_usd: 3.5e-10 },
    { kind: 'request', tokens: 0, usd_per_million: 0, uses: 1, usd_per_use: 5e-9, cost_usd: 5e-9 },
    {
      kind: 'server_tool',
      name: 'web_search',
      tokens: 0,
      usd_per_million: 0,
      uses: 2,
      usd_per_use: 0.01,
      cost_usd: 0.02,
    },
  ])
})

test('there is no arithmetic where the price is not known, or the tokens are not what was charged', async (t) => {
  const { database, price, pricingOf } = await setUp(t)
  const [mine, theirs] = [await price(PRICE), await price(PRICE, 'm2')]
  const failed = completionRecord({ status: 'failed', priceVersion: mine, costNanoUsd: 0n })
  const unknown = completionRecord({ priceVersion: 'v?', costNanoUsd: 8_200n })
  const ofAnother = completionRecord({ priceVersion: theirs, costNanoUsd: 8_200n })
  const known = completionRecord({ priceVersion: mine, costNanoUsd: 8_200n })
  await recordCompletions(database, [failed, unknown, ofAnother, known])
  for (const record of [failed, unknown, ofAnother]) assert.equal(await pricingOf(record), null)
  assert.equal((await pricingOf(known)).price_version, mine)
})

test('there is no arithmetic of a charge that was corrected, up or down, and of others there still is', async (t) => {
  const { account, spend, submit, price, pricingOf } = await setUp(t)
  const priceVersion = await price(PRICE)
  const payer = await account('pro')
  const same = { priceVersion, costNanoUsd: 8_200n, accountId: payer.id as AccountId }
  const records = await spend(payer, same, same, same)
  for (const [index, kind] of (['refund', 'charge'] as const).entries()) {
    const record = records[index]
    assert.ok(record)
    assert.notEqual(await pricingOf(record), null)
    const adjusts = { number: index + 1, completionId: record.id, keyId: record.keyId, priceVersion: 'v9' }
    const entry = { kind, nanoUsd: 200n, note: 'price correction', adjusts } as const
    await submit({ kind: 'entry', accountId: payer.id, terms: termsOf('pro'), entry })
    assert.equal(await pricingOf(record), null)
  }
  assert.ok(records[2])
  assert.notEqual(await pricingOf(records[2]), null)
})
