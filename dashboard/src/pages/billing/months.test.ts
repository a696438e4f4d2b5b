import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMonths, boundsOf, monthAt, monthsBack, readMonth } from './months.ts'

test('months are those of UTC, and go on over the year', () => {
  assert.equal(monthAt(Date.UTC(2026, 10, 30, 23, 59)), '2026-11')
  assert.equal(addMonths('2026-11', 2), '2027-01')
  assert.equal(addMonths('2026-01', -1), '2025-12')
})

test('a month ends with its last day, in leap years too', () => {
  assert.deepEqual(boundsOf('2028-02'), { start: '2028-02-01', end: '2028-03-01', lastDay: '2028-02-29' })
  assert.deepEqual(boundsOf('2026-12'), { start: '2026-12-01', end: '2027-01-01', lastDay: '2026-12-31' })
})

test('what is no month is not read', () => {
  assert.equal(readMonth('2026-11'), '2026-11')
  for (const value of ['2026-13', '2026-00', '2026-1', '2026-11-01', '', 'x', 202611, undefined, '0001-01']) {
    assert.equal(readMonth(value), undefined, String(value))
  }
})

test('a list of months goes back to the earliest, and no further than five years', () => {
  assert.deepEqual(monthsBack('2026-02', '2025-11'), ['2026-02', '2026-01', '2025-12', '2025-11'])
  assert.deepEqual(monthsBack('2026-02', '2026-09'), ['2026-02'])
  assert.equal(monthsBack('2026-02', '1970-01').length, 60)
})
