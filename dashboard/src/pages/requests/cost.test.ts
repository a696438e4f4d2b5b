import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arithmeticOf, picoText } from './cost.ts'

const line = (tokens: number, usdPerMillion: number) => ({
  ...({ kind: 'input', tokens, usd_per_million: usdPerMillion, cost_usd: 0 } as const),
})

test('the arithmetic is written out, and exact', () => {
  const lines = [line(78, 1.25), line(4736, 0.125), line(10, 10)]
  assert.deepEqual(arithmeticOf({ lines }, 0.0007895), {
    formula: '78 × $1.25/M + 4,736 × $0.125/M + 10 × $10/M = $0.0007895',
    isRounded: false,
  })
})

test('what is rounded up is shown before and after', () => {
  assert.deepEqual(arithmeticOf({ lines: [line(3, 0.000001), line(1, 0.15)] }, 0.000000151), {
    formula: '3 × $0.000001/M + 1 × $0.15/M = $0.000000150003, rounded up to $0.000000151',
    isRounded: true,
  })
})

test('fees are uses times what each costs', () => {
  const fee = { kind: 'server_tool', name: 'web_search', tokens: 0, usd_per_million: 0, uses: 3, usd_per_use: 0.01 }
  assert.deepEqual(
    arithmeticOf({ lines: [line(78, 1.25), { ...fee, kind: 'server_tool', cost_usd: 0.03 }] }, 0.0300975),
    {
      formula: '78 × $1.25/M + 3 × $0.01 = $0.0300975',
      isRounded: false,
    },
  )
})

test('amounts have all their digits, however large', () => {
  assert.equal(picoText(0n), '$0.00')
  assert.equal(picoText(1n), '$0.000000000001')
  assert.equal(picoText(1_234_500_000_000_001n), '$1,234.500000000001')
})
