import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chargeNanoUsd } from '../../../domain/price/price.ts'
import type { Price } from '../../../domain/price/tariff.ts'
import { type AuditedUsage, costOf, highestCost, type Tariff } from './tariff.ts'

const rate = fc.option(fc.integer({ min: 0, max: 30_000_000 }), { nil: undefined })
const RATES = {
  cachedInputMicroUsd: rate,
  cacheWriteMicroUsd: rate,
  cacheWrite1hMicroUsd: rate,
  cacheWrite12hMicroUsd: rate,
  audioInputMicroUsd: rate,
  cachedAudioInputMicroUsd: rate,
  audioOutputMicroUsd: rate,
  imageOutputMicroUsd: rate,
  reasoningOutputMicroUsd: rate,
}
const overrides = fc.record({ inputMicroUsd: rate, outputMicroUsd: rate, ...RATES })
const tiers = fc.uniqueArray(
  fc
    .tuple(overrides, fc.integer({ min: 0, max: 300 }), fc.constantFrom('request' as const, 'excess' as const))
    .map(([rates, above, appliesTo]) => ({ ...rates, abovePromptTokens: above, appliesTo })),
  { maxLength: 3, selector: ({ abovePromptTokens }) => abovePromptTokens },
)
const ascending = tiers.map((some) => some.toSorted((one, other) => one.abovePromptTokens - other.abovePromptTokens))
const minute = fc.integer({ min: 0, max: 1439 })
const discount = fc
  .tuple(overrides, minute, minute)
  .map(([rates, fromMinute, untilMinute]) => ({ ...rates, fromMinute, untilMinute }))
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
const price: fc.Arbitrary<Price> = fc.record({
  inputMicroUsd: fc.integer({ min: 0, max: 30_000_000 }),
  outputMicroUsd: fc.integer({ min: 0, max: 90_000_000 }),
  ...RATES,
  tiers: optional(ascending),
  perRequestNanoUsd: rate,
  perImageNanoUsd: rate,
  serverToolNanoUsd: optional(fc.constant({ web_search: 10_000_000 })),
  serviceTiers: optional(
    fc.record({ flex: fc.tuple(overrides, optional(ascending)).map(([rates, own]) => ({ ...rates, tiers: own })) }),
  ),
  discounts: optional(fc.array(discount, { maxLength: 2 })),
})
const count = fc.integer({ min: 0, max: 400 })
const usage = fc.record({
  prompt: count,
  completion: count,
  cached: count,
  cacheWrite: count,
  cacheWrite1h: count,
  cacheWrite12h: count,
  audioInput: count,
  cachedAudio: count,
  audioOutput: count,
  imageOutput: count,
  reasoning: count,
  images: fc.integer({ min: 0, max: 3 }),
  byok: optional(fc.record({ feePpm: fc.integer({ min: 0, max: 1_000_000 }) })),
  serverTools: fc.constantFrom({}, { web_search: 2 }, { unknown: 1 }),
  serviceTier: fc.constantFrom('flex', 'default', 'constructor'),
  calls: fc.integer({ min: 1, max: 3 }),
  at: fc.integer({ min: 0, max: 2 ** 42 }),
})

/** As JSON has it: what is undefined is not there. */
const stored = (value: Price): Tariff => JSON.parse(JSON.stringify(value)) as Tariff

test('the auditor’s arithmetic comes to what is charged, for every tariff and usage', () => {
  fc.assert(
    fc.property(usage, price, (used, tariff) => {
      const expected = chargeNanoUsd(used, tariff)
      assert.equal(costOf({ ...used, hasDetail: true } as AuditedUsage, stored(tariff)), expected)
    }),
    { numRuns: 2_000 },
  )
})

test('of a plain tariff as well, also beyond what numbers can say exactly', () => {
  const plain = {
    inputMicroUsd: 1_000_003,
    outputMicroUsd: 9_000_001,
    cachedInputMicroUsd: 7,
    cacheWriteMicroUsd: 1_250_000,
  }
  const some = fc.integer({ min: 0, max: 2_000_000_000 })
  fc.assert(
    fc.property(some, some, some, some, (prompt, completion, cached, cacheWrite) => {
      const used = { prompt, completion, cached, cacheWrite, reasoning: 5, at: 0 }
      assert.equal(costOf(used, plain), chargeNanoUsd(used, plain))
      assert.ok(highestCost(used, plain) >= costOf(used, plain))
    }),
  )
})

test('examples by hand: a long context, a discount that wraps midnight, fees', () => {
  const base = { completion: 10, cached: 0, cacheWrite: 0, reasoning: 0, at: 0, hasDetail: true }
  const tier = { abovePromptTokens: 100, appliesTo: 'request', inputMicroUsd: 2_000_000 } as const
  const tariff: Tariff = { inputMicroUsd: 1_000_000, outputMicroUsd: 5_000_000, tiers: [tier] }
  assert.equal(costOf({ ...base, prompt: 100 }, tariff), 150_000n)
  assert.equal(costOf({ ...base, prompt: 101 }, tariff), 252_000n)
  const excess: Tariff = { ...tariff, tiers: [{ ...tier, appliesTo: 'excess' }] }
  assert.equal(costOf({ ...base, prompt: 101 }, excess), 152_000n)
  const night: Tariff = { ...tariff, discounts: [{ fromMinute: 1380, untilMinute: 60, outputMicroUsd: 1_000_000 }] }
  assert.equal(costOf({ ...base, prompt: 0, at: 59 * 60_000 }, night), 10_000n)
  assert.equal(costOf({ ...base, prompt: 0, at: 60 * 60_000 }, night), 50_000n)
  assert.equal(
    costOf({ ...base, prompt: 0, calls: 2, images: 3 }, { ...tariff, perRequestNanoUsd: 7, perImageNanoUsd: 100 }),
    50_314n,
  )
})
