import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createPercentiles, percentile, record, WINDOW_MS } from './measurements.ts'

test('a percentile is within 4 % of the sorted list’s, for any figures of one moment', () => {
  const figure = fc.double({ min: 1, max: 1_000_000, noNaN: true })
  fc.assert(
    fc.property(
      fc.array(figure, { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.9, 0.99),
      (figures, share) => {
        const percentiles = createPercentiles()
        for (const each of figures) record(percentiles, each, 1000)
        const sorted = [...figures].sort((a, b) => a - b)
        const exact = sorted[Math.ceil(sorted.length * share) - 1] ?? assert.fail()
        const measured = percentile(percentiles, share, 1000) ?? assert.fail()
        assert.ok(Math.abs(Math.log(measured / exact)) < 0.05, `${measured} for ${exact}`)
      },
    ),
  )
})

test('what is newer counts more: half as much each minute', () => {
  const percentiles = createPercentiles()
  for (let i = 0; i < 10; i++) record(percentiles, 100, 0)
  for (let i = 0; i < 4; i++) record(percentiles, 1000, 60_000)
  assert.ok((percentile(percentiles, 0.5, 60_000) ?? 0) < 110)
  for (let i = 0; i < 2; i++) record(percentiles, 1000, 60_000)
  assert.ok((percentile(percentiles, 0.5, 60_000) ?? 0) > 900)
})

test('after five minutes without a measurement nothing is known', () => {
  const percentiles = createPercentiles()
  assert.equal(percentile(percentiles, 0.5, 0), undefined)
  record(percentiles, 100, 0)
  assert.ok(percentile(percentiles, 0.5, WINDOW_MS) !== undefined)
  assert.equal(percentile(percentiles, 0.5, WINDOW_MS + 1), undefined)
})

test('weights stay finite over months', () => {
  const percentiles = createPercentiles()
  for (let day = 0; day < 100; day++) record(percentiles, 100 + day, day * 86_400_000)
  const now = 99 * 86_400_000
  assert.ok(Math.abs((percentile(percentiles, 0.5, now) ?? 0) - 199) < 10)
})
