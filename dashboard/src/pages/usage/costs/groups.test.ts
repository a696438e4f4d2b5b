import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sumUsd } from '../../../lib/money.ts'
import type { Report } from '../queries.ts'
import { canListRequests, filterOf, readDimensions, valueLabel } from './dimensions.ts'
import { costChartOf, rowsOf } from './groups.ts'

const counts = (cost_usd: number) => ({ requests: 1, tokens: 10, cost_usd })
const report = (groups: Report['groups'] & {}, other?: Report['other']): Report => ({
  ...{ period_start: '2026-11-01T00:00:00.000Z', period_end: '2026-11-04T00:00:00.000Z', total_tokens: 30 },
  ...{ total_prompt_tokens: 20, total_completion_tokens: 10, total_requests: 3, total_cost_usd: 0.600000003 },
  ...{ credit_remaining_usd: 0, unlimited: true, held_usd: 0, breakdown_by_model: [], groups },
  ...(other !== undefined && { other }),
})
const nameOf = (id: string) => (id === 'team_1' ? 'Search' : id)

test('rows have a value for each dimension, and the rest is the last', () => {
  const keys = (team: string | null, customer: string | null) => ({ team, 'tag:customer': customer })
  const rows = rowsOf(
    report(
      [
        { key: 'team_1,northwind', keys: keys('team_1', 'northwind'), ...counts(0.3) },
        { key: ',', keys: keys(null, null), ...counts(0.200000001) },
      ],
      { groups: 7, ...counts(0.100000002) },
    ),
    ['team', 'tag:customer'],
  )
  assert.deepEqual(
    rows.map(({ values, restOf }) => [values, restOf]),
    [
      [['team_1', 'northwind'], undefined],
      [[null, null], undefined],
      [[], 7],
    ],
  )
  assert.equal(sumUsd(rows.map(({ cost_usd: usd }) => usd)), 0.600000003)
  const [plain] = rowsOf(report([{ key: 'gpt-5.4-mini', ...counts(0.6) }]), ['model'])
  assert.deepEqual(plain?.values, ['gpt-5.4-mini'])
})

test('bars are days with what they are made of, the largest first, and days without cost are empty', () => {
  const keys = (day: string, team: string | null) => ({ day, team })
  const { series, points } = costChartOf(
    report([
      { key: '1', keys: keys('2026-11-01', null), ...counts(0.1) },
      { key: '2', keys: keys('2026-11-01', 'team_1'), ...counts(0.2) },
      { key: '3', keys: keys('2026-11-03', 'team_1'), ...counts(0.3) },
    ]),
    {
      dimensions: ['day', 'team'],
      metric: 'spend',
      period: { start: '2026-11-01T00:00:00.000Z', end: '2026-11-04T00:00:00.000Z' },
      now: Number.POSITIVE_INFINITY,
      nameOf,
    },
  )
  assert.deepEqual(
    series.map(({ label }) => label),
    ['Search', 'No team'],
  )
  assert.deepEqual(
    points.map(({ label, values }) => [label, values]),
    [
      ['Nov 1', { null: 1e8, '"team_1"': 2e8 }],
      ['Nov 2', {}],
      ['Nov 3', { '"team_1"': 3e8 }],
    ],
  )
})

test('dimensions of an address are those that there are, up to three, each once', () => {
  assert.deepEqual(readDimensions(undefined), ['model'])
  assert.deepEqual(readDimensions('tag:customer,team,team,nothing,day,key'), ['tag:customer', 'team', 'day'])
  assert.deepEqual(readDimensions('tag:Customer,tag:'), ['model'])
})

test('a value becomes a filter, and only some filters narrow the list of requests', () => {
  assert.deepEqual(filterOf('tag:customer', 'northwind'), { tag: 'customer=northwind' })
  assert.deepEqual(filterOf('team', 'team_1'), { team_id: 'team_1' })
  assert.equal(filterOf('team', null), undefined)
  assert.equal(filterOf('day', '2026-11-01'), undefined)
  assert.equal(canListRequests({ tag: 'customer=northwind', model: 'm' }), true)
  assert.equal(canListRequests({ team_id: 'team_1' }), false)
  assert.equal(valueLabel('team', 'team_1', nameOf), 'Search')
  assert.equal(valueLabel('tag:customer', null, nameOf), 'No tag customer')
})
