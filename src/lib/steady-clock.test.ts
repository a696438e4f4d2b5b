import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSteadyClock } from './steady-clock.ts'

const START = 1_000_000
const HOUR = 3_600_000

function clocks() {
  let monotonic = 0
  let skew = 0
  const now = createSteadyClock(
    () => START + monotonic + skew,
    () => monotonic,
  )
  return {
    /** Since the start, after `ms` have passed. */
    after(ms: number, wrongBy = skew) {
      monotonic += ms
      skew = wrongBy
      return now() - START
    },
  }
}

test('a clock that jumps ahead for a moment is not followed, and what comes later is dated right', () => {
  const { after } = clocks()
  assert.equal(after(10), 10)
  assert.equal(after(10, 24 * HOUR), 20)
  assert.equal(after(10, 0), 30)
  assert.equal(after(HOUR, 900), HOUR + 930, 'a small step is one')
})

test('a clock that stays ahead is believed after half a minute, one that goes back at once', () => {
  const { after } = clocks()
  assert.equal(after(0, HOUR), 0)
  assert.equal(after(29_999), 29_999)
  assert.equal(after(1), HOUR + 30_000)
  assert.equal(after(10, -HOUR), 30_010 - HOUR)
})
