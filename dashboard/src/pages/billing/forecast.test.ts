import assert from 'node:assert/strict'
import { test } from 'node:test'
import { available, costPerDay, daysLeft } from './forecast.ts'

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
