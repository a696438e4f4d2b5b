import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slopeOf } from './slope.ts'

const line = (of: (x: number) => number, count = 50) => Array.from({ length: count }, (_, x) => ({ x, y: of(x) }))

test('a line has its slope and no margin', () => {
  const { slope, margin } = slopeOf(line((x) => 3 + 2 * x))
  assert.ok(Math.abs(slope - 2) < 1e-9)
  assert.ok(margin < 1e-9)
})

test('oscillation has no slope within the margin, growth has one', () => {
  const saw = (x: number): number => (x % 5) * 10
  const still = slopeOf(line(saw))
  assert.ok(Math.abs(still.slope) <= still.margin)
  const growing = slopeOf(line((x) => saw(x) + 3 * x))
  assert.ok(growing.slope - growing.margin > 2)
})

test('two samples have no margin', () => {
  assert.ok(Number.isNaN(slopeOf(line((x) => x, 2)).margin))
})
