import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { seal, unseal } from './sealed.ts'

const key = randomBytes(32)

test('what was sealed is opened with the same key for the same place alone', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, place) => {
      const sealed = seal(text, key, place)
      assert.equal(unseal(sealed, key, place), text)
      assert.equal(unseal(sealed, key, `${place}.`), undefined)
      assert.equal(unseal(sealed, randomBytes(32), place), undefined)
    }),
  )
})

test('whatever bit is changed, nothing is opened, and the same text is never sealed alike', () => {
  const sealed = seal('whsec_secret', key, 'place')
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Uint8Array.from(sealed)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.equal(unseal(changed, key, 'place'), undefined)
  }
  for (let length = 0; length < sealed.length; length++) {
    assert.equal(unseal(sealed.subarray(0, length), key, 'place'), undefined)
  }
  assert.notDeepEqual(seal('whsec_secret', key, 'place'), sealed)
})
