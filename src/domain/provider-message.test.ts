import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactProviderMessage } from './provider-message.ts'

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
