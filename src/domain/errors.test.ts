import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERROR_CATALOGUE, type ErrorCode, GatewayError, renderErrorBody, retryAfterSeconds } from './errors.ts'

const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[]

test('type, message, code and request id are strings for every error there is', () => {
  for (const code of codes) {
    const { error } = JSON.parse(renderErrorBody(new GatewayError(code, 'What happened.'), 'req_1'))
    for (const name of ['type', 'message', 'code', 'request_id']) assert.equal(typeof error[name], 'string', name)
    assert.equal(error.code, code)
    assert.equal(error.type, ERROR_CATALOGUE[code].type)
  }
})

test('a validation error names its parameter and nothing else is there', () => {
  const error = new GatewayError('missing_field', 'Gone.', { param: 'messages[2].role' })
  assert.deepEqual(JSON.parse(renderErrorBody(error, 'req_1')), {
    error: {
      type: 'invalid_request',
      message: 'Gone.',
      code: 'missing_field',
      param: 'messages[2].role',
      request_id: 'req_1',
      doc_url: '/docs/errors#missing_field',
    },
  })
})

test('429 and 503 say how long to wait, in whole seconds from 1 to 60, in field and message [limit: retry-after]', () => {
  const waits = (retryAfterMs: number | undefined, code: ErrorCode = 'rate_limit_exceeded') =>
    retryAfterSeconds(new GatewayError(code, 'x', { retryAfterMs }))
  assert.deepEqual([waits(undefined), waits(0), waits(1001), waits(500_000)], [1, 1, 2, 60])
  assert.equal(waits(2000, 'overloaded'), 2)
  assert.equal(waits(2000, 'request_timeout'), undefined)
  const limited = new GatewayError('rate_limit_exceeded', 'Too many requests.', { retryAfterMs: 11_500 })
  const { error } = JSON.parse(renderErrorBody(limited, 'req_1'))
  assert.equal(error.retry_after, 12)
  assert.equal(error.message, 'Too many requests. Please try again in 12 s.')
})

test('a message that already says when to try again is left alone', () => {
  const limited = new GatewayError('overloaded', 'Full; try again in 3 s.', { retryAfterMs: 3000 })
  assert.equal(JSON.parse(renderErrorBody(limited, 'req_1')).error.message, 'Full; try again in 3 s.')
})
