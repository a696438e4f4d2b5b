import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { outcomeOf, reasonOf } from './attempt-words.ts'

test('an attempt tells its status and how long it took, or why there is none', () => {
  const outcome = (status_code: number | null, error: string | null) =>
    outcomeOf({ status_code, error, duration_ms: 43 })
  assert.equal(outcome(200, null), '200 in 43 ms')
  assert.equal(outcome(500, 'status 500'), '500 in 43 ms')
  assert.equal(outcome(302, 'redirect'), 'redirect (302) after 43 ms')
  assert.equal(outcome(null, 'connection refused'), 'connection refused after 43 ms')
})

test('whatever an attempt can fail with is told in a sentence', () => {
  const texts = ['status 500', 'status 410', 'TLS: certificate expired', 'redirect', 'timeout', 'endpoint_disabled']
  for (const text of texts) assert.match(reasonOf(text), /^[A-Z].*\.$/, text)
  assert.equal(reasonOf('something new'), 'something new')
  const folder = new URL('../../../../src/features/webhooks/deliver/', import.meta.url)
  const source = readFileSync(new URL('attempt.ts', folder), 'utf8')
  const words = [...source.matchAll(/(?:: |[^=]= |return )'([a-z][a-z ]+)'(?! in )/g)].map(([, word = '']) => word)
  assert.ok(words.length > 8, 'the words are found')
  for (const word of words.filter((each) => !each.startsWith('certificate ') && each !== 'handshake failed'))
    assert.match(reasonOf(word), /^[A-Z].*\.$/, word)
})
