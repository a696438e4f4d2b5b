import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_TIME, parsePeriod } from './period.ts'

test('a period is what the query says, and otherwise the fallback', () => {
  assert.deepEqual(parsePeriod({}, ALL_TIME), ALL_TIME)
  const query = { period_start: '2026-12-05', period_end: '2026-12-06T01:00:00+01:00' }
  assert.deepEqual(parsePeriod(query, ALL_TIME), { start: Date.UTC(2026, 11, 5), end: Date.UTC(2026, 11, 6) })
})

test('a period that cannot be read or runs backwards is 400 with its parameter', () => {
  const may = { start: Date.UTC(2026, 4, 1), end: Date.UTC(2026, 5, 1) }
  const cases: readonly [Record<string, unknown>, string][] = [
    [{ period_start: 'yesterday' }, 'period_start'],
    [{ period_end: '2026-02-31' }, 'period_end'],
    [{ period_end: '' }, 'period_end'],
    [{ period_start: ['2026-01-01', '2026-01-02'] }, 'period_start'],
    [{ period_start: '2026-05-03', period_end: '2026-05-02' }, 'period_end'],
    [{ period_start: '2026-07-01' }, 'period_start'],
    [{ period_end: '2026-04-01' }, 'period_end'],
  ]
  for (const [query, param] of cases) {
    assert.throws(() => parsePeriod(query, may), { name: 'GatewayError', status: 400, code: 'invalid_value', param })
  }
})
