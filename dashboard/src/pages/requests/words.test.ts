import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRequestsView } from './search.ts'
import { viewWords } from './words.ts'

const NOW = Date.parse('2026-11-22T10:30:00Z')
const ROWS = [{ key_id: 'key_one', key_name: 'Checkout service' }]
const IN_UTC = { rows: ROWS, now: NOW, zone: 'utc' } as const

test('a view is called by its filters and its period', () => {
  assert.equal(viewWords({}, IN_UTC), 'All requests, last 24 hours')
  const narrowed = { range: '7d', status: 'client_left', key_id: 'key_one', order: 'asc' } as const
  assert.equal(viewWords(narrowed, IN_UTC), 'Client left, Checkout service, last 7 days, oldest first')
  assert.equal(viewWords({ key_id: 'key_0123456789' }, IN_UTC), 'key_…6789, last 24 hours')
  const slow = { outcome: 'rate_limited', min_duration_ms: '2000', max_cost_usd: '0.05' } as const
  assert.equal(viewWords(slow, IN_UTC), 'Rate limited, duration from 2 s, cost to $0.05, last 24 hours')
  assert.equal(viewWords({ tab: 'rejected', code: 'insufficient_credit' }, IN_UTC), 'Rejected, insufficient_credit')
})

test('a view has its period, but neither the sheet that is open nor what is listened to', () => {
  assert.deepEqual(readRequestsView({ request: 'chatcmpl_1', live: '1', cursor: 'c' }), { range: '24h' })
  const view = { range: '7d', status: 'failed', order: 'asc' }
  assert.deepEqual(readRequestsView({ ...view, request: 'chatcmpl_1' }), view)
  const rejected = { tab: 'rejected', code: 'not_found', request_id: 'req_1' }
  assert.deepEqual(readRequestsView({ ...rejected, range: '7d', live: '1' }), rejected)
})

test('a bound that the gateway would not take is left out', () => {
  const bounds = { min_duration_ms: ' 500 ', max_duration_ms: '1.5', min_cost_usd: '0.25', max_cost_usd: '-1' }
  assert.deepEqual(readRequestsView(bounds), { range: '24h', min_duration_ms: '500', min_cost_usd: '0.25' })
})
