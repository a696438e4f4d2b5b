import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  createSteadyClock,
  monthNumber,
  monthStart,
  parseDurationMs,
  parseIsoTime,
  parseRetryAfter,
  retryAfterMs,
} from './time.ts'

test('dates are midnight UTC; times need their offset', () => {
  const midnight = Date.UTC(2026, 1, 28)
  assert.equal(parseIsoTime('2026-02-28'), midnight)
  assert.equal(parseIsoTime('2026-02-28T00:00Z'), midnight)
  assert.equal(parseIsoTime('2026-02-28T00:00:00.250Z'), midnight + 250)
  assert.equal(parseIsoTime('2026-02-28T00:00:00.123456+00:00'), midnight + 123)
  assert.equal(parseIsoTime('2026-02-28T02:30:00+02:30'), midnight)
})

test('anything else is not a time', () => {
  for (const text of [
    ...['', 'x', '2026', '2026-02', '20260228', '2026-2-28', '2026-02-28T00:00:00', '2026-02-28 00:00:00Z'],
    ...[
      '2026-02-30',
      '2026-02-30T00:00:00Z',
      '2026-13-01',
      '2026-02-28T25:00:00Z',
      '2026-02-28T00:61:00Z',
      '1767225600',
    ],
  ]) {
    assert.equal(parseIsoTime(text), undefined, text)
  }
})

test('what toISOString writes is read back', () => {
  const date = fc.date({ min: new Date(0), max: new Date(Date.UTC(9999, 0)), noInvalidDate: true })
  fc.assert(fc.property(date, (time) => assert.equal(parseIsoTime(time.toISOString()), time.getTime())))
})

test('a whole number and a unit', () => {
  assert.equal(parseDurationMs('90s'), 90_000)
  assert.equal(parseDurationMs('15m'), 900_000)
  assert.equal(parseDurationMs('12h'), 43_200_000)
  assert.equal(parseDurationMs('30d'), 2_592_000_000)
})

test('anything else is refused, zero included', () => {
  for (const text of ['', '30', 'd', '0d', '-1d', '1.5h', '1w', '1 d', '1d2h', '9999999999d']) {
    assert.equal(parseDurationMs(text), undefined, text)
  }
})

test('a month begins with its first millisecond, UTC, over the years', () => {
  assert.deepEqual([monthNumber(0), monthStart(0)], [0, 0])
  for (const [year, month] of [
    [1970, 11],
    [2026, 0],
    [2028, 1],
  ] as const) {
    const start = Date.UTC(year, month)
    const number = (year - 1970) * 12 + month
    assert.deepEqual([monthNumber(start), monthNumber(start - 1), monthStart(number)], [number, number - 1, start])
  }
})

const NOW = Date.UTC(2026, 10, 20, 12, 0, 0)

test('a delay in seconds becomes milliseconds', () => {
  assert.equal(parseRetryAfter('10', NOW), 10_000)
  assert.equal(parseRetryAfter(' 0 ', NOW), 0)
  assert.equal(parseRetryAfter('1.5', NOW), 1500)
})

test('an HTTP date is a wait from now', () => {
  assert.equal(parseRetryAfter('Fri, 20 Nov 2026 12:00:30 GMT', NOW), 30_000)
})

test('a date in the past means now, not a negative wait', () => {
  assert.equal(parseRetryAfter('Thu, 01 Jan 1970 00:00:05 GMT', 9_000), 0)
})

test('what is neither a delay nor a date is no wait at all', () => {
  for (const value of [undefined, '', '-5', '5,6', 'soon', '1e9', '2026-11-20', '9'.repeat(40)]) {
    assert.equal(parseRetryAfter(value, NOW), undefined, String(value))
  }
})

test('milliseconds win over seconds where both are sent', () => {
  assert.equal(retryAfterMs({ 'retry-after': '1', 'retry-after-ms': '0' }, NOW), 0)
  assert.equal(retryAfterMs({ 'retry-after': '1', 'retry-after-ms': '250' }, NOW), 250)
  assert.equal(retryAfterMs({ 'retry-after': '1', 'retry-after-ms': 'later' }, NOW), 1000)
  assert.equal(retryAfterMs({}, NOW), undefined)
})

const START = 1_000_000
const HOUR = 3_600_000

function clocks() {
  let monotonic = 0
  let skew = 0
  const now = createSteadyClock(
    () => START + monotonic + skew,
    () => monotonic,
  )
  return {
    /** Since the start, after `ms` have passed. */
    after(ms: number, wrongBy = skew) {
      monotonic += ms
      skew = wrongBy
      return now() - START
    },
  }
}

test('a clock that jumps ahead for a moment is not followed, and what comes later is dated right', () => {
  const { after } = clocks()
  assert.equal(after(10), 10)
  assert.equal(after(10, 24 * HOUR), 20)
  assert.equal(after(10, 0), 30)
  assert.equal(after(HOUR, 900), HOUR + 930, 'a small step is one')
})

test('a clock that stays ahead is believed after half a minute, one that goes back at once', () => {
  const { after } = clocks()
  assert.equal(after(0, HOUR), 0)
  assert.equal(after(29_999), 29_999)
  assert.equal(after(1), HOUR + 30_000)
  assert.equal(after(10, -HOUR), 30_010 - HOUR)
})
