import assert from 'node:assert/strict'
import { test } from 'node:test'
import { available, costPerDay, daysLeft, lastingText, limitsOf } from './days-left.ts'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 10, 20)

const account = { monthly_budget_usd: null, allowance_usd: 0, budgets: [] }
const month = { credit_remaining_usd: 100, held_usd: 0, unlimited: false, total_cost_usd: 20 }
const budget = { action: 'block', window: 'week', remaining_usd: 6, resets_at: '2026-11-23T00:00:00.000Z' } as const

test('a rate is that of the time that has passed, a day at least', () => {
  assert.equal(costPerDay({ costUsd: 7, since: 0, now: 7 * DAY }), 1)
  assert.equal(costPerDay({ costUsd: 3, since: 0, now: 1.5 * DAY }), 2)
  assert.equal(costPerDay({ costUsd: 3, since: 0, now: 60_000 }), 3)
  assert.equal(costPerDay({ costUsd: 0, since: 0, now: DAY }), 0)
})

test('what is held is not there to be spent, exactly', () => {
  assert.equal(available(0.3, 0.1), 0.2)
})

test('the first limit that is reached decides; one that is whole again before does not, nor one that only warns', () => {
  const lasts = (over: object, perDayUsd: number, overMonth: object = {}) => {
    const limits = limitsOf({ ...account, ...over }, { ...month, ...overMonth }, NOW)
    const lasting = daysLeft(limits, { perDayUsd, now: NOW })
    return lasting && [lastingText(lasting), lasting.limit.name]
  }
  assert.deepEqual(lasts({}, 3), ['33 days', 'the balance'])
  assert.deepEqual(lasts({ monthly_budget_usd: 50 }, 3), ['10 days', 'the monthly budget'])
  assert.deepEqual(lasts({ monthly_budget_usd: 60 }, 3), ['33 days', 'the balance'], 'the month ends before')
  assert.deepEqual(lasts({ budgets: [budget] }, 3), ['2 days', 'the budget of a week'])
  assert.deepEqual(lasts({ budgets: [budget] }, 2), ['50 days', 'the balance'])
  assert.deepEqual(lasts({ budgets: [{ ...budget, action: 'warn' }] }, 3), ['33 days', 'the balance'])
  assert.deepEqual(lasts({}, 0.1), ['More than a year', 'the balance'])
  assert.deepEqual(lasts({}, 101), ['Less than a day', 'the balance'])
  assert.deepEqual(lasts({}, 3, { credit_remaining_usd: -1 }), ['Used up', 'the balance'])
  assert.deepEqual(lasts({ monthly_budget_usd: 20 }, 3), ['Used up', 'the monthly budget'])
  assert.equal(lasts({}, 0), undefined)
  assert.equal(lasts({}, 3, { unlimited: true }), undefined)
  assert.deepEqual(lasts({ budgets: [budget] }, 3, { unlimited: true }), ['2 days', 'the budget of a week'])
  assert.deepEqual(lasts({ allowance_usd: 100 }, 10), ['10 days', 'the plan’s allowance'])
  assert.equal(lasts({ allowance_usd: 100 }, 9), undefined, 'the next month brings another')
})
