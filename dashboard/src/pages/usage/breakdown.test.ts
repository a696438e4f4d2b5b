import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BreakdownChoice, breakdownOf, sortedRows, viewWords } from './breakdown.ts'
import type { Report } from './queries.ts'
import { readUsageView } from './search.ts'

const group = (key: string, costUsd: number, requests = 1, name?: string | null) => ({
  ...{ key, requests, tokens: 10 * requests, cost_usd: costUsd },
  ...(name === undefined ? {} : { name }),
})

function report(groups: NonNullable<Report['groups']>, total: { readonly usd: number; readonly requests: number }) {
  return {
    ...{
      period_start: '',
      period_end: '',
      held_usd: 0,
      credit_remaining_usd: 0,
      unlimited: false,
      breakdown_by_model: [],
    },
    ...{ total_prompt_tokens: 0, total_completion_tokens: 0, total_tokens: 10 * total.requests },
    ...{ total_requests: total.requests, total_cost_usd: total.usd, groups },
  } satisfies Report
}

const BY_MODEL: BreakdownChoice = { group: 'model', metric: 'spend', before: undefined }

test('a row has its share, and its change where the period before is known', () => {
  const now = report([group('a', 0.3), group('b', 0.1), group('c', 0)], { usd: 0.4, requests: 3 })
  const before = report([group('a', 0.2), group('c', 0)], { usd: 0.2, requests: 2 })
  assert.deepEqual(
    breakdownOf(now, { ...BY_MODEL, before }).map(({ key, share, change }) => [key, share, change]),
    [
      ['a', 0.75, 0.5],
      ['b', 0.25, 'new'],
      ['c', 0, undefined],
    ],
  )
  assert.ok(breakdownOf(now, BY_MODEL).every(({ change }) => change === undefined))
})

test('what no agent used is a row of its own, so that the rows add up to the nano-dollar', () => {
  const agents = [group('agt_1', 0.1, 1, 'Mender'), group('agt_2aaaaaaaaaaaa1234', 0.2, 2, null)]
  const rows = breakdownOf(report(agents, { usd: 0.600000001, requests: 7 }), { ...BY_MODEL, group: 'agent' })
  assert.deepEqual(
    rows.map(({ label, cost_usd: usd, requests, isRest }) => [label, usd, requests, isRest]),
    [
      ['Mender', 0.1, 1, false],
      ['Deleted agent (agt_…1234)', 0.2, 2, false],
      ['Outside agents', 0.300000001, 4, true],
    ],
  )
  const sorted = sortedRows(rows, { id: 'requests', direction: 'desc' })
  assert.deepEqual(
    sorted.map(({ requests }) => requests),
    [2, 1, 4],
  )
})

test('days are sorted by date, names by name, changes with the new ones as the greatest', () => {
  const days = [group('2026-09-30', 1), group('2026-10-01', 2)]
  const ofDays = breakdownOf(report(days, { usd: 3, requests: 2 }), { ...BY_MODEL, group: 'day' })
  const keys = (rows: ReturnType<typeof sortedRows>) => rows.map(({ key }) => key)
  assert.deepEqual(keys(sortedRows(ofDays, { id: 'name', direction: 'desc' })), ['2026-10-01', '2026-09-30'])
  const now = report([group('old', 1), group('new', 1), group('none', 0)], { usd: 2, requests: 3 })
  const before = report([group('old', 0.5), group('none', 0)], { usd: 0.5, requests: 2 })
  const rows = breakdownOf(now, { ...BY_MODEL, before })
  assert.deepEqual(keys(sortedRows(rows, { id: 'change', direction: 'desc' })), ['new', 'old', 'none'])
  assert.deepEqual(keys(sortedRows(rows, { id: 'name', direction: 'asc' })), ['new', 'none', 'old'])
})

const IN_UTC = { now: Date.parse('2026-11-22T10:30:00Z'), zone: 'utc' } as const
const KEYS = [{ key: 'key_one', name: 'Checkout service' }]

test('a view is called by what it shows', () => {
  assert.equal(viewWords({}, KEYS, IN_UTC), 'Spend by model, last 7 days')
  const narrowed = { range: '30d', group: 'day', metric: 'tokens', model: 'gpt-5.4-mini', key_id: 'key_one' } as const
  assert.equal(viewWords(narrowed, KEYS, IN_UTC), 'Tokens by day, gpt-5.4-mini, Checkout service, last 30 days')
  assert.equal(viewWords({ key_id: 'key_two' }, KEYS, IN_UTC), 'Spend by model, Unknown (key_two), last 7 days')
  const speed = { show: 'speed', by: 'provider', model: 'gpt-5.4-mini', range: 'month' } as const
  assert.equal(viewWords(speed, KEYS, IN_UTC), 'Speed and errors by provider, this month')
})

test('a view has its period also where the address names none', () => {
  assert.deepEqual(readUsageView({}), { range: '7d' })
  assert.deepEqual(readUsageView({ range: 'month', model: 7, more: 1 }), { range: 'month', model: '7' })
  assert.deepEqual(readUsageView({ from: '2026-11-03' }), { range: 'custom', from: '2026-11-03' })
})
