import assert from 'node:assert/strict'
import { test } from 'node:test'
import { thresholdName } from './facts.ts'
import { genaiPricesReader } from './genai-prices.ts'
import { litellmReader } from './litellm.ts'
import { modelPricesReader } from './model-prices.ts'
import { modelsDevReader } from './models-dev.ts'
import { piReader } from './pi-ai.ts'

test('a threshold has one name, in decimal and in binary thousands', () => {
  assert.deepEqual([272_000, 271_999, 200_000, 262_144, 32_768].map(thresholdName), [
    'above_272k',
    'above_272k',
    'above_200k',
    'above_256k',
    'above_32k',
  ])
})

test('litellm: dollars per token, rules in the names of the fields', () => {
  const read = litellmReader({
    'xai/grok': {
      input_cost_per_token: 2e-6,
      input_cost_per_token_above_200k_tokens: 4e-6,
      cache_read_input_token_cost_above_200k_tokens_priority: 8e-7,
      cache_creation_input_token_cost_above_1hr: 4e-6,
      cache_creation_input_token_cost: 0,
      input_cost_per_token_batches: 1e-6,
      output_cost_per_token_flex: 3e-6,
      max_input_tokens: 500,
      deprecation_date: '2027-01-01',
      search_context_cost_per_query: { search_context_size_low: 0.01, search_context_size_high: 0.01 },
    },
    'dashscope/qwen': {
      tiered_pricing: [
        { range: [0, 32e3], input_cost_per_token: 1e-6 },
        { range: [32e3, 128e3], input_cost_per_token: 2e-6, cache_read_input_token_cost: 1e-7 },
      ],
    },
    sonar: { search_context_cost_per_query: { search_context_size_low: 0.005, search_context_size_high: 0.012 } },
  })
  assert.deepEqual(read({ provider: 'xai', names: ['unknown', 'grok'] }), {
    input_per_million: 2,
    'above_200k.input_per_million': 4,
    'priority.above_200k.cached_input_per_million': 0.8,
    cache_write_1h_per_million: 4,
    'flex.output_per_million': 3,
    max_input_tokens: 500,
    deprecation_date: '2027-01-01',
    'server_tools.web_search': 10,
  })
  assert.deepEqual(read({ provider: 'alibaba', names: ['qwen'] }), {
    input_per_million: 1,
    'above_32k.input_per_million': 2,
    'above_32k.cached_input_per_million': 0.1,
  })
  assert.deepEqual(read({ provider: 'openai', names: ['sonar'] }), { per_request_usd: 0.005 })
  assert.equal(read({ provider: 'openai', names: ['grok'] }), undefined)
})

test('genai-prices: the price in force on the day, the peak price where the hour decides', () => {
  const model = (id: string, prices: object, match: object = { equals: id }) => ({ id, match, prices }) as never
  const read = genaiPricesReader(
    [
      {
        id: 'x-ai',
        models: [
          model('tiered', { input_mtok: { base: 2, tiers: [{ start: 199_999, price: 4 }] }, output_mtok: 6 }),
          model('dated', [
            { prices: { input_mtok: 1 } },
            { constraint: { start_date: '2026-02-01' }, prices: { input_mtok: 2 } },
            { constraint: { start_date: { args: [2027, 1, 1] } }, prices: { input_mtok: 3 } },
          ]),
          model('hourly', [
            { prices: { input_mtok: 1 } },
            { constraint: { start_time: '01:00' }, prices: { input_mtok: 2 } },
          ]),
          model('matched', { input_mtok: 5 }, { or_: [{ starts_with: 'none' }, { regex: '^m-\\d+$' }] }),
        ],
      },
    ],
    '2026-11-23',
  )
  const input = (name: string) => read({ provider: 'xai', names: [name] })
  assert.deepEqual(input('tiered'), {
    input_per_million: 2,
    'above_200k.input_per_million': 4,
    output_per_million: 6,
  })
  assert.deepEqual(input('dated'), { input_per_million: 2 })
  assert.deepEqual(input('hourly'), { input_per_million: 2 })
  assert.deepEqual(input('m-12'), { input_per_million: 5 })
  assert.equal(input('m-x'), undefined)
})

test('models.dev and pi-ai: dollars per million, zero for what the host does not price', () => {
  const modelsDev = modelsDevReader({
    togetherai: {
      models: {
        m: {
          cost: { input: 1, output: 2, cache_write: 0, tiers: [{ tier: { size: 256_000 }, input: 3, output: 4 }] },
          limit: { context: 1000, output: 100 },
        },
      },
    },
  })
  assert.deepEqual(modelsDev({ provider: 'together', names: ['m'] }), {
    input_per_million: 1,
    output_per_million: 2,
    'above_256k.input_per_million': 3,
    'above_256k.output_per_million': 4,
    context_window: 1000,
    max_output_tokens: 100,
  })
  const cost = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0 }
  const model = { id: 'm', cost, contextWindow: 1000, maxTokens: 100 }
  const pi = piReader({ moonshotai: { 'openai-completions': { 'chat:m': model } } })
  assert.deepEqual(pi({ provider: 'moonshot', names: ['x', 'm'] }), {
    input_per_million: 1,
    output_per_million: 2,
    cached_input_per_million: 0.1,
    context_window: 1000,
    max_output_tokens: 100,
  })
})

test('model-prices: the last price that has begun, at its peak where the hour decides', () => {
  const data = {
    prices: {
      alibaba: {
        qwen: {
          batch: [{ start: null, rates: { input: 1, output: 1 } }],
          standard: [
            { start: null, rates: null },
            { start: '2026-05-22T21:58:08Z', rates: { input: 1, output: 5 } },
            {
              start: '2026-10-09T18:18:19Z',
              rates: {
                input: 2,
                output: 6,
                cache_read: 0.4,
                cache_write: 0,
                tiers: [{ above: 256_000, input: 4, output: 12, cache_write: 5 }],
              },
            },
            { start: '2027-01-01T00:00:00Z', rates: { input: 9, output: 9 } },
          ],
        },
        unknown: { standard: [{ start: null, rates: null }] },
      },
      deepseek: { flash: { standard: [{ start: null, rates: { input: 0.15, output: 0.6 } }] } },
    },
    schedules: {
      schedule: [
        { provider: 'deepseek', valid_from: '2025-02-26T16:30:00Z', valid_until: '2025-09-05T16:00:00Z' },
        { provider: 'deepseek', peak_multiplier: 2, valid_from: '2026-08-16T16:00:00Z' },
      ],
    },
  }
  const read = modelPricesReader(data, '2026-10-26')
  assert.deepEqual(read({ provider: 'alibaba', names: ['qwen'] }), {
    input_per_million: 2,
    output_per_million: 6,
    cached_input_per_million: 0.4,
    'above_256k.input_per_million': 4,
    'above_256k.output_per_million': 12,
    'above_256k.cache_write_per_million': 5,
  })
  assert.deepEqual(read({ provider: 'deepseek', names: ['flash'] }), {
    input_per_million: 0.3,
    output_per_million: 1.2,
  })
  assert.equal(read({ provider: 'alibaba', names: ['unknown'] }), undefined)
  assert.equal(read({ provider: 'xai', names: ['qwen'] }), undefined)
})
