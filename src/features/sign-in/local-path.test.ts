import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { invitationToken, localPath } from './local-path.ts'

const HERE = 'https://ai.example.com'

test('OIDC-3: a path of ours is kept, with its query and fragment', () => {
  for (const path of ['/', '/app/', '/activate?user_code=BCDF-GHJK', '/app/usage?a=b&c=%2F%2Fx#top', '/@me', '/a//b']) {
    assert.equal(localPath(path), path)
  }
  assert.equal(localPath(`/${'a'.repeat(511)}`).length, 512)
})

test('OIDC-3: whatever could lead elsewhere becomes /app/', () => {
  const attempts = [
    undefined,
    null,
    ['/a', '/b'],
    '',
    'app',
    'evil.example',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\/evil.example',
    '/a\\b',
    '/\t/evil.example',
    '/\n/evil.example',
    '\t//evil.example',
    ' //evil.example',
    '/ /evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    'https://evil.example',
    'https:evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    '/app\r\nset-cookie: a=b',
    '/\u0000',
    '/é',
    '/\u2028',
    '/\u202e',
    '／／evil.example',
    `/${'a'.repeat(512)}`,
  ]
  for (const attempt of attempts) assert.equal(localPath(attempt), '/app/', JSON.stringify(attempt))
})

test('OIDC-3: property: no text at all leads a browser away', () => {
  const piece = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2f',
    '%5c',
    '\t',
    '\n',
    'evil.example',
    ':',
    '@',
    '?',
    '#',
    'https',
  )
  const text = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((parts) => parts.join('')),
    fc.string(),
  )
  fc.assert(
    fc.property(text, (asked) => {
      const url = new URL(localPath(asked), HERE)
      assert.equal(url.origin, HERE)
      assert.equal(new URL(url.pathname, HERE).origin, HERE)
    }),
    { numRuns: 2_000 },
  )
})

test("an invitation's token is taken only in a form that it could have", () => {
  assert.equal(invitationToken('tpi_0aZ-~.'), 'tpi_0aZ-~.')
  for (const other of [undefined, '', 'a b', 'a;b', 'é', ['a'], 'a'.repeat(201)]) {
    assert.equal(invitationToken(other), undefined)
  }
})
