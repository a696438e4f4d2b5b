import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import fc from 'fast-check'
import { base62Source } from '../../domain/ids.ts'
import { isWellFormed, mintSecret, SECRET_PATTERN, secretHash } from './secret.ts'

const randomText = base62Source(randomBytes)

test('KEY-1: a secret matches the published pattern and carries its checksum', async () => {
  const documented = await readFile(new URL('../../../docs/keys.md', import.meta.url), 'utf8')
  assert.ok(documented.includes(SECRET_PATTERN.source))
  for (let count = 0; count < 1000; count++) {
    const secret = mintSecret(randomText)
    assert.match(secret, SECRET_PATTERN)
    assert.ok(isWellFormed(secret))
  }
})

test("the documentation's example is a well-formed key", async () => {
  const documented = await readFile(new URL('../../../docs/keys.md', import.meta.url), 'utf8')
  const [example = ''] = /tp_[0-9A-Za-z]{46}/.exec(documented) ?? []
  assert.ok(isWellFormed(example), example)
})

test('KEY-1: changing any one character makes it malformed', () => {
  const secret = mintSecret(randomText)
  fc.assert(
    fc.property(fc.nat(secret.length - 1), fc.constantFrom(...'09AZaz_ ~'), (at, character) => {
      fc.pre(secret[at] !== character)
      assert.ok(!isWellFormed(secret.slice(0, at) + character + secret.slice(at + 1)))
    }),
  )
})

test('anything else is malformed, and nothing throws', () => {
  fc.assert(fc.property(fc.string(), (text) => assert.ok(!isWellFormed(text))))
  const secret = mintSecret(randomText)
  for (const text of ['', 'tp_', `${secret}x`, ` ${secret}`, secret.slice(0, -1), secret.toUpperCase()]) {
    assert.ok(!isWellFormed(text), text)
  }
})

test('KEY-2: what is kept of a secret is its SHA-256', () => {
  assert.equal(
    Buffer.from(secretHash('abc')).toString('hex'),
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
})
