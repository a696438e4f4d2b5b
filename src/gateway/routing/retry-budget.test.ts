import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRetryBudget, earn, MIN_REPEATS, mayRepeat, refill, spend } from './retry-budget.ts'

test('UP-2: in any order of calls, retries are at most a share of the first calls plus three', () => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { maxLength: 400 }),
      fc.double({ min: 0.05, max: 1, noNaN: true }),
      (calls, share) => {
        const budget = createRetryBudget()
        let first = 0
        let repeats = 0
        for (const isFirst of calls) {
          if (isFirst) {
            first += 1
            earn(budget, { share, inFlight: 100 })
          } else if (mayRepeat(budget, share)) {
            repeats += 1
            spend(budget)
          }
          assert.ok(repeats <= MIN_REPEATS + share * first + 1e-9)
        }
      },
    ),
  )
})

test('UP-2: the budget is limited by the calls in flight, and an answer restores three retries', () => {
  const budget = createRetryBudget()
  for (let i = 0; i < 1_000; i++) earn(budget, { share: 0.2, inFlight: 50 })
  assert.equal(Math.round(budget.tokens), 10)
  budget.tokens = 0
  assert.equal(mayRepeat(budget, 0.2), false)
  refill(budget)
  assert.equal(budget.tokens, MIN_REPEATS)
})

test('a budget of zero allows no retry', () => {
  assert.equal(mayRepeat(createRetryBudget(), 0), false)
})
