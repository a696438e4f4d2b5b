import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refreshIntervalMs } from './refresh-interval.ts'

const NOW = Date.UTC(2026, 10, 22)
const pending = (inMs: number) => ({ status: 'pending', next_attempt_at: new Date(NOW + inMs).toISOString() })
const ended = { status: 'failed', next_attempt_at: null }

test('only what is under way is looked at again, and what waits for long seldom', () => {
  assert.equal(refreshIntervalMs([], NOW), false)
  assert.equal(refreshIntervalMs([ended, { ...ended, status: 'delivered' }], NOW), false)
  assert.equal(refreshIntervalMs([ended, pending(-5000)], NOW), 3_000)
  assert.equal(refreshIntervalMs([pending(20_000), pending(3_600_000)], NOW), 3_000)
  assert.equal(refreshIntervalMs([pending(3_600_000)], NOW), 30_000)
})
