import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { didYouMean, nearest, slugOf } from './text.ts'

test('a name becomes lower case with dashes, accents go, and nothing else is left', () => {
  assert.equal(slugOf('Example'), 'example')
  assert.equal(slugOf('  Acme & Söhne (EU) '), 'acme-sohne-eu')
  assert.equal(slugOf('../../v1?x=#'), 'v1-x')
  assert.equal(slugOf('公司'), '')
  assert.match(slugOf(`a ${'b'.repeat(500)}`), /^a-b{58}$/)
  assert.equal(slugOf(`${'a'.repeat(59)} b`), 'a'.repeat(59))
})

test('a swapped pair, a missing and a wrong letter are found', () => {
  const names = ['base_url', 'api_key', 'protocol', 'timeout_ms']
  assert.equal(didYouMean('protcool', names), 'protocol')
  assert.equal(didYouMean('bas_url', names), 'base_url')
  assert.equal(didYouMean('APY_KEY', names), 'api_key')
})

test('a part of a name counts as near', () => {
  assert.equal(didYouMean('timeout', ['base_url', 'timeout_ms']), 'timeout_ms')
  assert.equal(didYouMean('openai/gpt-4o', ['gpt-5', 'gpt-4o']), 'gpt-4o')
})

test('nothing is suggested for a word that is like none', () => {
  assert.equal(didYouMean('zebra', ['base_url', 'api_key']), undefined)
  assert.equal(didYouMean('x', []), undefined)
})

test('the nearest come first, and ties keep their order', () => {
  assert.deepEqual(nearest('cat', ['dog', 'bat', 'rat', 'cat'], 3), ['cat', 'bat', 'rat'])
  assert.deepEqual(nearest('cat', ['cot'], 3), ['cot'])
})

test('a word of many megabytes is compared by its beginning', () => {
  assert.deepEqual(nearest('a'.repeat(50_000_000), ['b', 'a'.repeat(100)], 1), ['a'.repeat(100)])
})

test('a word is its own nearest, and one edit away from a word is never farther than a word of other letters', () => {
  const word = fc.stringMatching(/^[a-m]{4,20}$/)
  fc.assert(
    fc.property(word, fc.nat(), (name, at) => {
      const place = at % name.length
      const edited = `${name.slice(0, place)}#${name.slice(place + 1)}`
      assert.deepEqual(nearest(edited, ['zzzzzzzzzzzzzzzzzzzzzzzzz', name], 1), [name])
      assert.deepEqual(nearest(name, [edited, name], 1), [name])
    }),
  )
})
