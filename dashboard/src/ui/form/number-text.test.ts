import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readNumber, textOfNumber } from './number-text.ts'

test('separators and spaces do not matter', () => {
  assert.equal(readNumber(' 1,234.50 ', {}).value, 1234.5)
  assert.equal(readNumber('.5', {}).value, 0.5)
  assert.equal(readNumber('5.', {}).value, 5)
  assert.equal(readNumber('-3', {}).value, -3)
})

test('nothing typed is neither a number nor a mistake', () => {
  assert.deepEqual(readNumber('  ', { min: 1 }), { value: undefined, problem: undefined })
})

test('what is not a number is said so', () => {
  for (const text of ['abc', '1e5', '1.2.3', '0x10', 'Infinity', '-', '.']) {
    assert.deepEqual(readNumber(text, {}), { value: undefined, problem: 'Enter a number.' }, text)
  }
})

test('bounds are part of what is allowed, and are told', () => {
  assert.equal(readNumber('1', { min: 1, max: 2 }).value, 1)
  assert.equal(readNumber('2', { min: 1, max: 2 }).value, 2)
  assert.equal(readNumber('0.99', { min: 1 }).problem, 'Enter 1 or more.')
  assert.equal(readNumber('2.01', { max: 2 }).problem, 'Enter 2 or less.')
})

test('a whole number has no fraction, and none that is lost', () => {
  assert.equal(readNumber('12', { whole: true }).value, 12)
  assert.equal(readNumber('1.5', { whole: true }).problem, 'Enter a whole number.')
  assert.equal(readNumber('9007199254740993', { whole: true }).problem, 'Enter a whole number.')
})

test('what a number is written as is read back as the same number', () => {
  for (const value of [0, -1, 1234.5, 0.1, 1e-7, 2.5e-9, 1e21, -4e-8]) {
    assert.equal(readNumber(textOfNumber(value), {}).value, value)
  }
  assert.equal(textOfNumber(undefined), '')
})
