import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../domain/errors.ts'
import { type FailureKind, ProviderError, type ProviderFailure } from '../../protocols/protocol.ts'
import { mayBeTriedAgain, mayBeTriedElsewhere, redactProviderMessage, toGatewayError } from './failure.ts'

const PRIVATE = 'Incorrect key sk-secret of organisation org-1, balance $3.'

function failure(kind: FailureKind, over: Partial<ProviderFailure> = {}): ProviderError {
  return new ProviderError({ kind, message: PRIVATE, status: 400, ...over })
}

interface Row {
  readonly kind: FailureKind
  readonly status: number
  readonly code: string
  readonly answered: number
  /** To another target; to the same one after a moment. */
  readonly tried: readonly [elsewhere: boolean, again: boolean]
}
const row = (kind: FailureKind, status: number, rest: readonly [string, number, boolean, boolean]): Row => ({
  kind,
  status,
  code: rest[0],
  answered: rest[1],
  tried: [rest[2], rest[3]],
})

/** The table of decisions 4, with what UP-1 allows. */
const TABLE: readonly Row[] = [
  row('rejected', 400, ['provider_rejected', 400, false, false]),
  row('rejected', 422, ['provider_rejected', 400, false, false]),
  row('context_length', 400, ['context_length_exceeded', 400, false, false]),
  row('content_filter', 400, ['content_filter', 400, false, false]),
  row('credentials', 401, ['provider_credentials', 503, true, false]),
  row('credentials', 403, ['provider_credentials', 503, true, false]),
  row('quota', 402, ['provider_credentials', 503, true, false]),
  row('quota', 429, ['provider_credentials', 503, true, false]),
  row('rate_limited', 429, ['provider_rate_limited', 503, true, true]),
  row('not_found', 404, ['provider_error', 503, true, false]),
  row('overloaded', 503, ['provider_error', 503, true, true]),
  row('overloaded', 529, ['provider_error', 503, true, true]),
  row('failed', 500, ['provider_error', 503, true, true]),
  row('failed', 0, ['provider_error', 503, true, true]),
]
for (const { kind, status, code, answered, tried } of TABLE) {
  test(`decisions 4, UP-1: ${kind} with status ${status} is ${answered} ${code}`, () => {
    const error = failure(kind, { status })
    const told = toGatewayError(error, 'up')
    assert.deepEqual([told.code, told.status], [code, answered])
    assert.equal(told.retryable, answered === 503 && !['credentials', 'quota', 'not_found'].includes(kind))
    assert.equal(told.cause, error)
    assert.deepEqual([mayBeTriedElsewhere(error), mayBeTriedAgain(error)], tried)
  })
}

test('the provider’s message and parameter are shown only if they are about the request', () => {
  for (const { kind, status, answered } of TABLE) {
    const told = toGatewayError(failure(kind, { status, param: 'temperature' }), 'up')
    const isAboutRequest = answered === 400
    assert.equal(told.param, isAboutRequest ? 'temperature' : undefined)
    if (status !== 0) assert.equal(told.message === PRIVATE, isAboutRequest, kind)
  }
})

test('a failure of the gateway says what happened, with the provider’s name', () => {
  const told = (message: string, name?: string): string =>
    toGatewayError(failure('failed', { status: 0, message }), name).message
  assert.equal(told('The provider stopped sending.', 'up'), "The provider 'up' stopped sending.")
  assert.equal(told('The provider stopped sending.'), 'The provider stopped sending.')
})

test('every message names the provider, and none is empty', () => {
  for (const { kind, status } of TABLE.filter(({ answered, status }) => answered === 503 && status !== 0)) {
    assert.match(toGatewayError(failure(kind, { status }), 'up').message, /the provider 'up'/i)
    assert.match(toGatewayError(failure(kind, { status }), undefined).message, /the provider/i)
  }
  assert.equal(toGatewayError(failure('rejected', { message: '' }), 'up').message, 'The provider refused the request.')
})

test('UP-3: the provider’s Retry-After is passed on', () => {
  assert.equal(toGatewayError(failure('rate_limited', { retryAfterMs: 7000 }), 'up').retryAfterMs, 7000)
})

test('other errors are never retried, and reveal nothing', () => {
  const bug = new TypeError('x is not a function')
  assert.equal(mayBeTriedElsewhere(bug) || mayBeTriedAgain(bug), false)
  const told = toGatewayError(bug, 'up')
  assert.deepEqual([told.code, told.cause], ['internal_error', bug])
  assert.doesNotMatch(told.message, /function/)
  const ours = new GatewayError('unsupported_parameter', 'No.', { param: 'tools' })
  assert.equal(toGatewayError(ours, 'up'), ours)
  assert.equal(mayBeTriedElsewhere(ours) || mayBeTriedAgain(ours), false)
})

test('what names the cause stays', () => {
  for (const text of [
    'The model `gpt-5.4-mini` does not exist.',
    "Invalid value for 'messages[0].role': must be one of user, assistant.",
    'claude-sonnet-4-5-20250929 is overloaded; the gateway can’t retry.',
    "This model's maximum context length is 8192 tokens.",
    'The provider did not start to answer in time.',
  ]) {
    assert.equal(redactProviderMessage(text), text)
  }
})

test('secrets, people and quotations of the request do not', () => {
  const cases = [
    ['No access for ada@example.com', 'No access for [redacted]'],
    ['Request 7Hq2Lw9Zt4Xc8Vb3Nm6Kd1 failed', 'Request [redacted] failed'],
    ['Trace 0123456789abcdef0123456789abcdef', 'Trace [redacted]'],
    ['Cannot read "the patient is called Ada"', 'Cannot read [redacted]'],
    ['Bad body {"role": "user"}', 'Bad body [redacted]'],
    ['a\n\nb', 'a b'],
  ] as const
  for (const [text, expected] of cases) assert.equal(redactProviderMessage(text), expected)
})

test('it is short, and absent where there is none', () => {
  assert.equal(redactProviderMessage('  '), undefined)
  const long = redactProviderMessage('no '.repeat(10_000)) ?? ''
  assert.equal(long.length, 300)
  assert.ok(long.endsWith('…'))
})
