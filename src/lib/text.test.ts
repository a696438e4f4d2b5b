import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slugOf } from './text.ts'

test('a name becomes lower case with dashes, accents go, and nothing else is left', () => {
  assert.equal(slugOf('Example'), 'example')
  assert.equal(slugOf('  Acme & Söhne (EU) '), 'acme-sohne-eu')
  assert.equal(slugOf('../../v1?x=#'), 'v1-x')
  assert.equal(slugOf('公司'), '')
  assert.match(slugOf(`a ${'b'.repeat(500)}`), /^a-b{58}$/)
  assert.equal(slugOf(`${'a'.repeat(59)} b`), 'a'.repeat(59))
})
