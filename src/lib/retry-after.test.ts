import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRetryAfter, retryAfterMs } from './retry-after.ts'

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
