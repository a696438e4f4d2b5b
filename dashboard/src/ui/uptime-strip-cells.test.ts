import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellText, uptimeCells, uptimeSentence } from './uptime-strip-cells.ts'

const NOW = Date.parse('2026-11-22T14:20:00Z')
const hour = (at: number, requests: number, failed: number) => ({
  at: new Date(Date.parse('2026-11-22T00:00:00Z') + at * 3_600_000).toISOString(),
  requests,
  failed,
})
const cellsOf = (hours: readonly ReturnType<typeof hour>[]) => uptimeCells(hours, { now: NOW, zone: 'utc' })

test('each of the last 24 hours has its cell, by how much of it failed', () => {
  const cells = cellsOf([
    hour(-10, 9, 9),
    hour(-9, 1, 0),
    hour(11, 40, 12),
    hour(12, 2, 1),
    hour(13, 3, 2),
    hour(14, 2000, 1),
  ])
  assert.equal(cells.length, 24)
  assert.deepEqual(
    cells.filter(({ state }) => state !== 'none').map((cell) => [cell.state, cellText(cell)]),
    [
      ['well', '15:00: 1 request, none failed'],
      ['some', '11:00: 12 of 40 failed'],
      ['some', '12:00: 1 of 2 failed'],
      ['most', '13:00: 2 of 3 failed'],
      ['well', '14:00: 1 of 2,000 failed'],
    ],
  )
  assert.deepEqual([cells[1]?.at, cells[1] && cellText(cells[1])], ['2026-11-21T16:00:00.000Z', '16:00: no requests'])
  assert.equal(uptimeSentence(cells), 'Last 24 hours: 4 of 24 hours with failures, the worst at 13:00, 2 of 3 failed')
})

test('an hour is degraded above 5 %, as a provider is, and down in the hour of the last failure', () => {
  const hours = [hour(12, 100, 5), hour(13, 100, 6), hour(14, 1000, 1)]
  const states = (downSince?: string) =>
    uptimeCells(hours, { now: NOW, zone: 'utc', downSince })
      .slice(-3)
      .map(({ state }) => state)
  assert.deepEqual(states(), ['well', 'some', 'well'])
  assert.deepEqual(states('2026-11-22T14:10:00Z'), ['well', 'some', 'most'])
})

test('of hours that failed alike, the one with more requests is the worst', () => {
  assert.match(uptimeSentence(cellsOf([hour(9, 1, 1), hour(11, 3, 3), hour(12, 2, 2)])), /at 11:00, 3 of 3 failed$/)
})

test('one failure, none, and no request each have their words', () => {
  assert.deepEqual(
    [[hour(9, 3, 1), hour(10, 2, 0)], [hour(9, 3, 0)], []].map((hours) => uptimeSentence(cellsOf(hours))),
    [
      'Last 24 hours: 1 of 24 hours with failures, at 09:00, 1 of 3 failed',
      'Last 24 hours: no failures, requests in 1 hour',
      'Last 24 hours: no requests',
    ],
  )
})
