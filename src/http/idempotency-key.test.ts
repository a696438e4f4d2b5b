import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseIdempotencyKey } from './idempotency-key.ts'

test('IDEM-1: 1 to 255 printable ASCII characters are a key, as they are', () => {
  const keys = ['k', 'x'.repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"', 'order 17 of ~today!']
  for (const key of keys) assert.equal(parseIdempotencyKey(key), key)
  assert.equal(parseIdempotencyKey(undefined), undefined)
})

test('IDEM-1: anything else is 400 and names the header', () => {
  for (const value of ['', 'x'.repeat(256), 'ü', 'a\tb', 'a\u007f', 'a\u0080', 'a\n']) {
    assert.throws(() => parseIdempotencyKey(value), { code: 'invalid_header', status: 400, param: 'Idempotency-Key' })
  }
})
