import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readUsageView } from './search.ts'
import { viewWords } from './view-words.ts'

const NOW = Date.parse('2026-11-22T10:30:00Z')
const KEYS = [{ key: 'key_one', name: 'Checkout service' }]

test('a view is called by what it shows', () => {
  assert.equal(viewWords({}, KEYS, NOW), 'Spend by model, last 7 days')
  const narrowed = { range: '30d', group: 'day', metric: 'tokens', model: 'gpt-5.4-mini', key_id: 'key_one' } as const
  assert.equal(viewWords(narrowed, KEYS, NOW), 'Tokens by day, gpt-5.4-mini, Checkout service, last 30 days')
  assert.equal(viewWords({ key_id: 'key_two' }, KEYS, NOW), 'Spend by model, Unknown (key_two), last 7 days')
  const speed = { show: 'speed', by: 'provider', model: 'gpt-5.4-mini', range: 'month' } as const
  assert.equal(viewWords(speed, KEYS, NOW), 'Speed and errors by provider, this month')
})

test('a view has its period also where the address names none', () => {
  assert.deepEqual(readUsageView({}), { range: '7d' })
  assert.deepEqual(readUsageView({ range: 'month', model: 7, more: 1 }), { range: 'month', model: '7' })
  assert.deepEqual(readUsageView({ from: '2026-11-03' }), { range: 'custom', from: '2026-11-03' })
})
