import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeUserAgent } from './activation-routes.ts'

test('a program is called by its name and system, whatever else it says', () => {
  const CASES: readonly (readonly [string | undefined, string | undefined])[] = [
    ['turnpike/0.1.0 (linux; x64) node/26', 'turnpike on Linux'],
    ['Zed/0.200.1 (darwin; arm64)', 'Zed on macOS'],
    ['curl/8.5.0', 'curl'],
    ['linux', 'linux'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/150.0 Safari/537.36 Edg/150',
      'Edge on Windows',
    ],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1', 'Safari on iOS'],
    ['Mozilla/5.0 (X11; CrOS x86_64) Chrome/150.0 Safari/537.36', 'Chrome on ChromeOS'],
    ['Mozilla/5.0 (Linux; Android 16)', 'a program on Android'],
    ['Mozilla/5.0', undefined],
    ['', undefined],
    [undefined, undefined],
  ]
  for (const [said, expected] of CASES) assert.equal(describeUserAgent(said), expected, String(said))
})

test('what cannot be seen, or turns the writing around, is left out, and nothing is long', () => {
  assert.equal(describeUserAgent('safe\u202Eevil\u0000\u200B/1'), 'safeevil')
  assert.equal(describeUserAgent('x'.repeat(500))?.length, 60)
})
