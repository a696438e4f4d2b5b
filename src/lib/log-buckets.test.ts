import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { bucketOf, bucketSql, middleOf, percentilesOf } from './log-buckets.ts'

const VALUES = [0, 1, 15, 16, 17, 100, 127, 128, 999, 1_000, 65_535, 65_536, 123_456_789, 2 ** 31 - 1]

test('a bucket is near its values, and SQL finds the same one', () => {
  const db = new DatabaseSync(':memory:')
  const inSql = db.prepare(`select ${bucketSql('ms')} as bucket from (select cast(? as integer) as ms)`)
  for (const value of VALUES) {
    const bucket = bucketOf(value)
    assert.ok(bucket <= value, String(value))
    assert.ok(Math.abs(middleOf(bucket) - value) <= value * 0.07, String(value))
    assert.equal(bucketOf(bucket), bucket)
    assert.equal(inSql.get(value)?.['bucket'], bucket, String(value))
  }
  assert.deepEqual([bucketOf(-1), bucketOf(12.4), bucketOf(2 ** 40)], [0, 12, bucketOf(2 ** 31 - 1)])
})

test('percentiles are those of the nearest rank', () => {
  const buckets = new Map([
    [12, 1],
    [3, 18],
    [5, 1],
  ])
  assert.deepEqual(percentilesOf(buckets, [50, 90, 95, 100]), [3, 3, 5, 12])
  assert.equal(percentilesOf(new Map(), [50]), undefined)
})
