import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDurationMs } from './duration.ts'

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
