import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserName, isHandheld } from './browser-name.ts'

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'

test('browsers are told apart although each calls itself by the names of others', () => {
  const cases = [
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/144.0 Safari/537.36 Edg/144.0`, 'Edge on Windows'],
    [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Chrome/144.0 Safari/537.36`, 'Chrome on macOS'],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
    [`Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) ${WEBKIT} Version/18.0 Safari/604.1`, 'Safari on iPhone'],
    [`Mozilla/5.0 (Linux; Android 16) ${WEBKIT} Chrome/144.0 Mobile Safari/537.36`, 'Chrome on Android'],
  ] as const
  for (const [userAgent, name] of cases) assert.equal(browserName(userAgent), name)
})

test('what is no known browser is told as it tells itself, and not at any length', () => {
  assert.equal(browserName(null), 'Unknown browser')
  assert.equal(browserName(''), 'Unknown browser')
  assert.equal(browserName('Test'), 'Test')
  assert.equal(browserName('x'.repeat(500)).length, 60)
  assert.equal(isHandheld('Mozilla/5.0 (Linux; Android 16) Mobile'), true)
  assert.equal(isHandheld(null), false)
})
