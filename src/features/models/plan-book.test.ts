import assert from 'node:assert/strict'
import { test } from 'node:test'
import { markUp } from '../../domain/price/tariff.ts'
import { buildModelBook } from './book.ts'
import { markupOf, planBook } from './price.ts'

const PRICING = {
  input_per_million: 0.27,
  output_per_million: 1.1,
  cached_input_per_million: 0.000001,
  tiers: [{ above_prompt_tokens: 200_000, input_per_million: 4 }],
  service_tiers: { flex: { output_per_million: 0.5, tiers: [] } },
  discounts: [{ from: '16:30', until: '00:30', input_per_million: 0.1 }],
  server_tools: { web_search: 10 },
}
const bookOf = (pricing: object) =>
  buildModelBook({
    catalogue: [],
    models: [{ id: 'm1', aliases: ['m'], pricing: pricing as never, deployments: [{ provider: 'up', model: 'x' }] }],
    providers: new Set(['up']),
    now: Date.now,
  })

test('a markup raises every rate and fee, rounds up to its unit, and leaves thresholds and hours alone', () => {
  const markup = markupOf({ markup_percent: 12.5, request_fee_usd: 0.0005 })
  assert.deepEqual(markup, { ppm: 125_000, requestFeeNanoUsd: 500_000 })
  const book = bookOf(PRICING)
  const price = planBook(book, markup).find('m1')?.price
  assert.deepEqual(price, {
    inputMicroUsd: 303_750,
    outputMicroUsd: 1_237_500,
    cachedInputMicroUsd: 2,
    tiers: [{ abovePromptTokens: 200_000, appliesTo: 'request', inputMicroUsd: 4_500_000 }],
    serviceTiers: { flex: { outputMicroUsd: 562_500, tiers: [] } },
    discounts: [{ fromMinute: 990, untilMinute: 30, inputMicroUsd: 112_500 }],
    serverToolNanoUsd: { web_search: 11_250_000 },
    perRequestNanoUsd: 500_000,
  })
})

test('a plan without a markup has the prices of providers', () => {
  const book = bookOf(PRICING)
  assert.equal(markupOf({}), undefined)
  assert.equal(planBook(book, markupOf({ markup_percent: 0, request_fee_usd: 0 })), book)
})

test('each price has a version of its own, the same for aliases and in every lookup', () => {
  const book = bookOf({ ...PRICING, successors: [{ ...PRICING, input_per_million: 9, starts: '2999-01-01' }] })
  const markup = { ppm: 500_000, requestFeeNanoUsd: 0 }
  const sold = planBook(book, markup)
  const [model, listed] = [sold.find('m1'), book.find('m1')]
  assert.equal(model, sold.find('m1'))
  assert.equal(sold.find('m')?.priceVersion, model?.priceVersion)
  assert.notEqual(model?.priceVersion, listed?.priceVersion)
  assert.deepEqual(model?.basePrice, { price: listed?.price, version: listed?.priceVersion })
  const periods = model?.pricePeriods ?? []
  assert.deepEqual(
    periods.map(({ price }) => price.inputMicroUsd),
    [405_000, 13_500_000],
  )
  assert.equal(model?.price, periods[0]?.price, 'the list of models finds the current period by it')
})

test('two prices that a markup raises to the same one stay apart', () => {
  const [low, high] = [bookOf({ ...PRICING, input_per_million: 1 }), bookOf({ ...PRICING, input_per_million: 1.2 })]
  const sameInput = [planBook(low, { ppm: 200_000, requestFeeNanoUsd: 0 }), planBook(high, undefined)]
  const [one, other] = sameInput.map((book) => book.find('m1'))
  assert.equal(one?.price?.inputMicroUsd, other?.price?.inputMicroUsd)
  assert.notEqual(one?.priceVersion, other?.priceVersion)
})

test('a price of nothing stays free, but for the fee of a request', () => {
  const free = { inputMicroUsd: 0, outputMicroUsd: 0 }
  assert.deepEqual(markUp(free, { ppm: 250_000, requestFeeNanoUsd: 0 }), free)
  assert.deepEqual(markUp(free, { ppm: 0, requestFeeNanoUsd: 7 }), { ...free, perRequestNanoUsd: 7 })
})
