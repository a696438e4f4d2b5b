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

for (const { name, status, headers = {}, body, ...expected } of cases) {
  test(`an error is understood: ${name}`, () => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const failure = parseError({ status, headers, body: text }, 5_000)
    assert.equal(failure.kind, expected.kind)
    assert.equal(failure.status, expected.as ?? status)
    assert.equal(failure.param, expected.param)
    assert.equal(failure.retryAfterMs, expected.retryAfterMs)
    if (expected.message !== undefined) assert.equal(failure.message, expected.message)
  })
}

test('keys, tokens and projects are not shown', () => {
  const message = `Key AIzaSyA-1234567890abcdef with ya29.a0AfB_byC-123456 of projects/my-project-1/locations/eu, project="123456"`
  const { message: shown } = failureOf({ error: { code: 403, message } }, 403)
  assert.doesNotMatch(shown, /AIza|ya29|my-project|123456/)
  assert.match(shown, /locations\/eu/)
})

test('a message of a megabyte is cut', () => {
  assert.equal(failureOf({ error: { message: 'x'.repeat(1_000_000) } }, 400).message.length, 500)
})
