import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CalendarUnit, isTimeZone, startOfDate, windowAt } from './calendar-window.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const at = (text: string) => Date.parse(text)
const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())

function windowOf(unit: CalendarUnit, timeZone: string, now: string, anchor?: string) {
  const found = windowAt({ unit, timeZone, anchor: anchor === undefined ? undefined : at(anchor) }, at(now))
  return found && [iso(found.start), iso(found.end)]
}

test('windows of the calendar begin at midnight of the zone', () => {
  const cases: [CalendarUnit, string, string, string, string][] = [
    ['day', 'UTC', '2026-05-05T12:00:00Z', '2026-05-05T00:00:00.000Z', '2026-05-06T00:00:00.000Z'],
    ['week', 'UTC', '2026-05-05T12:00:00Z', '2026-05-04T00:00:00.000Z', '2026-05-11T00:00:00.000Z'],
    ['month', 'Asia/Kolkata', '2026-05-31T18:29:59.999Z', '2026-04-30T18:30:00.000Z', '2026-05-31T18:30:00.000Z'],
    ['month', 'Asia/Kolkata', '2026-05-31T18:30:00Z', '2026-05-31T18:30:00.000Z', '2026-06-30T18:30:00.000Z'],
    ['quarter', 'America/New_York', '2026-02-14T00:00:00Z', '2026-01-01T05:00:00.000Z', '2026-04-01T04:00:00.000Z'],
    ['quarter', 'UTC', '2026-12-31T23:59:59.999Z', '2026-10-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    ['week', 'Pacific/Auckland', '2026-05-03T12:00:00Z', '2026-05-03T12:00:00.000Z', '2026-05-10T12:00:00.000Z'],
  ]
  for (const [unit, zone, now, start, end] of cases) {
    assert.deepEqual(windowOf(unit, zone, now), [start, end], `${unit} in ${zone} at ${now}`)
  }
})

test('days of daylight-saving changes have 23 and 25 hours, and weeks and months follow', () => {
  const lengthOf = (unit: CalendarUnit, zone: string, now: string) => {
    const { start, end = 0 } = windowAt({ unit, timeZone: zone, anchor: undefined }, at(now)) ?? { start: 0 }
    return (end - start) / HOUR_MS
  }
  assert.equal(lengthOf('day', 'Europe/Berlin', '2026-03-29T10:00:00Z'), 23)
  assert.equal(lengthOf('day', 'Europe/Berlin', '2026-10-25T10:00:00Z'), 25)
  assert.equal(lengthOf('day', 'America/New_York', '2026-03-08T12:00:00Z'), 23)
  assert.equal(lengthOf('day', 'America/New_York', '2026-11-01T12:00:00Z'), 25)
  assert.equal(lengthOf('day', 'Australia/Lord_Howe', '2026-04-05T02:00:00Z'), 24.5)
  assert.equal(lengthOf('week', 'Europe/Berlin', '2026-03-29T10:00:00Z'), 7 * 24 - 1)
  assert.equal(lengthOf('month', 'Europe/Berlin', '2026-10-05T10:00:00Z'), 31 * 24 + 1)
})

test('where midnight is skipped a day begins later, and where it occurs twice with the first', () => {
  // Chile sets its clocks at midnight: on 2026-09-06 from 00:00 to 01:00, on 2026-04-05 from 00:00 back to 23:00.
  assert.deepEqual(windowOf('day', 'America/Santiago', '2026-09-06T12:00:00Z'), [
    '2026-09-06T04:00:00.000Z',
    '2026-09-07T03:00:00.000Z',
  ])
  assert.deepEqual(windowOf('day', 'America/Santiago', '2026-04-04T12:00:00Z'), [
    '2026-04-04T03:00:00.000Z',
    '2026-04-05T04:00:00.000Z',
  ])
  // Cuba sets them back from 01:00 to 00:00, so that its midnight occurs twice.
  assert.deepEqual(windowOf('day', 'America/Havana', '2026-11-01T12:00:00Z'), [
    '2026-11-01T04:00:00.000Z',
    '2026-11-02T05:00:00.000Z',
  ])
})

test('windows with a start recur at its wall-clock time, months on its day or their last', () => {
  const anchor = '2026-01-31T23:00:00Z' // midnight of 1 February in Berlin
  assert.deepEqual(windowOf('month', 'Europe/Berlin', '2026-07-15T00:00:00Z', anchor), [
    '2026-06-30T22:00:00.000Z',
    '2026-07-31T22:00:00.000Z',
  ])
  assert.deepEqual(windowOf('month', 'UTC', '2026-02-27T00:00:00Z', '2026-01-31T06:30:00Z'), [
    '2026-01-31T06:30:00.000Z',
    '2026-02-28T06:30:00.000Z',
  ])
  assert.deepEqual(windowOf('month', 'UTC', '2026-03-01T00:00:00Z', '2026-01-31T06:30:00Z'), [
    '2026-02-28T06:30:00.000Z',
    '2026-03-31T06:30:00.000Z',
  ])
  assert.deepEqual(windowOf('week', 'UTC', '2026-05-05T00:00:00Z', '2026-05-01T00:00:00Z'), [
    '2026-05-01T00:00:00.000Z',
    '2026-05-08T00:00:00.000Z',
  ])
  assert.equal(windowOf('day', 'UTC', '2026-04-30T23:59:59Z', '2026-05-01T00:00:00Z'), undefined)
  assert.deepEqual(windowOf('total', 'UTC', '2030-01-01T00:00:00Z', anchor), ['2026-01-31T23:00:00.000Z', undefined])
})

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Santiago',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Casablanca',
  'America/Havana',
]
const anyTime = fc.integer({ min: at('1971-01-01T00:00:00Z'), max: at('2040-01-01T00:00:00Z') })
const anyUnit = fc.constantFrom<CalendarUnit>('day', 'week', 'month', 'quarter')

test('windows contain the time, adjoin, and begin at the same wall-clock time where the zone has it', () => {
  const property = fc.property(anyUnit, fc.constantFrom(...ZONES), anyTime, (unit, timeZone, now) => {
    const recurrence = { unit, timeZone, anchor: undefined }
    const window = windowAt(recurrence, now)
    assert(window?.end !== undefined && window.start <= now && now < window.end)
    assert.equal(windowAt(recurrence, window.end)?.start, window.end)
    assert.equal(windowAt(recurrence, window.start - 1)?.end, window.start)
    assert.equal(windowAt(recurrence, window.end - 1)?.start, window.start)
    const date = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(window.start)
    assert.equal(startOfDate(date, timeZone), window.start)
  })
  fc.assert(property, { numRuns: 400 })
})

test('windows with a start adjoin as well', () => {
  const property = fc.property(
    ...[anyUnit, fc.constantFrom(...ZONES), anyTime, fc.integer({ min: 0, max: 4000 })],
    (unit, timeZone, anchor, days) => {
      const recurrence = { unit, timeZone, anchor }
      const now = anchor + days * DAY_MS
      const window = windowAt(recurrence, now)
      assert(window?.end !== undefined && window.start <= now && now < window.end)
      assert(window.start >= anchor)
      assert.equal(windowAt(recurrence, window.end)?.start, window.end)
    },
  )
  fc.assert(property, { numRuns: 400 })
})

test('only zones that exist are zones', () => {
  assert.deepEqual(['Europe/Berlin', 'UTC', 'Mars/Olympus', '', 'Berlin'].map(isTimeZone), [
    true,
    true,
    false,
    false,
    false,
  ])
})

test('more recurrences than are remembered still have their own windows [limit: calendar-windows]', () => {
  for (let count = 0; count <= 2_000; count++) {
    const anchor = count * HOUR_MS
    const window = windowAt({ unit: 'day', timeZone: 'UTC', anchor }, at('2026-05-05T12:00:00Z'))
    assert.equal(((window?.start ?? 0) - anchor) % DAY_MS, 0)
  }
})
