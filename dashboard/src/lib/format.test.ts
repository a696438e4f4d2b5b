import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatExactUsd,
  formatMs,
  formatPercent,
  formatPrice,
  formatSuccess,
  formatUsd,
  plural,
} from './format.ts'
import { toNano } from './money.ts'

test('amounts are to the cent, halves away from zero, and below a cent of two digits', () => {
  assert.equal(formatUsd(1234.56), '$1,234.56')
  assert.equal(formatUsd(1.005), '$1.01')
  assert.equal(formatUsd(-1.005), '−$1.01')
  assert.equal(formatUsd(0.004999999), '$0.005')
  assert.equal(formatUsd(0.0099999), '$0.01')
  assert.equal(formatUsd(1_234_567.999), '$1,234,568.00')
  assert.equal(formatUsd(1234.567), '$1,234.57')
  assert.equal(formatUsd(0), '$0.00')
  assert.equal(formatUsd(0.01), '$0.01')
  assert.equal(formatUsd(0.004217), '$0.0042')
  assert.equal(formatUsd(-0.0000019), '−$0.0000019')
  assert.equal(formatUsd(1e-9), '$0.000000001')
})

test('exact amounts have every digit, two decimals at least', () => {
  assert.equal(formatExactUsd(0.0007895), '$0.0007895')
  assert.equal(formatExactUsd(1e-9), '$0.000000001')
  assert.equal(formatExactUsd(-1), '−$1.00')
  assert.equal(formatExactUsd(12.5), '$12.50')
  assert.equal(formatExactUsd(1234.567), '$1,234.567')
  assert.equal(formatExactUsd(0), '$0.00')
  assert.equal(formatExactUsd(-0), '$0.00')
})

test('an exact amount loses nothing, and is zero only for zero', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -8_000_000_000_000_000n, max: 8_000_000_000_000_000n }), (nano) => {
      const usd = Number(nano) / 1e9
      const read = Number(formatExactUsd(usd).replace('−', '-').replaceAll(/[$,]/g, ''))
      assert.equal(toNano(read), toNano(usd))
    }),
  )
})

test('a total that rounds to nothing has no sign', () => {
  assert.equal(formatExactUsd(-1e-10), '$0.00')
})

test('what is not known is a dash', () => {
  assert.equal(formatPrice(null), '—')
  for (const write of [formatUsd, formatCount, formatCompact, formatPercent, formatMs, formatBytes])
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) assert.equal(write(value), '—')
})

test('prices keep the digits of micro-dollars', () => {
  assert.equal(formatPrice(2.5), '$2.50')
  assert.equal(formatPrice(0.075), '$0.075')
  assert.equal(formatPrice(0.000001), '$0.000001')
})

test('counts, compact and whole', () => {
  assert.equal(formatCount(12_345), '12,345')
  assert.equal(formatCount(-3), '−3')
  assert.equal(formatCompact(840), '840')
  assert.equal(formatCompact(12_345), '12.3K')
  assert.equal(formatCompact(4_500_000), '4.5M')
  assert.equal(formatCompact(999_960), '1M')
})

test('shares', () => {
  assert.equal(formatPercent(0.1234), '12.3%')
  assert.equal(formatPercent(1), '100%')
  assert.equal(formatPercent(-0.5), '−50%')
  assert.equal(formatPercent(0.99987, 2), '99.99%')
  assert.equal(formatPercent(-0.0001), '0%')
})

test('durations in their two largest units, without a unit that overflows', () => {
  const expected: Readonly<Record<string, number>> = {
    '0 ms': 0,
    '< 1 ms': 0.2,
    '840 ms': 840,
    '1 s': 999.6,
    '2.1 s': 2149,
    '1 min': 59_960,
    '3 min 4 s': 184_000,
    '1 h': 3_599_700,
    '2 h 5 min': 7_500_000,
    '1 d': 86_399_000,
    '4 d 3 h': 356_400_000,
    '−2 s': -2000,
  }
  for (const [text, ms] of Object.entries(expected)) assert.equal(formatMs(ms), text)
})

test('sizes in powers of 1024, without a unit that overflows', () => {
  assert.equal(formatBytes(0), '0 B')
  assert.equal(formatBytes(512), '512 B')
  assert.equal(formatBytes(1536), '1.5 KiB')
  assert.equal(formatBytes(1024 * 1024 - 1), '1 MiB')
  assert.equal(formatBytes(8 * 1024 * 1024), '8 MiB')
  assert.equal(formatBytes(1024 ** 6 * 5), '5,120 PiB')
})

test('one is singular, all others are not', () => {
  assert.equal(plural(1, 'request'), '1 request')
  assert.equal(plural(0, 'request'), '0 requests')
  assert.equal(plural(12_345, 'request'), '12,345 requests')
  assert.equal(plural(2, 'reply', 'replies'), '2 replies')
})

test('a hundred per cent is for what never failed', () => {
  assert.deepEqual([1, 0.99999, 0.9994, 0.57, 0].map(formatSuccess), ['100%', '99.9%', '99.9%', '57%', '0%'])
})
