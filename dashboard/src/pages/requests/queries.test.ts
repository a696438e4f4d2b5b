import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newestOf } from './queries.ts'

const row = (minute: number, name = '') => ({
  id: `chatcmpl-${String(minute).padStart(2, '0')}`,
  created_at: new Date(Date.UTC(2026, 4, 5, 12, minute)).toISOString(),
  name,
})

test('what came is put where it began, each once, and no more than asked for', () => {
  const listed = [row(9), row(7), row(5)]
  assert.deepEqual(newestOf([row(8), row(10)], listed, { limit: 4 }), [row(10), row(9), row(8), row(7)])
  assert.deepEqual(newestOf([row(7, 'newer')], listed, { limit: 9 }), [row(9), row(7, 'newer'), row(5)])
  assert.deepEqual(newestOf([], [], { limit: 9 }), [])
})

test('what is no longer in the period is left out', () => {
  const since = row(7).created_at
  assert.deepEqual(newestOf([row(6)], [row(9), row(7), row(5)], { limit: 9, since }), [row(9), row(7)])
})
