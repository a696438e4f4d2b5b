import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findSecrets, secretsOf, spokenTexts } from './secret-search.ts'

const KEY = { name: 'the key', value: 'sk-0123456789abcdefghij' }

function isFound(text: string, value = KEY.value): boolean {
  return findSecrets([{ name: 'the key', value }], [{ place: 'here', text }]).length > 0
}

test('a key is found in every encoding, and in part', () => {
  const { value } = KEY
  assert.ok(isFound(`Bearer ${value}`))
  assert.ok(isFound(`…${value.slice(0, 16)}…`))
  assert.ok(isFound(`…${value.slice(-16)}`))
  assert.ok(isFound(Buffer.from(value).toString('hex')))
  assert.ok(isFound(`?key=${encodeURIComponent('a/b+c=d')}`, 'a/b+c=d'))
  for (const before of ['', 'u', 'us', 'user:']) {
    assert.ok(isFound(Buffer.from(`${before}${value}:`).toString('base64')), before)
    assert.ok(isFound(Buffer.from(`${before}${value}`).toString('base64url')), before)
  }
})

test('similar text is not reported', () => {
  assert.ok(!isFound('sk-01234567'))
  assert.ok(!isFound('sk-abcdefghijklmnop'))
  assert.ok(!isFound('anything', ''))
  assert.ok(isFound('a short one: abc', 'abc'), 'a short key counts as a whole')
  assert.ok(!isFound('ab', 'abc'))
})

test('a report names the key and its location, never the key itself', () => {
  const found = findSecrets(
    [KEY],
    [
      { place: 'header a', text: KEY.value },
      { place: 'header b', text: 'fine' },
    ],
  )
  assert.deepEqual(found, [{ name: 'the key', place: 'header a' }])
})

test('a key is found across the pieces of a stream', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), fc.nat(3), (lengths, index) => {
      const pieces: string[] = []
      for (let at = 0, turn = 0; at < KEY.value.length; turn += 1) {
        const length = lengths[turn % lengths.length] ?? 1
        pieces.push(KEY.value.slice(at, at + length))
        at += length
      }
      const events = pieces.flatMap((content) => [
        { choices: [{ index, delta: { content } }], id: 'x' },
        { usage: null },
      ])
      assert.ok(spokenTexts(events).some((text) => isFound(text)))
    }),
  )
})

test('texts at different paths are not joined', () => {
  const texts = spokenTexts([{ a: 'sk-0123456789', b: 'abcdefghij' }])
  assert.ok(!texts.some((text) => isFound(text)))
  assert.ok(
    spokenTexts([{ [KEY.value]: 1 }]).some((text) => isFound(text)),
    'a name can be a key',
  )
})

test('settings with names of secrets are secrets, including lists', () => {
  const settings = {
    providers: { a: { api_key: 'k1', api_keys: ['k2', 'k3'], base_url: 'https://a' } },
    secret: 's1',
    auth: { providers: [{ client_secret: 's2', client_id: 'public' }] },
    agents: { git_credentials: [{ token: 't1', accounts: ['acc'] }] },
    limits: { tokens: 5, keys: null },
  }
  const found = secretsOf(settings).map(({ value }) => value)
  assert.deepEqual(found.sort(), ['k1', 'k2', 'k3', 's1', 's2', 't1'])
})
