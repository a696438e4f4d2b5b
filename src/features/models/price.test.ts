import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import type { CataloguePricing, CatalogueTariff } from '../../../catalogue/entry.ts'
import { usdText } from '../../domain/money.ts'
import { priceUsage, readStoredPrice, storePrice, tariffText } from '../../domain/price/price.ts'
import type { ChargeableUsage, Price } from '../../domain/price/tariff.ts'
import { buildModelBook } from './book.ts'
import { listModel } from './listed-model.ts'
import { pricePeriods, priceVersion, toPrice } from './price.ts'

const TARIFF: CatalogueTariff = {
  input_per_million: 2.5,
  output_per_million: 15,
  cached_input_per_million: 0.25,
  cache_write_1h_per_million: 5,
  tiers: [
    { above_prompt_tokens: 272_000, input_per_million: 5, output_per_million: 22.5, cached_input_per_million: 0.5 },
    { above_prompt_tokens: 1000, applies_to: 'excess', audio_input_per_million: 0.000001 },
  ],
  service_tiers: { flex: { input_per_million: 1.25, tiers: [] } },
  discounts: [{ from: '16:30', until: '00:30', output_per_million: 7.5 }],
  per_request_usd: 0.005,
  per_image_usd: 0.000000001,
  server_tools: { web_search: 10 },
}
const PRICE: Price = {
  inputMicroUsd: 2_500_000,
  outputMicroUsd: 15_000_000,
  cachedInputMicroUsd: 250_000,
  cacheWrite1hMicroUsd: 5_000_000,
  tiers: [
    { abovePromptTokens: 1000, appliesTo: 'excess', audioInputMicroUsd: 1 },
    {
      abovePromptTokens: 272_000,
      appliesTo: 'request',
      inputMicroUsd: 5_000_000,
      outputMicroUsd: 22_500_000,
      cachedInputMicroUsd: 500_000,
    },
  ],
  serviceTiers: { flex: { inputMicroUsd: 1_250_000, tiers: [] } },
  discounts: [{ fromMinute: 990, untilMinute: 30, outputMicroUsd: 7_500_000 }],
  perRequestNanoUsd: 5_000_000,
  perImageNanoUsd: 1,
  serverToolNanoUsd: { web_search: 10_000_000 },
}

test('a whole tariff is read exactly as it is written', () => {
  assert.deepEqual(toPrice(TARIFF), PRICE)
  assert.deepEqual(toPrice({ input_per_million: 1, output_per_million: 2, tiers: [], service_tiers: {} }), {
    inputMicroUsd: 1_000_000,
    outputMicroUsd: 2_000_000,
  })
})

test('what a tariff cannot say exactly, or says twice, is refused with the name of the model', () => {
  const wrong: [Partial<CataloguePricing>, RegExp][] = [
    [{ audio_input_per_million: 0.1234567 }, /'m'.*0\.1234567/],
    [{ tiers: [{ above_prompt_tokens: 1, input_per_million: -1 }] }, /'m'.*-1/],
    [{ tiers: [{ above_prompt_tokens: 1 }, { above_prompt_tokens: 1 }] }, /two tiers above 1/],
    [{ per_request_usd: 1e-10 }, /1e-10/],
    [{ discounts: [{ from: '24:00', until: '01:00' }] }, /24:00/],
    [{ discounts: [{ from: '01:00', until: '01:00' }] }, /01:00/],
    [{ successors: [{ input_per_million: 1, output_per_million: 1 }] }, /neither starts/],
    [{ starts: '2026-12-01', ends: '2026-11-30' }, /ends before it starts/],
    [{ ends: '2026-02-30' }, /no date/],
  ]
  for (const [more, message] of wrong) {
    const pricing = { input_per_million: 1, output_per_million: 1, ...more }
    assert.throws(() => pricePeriods({ id: 'm', pricing }), message)
  }
})

test('a version names everything of a price, and a price of four rates keeps the version that it always had', () => {
  assert.equal(priceVersion('a', { inputMicroUsd: 1, outputMicroUsd: 2 }), 'pv_0a8ed86fbb86ec1953eb')
  const undefinedToo = { inputMicroUsd: 1, outputMicroUsd: 2, tiers: undefined, audioInputMicroUsd: undefined }
  assert.equal(priceVersion('a', undefinedToo), 'pv_0a8ed86fbb86ec1953eb')
  const changes: Partial<Price>[] = [
    {},
    { cacheWrite1hMicroUsd: 1 },
    { audioInputMicroUsd: 1 },
    { reasoningOutputMicroUsd: 1 },
    { tiers: [] },
    { serviceTiers: {} },
    { discounts: [] },
    { perRequestNanoUsd: 1 },
    { perImageNanoUsd: 2 },
    { serverToolNanoUsd: { web_search: 1 } },
  ]
  const versions = changes.map((change) => priceVersion('a', { ...PRICE, ...change }))
  assert.equal(new Set(versions).size, changes.length)
  assert.equal(priceVersion('a', PRICE), priceVersion('a', { ...toPrice(TARIFF) }))
  assert.equal(priceVersion('a', PRICE), 'pv_e266022ac053168b9b1f', 'a version must never change its meaning')
})

test('a price survives being stored, and one of four rates has nothing beside its columns', () => {
  assert.equal(tariffText({ inputMicroUsd: 1, outputMicroUsd: 2, cacheWriteMicroUsd: 3 }), undefined)
  const { cacheWriteMicroUsd: _, ...stored } = readStoredPrice(storePrice(PRICE))
  assert.deepEqual(stored, PRICE)
  const rate = fc.option(fc.nat(), { nil: undefined })
  const prices = fc.record({
    inputMicroUsd: fc.nat(),
    outputMicroUsd: fc.nat(),
    cachedInputMicroUsd: rate,
    audioOutputMicroUsd: rate,
    perImageNanoUsd: rate,
  })
  fc.assert(
    fc.property(prices, (price) => {
      assert.equal(priceVersion('a', readStoredPrice(storePrice(price))), priceVersion('a', price))
    }),
  )
})

test('a price without dates applies always, and its last day is one of it', () => {
  const rates = { input_per_million: 1, output_per_million: 1 }
  const bounds = (pricing: CataloguePricing, price_ends?: string) =>
    pricePeriods({ id: 'm', pricing, price_ends }).map(({ startsAt, endsAt }) =>
      [startsAt, endsAt].map((at) => (Number.isFinite(at) ? new Date(at).toISOString().slice(0, 16) : at)),
    )
  assert.deepEqual(bounds(rates), [[-Infinity, Infinity]])
  assert.deepEqual(bounds(rates, '2026-12-31'), [[-Infinity, '2027-01-01T00:00']])
  assert.deepEqual(bounds({ ...rates, ends: '2026-12-31T08:00:00Z' }, '2027-02-02'), [[-Infinity, '2026-12-31T08:00']])
  const successors = [rates, { ...rates, starts: '2027-03-01', ends: '2027-03-31' }]
  assert.deepEqual(bounds({ ...rates, starts: '2026-12-01', ends: '2026-12-31', successors }), [
    ['2026-12-01T00:00', '2027-01-01T00:00'],
    ['2027-01-01T00:00', '2027-03-01T00:00'],
    ['2027-03-01T00:00', '2027-04-01T00:00'],
  ])
})

test('a successor applies from its date on, without the book being built again; without one the model has no price', () => {
  let now = Date.parse('2026-12-31T23:59:59.999Z')
  const pricing = {
    input_per_million: 1,
    output_per_million: 1,
    ends: '2026-12-31',
    successors: [{ input_per_million: 3, output_per_million: 3, ends: '2027-01-31' }],
  }
  const deployments = [{ provider: 'p', model: 'x' }]
  const models = [{ id: 'm', aliases: ['alias'], pricing, deployments }]
  const book = buildModelBook({ catalogue: [], models, providers: new Set(['p']), now: () => now })
  const before = book.find('m')
  assert.equal(before?.price?.inputMicroUsd, 1_000_000)
  assert.deepEqual(listModel(before as NonNullable<typeof before>, [], 0).pricing, {
    input_per_million: 1,
    output_per_million: 1,
    ends: '2027-01-01T00:00:00.000Z',
    successors: [
      {
        input_per_million: 3,
        output_per_million: 3,
        starts: '2027-01-01T00:00:00.000Z',
        ends: '2027-02-01T00:00:00.000Z',
      },
    ],
  })
  now += 1
  assert.equal(book.find('alias')?.price?.inputMicroUsd, 3_000_000)
  assert.notEqual(book.find('m')?.priceVersion, before?.priceVersion)
  assert.deepEqual(
    book.all.map(({ price }) => price?.inputMicroUsd),
    [3_000_000, 3_000_000],
  )
  now = Date.parse('2027-02-01')
  assert.deepEqual([book.find('m')?.price, book.find('m')?.priceVersion], [undefined, undefined])
  assert.equal(book.find('m')?.pricePeriods?.length, 2)
})

test('the list shows a whole tariff as the operator would write it', () => {
  const models = [{ id: 'm', pricing: TARIFF, deployments: [{ provider: 'p', model: 'x' }] }]
  const book = buildModelBook({ catalogue: [], models, providers: new Set(['p']), now: () => 0 })
  const [model] = book.all
  assert.ok(model)
  const { tiers = [], ...rest } = listModel(model, [], 0).pricing ?? {}
  const { tiers: written = [], ...given } = TARIFF
  assert.deepEqual(rest, given)
  const spelledOut = written.map((tier) => ({ ...tier, applies_to: tier.applies_to ?? 'request' }))
  assert.deepEqual(tiers, spelledOut.reverse())
})

const PAGE = readFileSync(new URL('../../../docs/prices.md', import.meta.url), 'utf8')

test('the examples of docs/prices.md cost what they say, under the rule that they name', () => {
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(PAGE) ?? []
  const price = toPrice(parse(yaml).models[0].pricing)
  const usages: readonly ChargeableUsage[] = [
    { prompt: 200_000, completion: 1000 },
    { prompt: 200_001, completion: 1000 },
    { prompt: 300_000, completion: 1000, cached: 250_000 },
    { prompt: 300_000, completion: 1000, serviceTier: 'flex' },
    { prompt: 1000, completion: 100, serverTools: { web_search: 3 } },
  ]
  const written = [...PAGE.matchAll(/\| `([a-z_0-9+]+)` \| ([\d.]+) \|$/gm)].map(([, rule, usd]) => [rule, usd])
  const computed = usages.map((usage) => {
    const { rule, nanoUsd } = priceUsage(usage, price)
    return [rule, usdText(nanoUsd)]
  })
  assert.deepEqual(written, computed)
})
