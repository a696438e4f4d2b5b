import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseIdempotencyKey, parseLastEventId } from './request-headers.ts'

test('IDEM-1: 1 to 255 printable ASCII characters are a key, as they are', () => {
  const keys = ['k', 'x'.repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"', 'order 17 of ~today!']
  for (const key of keys) assert.equal(parseIdempotencyKey(key), key)
  assert.equal(parseIdempotencyKey(undefined), undefined)
})

test('IDEM-1: anything else is 400 and names the header [limit: idempotency-key]', () => {
  for (const value of ['', 'x'.repeat(256), 'ü', 'a\tb', 'a\u007f', 'a\u0080', 'a\n']) {
    assert.throws(() => parseIdempotencyKey(value), { code: 'invalid_header', status: 400, param: 'Idempotency-Key' })
  }
})

test('the last event is a decimal number, whatever its size; anything else is 400 and names the header', () => {
  assert.equal(parseLastEventId(undefined), undefined)
  for (const value of ['0', '17', '007', '99999999999999999999']) assert.equal(parseLastEventId(value), Number(value))
  for (const value of ['', 'a', '-1', '1.5', '1e3', '0x1', '1, 2', ' 1', '1'.repeat(21)]) {
    assert.throws(() => parseLastEventId(value), { code: 'invalid_header', status: 400, param: 'Last-Event-ID' })
  }
})
