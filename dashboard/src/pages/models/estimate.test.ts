import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimate } from './estimate.ts'

const PRICES = { input_per_million: 1.25, output_per_million: 10, cached_input_per_million: 0.125 }

test('a day and thirty of them, to the nano-dollar', () => {
  // 78 × $1.25/M + 702 × $0.125/M + 10 × $10/M
  assert.deepEqual(estimate({ input: 780, output: 10, cached: 90 }, PRICES), {
    dayUsd: 0.00028525,
    monthUsd: 0.0085575,
  })
  assert.deepEqual(estimate({ input: 0, output: 0, cached: 50 }, PRICES), { dayUsd: 0, monthUsd: 0 })
})

test('what is cached costs as much as other input where there is no price for it', () => {
  const { cached_input_per_million: _, ...prices } = PRICES
  assert.deepEqual(estimate({ input: 1_000_000, output: 0, cached: 100 }, prices), { dayUsd: 1.25, monthUsd: 37.5 })
})

test('rounding happens once, upwards: a month is not thirty rounded days', () => {
  const prices = { input_per_million: 0.0001, output_per_million: 0 }
  assert.deepEqual(estimate({ input: 1, output: 0, cached: 0 }, prices), { dayUsd: 1e-9, monthUsd: 3e-9 })
})

test('large amounts stay exact where floating point would not', () => {
  const prices = { input_per_million: 0.1, output_per_million: 0.2 }
  assert.equal(estimate({ input: 3_000_000, output: 0, cached: 0 }, prices).dayUsd, 0.3)
})
