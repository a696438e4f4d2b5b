import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chargeNanoUsd, priceUsage } from './price.ts'
import { type ChargeableUsage, highestRates, type Price, type PriceTier } from './tariff.ts'

const PRICE: Price = { inputMicroUsd: 270_000, outputMicroUsd: 1_100_000, cachedInputMicroUsd: 70_000 }

test('a charge is tokens times price, in nano-dollars', () => {
  assert.equal(chargeNanoUsd({ prompt: 1_000_000, completion: 0 }, PRICE), 270_000_000n)
  assert.equal(chargeNanoUsd({ prompt: 1000, completion: 500 }, PRICE), 820_000n)
  assert.equal(chargeNanoUsd({ prompt: 0, completion: 0 }, PRICE), 0n)
})

test('cached and written prompt tokens have their own prices, and the price of input without one', () => {
  const dear: Price = { ...PRICE, cacheWriteMicroUsd: 337_500 }
  const tokens = { prompt: 1000, completion: 0, cached: 600, cacheWrite: 300 }
  assert.equal(chargeNanoUsd(tokens, dear), (100n * 270_000n + 600n * 70_000n + 300n * 337_500n) / 1000n)
  assert.equal(chargeNanoUsd(tokens, { inputMicroUsd: 5000, outputMicroUsd: 0 }), 5000n)
})

test('a charge is rounded up once, over the sum of its parts', () => {
  const price: Price = { inputMicroUsd: 1, outputMicroUsd: 1 }
  assert.equal(chargeNanoUsd({ prompt: 1, completion: 0 }, price), 1n)
  assert.equal(chargeNanoUsd({ prompt: 1, completion: 1 }, price), 1n)
  assert.equal(chargeNanoUsd({ prompt: 1000, completion: 1 }, price), 2n)
})

test('with an account’s own credential the charge is a share of the cost, rounded up, and the lines are the cost', () => {
  const usage = { prompt: 10, completion: 5 }
  const { nanoUsd: cost, lines } = priceUsage(usage, PRICE)
  for (const [feePpm, charge] of [
    [0, 0n],
    [1, 1n],
    [50_000, (cost + 19n) / 20n],
    [1_000_000, cost],
  ] as const) {
    const priced = priceUsage({ ...usage, byok: { feePpm } }, PRICE)
    assert.deepEqual(priced, { nanoUsd: charge, listNanoUsd: cost, rule: 'byok', lines })
    assert.equal(chargeNanoUsd({ ...usage, byok: { feePpm } }, PRICE), charge)
  }
})

test('more cached than prompt tokens are not charged twice', () => {
  assert.equal(chargeNanoUsd({ prompt: 10, completion: 0, cached: 1000, cacheWrite: 1000 }, PRICE), 700n)
})

const micro = fc.oneof(fc.nat(), fc.nat(Number.MAX_SAFE_INTEGER))
const tokens = fc.oneof(fc.nat(200_000), fc.nat(Number.MAX_SAFE_INTEGER))
const prices: fc.Arbitrary<Price> = fc.record(
  { inputMicroUsd: micro, outputMicroUsd: micro, cachedInputMicroUsd: micro, cacheWriteMicroUsd: micro },
  { requiredKeys: ['inputMicroUsd', 'outputMicroUsd'] },
)
const chargeable = fc.record(
  { prompt: tokens, completion: tokens, cached: tokens, cacheWrite: tokens },
  { requiredKeys: ['prompt', 'completion'] },
)

/** The same in whole numbers of unlimited size: each token class at its price, divided at the very end. */
function exactly(of: { prompt: number; completion: number; cached?: number; cacheWrite?: number }, price: Price) {
  const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)
  const prompt = BigInt(of.prompt)
  const cached = smaller(BigInt(of.cached ?? 0), prompt)
  const written = smaller(BigInt(of.cacheWrite ?? 0), prompt - cached)
  const micro =
    (prompt - cached - written) * BigInt(price.inputMicroUsd) +
    cached * BigInt(price.cachedInputMicroUsd ?? price.inputMicroUsd) +
    written * BigInt(price.cacheWriteMicroUsd ?? price.inputMicroUsd) +
    BigInt(of.completion) * BigInt(price.outputMicroUsd)
  return micro / 1000n + (micro % 1000n === 0n ? 0n : 1n)
}

test('INV-10: a charge is exact for tokens and prices of any size', () => {
  fc.assert(
    fc.property(chargeable, prices, (of, price) => {
      assert.equal(chargeNanoUsd(of, price), exactly(of, price))
    }),
    { numRuns: 2000 },
  )
})

test('INV-7: no completion costs less than its beginning', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.nat(1_000_000), fc.nat(1000), prices, (prompt, completion, more, price) => {
      const part = chargeNanoUsd({ prompt, completion }, price)
      assert.ok(chargeNanoUsd({ prompt, completion: completion + more }, price) >= part)
      assert.ok(chargeNanoUsd({ prompt: prompt + more, completion }, price) >= part)
    }),
  )
})

test('the highest tier whose threshold the prompt exceeds prices the whole request', () => {
  const price: Price = {
    ...PRICE,
    tiers: [
      { abovePromptTokens: 1000, appliesTo: 'request', inputMicroUsd: 540_000, outputMicroUsd: 1_650_000 },
      { abovePromptTokens: 5000, appliesTo: 'request', inputMicroUsd: 900_000, cachedInputMicroUsd: 90_000 },
    ],
  }
  assert.equal(priceUsage({ prompt: 1000, completion: 10 }, price).rule, 'base')
  const middle = priceUsage({ prompt: 1001, completion: 10, cached: 1 }, price)
  assert.deepEqual(middle, {
    rule: 'above_1000',
    nanoUsd: (1000n * 540_000n + 70_000n + 10n * 1_650_000n) / 1000n,
    listNanoUsd: (1000n * 540_000n + 70_000n + 10n * 1_650_000n) / 1000n,
    lines: [
      { kind: 'input', tokens: 1000, microUsd: 540_000 },
      { kind: 'cached_input', tokens: 1, microUsd: 70_000 },
      { kind: 'output', tokens: 10, microUsd: 1_650_000 },
    ],
  })
  const high = priceUsage({ prompt: 6000, completion: 10, cached: 6000 }, price)
  assert.equal(high.rule, 'above_5000')
  assert.equal(high.nanoUsd, (6000n * 90_000n + 10n * 1_100_000n) / 1000n, 'output of the price: this tier sets none')
})

test('a tier of the excess prices the prompt above it, fresh tokens first, and the output', () => {
  const tier: PriceTier = { abovePromptTokens: 1000, appliesTo: 'excess', inputMicroUsd: 540_000, outputMicroUsd: 9 }
  const priced = priceUsage({ prompt: 1500, completion: 1, cached: 1200 }, { ...PRICE, tiers: [tier] })
  assert.deepEqual(priced.lines, [
    { kind: 'input', tokens: 300, microUsd: 540_000, abovePromptTokens: 1000 },
    { kind: 'cached_input', tokens: 200, microUsd: 70_000, abovePromptTokens: 1000 },
    { kind: 'cached_input', tokens: 1000, microUsd: 70_000 },
    { kind: 'output', tokens: 1, microUsd: 9 },
  ])
})

test('figures of several calls are under the tier of one call', () => {
  const price: Price = { ...PRICE, tiers: [{ abovePromptTokens: 1000, appliesTo: 'request', inputMicroUsd: 1 }] }
  assert.equal(priceUsage({ prompt: 3000, completion: 1, calls: 3 }, price).rule, 'base')
  assert.equal(priceUsage({ prompt: 3003, completion: 1, calls: 3 }, price).rule, 'above_1000')
})

test('the service tier that the answer names sets the rates, and its tiers replace those of the price', () => {
  const price: Price = {
    ...PRICE,
    tiers: [{ abovePromptTokens: 100, appliesTo: 'request', inputMicroUsd: 500_000 }],
    serviceTiers: {
      flex: { inputMicroUsd: 135_000, tiers: [{ abovePromptTokens: 100, appliesTo: 'request', inputMicroUsd: 7 }] },
      priority: { inputMicroUsd: 800_000 },
      scale: { inputMicroUsd: 600_000, tiers: [] },
    },
  }
  const ruleAndRate = (prompt: number, serviceTier: string) => {
    const { rule, lines } = priceUsage({ prompt, completion: 0, serviceTier }, price)
    return [rule, lines[0]?.kind === 'input' && lines[0].microUsd]
  }
  assert.deepEqual(ruleAndRate(100, 'flex'), ['flex', 135_000])
  assert.deepEqual(ruleAndRate(101, 'flex'), ['flex+above_100', 7])
  assert.deepEqual(ruleAndRate(101, 'priority'), ['priority+above_100', 500_000])
  assert.deepEqual(ruleAndRate(101, 'scale'), ['scale', 600_000])
  assert.deepEqual(ruleAndRate(100, 'default'), ['base', 270_000])
  assert.deepEqual(ruleAndRate(100, 'constructor'), ['base', 270_000])
})

test('a discount applies at its time of day, also across midnight', () => {
  const night = { fromMinute: 16 * 60 + 30, untilMinute: 30, inputMicroUsd: 135_000 }
  const price: Price = { ...PRICE, discounts: [night] }
  const ruleAt = (time: string) => {
    const { rule } = priceUsage({ prompt: 1, completion: 0, at: Date.parse(`2026-11-23T${time}Z`) }, price)
    return rule
  }
  assert.deepEqual(['16:29:59', '16:30:00', '23:59:59', '00:00:00', '00:29:59', '00:30:00', '12:00:00'].map(ruleAt), [
    'base',
    'discount',
    'discount',
    'discount',
    'discount',
    'base',
    'base',
  ])
})

test('each class of token has its own rate, and the one it falls back to without it', () => {
  const usage: ChargeableUsage = {
    prompt: 1000,
    cached: 300,
    cacheWrite: 300,
    cacheWrite1h: 100,
    cacheWrite12h: 50,
    audioInput: 150,
    cachedAudio: 100,
    completion: 100,
    audioOutput: 20,
    imageOutput: 30,
    reasoning: 40,
  }
  const full: Price = {
    inputMicroUsd: 1,
    outputMicroUsd: 2,
    cachedInputMicroUsd: 3,
    cacheWriteMicroUsd: 4,
    cacheWrite1hMicroUsd: 5,
    cacheWrite12hMicroUsd: 6,
    audioInputMicroUsd: 7,
    cachedAudioInputMicroUsd: 8,
    audioOutputMicroUsd: 9,
    imageOutputMicroUsd: 10,
    reasoningOutputMicroUsd: 11,
  }
  const linesOf = (price: Price) =>
    priceUsage(usage, price).lines.map((line) => ('tokens' in line ? [line.kind, line.tokens, line.microUsd] : line))
  assert.deepEqual(linesOf(full), [
    ['input', 350, 1],
    ['cached_input', 200, 3],
    ['cache_write', 150, 4],
    ['cache_write_1h', 100, 5],
    ['cache_write_12h', 50, 6],
    ['audio_input', 50, 7],
    ['cached_audio_input', 100, 8],
    ['output', 10, 2],
    ['reasoning_output', 40, 11],
    ['audio_output', 20, 9],
    ['image_output', 30, 10],
  ])
  assert.deepEqual(linesOf({ inputMicroUsd: 1, outputMicroUsd: 2, cachedInputMicroUsd: 3, cacheWriteMicroUsd: 4 }), [
    ['input', 350, 1],
    ['cached_input', 200, 3],
    ['cache_write', 150, 4],
    ['cache_write_1h', 100, 4],
    ['cache_write_12h', 50, 4],
    ['audio_input', 50, 1],
    ['cached_audio_input', 100, 3],
    ['output', 50, 2],
    ['audio_output', 20, 2],
    ['image_output', 30, 2],
  ])
  assert.equal(priceUsage(usage, full).rule, 'cache_write_1h+cache_write_12h')
})

test('fees are charged by call, image and use of a tool', () => {
  const price: Price = {
    inputMicroUsd: 0,
    outputMicroUsd: 0,
    perRequestNanoUsd: 5_000_000,
    perImageNanoUsd: 1_300_000,
    serverToolNanoUsd: { web_search: 10_000_000 },
  }
  const serverTools = { web_search: 3, code_execution: 1, toString: 1 }
  const priced = priceUsage({ prompt: 1, completion: 1, images: 2, calls: 2, serverTools }, price)
  assert.equal(priced.nanoUsd, 10_000_000n + 2_600_000n + 30_000_000n)
  assert.deepEqual(priced.lines.slice(2), [
    { kind: 'request', uses: 2, nanoUsd: 5_000_000 },
    { kind: 'image', uses: 2, nanoUsd: 1_300_000 },
    { kind: 'server_tool', name: 'web_search', uses: 3, nanoUsd: 10_000_000 },
  ])
})

const rate = fc.option(fc.nat(5000), { nil: undefined })
const RATES = {
  inputMicroUsd: rate,
  outputMicroUsd: rate,
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
const tiersArbitrary = fc
  .array(fc.record({ ...RATES, abovePromptTokens: fc.nat(40), appliesTo: fc.constantFrom('request', 'excess') }), {
    maxLength: 3,
  })
  .map((tiers) => tiers.sort((one, other) => one.abovePromptTokens - other.abovePromptTokens))
const serviceArbitrary = fc.record({ ...RATES, tiers: fc.option(tiersArbitrary, { nil: undefined }) })
const minutes = { fromMinute: fc.nat(1439), untilMinute: fc.nat(1439) }
const tariffs: fc.Arbitrary<Price> = fc.record({
  ...RATES,
  inputMicroUsd: fc.nat(5000),
  outputMicroUsd: fc.nat(5000),
  tiers: fc.option(tiersArbitrary, { nil: undefined }),
  perRequestNanoUsd: rate,
  perImageNanoUsd: rate,
  serverToolNanoUsd: fc.option(fc.record({ web_search: fc.nat(5000) }), { nil: undefined }),
  serviceTiers: fc.option(fc.record({ flex: serviceArbitrary, priority: serviceArbitrary }), { nil: undefined }),
  discounts: fc.option(fc.array(fc.record({ ...RATES, ...minutes }), { maxLength: 2 }), { nil: undefined }),
})
const count = fc.nat(60)
const few = fc.option(fc.nat(30), { nil: undefined })
const usages: fc.Arbitrary<ChargeableUsage> = fc.record({
  prompt: count,
  completion: count,
  cached: few,
  cacheWrite: few,
  cacheWrite1h: few,
  cacheWrite12h: few,
  audioInput: few,
  cachedAudio: few,
  audioOutput: few,
  imageOutput: few,
  reasoning: few,
  images: few,
  serverTools: fc.option(fc.record({ web_search: fc.nat(3) }), { nil: undefined }),
  serviceTier: fc.constantFrom(undefined, 'flex', 'priority', 'default'),
  at: fc.option(fc.nat(86_400_000 * 2), { nil: undefined }),
})

test('the charge is the sum of its lines, and the lines count every token once', () => {
  fc.assert(
    fc.property(usages, tariffs, fc.integer({ min: 1, max: 3 }), (usage, price, calls) => {
      const { nanoUsd, lines } = priceUsage({ ...usage, calls }, price)
      const inputs = ['input', 'cached_input', 'audio_input', 'cached_audio_input']
      let pico = 0
      const tokens = { prompt: 0, completion: 0 }
      for (const line of lines) {
        pico += 'tokens' in line ? line.tokens * line.microUsd : line.uses * line.nanoUsd * 1000
        if (!('tokens' in line)) continue
        const isInput = inputs.includes(line.kind) || line.kind.startsWith('cache_write')
        tokens[isInput ? 'prompt' : 'completion'] += line.tokens
      }
      assert.equal(nanoUsd, BigInt(Math.ceil(pico / 1000)))
      assert.deepEqual(tokens, { prompt: usage.prompt, completion: usage.completion })
      assert.equal(chargeNanoUsd({ ...usage, calls }, price), nanoUsd)
    }),
    { numRuns: 2000 },
  )
})

/** The rate of the prompt's token at a place, by the words of the documentation and one token at a time. */
function rateOfToken(place: number, { prompt, cached = 0, cacheWrite = 0 }: ChargeableUsage, price: Price): number {
  const kind = place < cached ? 'cached' : place < cached + cacheWrite ? 'written' : 'fresh'
  let { inputMicroUsd: fresh, cachedInputMicroUsd: read, cacheWriteMicroUsd: write } = price
  for (const tier of price.tiers ?? []) {
    const applies = prompt > tier.abovePromptTokens
    const isBelow = tier.appliesTo === 'excess' && place < tier.abovePromptTokens
    if (!applies) continue
    if (tier.appliesTo === 'request') {
      // The whole request is under this tier: those below it count no more.
      fresh = price.inputMicroUsd
      read = price.cachedInputMicroUsd
      write = price.cacheWriteMicroUsd
    }
    if (isBelow) continue
    fresh = tier.inputMicroUsd ?? fresh
    read = tier.cachedInputMicroUsd ?? read
    write = tier.cacheWriteMicroUsd ?? write
  }
  return kind === 'fresh' ? fresh : kind === 'cached' ? (read ?? fresh) : (write ?? fresh)
}

test('tiers come to the same as pricing one token after the other', () => {
  const full = fc.record({
    inputMicroUsd: fc.nat(5000),
    cachedInputMicroUsd: fc.nat(5000),
    cacheWriteMicroUsd: fc.nat(5000),
    abovePromptTokens: fc.nat(40),
    appliesTo: fc.constantFrom<PriceTier['appliesTo'][]>('request', 'excess'),
  })
  const ascending = fc
    .array(full, { maxLength: 4 })
    .map((tiers) => tiers.sort((one, other) => one.abovePromptTokens - other.abovePromptTokens))
  fc.assert(
    fc.property(count, fc.nat(20), fc.nat(20), ascending, (prompt, read, written, tiers) => {
      const cached = Math.min(read, prompt)
      const usage = { prompt, completion: 0, cached, cacheWrite: Math.min(written, prompt - cached) }
      const price: Price = { ...PRICE, inputMicroUsd: 1, cacheWriteMicroUsd: 3, outputMicroUsd: 0, tiers }
      let pico = 0
      for (let place = 0; place < prompt; place++) pico += rateOfToken(place, usage, price)
      assert.equal(chargeNanoUsd(usage, price), BigInt(Math.ceil(pico / 1000)))
    }),
    { numRuns: 2000 },
  )
})

test('INV-3: nothing within the facts of a request costs more than its highest rates and fees', () => {
  const named = fc.constantFrom(undefined, 'auto', 'flex', 'priority')
  fc.assert(
    fc.property(usages, tariffs, named, fc.nat(60), fc.boolean(), (used, price, serviceTier, more, isTimed) => {
      const tier = serviceTier === undefined || serviceTier === 'auto' ? used.serviceTier : serviceTier
      const usage = { ...used, serviceTier: tier }
      const facts = {
        promptTokens: used.prompt + more,
        serviceTier,
        images: used.images,
        serverTools: used.serverTools,
        at: isTimed ? used.at : undefined,
      }
      const { inputMicroUsd, outputMicroUsd, fixedNanoUsd } = highestRates(price, facts)
      const most = Math.ceil((used.prompt * inputMicroUsd + used.completion * outputMicroUsd) / 1000) + fixedNanoUsd
      assert.ok(chargeNanoUsd(usage, price) <= BigInt(most))
    }),
    { numRuns: 3000 },
  )
})

test('the most expensive rates leave out tiers out of reach and classes that the request cannot have', () => {
  const price: Price = {
    inputMicroUsd: 10,
    outputMicroUsd: 20,
    cacheWrite1hMicroUsd: 40,
    audioInputMicroUsd: 100,
    reasoningOutputMicroUsd: 60,
    tiers: [{ abovePromptTokens: 1000, appliesTo: 'request', inputMicroUsd: 30, cacheWrite1hMicroUsd: 80 }],
    serviceTiers: { priority: { outputMicroUsd: 50 }, batch: { outputMicroUsd: 900 } },
  }
  const may = { audioInput: false, cacheWrite1h: false, cacheWrite12h: false, reasoning: false }
  const of = (promptTokens: number, facts = {}) => highestRates(price, { promptTokens, may, ...facts })
  assert.deepEqual(of(1000), { inputMicroUsd: 10, outputMicroUsd: 50, fixedNanoUsd: 0 })
  assert.deepEqual(of(1001, { serviceTier: 'default' }), { inputMicroUsd: 30, outputMicroUsd: 20, fixedNanoUsd: 0 })
  assert.deepEqual(of(1001, { may: {}, serviceTier: 'default' }), {
    inputMicroUsd: 100,
    outputMicroUsd: 60,
    fixedNanoUsd: 0,
  })
  assert.equal(of(1001, { may: { audioInput: false } }).inputMicroUsd, 80)
})
