import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inlineDiff } from './inline-diff.ts'

const shown = (before: string, after: string) => {
  const signs = { context: ' ', added: '+', removed: '-' }
  return inlineDiff(before, after).map(({ kind, text }) => signs[kind] + text)
}

test('what both begin and end with stays', () => {
  assert.deepEqual(shown('a\nb\nc\n', 'a\nB\nB\nc\n'), [' a', '-b', '+B', '+B', ' c'])
  assert.deepEqual(shown('$1 - $2', '$1 + $2'), ['-$1 - $2', '+$1 + $2'])
})

test('texts that repeat themselves, and empty ones', () => {
  assert.deepEqual(shown('a\na', 'a\na\na'), [' a', ' a', '+a'])
  assert.deepEqual(shown('', 'x\ny\n'), ['+x', '+y'])
  assert.deepEqual(shown('x', ''), ['-x'])
  assert.deepEqual(shown('x', 'x'), [' x'])
  assert.deepEqual(shown('', ''), [])
})
