import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDuration, limitHeaders } from './limits.ts'

test('durations are written as OpenAI writes them', () => {
  const written = [0, -5, 0.2, 12, 999.5, 1000, 1500, 59_999, 60_000, 360_000, 3_600_000, 5_025_000].map(formatDuration)
  assert.deepEqual(written, [
    '0s',
    '0s',
    '1ms',
    '12ms',
    '1000ms',
    '1s',
    '1.5s',
    '59.999s',
    '1m0s',
    '6m0s',
    '1h0m0s',
    '1h23m45s',
  ])
})

test('a limit that does not exist has no headers', () => {
  assert.deepEqual(limitHeaders({ requests: undefined, tokens: undefined }), {})
  assert.deepEqual(limitHeaders({ requests: undefined, tokens: { limit: 40, remaining: 7, resetMs: 1500 } }), {
    'x-ratelimit-limit-tokens': '40',
    'x-ratelimit-remaining-tokens': '7',
    'x-ratelimit-reset-tokens': '1.5s',
  })
})
