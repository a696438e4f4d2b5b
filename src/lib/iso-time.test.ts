import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseIsoTime } from './iso-time.ts'

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
