import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketPeriod, bucketText, countOf, histogramPoints } from './histogram-data.ts'
import type { Overview } from './queries.ts'

const OVERVIEW: Overview = {
  ...{ period_start: '2026-11-20T01:30:00.000Z', period_end: '2026-11-22T00:00:00.000Z', interval: 'hour', width: 2 },
  buckets: [
    { at: '2026-11-20T00:00:00.000Z', completed: 1, failed: 2, client_left: 3, incomplete: 4 },
    { at: '2026-11-20T02:00:00.000Z', completed: 0, failed: 0, client_left: 0, incomplete: 5 },
  ],
}

test('bars are a period of their width, and never more than what is looked at', () => {
  const custom = (from: string, to: string) => ({ range: 'custom', from, to })
  assert.deepEqual(
    bucketPeriod(OVERVIEW, '2026-11-20T00:00:00.000Z', '2026-11-20T00:00:00.000Z'),
    custom('2026-11-20T01:30:00.000Z', '2026-11-20T02:00:00.000Z'),
  )
  assert.deepEqual(
    bucketPeriod(OVERVIEW, '2026-11-20T02:00:00.000Z', '2026-11-20T02:00:00.000Z'),
    custom('2026-11-20T02:00:00.000Z', '2026-11-20T04:00:00.000Z'),
  )
  assert.deepEqual(
    bucketPeriod(OVERVIEW, '2026-11-20T00:00:00.000Z', '2026-11-20T02:00:00.000Z'),
    custom('2026-11-20T01:30:00.000Z', '2026-11-20T04:00:00.000Z'),
  )
})

test('bars are counted and named', () => {
  assert.equal(countOf(OVERVIEW), 15)
  assert.deepEqual([bucketText(OVERVIEW), bucketText({ interval: 'day', width: 1 })], ['2 hours a bar', '1 day a bar'])
  assert.deepEqual(
    histogramPoints(OVERVIEW, { zone: 'utc', now: Number.POSITIVE_INFINITY }).map(({ label }) => label),
    ['Nov 20, 00:00', 'Nov 20, 02:00'],
  )
})
