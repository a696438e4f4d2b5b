import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decimalText, fromNano, sumUsd, toNano } from './money.ts'

test('an amount and its nano-dollars are the same amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -8_000_000_000_000_000n, max: 8_000_000_000_000_000n }), (nano) => {
      assert.equal(toNano(fromNano(nano)), nano)
    }),
  )
})

test('sums are exact in every order, where floating point is not', () => {
  assert.notEqual(0.1 + 0.2, 0.3)
  assert.equal(sumUsd([0.1, 0.2]), 0.3)
  assert.equal(sumUsd([0.1, 0.2, -0.3]), 0)
  assert.equal(sumUsd(Array.from({ length: 1000 }, () => 0.000000001)), 0.000001)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -2_000_000_000, max: 2_000_000_000 })), (nanos) => {
      const total = nanos.reduce((sum, nano) => sum + BigInt(nano), 0n)
      const values = nanos.map((nano) => nano / 1e9)
      assert.equal(toNano(sumUsd(values)), total)
      assert.equal(sumUsd(values.toReversed()), sumUsd(values))
    }),
  )
})

test('numbers that JavaScript writes with an exponent are read, and what is finer than a nano-dollar is rounded', () => {
  assert.equal(toNano(1e-9), 1n)
  assert.equal(toNano(4.9e-10), 0n)
  assert.equal(toNano(5e-10), 1n)
  assert.equal(toNano(-5e-10), -1n)
  assert.equal(toNano(1.5e21), 1_500_000_000_000_000_000_000_000_000_000n)
  assert.equal(toNano(5e-324), 0n)
  assert.equal(toNano(-0), 0n)
})

test('what is no number is no amount', () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) assert.throws(() => toNano(value), RangeError)
})

test('the text has nine decimals', () => {
  assert.equal(decimalText(-1n), '-0.000000001')
  assert.equal(decimalText(0n), '0.000000000')
  assert.equal(decimalText(12_000_000_005n), '12.000000005')
})
