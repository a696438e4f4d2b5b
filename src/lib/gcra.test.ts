import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countRequest, type GcraLimit } from './gcra.ts'

function admit(limit: GcraLimit, arrivals: readonly number[]): number[] {
  let state: number | undefined
  const admitted: number[] = []
  for (const now of arrivals) {
    const result = countRequest(limit, state, now)
    state = result.restedAt
    if (result.allowed) admitted.push(now)
  }
  return admitted
}

test('a rested client may send its whole limit at once, and not one more', () => {
  const limit = { limit: 7, windowMs: 60_000 }
  assert.equal(admit(limit, Array(20).fill(1000)).length, 7)
})

test('RL-1: never more than twice the limit in any window', () => {
  const arrivals = fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 1, maxLength: 400 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), arrivals, (limit, gaps) => {
      let now = 0
      const times = gaps.map((gap) => (now += gap))
      const admitted = admit({ limit, windowMs: 60_000 }, times)
      for (const start of admitted) {
        assert.ok(admitted.filter((at) => at >= start && at < start + 60_000).length <= 2 * limit)
      }
    }),
  )
})

test('RL-3: whoever waits as long as told is admitted', () => {
  const limit = { limit: 3, windowMs: 60_000 }
  let state: number | undefined
  for (let count = 0; count < 3; count++) state = countRequest(limit, state, 0).restedAt
  const refused = countRequest(limit, state, 10)
  assert.equal(refused.allowed, false)
  assert.equal(countRequest(limit, refused.restedAt, 10 + refused.retryAfterMs).allowed, true)
})

test('what remains counts down to zero and the reset says when it is whole again', () => {
  const limit = { limit: 2, windowMs: 60_000 }
  const first = countRequest(limit, undefined, 0)
  assert.deepEqual([first.remaining, first.resetMs], [1, 30_000])
  const second = countRequest(limit, first.restedAt, 0)
  assert.deepEqual([second.remaining, second.resetMs], [0, 60_000])
})
