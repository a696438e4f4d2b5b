import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMonths, available, boundsOf, costPerDay, daysLeft, monthAt, monthsBack, readMonth } from './months.ts'

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

const DAY = 86_400_000

test('a rate is that of the time that has passed, a day at least', () => {
  assert.equal(costPerDay({ costUsd: 7, since: 0, now: 7 * DAY }), 1)
  assert.equal(costPerDay({ costUsd: 3, since: 0, now: 1.5 * DAY }), 2)
  assert.equal(costPerDay({ costUsd: 3, since: 0, now: 60_000 }), 3)
  assert.equal(costPerDay({ costUsd: 0, since: 0, now: DAY }), 0)
})

test('days left are whole days; none of a balance below zero, no number where nothing is spent', () => {
  assert.equal(daysLeft(10, 3), 3)
  assert.equal(daysLeft(-1, 3), 0)
  assert.equal(daysLeft(10, 0), undefined)
  assert.equal(daysLeft(365, 1), 365)
  assert.equal(daysLeft(366, 1), Number.POSITIVE_INFINITY)
})

test('what is held is not there to be spent, exactly', () => {
  assert.equal(available(0.3, 0.1), 0.2)
})
