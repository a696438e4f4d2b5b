import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EncryptJWT } from 'jose'
import { invitationToken, localPath } from './local-path.ts'
import { createRoundTripCookie, newRoundTrip, REMOVED_ROUND_TRIP } from './round-trip.ts'

const KEY = Buffer.alloc(32, 1)
const START = 1_800_000_000_000
const trip = newRoundTrip({ slug: 'example', next: '/app/', invitation: 'tpi_abc' })

test('OIDC-1: the cookie of the round trip returns state, nonce and verifier, and reveals none of them', async () => {
  const line = await createRoundTripCookie(KEY, () => START).seal(trip)
  assert.match(line, /^__Host-turnpike-sign-in=[\w.-]+; Max-Age=600; Path=\/; Secure; HttpOnly; SameSite=Lax$/)
  for (const secret of [trip.state, trip.nonce, trip.verifier, 'tpi_abc']) assert.equal(line.includes(secret), false)
  const [pair] = line.split(';')
  assert.deepEqual(await createRoundTripCookie(KEY, () => START).open(`a=b; ${pair}; c=d`), trip)
  assert.match(REMOVED_ROUND_TRIP, /^__Host-turnpike-sign-in=; Max-Age=0; Path=\/; Secure; HttpOnly; SameSite=Lax$/)
})

test('no two round trips share a state, a nonce or a verifier', () => {
  const other = newRoundTrip(trip)
  for (const name of ['state', 'nonce', 'verifier'] as const) {
    assert.notEqual(other[name], trip[name])
    assert.ok(trip[name].length >= 43, `${name} has 256 bits`)
  }
})

test('OIDC-1: a round trip expires after ten minutes [limit: sign-in-time]', async () => {
  let now = START
  const cookie = createRoundTripCookie(KEY, () => now)
  const pair = (await cookie.seal(trip)).split(';')[0]
  now = START + 599_000
  assert.deepEqual(await cookie.open(pair), trip)
  now = START + 601_000
  assert.equal(await cookie.open(pair), undefined)
})

test('the round trip is read from a header of 8 KiB, and not from a longer one [limit: sign-in-cookies]', async () => {
  const cookie = createRoundTripCookie(KEY, () => START)
  const pair = (await cookie.seal(trip)).split(';')[0] ?? ''
  const filled = `${pair}; x=`.padEnd(8 * 1024, 'y')
  assert.deepEqual(await cookie.open(filled), trip)
  assert.equal(await cookie.open(`${filled}y`), undefined)
})

test('a missing, repeated, changed or foreign cookie is ignored', async () => {
  const cookie = createRoundTripCookie(KEY, () => START)
  const pair = (await cookie.seal(trip)).split(';')[0] ?? ''
  const foreign = (await createRoundTripCookie(Buffer.alloc(32, 2), () => START).seal(trip)).split(';')[0] ?? ''
  const middle = Math.floor(pair.length / 2)
  const changed = `${pair.slice(0, middle)}${pair[middle] === 'A' ? 'B' : 'A'}${pair.slice(middle + 1)}`
  const endless = await new EncryptJWT({ ...trip, invitation: 'tpi_abc' })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(KEY)
  const partial = await new EncryptJWT({ slug: 'example', state: 5 })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .setExpirationTime(START / 1000 + 60)
    .encrypt(KEY)
  const name = '__Host-turnpike-sign-in'
  const others = [
    undefined,
    '',
    `${pair}; ${pair}`,
    foreign,
    changed,
    `${name}=`,
    `${name}=a.b.c.d.e`,
    `${name}=${endless}`,
    `${name}=${partial}`,
    pair.replace('__Host-', ''),
    `${'x'.repeat(9_000)}=1; ${pair}`,
  ]
  for (const other of others) assert.equal(await cookie.open(other), undefined, String(other).slice(0, 80))
})

const HERE = 'https://ai.example.com'

test('OIDC-3: a local path keeps its query and fragment', () => {
  for (const path of ['/', '/app/', '/activate?user_code=BCDF-GHJK', '/app/usage?a=b&c=%2F%2Fx#top', '/@me', '/a//b']) {
    assert.equal(localPath(path), path)
  }
  assert.equal(localPath(`/${'a'.repeat(511)}`).length, 512)
})

test('OIDC-3: everything else becomes /app/', () => {
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

test('OIDC-3: property: no text redirects a browser to another origin', () => {
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

test('a token of an invitation is accepted only in its form', () => {
  assert.equal(invitationToken('tpi_0aZ-~.'), 'tpi_0aZ-~.')
  for (const other of [undefined, '', 'a b', 'a;b', 'é', ['a'], 'a'.repeat(201)]) {
    assert.equal(invitationToken(other), undefined)
  }
})
