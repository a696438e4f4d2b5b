import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextCookie, readNextCookie } from './sign-in-routes.ts'

const name = '__Host-turnpike-next'

test('what is kept is read again, among other cookies, for 15 minutes [limit: next-page]', () => {
  const next = '/app/usage?from=2026-01-01&group=model;key#top'
  const [pair = '', life = ''] = nextCookie(next).split('; ')
  assert.equal(life, 'Max-Age=900')
  assert.equal(readNextCookie(`a=b; ${pair}; c=d`), next)
  assert.doesNotMatch(pair.slice(name.length), /[;,\s]/)
})

test('what is missing, there twice, unreadable or too long is nothing', () => {
  const long = 'x'.repeat(8 * 1024)
  for (const cookies of [undefined, '', 'a=b', `${name}=%2Fa; ${name}=%2Fb`, `${name}=%E0%A4%A`, `${name}=${long}`]) {
    assert.equal(readNextCookie(cookies), undefined, String(cookies))
  }
})
