import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { correct, formatDuration, type GcraLimit, limitHeaders, spend } from './limits.ts'

const MINUTE = 60_000

interface Arrival {
  readonly at: number
  readonly cost: number
}

function admit(limit: GcraLimit, arrivals: readonly Arrival[]): Arrival[] {
  let state: number | undefined
  return arrivals.filter(({ at, cost }) => {
    const result = spend({ ...limit, cost }, state, at)
    state = result.restedAt
    return result.allowed
  })
}

const ones = (times: readonly number[]): Arrival[] => times.map((at) => ({ at, cost: 1 }))

test('a rested client may send its whole limit at once, and not one more', () => {
  assert.equal(admit({ limit: 7, windowMs: MINUTE }, ones(Array(20).fill(1000))).length, 7)
})

test('RL-1: never more than twice the limit in any window, whatever the costs', () => {
  const arrivals = fc.array(fc.tuple(fc.integer({ min: 0, max: 4000 }), fc.integer({ min: 0, max: 12 })), {
    maxLength: 400,
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), arrivals, (limit, gaps) => {
      let now = 0
      const times = gaps.map(([gap, cost]) => {
        now += gap
        return { at: now, cost: Math.min(cost, limit) }
      })
      const admitted = admit({ limit, windowMs: MINUTE }, times)
      for (const { at: start } of admitted) {
        const within = admitted.filter(({ at }) => at >= start && at < start + MINUTE)
        assert.ok(within.reduce((sum, { cost }) => sum + cost, 0) <= 2 * limit)
      }
    }),
  )
})

test('RL-3: whoever waits as long as told is admitted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 1000 }), (limit, cost) => {
      const demand = { limit, windowMs: MINUTE, cost: Math.min(cost, limit) }
      const { restedAt } = spend({ ...demand, cost: limit }, undefined, 0)
      const refused = spend(demand, restedAt, 10)
      assert.equal(refused.allowed, false)
      assert.equal(spend(demand, refused.restedAt, 10 + refused.retryAfterMs).allowed, true)
    }),
  )
})

test('what remains counts down to zero and the reset says when it is whole again', () => {
  const demand = { limit: 2, windowMs: MINUTE, cost: 1 }
  const first = spend(demand, undefined, 0)
  assert.deepEqual([first.remaining, first.resetMs], [1, 30_000])
  const second = spend(demand, first.restedAt, 0)
  assert.deepEqual([second.remaining, second.resetMs], [0, 60_000])
})

test('what costs more than the limit waits until the client is rested, and empties it', () => {
  const demand = { limit: 100, windowMs: MINUTE, cost: 5000 }
  const { restedAt } = spend({ ...demand, cost: 1 }, undefined, 0)
  const refused = spend(demand, restedAt, 0)
  assert.equal(refused.allowed, false)
  const admitted = spend(demand, refused.restedAt, refused.retryAfterMs)
  assert.deepEqual([admitted.allowed, admitted.remaining], [true, 0])
})

test('a correction gives back exactly what was not used', () => {
  const limit = { limit: 100, windowMs: MINUTE }
  const reserved = spend({ ...limit, cost: 80 }, undefined, 0)
  const corrected = correct(limit, reserved.restedAt, 70)
  assert.equal(spend({ ...limit, cost: 90 }, corrected, 0).allowed, true)
  assert.equal(spend({ ...limit, cost: 91 }, corrected, 0).allowed, false)
})

test('durations are written as OpenAI writes them', () => {
  const written = [0, -5, 0.2, 12, 999.5, 1000, 1500, 59_999, 60_000, 360_000, 3_600_000, 5_025_000].map(formatDuration)
  assert.deepEqual(written, [
    '0s',
    '0s',
    '1ms',
    '12ms',
    '1000ms',
    '1s',
    '1.5s',
    '59.999s',
    '1m0s',
    '6m0s',
    '1h0m0s',
    '1h23m45s',
  ])
})

test('a limit that does not exist has no headers', () => {
  assert.deepEqual(limitHeaders({ requests: undefined, tokens: undefined }), {})
  assert.deepEqual(limitHeaders({ requests: undefined, tokens: { limit: 40, remaining: 7, resetMs: 1500 } }), {
    'x-ratelimit-limit-tokens': '40',
    'x-ratelimit-remaining-tokens': '7',
    'x-ratelimit-reset-tokens': '1.5s',
  })
})
