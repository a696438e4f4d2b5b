import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUsd, textFormat } from './validate.ts'

/** What each format makes of texts; undefined: refused. */
const CASES: Readonly<Record<string, readonly (readonly [string, string | undefined])[]>> = {
  host: [
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['0.0.0.0', '0.0.0.0'],
    ['ai.example.com', 'ai.example.com'],
    ['256.1.1.1', undefined],
    ['a b', undefined],
    ['http://x', undefined],
    ['x:80', undefined],
  ],
  cidr: [
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3'],
    ['fd00::/8', 'fd00::/8'],
    ['10.0.0.0/33', undefined],
    ['10.0.0', undefined],
    ['all', undefined],
  ],
  'http-url': [
    ['https://api.example.com/v1/', 'https://api.example.com/v1'],
    ['http://10.1.2.3:8000///', 'http://10.1.2.3:8000'],
    ['http://localhost:1', 'http://localhost:1'],
    ['ftp://x', undefined],
    ['https:x', undefined],
    ['https://user@x/', undefined],
    ['https://user:word@x/', undefined],
    ['https://x/?a=1', undefined],
    ['https://x/#a', undefined],
    ['https://x:99999', undefined],
    ['x', undefined],
  ],
  'ed25519-key': [
    [`${'A'.repeat(43)}=`, `${'A'.repeat(43)}=`],
    ['A'.repeat(44), undefined],
    [`${'A'.repeat(42)}=`, undefined],
  ],
  origin: [
    ['*', '*'],
    ['https://app.example.com', 'https://app.example.com'],
    ['http://localhost:5173/', 'http://localhost:5173'],
    ['https://app.example.com/path', undefined],
    ['null', undefined],
  ],
  date: [
    ['2026-12-31', '2026-12-31'],
    ['2026-02-30', undefined],
    ['31.12.2026', undefined],
  ],
  secret: [
    ['x'.repeat(32), 'x'.repeat(32)],
    ['ü'.repeat(16), 'ü'.repeat(16)],
    ['x'.repeat(31), undefined],
  ],
  credential: [
    ['sk-a b', 'sk-a b'],
    ['sk\n', undefined],
  ],
  'postgres-url': [
    ['postgres://u:p@h:5432/d', 'postgres://u:p@h:5432/d'],
    ['postgresql://h/d', 'postgresql://h/d'],
    ['mysql://h/d', undefined],
  ],
  'redis-url': [
    ['rediss://:p@h:6379/1', 'rediss://:p@h:6379/1'],
    ['h:6379', undefined],
  ],
  'git-url': [
    ['https://github.com/{repository}.git', 'https://github.com/{repository}.git'],
    ['file:///srv/git/{repository}', 'file:///srv/git/{repository}'],
    ['https://github.com/x.git', undefined],
    ['ssh://git@github.com/{repository}', undefined],
  ],
  text: [
    ['x'.repeat(500), 'x'.repeat(500)],
    ['x'.repeat(501), undefined],
  ],
}

for (const [name, cases] of Object.entries(CASES)) {
  test(`the format ${name} takes what it should, and brings it to its usual form`, () => {
    for (const [text, expected] of cases) assert.equal(textFormat(name).parse(text), expected, text)
  })
}

test('dollars are exact to 6 decimals, and never negative', () => {
  assert.equal(isUsd(0.27), true)
  assert.equal(isUsd(0.000001), true)
  assert.equal(isUsd(0.0000001), false)
  assert.equal(isUsd(-1), false)
})
