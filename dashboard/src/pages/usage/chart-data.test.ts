import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChartChoice, chartOf, intervalOf, withTotal } from './chart-data.ts'
import type { Report } from './queries.ts'

const HOUR = 3_600_000
const START = Date.parse('2026-11-20T00:00:00Z')
const iso = (hours: number) => new Date(START + hours * HOUR).toISOString()

function report(entries: readonly (readonly [hour: number, key: string, usd: number])[]): Report {
  const counts = { requests: 1, tokens: 5, prompt_tokens: 3, completion_tokens: 2 }
  const keys = [...new Set(entries.map(([, key]) => key))].filter((key) => key !== '')
  return {
    ...{
      period_start: '',
      period_end: '',
      held_usd: 0,
      credit_remaining_usd: 0,
      unlimited: false,
      breakdown_by_model: [],
    },
    ...{ total_prompt_tokens: 0, total_completion_tokens: 0, total_tokens: 0, total_requests: 0, total_cost_usd: 0 },
    groups: keys.map((key) => ({ key, ...counts, cost_usd: 0 })),
    series: entries.map(([hour, key, usd]) => ({ at: iso(hour), key, ...counts, cost_usd: usd })),
  }
}

const CHOICE: ChartChoice = {
  ...{ group: 'model', metric: 'spend', interval: 'hour', cumulative: false, zone: 'utc', now: START + 4 * HOUR },
  period: { start: iso(0), end: iso(6) },
}

test('every hour of the period that has begun is there, and its dollars are whole nano-dollars', () => {
  const { series, points } = chartOf(
    report([
      [1, 'a', 0.1],
      [1, 'b', 0.2],
      [3, 'a', 0.000000001],
    ]),
    CHOICE,
  )
  assert.deepEqual(
    series.map(({ label }) => label),
    ['a', 'b'],
  )
  assert.deepEqual(
    points.map(({ values }) => values),
    [{}, { a: 100_000_000, b: 200_000_000 }, {}, { a: 1 }, {}],
  )
  assert.deepEqual(points[1]?.label, '01:00')
})

test('what has added up ends with the sum, and hours to come are left out', () => {
  const entries = report([
    [1, 'a', 0.1],
    [3, 'a', 0.2],
    [3, '', 0.3],
  ])
  const { series, points } = chartOf(entries, { ...CHOICE, cumulative: true })
  assert.deepEqual(
    series.map(({ label }) => label),
    ['a', 'All others'],
  )
  assert.deepEqual(points[4]?.values, { a: 300_000_000, '': 300_000_000 })
  assert.equal(points.length, 5)
  const total = withTotal({ series, points })
  assert.equal(total.series[0]?.label, 'Total')
  assert.equal(total.points[4]?.values[total.series[0]?.key ?? ''], 600_000_000)
})

test('of many lines the smallest are one, and the total has them all', () => {
  const many = report(Array.from({ length: 12 }, (_, index) => [1, `m${index}`, (index + 1) / 100] as const))
  const { series, points } = withTotal(chartOf(many, { ...CHOICE, cumulative: true }))
  assert.deepEqual(
    series.map(({ label }) => label),
    ['Total', 'm6', 'm7', 'm8', 'm9', 'm10', 'm11', 'Other (6)'],
  )
  const { [series[0]?.key ?? '']: total, [series[7]?.key ?? '']: others } = points[1]?.values ?? {}
  assert.deepEqual([total, others], [780_000_000, 210_000_000])
})

test('agents have a bar each, the largest first', () => {
  const agents = report([])
  const counts = { requests: 1, tokens: 5 }
  const groups = [
    { key: 'agt_1', name: 'one', ...counts, cost_usd: 1 },
    { key: 'agt_2', name: 'two', ...counts, cost_usd: 2 },
  ]
  const { points } = chartOf({ ...agents, groups }, { ...CHOICE, group: 'agent' })
  assert.deepEqual(
    points.map(({ at, label }) => [at, label]),
    [
      ['agt_2', 'two'],
      ['agt_1', 'one'],
    ],
  )
})

test('hours are for a month at most, days for 400', () => {
  const days = (count: number) => ({ start: iso(0), end: iso(24 * count) })
  assert.deepEqual(intervalOf(days(1), 'day'), { interval: 'hour', canChoose: false })
  assert.deepEqual(intervalOf(days(7), undefined), { interval: 'day', canChoose: true })
  assert.deepEqual(intervalOf(days(32), 'hour'), { interval: 'hour', canChoose: true })
  assert.deepEqual(intervalOf(days(33), 'hour'), { interval: 'day', canChoose: false })
  assert.deepEqual(intervalOf(days(401), 'day'), { interval: undefined, canChoose: false })
})
