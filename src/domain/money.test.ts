import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseMicroUsd, parseNanoUsd, usdNumber, usdText } from './money.ts'

test('a price is read exactly as it is written', () => {
  const read = [0, 0.27, 1.1, 0.07, 2.5, 15, 75, 0.000001, 0.1, 0.15, 1_000_000, 0.3].map(parseMicroUsd)
  assert.deepEqual(
    read,
    [0, 270_000, 1_100_000, 70_000, 2_500_000, 15_000_000, 75_000_000, 1, 100_000, 150_000, 1e12, 300_000],
  )
})

test('a price that micro-dollars cannot say is not rounded but refused', () => {
  for (const usd of [0.0000001, 0.2700001, 1.2345678, -1, -0.000001, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
    assert.equal(parseMicroUsd(usd), undefined, String(usd))
  }
})

test('every price of up to a million dollars and six decimals survives being written and read', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000_000_000), (microUsd) => {
      const written = `${Math.floor(microUsd / 1e6)}.${String(microUsd % 1e6).padStart(6, '0')}`
      assert.equal(parseMicroUsd(Number(written)), microUsd)
    }),
  )
})

test('amounts are written in full, without exponent and trailing zeros', () => {
  const written = [0n, 1n, 15_000n, 1_000_000_000n, 2_500_000_000n, -2_500_000_000n, -1n, 123_456_789_012_345_678_901n]
  assert.deepEqual(written.map(usdText), [
    '0',
    '0.000000001',
    '0.000015',
    '1',
    '2.5',
    '-2.5',
    '-0.000000001',
    '123456789012.345678901',
  ])
})

test('the text of any amount says exactly that amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (amount) => {
      const text = usdText(amount)
      assert.match(text, /^-?(0|[1-9]\d*)(\.\d{0,8}[1-9])?$/)
      const [whole = '', fraction = ''] = text.replace('-', '').split('.')
      const digits = BigInt(whole + fraction.padEnd(9, '0'))
      assert.equal(text.startsWith('-') ? -digits : digits, amount)
    }),
  )
})

test('the number of any amount up to a million dollars has at most nine decimals and says that amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (amount) => {
      const number = usdNumber(amount)
      assert.equal(Number(number.toFixed(9)), number)
      assert.equal(number.toFixed(9).replace(/\.?0+$/, ''), usdText(amount))
    }),
  )
})

test('R-D10: an amount is read exactly as it is written, to the last nano-dollar', () => {
  const read = [0, 1, 0.1, 0.3, 2.5, 1e-9, 1.5e-8, 9.99e-7, 0.000001, 12.345678901, 999_999_999.9, 9_999_999_999]
  assert.deepEqual(read.map(parseNanoUsd), [
    0n,
    1_000_000_000n,
    100_000_000n,
    300_000_000n,
    2_500_000_000n,
    1n,
    15n,
    999n,
    1000n,
    12_345_678_901n,
    999_999_999_900_000_000n,
    9_999_999_999_000_000_000n,
  ])
  assert.deepEqual(['0.1', '5', '5.', '0.000000001', '1.50', '.5', '5 '].map(parseNanoUsd), [
    100_000_000n,
    5_000_000_000n,
    undefined,
    1n,
    1_500_000_000n,
    undefined,
    undefined,
  ])
})

test('R-D10: an amount that nano-dollars cannot say is not rounded but refused', () => {
  for (const usd of [1e-10, 1.5e-9, 0.1234567891, -1, -1e-9, 1e10, 1e21, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(parseNanoUsd(usd), undefined, String(usd))
  for (const text of ['0.0000000001', '-1', '1e3', '', 'ten', '0x10', '10000000000'])
    assert.equal(parseNanoUsd(text), undefined, text)
})

test('any amount survives being written and read, as text; as a number up to a million dollars', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 19n - 1n }), (amount) => {
      assert.equal(parseNanoUsd(usdText(amount)), amount)
    }),
  )
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (amount) => {
      assert.equal(parseNanoUsd(JSON.parse(JSON.stringify(usdNumber(amount)))), amount)
    }),
  )
})
