import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDate, formatDateTime, formatTime, monthName, relativeTime } from './time.ts'

// Read again at every use; tests of a file run one after another.
function inZone(zone: string, check: () => void): void {
  const before = process.env['TZ']
  process.env['TZ'] = zone
  try {
    check()
  } finally {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  }
}

test('an instant, here and in UTC', () => {
  inZone('America/Los_Angeles', () => {
    assert.equal(formatDateTime('2026-11-22T03:04:05.678Z', 'utc'), 'Nov 22, 2026, 03:04:05 UTC')
    assert.equal(formatDateTime('2026-11-22T03:04:05.678Z', 'local'), 'Nov 21, 2026, 19:04:05')
    assert.equal(formatDateTime('2026-11-22T08:00:00Z', 'local'), 'Nov 22, 2026, 00:00:00')
    assert.equal(formatTime('2026-11-22T03:04:05Z', 'local'), '19:04')
    assert.equal(formatTime('2026-11-22T03:04:05Z', 'utc'), '03:04')
  })
})

test('a day is the same day west of Greenwich', () => {
  inZone('America/Los_Angeles', () => {
    assert.equal(formatDate('2026-11-22'), 'Nov 22, 2026')
    assert.equal(formatDate('2026-11-22T03:00:00Z'), 'Nov 21, 2026')
    assert.equal(formatDate('2026-11-22T03:00:00Z', 'utc'), 'Nov 22, 2026')
    assert.equal(monthName('2026-11'), 'November 2026')
    assert.equal(monthName('2026-11-01T00:00:00.000Z'), 'November 2026')
  })
})

test('what is no time is a dash', () => {
  for (const write of [formatDateTime, formatDate, formatTime]) assert.equal(write('soon', 'utc'), '—')
  assert.equal(monthName(''), '—')
  assert.equal(relativeTime('never', 0), '—')
})

test('distances in both directions', () => {
  inZone('UTC', () => {
    const now = Date.parse('2026-11-22T12:00:00Z')
    const expected: Readonly<Record<string, string>> = {
      '2026-11-22T11:59:01Z': 'just now',
      '2026-11-22T12:00:59Z': 'just now',
      '2026-11-22T11:59:00Z': '1 min ago',
      '2026-11-22T11:56:01Z': '3 min ago',
      '2026-11-22T14:30:00Z': 'in 2 h',
      '2026-11-21T12:00:01Z': '23 h ago',
      '2026-11-21T12:00:00Z': 'yesterday',
      '2026-11-23T13:00:00Z': 'tomorrow',
      '2026-11-20T23:00:00Z': '2 days ago',
      '2026-12-04T12:00:00Z': 'in 12 days',
      '2026-10-01T12:00:00Z': 'Oct 1, 2026',
    }
    for (const [iso, text] of Object.entries(expected)) assert.equal(relativeTime(iso, now), text, iso)
  })
})

test('yesterday is the day before on the calendar, also when it had 25 hours', () => {
  inZone('America/New_York', () => {
    // Clocks went back on November 1, 2026.
    assert.equal(relativeTime('2026-11-01T04:30:00Z', Date.parse('2026-11-02T05:30:00Z')), 'yesterday')
    // More than a day, and two midnights.
    assert.equal(relativeTime('2026-11-19T23:00:00Z', Date.parse('2026-11-21T05:30:00Z')), '2 days ago')
  })
})
