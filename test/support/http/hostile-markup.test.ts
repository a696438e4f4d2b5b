import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOSTILE_KINDS, HOSTILE_MARKUP } from './hostile-markup.ts'

test('there are many, of many kinds, and no two are the same but for their number', () => {
  assert.ok(HOSTILE_MARKUP.length >= 205, `${HOSTILE_MARKUP.length}`)
  assert.ok(Object.values(HOSTILE_KINDS).every((count) => count >= 8))
  const bare = HOSTILE_MARKUP.map((text, index) => text.replaceAll(`globalThis.__hacked?.(${index})`, 'RUN'))
  assert.equal(new Set(bare).size, HOSTILE_MARKUP.length)
})

test('each says its own number, and no other', () => {
  for (const [index, text] of HOSTILE_MARKUP.entries()) {
    const numbers = [...text.matchAll(/globalThis\.__hacked\?\.\((\d+)\)/g)].map(([, number]) => Number(number))
    assert.ok(numbers.length > 0, text)
    assert.ok(
      numbers.every((number) => number === index),
      text,
    )
  }
})
