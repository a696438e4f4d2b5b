import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolvePeriod } from '../../lib/period.ts'
import { measuredPeriod, type SpeedRow, sortedSpeed, speedPoints, speedSummary } from './speed-data.ts'

const NOW = Date.parse('2026-11-22T10:30:00Z')
const measured = (range: '24h' | '7d' | '30d' | 'month', now = NOW) => {
  const { period, isShortened } = measuredPeriod(resolvePeriod({ range }, now, '7d'), now, 'utc')
  return [period.start.slice(0, 13), period.end.slice(0, 13), isShortened]
}

test('of longer periods the last 31 days are measured, of a month those that have begun', () => {
  assert.deepEqual(measured('24h'), ['2026-11-21T11', '2026-11-22T11', false])
  assert.deepEqual(measured('7d'), ['2026-11-16T00', '2026-11-23T00', false])
  assert.deepEqual(measured('30d'), ['2026-10-24T00', '2026-11-23T00', false])
  assert.deepEqual(measured('month'), ['2026-11-01T00', '2026-12-01T00', false])
  const old = resolvePeriod({ range: 'custom', from: '2025-12-15', to: '2026-01-31' }, NOW, '7d')
  const { period, isShortened } = measuredPeriod(old, NOW, 'utc')
  assert.deepEqual([period.label, isShortened], ['Jan 1 – 31, 2026', true])
})

const hour = (at: string, p50: number | null, p95: number | null) => ({
  ...{ at: `2026-11-22T${at}:00:00.000Z`, requests: 1, first_byte_ms_p50: p50, first_byte_ms_p95: p95 },
})
const IN_PERIOD = {
  period: { start: '2026-11-22T00:00:00.000Z', end: '2026-11-22T06:00:00.000Z' },
  zone: 'utc',
  now: Date.parse('2026-11-22T05:30:00.000Z'),
} as const

test('every hour is a point, and one sentence says how it was', () => {
  const points = speedPoints([hour('01', 300, 900), hour('02', null, null), hour('04', 1200, 4100)], IN_PERIOD)
  assert.deepEqual(
    points.map(({ label, values: { p50 } }) => [label, p50 ?? undefined]),
    [
      ['00:00', undefined],
      ['01:00', 300],
      ['02:00', undefined],
      ['03:00', undefined],
      ['04:00', 1200],
      ['05:00', undefined],
    ],
  )
  assert.equal(
    speedSummary(points),
    'The median time to first token was between 300 ms and 1.2 s, by the hour; p95 was highest at 04:00, with 4.1 s.',
  )
  assert.equal(speedSummary(speedPoints([hour('02', null, null)], IN_PERIOD)), undefined)
})

test('rows are sorted by any number, those without it last', () => {
  const row = (key: string, rate: number | null, p95?: number): SpeedRow => ({
    ...{ key, requests: 1, failed: 0, success_rate: rate, duration_ms: null },
    first_byte_ms: p95 === undefined ? null : { p50: 1, p95 },
  })
  const rows = [row('b', null), row('a', 0.5, 20), row('c', 1, 10)]
  const keys = (id: string, direction: 'asc' | 'desc') => sortedSpeed(rows, { id, direction }).map(({ key }) => key)
  assert.deepEqual(keys('success_rate', 'asc'), ['a', 'c', 'b'])
  assert.deepEqual(keys('success_rate', 'desc'), ['c', 'a', 'b'])
  assert.deepEqual(keys('first_p95', 'asc'), ['c', 'a', 'b'])
  assert.deepEqual(keys('name', 'desc'), ['c', 'b', 'a'])
  assert.deepEqual(keys('requests', 'desc'), ['a', 'b', 'c'])
})
