import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSessionCookie, SESSION_COOKIE } from './sessions.ts'

test('the session cookie is read from a header of 8 KiB, and not from a longer one [limit: cookies]', () => {
  const secret = 's'.repeat(43)
  const filled = `${SESSION_COOKIE}=${secret}; x=`.padEnd(8 * 1024, 'y')
  assert.equal(readSessionCookie(filled), secret)
  assert.equal(readSessionCookie(`${filled}y`), undefined)
})
