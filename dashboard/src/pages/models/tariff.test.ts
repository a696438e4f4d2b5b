import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimate, tariffRows } from './tariff.ts'

test('a price of four rates has nothing more to say', () => {
  const usual = {
    input_per_million: 1,
    output_per_million: 2,
    cached_input_per_million: 0.1,
    cache_write_per_million: 1,
  }
  assert.deepEqual(tariffRows(usual), [])
})

test('everything else of a tariff is a row', () => {
  const rows = tariffRows({
    input_per_million: 2,
    output_per_million: 8,
    cache_write_1h_per_million: 4,
    tiers: [{ above_prompt_tokens: 200_000, applies_to: 'request', input_per_million: 4, output_per_million: 12 }],
    service_tiers: {
      flex: { input_per_million: 1, tiers: [{ above_prompt_tokens: 5, applies_to: 'excess', input_per_million: 3 }] },
    },
    discounts: [{ from: '16:30', until: '00:30', output_per_million: 4 }],
    per_request_usd: 0.005,
    server_tools: { web_search: 10 },
    ends: '2027-01-01T00:00:00.000Z',
    successors: [{ input_per_million: 3, output_per_million: 9, starts: '2027-01-01T00:00:00.000Z' }],
  })
  assert.deepEqual(
    rows.map(({ label }) => label.replace(/Jan\D*1,? 2027|1 Jan\w* 2027/, 'DAY')),
    [
      'Cache write for 1 hour',
      'Prompts above 200,000 tokens',
      'Service tier “flex”',
      '“flex”, tokens above 5 tokens',
      '16:30 to 00:30 UTC',
      'Each request',
      '1,000 uses of web_search',
      'Ends',
      'From DAY',
    ],
  )
  assert.equal(rows[1]?.value, 'input $4.00, output $12.00')
  assert.equal(rows.at(-1)?.value, 'input $3.00, output $9.00')
})

test('a successor is shown whole, under its own date', () => {
  const rows = tariffRows({
    input_per_million: 2,
    output_per_million: 8,
    successors: [
      {
        input_per_million: 3,
        output_per_million: 9,
        tiers: [{ above_prompt_tokens: 200_000, applies_to: 'request', input_per_million: 6 }],
        service_tiers: { flex: { input_per_million: 1 } },
        discounts: [{ from: '16:30', until: '00:30', output_per_million: 4 }],
        per_request_usd: 0.005,
        per_image_usd: 0.001,
        server_tools: { web_search: 10 },
        ends: '2027-03-01T00:00:00.000Z',
      },
    ],
  })
  assert.deepEqual(
    rows.map(({ label }) => label),
    [
      'Then',
      'Then, prompts above 200,000 tokens',
      'Then, service tier “flex”',
      'Then, 16:30 to 00:30 UTC',
      'Then, each request',
      'Then, each image',
      'Then, 1,000 uses of web_search',
      'Then, ends',
    ],
  )
  assert.equal(rows[1]?.value, 'input $6.00')
})

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
