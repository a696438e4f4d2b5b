import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FailureKind, ProviderError } from '../protocol.ts'
import { bedrockConverse } from './index.ts'

const codec = bedrockConverse()

interface Case {
  readonly status: number
  readonly type?: string
  readonly body: string
  readonly kind: FailureKind
}

const CASES: readonly Case[] = [
  { status: 400, type: 'ValidationException:http://internal.example/', body: '{"message":"Bad."}', kind: 'rejected' },
  { status: 400, type: 'ServiceQuotaExceededException', body: '{"message":"Too many."}', kind: 'rate_limited' },
  { status: 403, type: 'AccessDeniedException', body: '{"Message":"No."}', kind: 'credentials' },
  { status: 403, body: '{"message":"Forbidden"}', kind: 'credentials' },
  { status: 403, body: '{"__type":"ExpiredTokenException","message":"Old."}', kind: 'credentials' },
  { status: 404, type: 'ResourceNotFoundException', body: '{"message":"No such model."}', kind: 'not_found' },
  {
    status: 404,
    body: '{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"}}',
    kind: 'not_found',
  },
  { status: 408, type: 'ModelTimeoutException', body: '{"message":"Slow."}', kind: 'failed' },
  { status: 424, type: 'ModelErrorException', body: '{"message":"Broke."}', kind: 'failed' },
  { status: 429, type: 'ThrottlingException', body: '{"message":"Wait."}', kind: 'rate_limited' },
  { status: 429, type: 'ModelNotReadyException', body: '{"message":"Loading."}', kind: 'overloaded' },
  { status: 500, type: 'InternalServerException', body: '{"message":"Oops."}', kind: 'failed' },
  { status: 503, type: 'ServiceUnavailableException', body: '{"message":"Busy."}', kind: 'overloaded' },
  { status: 502, body: '<html>Bad gateway</html>', kind: 'failed' },
  { status: 418, type: 'NewException', body: '', kind: 'failed' },
]

for (const { status, type, body, kind } of CASES) {
  test(`${status} ${type ?? body} is ${kind}`, () => {
    const headers: Record<string, string> = type === undefined ? {} : { 'x-amzn-errortype': type }
    const failure = codec.parseError({ status, headers, body }, 0)
    assert.equal(failure.kind, kind)
    assert.equal(failure.status, status)
    assert.doesNotMatch(failure.message, /<html/)
    assert.notEqual(failure.message, '')
  })
}

test('what identifies the account is not in the message', () => {
  const message = 'User: arn:aws:sts::123456789012:assumed-role/app/me is not authorized, key AKIAABCDEFGHIJKLMNOP'
  const failure = codec.parseError({ status: 400, headers: {}, body: JSON.stringify({ message }) }, 0)
  assert.equal(failure.message, 'User: [redacted] is not authorized, key [redacted]')
})

test('a wait that the service asks for is told', () => {
  const failure = codec.parseError({ status: 429, headers: { 'retry-after': '3' }, body: '{}' }, 0)
  assert.equal(failure.retryAfterMs, 3000)
})

const EXCEPTIONS: Readonly<Record<string, readonly [FailureKind, number]>> = {
  throttlingException: ['rate_limited', 429],
  serviceUnavailableException: ['overloaded', 503],
  validationException: ['rejected', 400],
  modelStreamErrorException: ['failed', 424],
  internalServerException: ['failed', 500],
  exceptionOfTomorrow: ['failed', 200],
}

for (const [name, [kind, status]] of Object.entries(EXCEPTIONS)) {
  test(`${name} in a stream is ${kind}`, () => {
    const push = () => codec.streamParser().push({ event: `exception:${name}`, data: '{"message":"It says why."}' }, [])
    assert.throws(push, (error) => {
      assert.ok(error instanceof ProviderError)
      assert.deepEqual(error.failure, { kind, message: 'It says why.', status })
      return true
    })
  })
}
