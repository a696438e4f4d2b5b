import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { present, readChoice, readFlag, readList, readNumber, readText } from './address.ts'

test('a search for a number is text', () => {
  assert.equal(readText({ q: 123 }, 'q'), '123')
  assert.equal(readText({ q: true }, 'q'), 'true')
  assert.equal(readText({ q: '  gpt  ' }, 'q'), 'gpt')
  assert.equal(readText({ q: '   ' }, 'q'), undefined)
  assert.equal(readText({ q: 'x'.repeat(9_000) }, 'q')?.length, 500)
})

test('only known choices are choices', () => {
  assert.equal(readChoice({ by: 'model' }, 'by', ['model', 'key']), 'model')
  assert.equal(readChoice({ by: 'user' }, 'by', ['model', 'key']), undefined)
  assert.equal(readChoice({}, 'constructor', ['model', 'key']), undefined)
})

test('a list may be written in three ways', () => {
  for (const models of [['a', 'b', 'a'], 'a,b', ' a , b,']) assert.deepEqual(readList({ models }, 'models'), ['a', 'b'])
  assert.deepEqual(readList({ models: [1, null, { a: 1 }] }, 'models'), ['1'])
  assert.equal(readList({ models: [] }, 'models'), undefined)
})

test('numbers keep to their bounds', () => {
  const bounds = { min: 0, max: 100 }
  assert.equal(readNumber({ page: '7' }, 'page', bounds), 7)
  assert.equal(readNumber({ page: 101 }, 'page', bounds), undefined)
  assert.equal(readNumber({ page: 'x' }, 'page', bounds), undefined)
  assert.equal(readNumber({ page: '' }, 'page', bounds), undefined)
})

test('a flag is on or absent', () => {
  assert.equal(readFlag({ live: true }, 'live'), true)
  assert.equal(readFlag({ live: 1 }, 'live'), true)
  assert.equal(readFlag({ live: 'no' }, 'live'), undefined)
})

test('nothing in an address makes them throw', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.anything()), fc.string(), (raw, name) => {
      readText(raw, name)
      readList(raw, name)
      readFlag(raw, name)
      readNumber(raw, name, { min: 0, max: 1 })
      readChoice(raw, name, ['a'])
    }),
  )
})

test('what is undefined is left out', () => {
  assert.deepEqual(Object.keys(present({ a: 1, b: undefined, c: null })), ['a', 'c'])
})
