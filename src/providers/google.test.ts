import assert from 'node:assert/strict'
import { test } from 'node:test'
import { google } from './google.ts'

test('the key is a header, and never part of the address', () => {
  const call = { url: 'https://example.com/v1beta/models/m:generateContent', headers: {}, body: '{}' }
  google.authorize(call, 'secret-key')
  assert.deepEqual(call.headers, { 'x-goog-api-key': 'secret-key' })
  assert.doesNotMatch(call.url, /secret-key/)
})

test('without a key there is no header', () => {
  const call = { url: 'https://example.com', headers: {}, body: '{}' }
  google.authorize(call, '')
  assert.deepEqual(call.headers, {})
})
