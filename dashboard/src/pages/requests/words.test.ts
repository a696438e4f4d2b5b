import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRequestsView } from './search.ts'
import { viewWords } from './words.ts'

const NOW = Date.parse('2026-11-22T10:30:00Z')
const ROWS = [{ key_id: 'key_one', key_name: 'Checkout service' }]

test('a view is called by its filters and its period', () => {
  assert.equal(viewWords({}, ROWS, NOW), 'All requests, last 24 hours')
  const narrowed = { range: '7d', status: 'client_left', key_id: 'key_one', order: 'asc' } as const
  assert.equal(viewWords(narrowed, ROWS, NOW), 'Client left, Checkout service, last 7 days, oldest first')
  assert.equal(viewWords({ key_id: 'key_0123456789' }, ROWS, NOW), 'key_…6789, last 24 hours')
})

test('a view has its period, but neither the sheet that is open nor what is listened to', () => {
  assert.deepEqual(readRequestsView({ request: 'chatcmpl_1', live: '1', cursor: 'c' }), { range: '24h' })
  const view = { range: '7d', status: 'failed', order: 'asc' }
  assert.deepEqual(readRequestsView({ ...view, request: 'chatcmpl_1' }), view)
})
