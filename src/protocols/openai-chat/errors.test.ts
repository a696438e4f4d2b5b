import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { failureOf, parseError } from './errors.ts'

interface ErrorCase {
  readonly name: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, or the text itself. */
  readonly body: unknown
  readonly kind: string
  readonly param?: string
  readonly message?: string
  readonly retryAfterMs?: number
  /** The status it amounts to, where it is not the answer's. */
  readonly as?: number
}

const cases: readonly ErrorCase[] = JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures/errors.json'), 'utf8'))
const NOW = 5_000

for (const { name, status, headers = {}, body, ...expected } of cases) {
  test(`an error is understood: ${name}`, () => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const failure = parseError({ status, headers, body: text }, NOW)
    assert.equal(failure.kind, expected.kind)
    assert.equal(failure.status, expected.as ?? status)
    assert.equal(failure.param, expected.param)
    assert.equal(failure.retryAfterMs, expected.retryAfterMs)
    if (expected.message !== undefined) assert.equal(failure.message, expected.message)
  })
}

test('secrets and account ids are not shown, whatever they stand in', () => {
  const long = 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4'
  const secrets = [
    'sk-proj-a1B2c3D4e5F6',
    'gsk_a1B2c3D4e5',
    `some-${long}`,
    `AIza${long}`,
    'org-A1b2C3d4',
    'proj_a1B2c3D4e5F6',
  ]
  for (const secret of secrets) {
    const { message } = failureOf({ error: { message: `Bad value ${secret}, or Bearer ${secret}.` } }, 400)
    assert.doesNotMatch(message, new RegExp(secret.slice(4)), secret)
  }
})

test('names of parameters are not taken for secrets', () => {
  const text = 'Unknown parameters: user_name, user_id, team-wide, key_values, tp_size.'
  assert.equal(failureOf({ error: { message: text } }, 400).message, text)
})

test('a message of any length is cut, and never ends a parse', () => {
  const { message } = failureOf({ error: { message: 'x '.repeat(100_000) } }, 400)
  assert.equal(message.length, 500)
  for (const body of [null, 7, [], [[]], { error: [] }, { error: { message: {} } }, { detail: [] }, { detail: [7] }]) {
    assert.equal(failureOf(body, 500).kind, 'failed')
  }
})
