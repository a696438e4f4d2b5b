import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createPercentiles, percentile, record, setOthers, snapshotOf, WINDOW_MS } from './measurements.ts'

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

test('newer measurements count more: weights halve each minute', () => {
  const percentiles = createPercentiles()
  for (let i = 0; i < 10; i++) record(percentiles, 100, 0)
  for (let i = 0; i < 4; i++) record(percentiles, 1000, 60_000)
  assert.ok((percentile(percentiles, 0.5, 60_000) ?? 0) < 110)
  for (let i = 0; i < 2; i++) record(percentiles, 1000, 60_000)
  assert.ok((percentile(percentiles, 0.5, 60_000) ?? 0) > 900)
})

test('after five minutes without a measurement there is no figure', () => {
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

test('measurements of other processes count like local ones', () => {
  const figure = fc.tuple(fc.double({ min: 1, max: 1_000_000, noNaN: true }), fc.integer({ min: 0, max: 100_000 }))
  const figures = fc.array(figure, { minLength: 1, maxLength: 50 })
  fc.assert(
    fc.property(figures, figures, figures, (mine, one, another) => {
      const all = createPercentiles()
      const inOrder = (list: typeof mine) => list.toSorted(([, a], [, b]) => a - b)
      for (const [value, at] of inOrder([...mine, ...one, ...another])) record(all, value, at)
      const own = createPercentiles()
      for (const [value, at] of inOrder(mine)) record(own, value, at)
      const snapshots = [one, another].map((list) => {
        const percentiles = createPercentiles()
        for (const [value, at] of inOrder(list)) record(percentiles, value, at)
        return { ageMs: 10_000, snapshot: snapshotOf(percentiles, 110_000) ?? assert.fail() }
      })
      setOthers(own, snapshots, 120_000)
      for (const share of [0.5, 0.9]) {
        const shared = percentile(own, share, 130_000) ?? assert.fail()
        const [below, above] = [share - 0.01, share + 0.01].map((each) => percentile(all, each, 130_000) ?? 0)
        assert.ok(shared >= (below ?? 0) / 1.01 && shared <= (above ?? 0) * 1.01, `${shared}`)
      }
    }),
  )
})

test('measurements of others end with the window, and when the others stop reporting', () => {
  const theirs = createPercentiles()
  record(theirs, 100, 0)
  const snapshot = snapshotOf(theirs, 1000) ?? assert.fail()
  const own = createPercentiles()
  setOthers(own, [{ ageMs: 0, snapshot }], 50_000)
  assert.ok(percentile(own, 0.5, 49_000 + WINDOW_MS) !== undefined)
  assert.equal(percentile(own, 0.5, 49_001 + WINDOW_MS), undefined)
  setOthers(own, [], 50_000)
  assert.equal(percentile(own, 0.5, 50_000), undefined)
  assert.equal(snapshotOf(theirs, WINDOW_MS + 1), undefined)
})
