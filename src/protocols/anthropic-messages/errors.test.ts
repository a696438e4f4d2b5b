import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureOf, parseError } from './errors.ts'

const body = (type: string, message = 'What happened.'): string =>
  JSON.stringify({ type: 'error', error: { type, message } })
const kind = (status: number, text: string): string => parseError({ status, headers: {}, body: text }, 0).kind

test('the type says what a status leaves open', () => {
  assert.equal(kind(400, body('invalid_request_error')), 'rejected')
  assert.equal(kind(400, body('billing_error')), 'quota')
  assert.equal(kind(401, body('authentication_error')), 'credentials')
  assert.equal(kind(403, body('permission_error')), 'credentials')
  assert.equal(kind(404, body('not_found_error')), 'not_found')
  assert.equal(kind(409, body('conflict_error')), 'failed')
  assert.equal(kind(413, body('request_too_large')), 'rejected')
  assert.equal(kind(429, body('rate_limit_error')), 'rate_limited')
  assert.equal(kind(500, body('api_error')), 'failed')
  assert.equal(kind(500, body('overloaded_error')), 'overloaded')
  assert.equal(kind(504, body('timeout_error')), 'failed')
  assert.equal(kind(529, body('overloaded_error')), 'overloaded')
})

test('without a type the status says it', () => {
  const statuses = [400, 401, 402, 403, 404, 413, 422, 429, 500, 502, 503, 520, 529]
  assert.deepEqual(
    statuses.map((status) => kind(status, '<html>Bad</html>')),
    [
      'rejected',
      'credentials',
      'quota',
      'credentials',
      'not_found',
      'rejected',
      'rejected',
      'rate_limited',
      'failed',
      'failed',
      'overloaded',
      'failed',
      'overloaded',
    ],
  )
})

test('the words of a message make a refusal more particular, and nothing else', () => {
  const tooLong = 'prompt is too long: 200016 tokens > 200000 maximum'
  assert.equal(kind(400, body('invalid_request_error', tooLong)), 'context_length')
  assert.equal(kind(500, body('api_error', tooLong)), 'failed')
  assert.equal(kind(400, body('invalid_request_error', 'Your credit balance is too low to go on.')), 'quota')
})

test('in a stream, where the status is that of success, the type alone counts', () => {
  const inStream = (type: string): string => failureOf(JSON.parse(body(type)), 200).kind
  assert.equal(inStream('overloaded_error'), 'overloaded')
  assert.equal(inStream('invalid_request_error'), 'rejected')
  assert.equal(inStream('rate_limit_error'), 'rate_limited')
  assert.equal(inStream('a_new_error'), 'failed')
})

test('the wait is what the answer asks for, else until the limits that are used up are open again', () => {
  const wait = (headers: Record<string, string>, status = 429): number | undefined =>
    parseError({ status, headers, body: body(status === 429 ? 'rate_limit_error' : 'overloaded_error') }, 1_000)
      .retryAfterMs
  assert.equal(wait({ 'retry-after': '7' }), 7_000)
  const limits = {
    'anthropic-ratelimit-requests-remaining': '10',
    'anthropic-ratelimit-requests-reset': '1970-01-01T01:00:00Z',
    'anthropic-ratelimit-input-tokens-remaining': '0',
    'anthropic-ratelimit-input-tokens-reset': '1970-01-01T00:00:05Z',
    'anthropic-ratelimit-tokens-remaining': '0',
    'anthropic-ratelimit-tokens-reset': '1970-01-01T00:00:09Z',
  }
  assert.equal(wait(limits), 8_000)
  assert.equal(wait({ ...limits, 'retry-after': '2' }), 2_000)
  assert.equal(wait(limits, 529), undefined)
  assert.equal(
    wait({ 'anthropic-ratelimit-tokens-remaining': '0', 'anthropic-ratelimit-tokens-reset': 'soon' }),
    undefined,
  )
  assert.equal(wait({ 'anthropic-ratelimit-tokens-remaining': '5' }), undefined)
})

test('a message is readable, short, and tells nothing of accounts and keys', () => {
  const shown = (message: string): string =>
    parseError({ status: 400, headers: {}, body: body('invalid_request_error', message) }, 0).message
  assert.equal(shown('a\n  b'), 'a b')
  assert.equal(shown('x'.repeat(9_000)).length, 500)
  assert.equal(shown('key sk-ant-api03-abcdef is bad'), 'key [redacted] is bad')
  assert.equal(shown('(org: 0137b15c-16bf-490d-9f90-8cfd7e325ec0)'), '(org: [redacted])')
  assert.equal(shown('<b>no</b>'), 'The provider answered with status 400.')
  assert.equal(shown(''), 'The provider answered with status 400.')
})
