import assert from 'node:assert/strict'
import { test } from 'node:test'
import { monthNumber, monthStart } from './months.ts'

test('a month begins with its first millisecond, UTC, over the years', () => {
  assert.deepEqual([monthNumber(0), monthStart(0)], [0, 0])
  for (const [year, month] of [
    [1970, 11],
    [2026, 0],
    [2028, 1],
  ] as const) {
    const start = Date.UTC(year, month)
    const number = (year - 1970) * 12 + month
    assert.deepEqual([monthNumber(start), monthNumber(start - 1), monthStart(number)], [number, number - 1, start])
  }
})
