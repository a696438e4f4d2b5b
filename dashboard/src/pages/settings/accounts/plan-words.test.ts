import assert from 'node:assert/strict'
import { test } from 'node:test'
import { effectOf, planText } from './plan-words.ts'
import type { Plan } from './queries.ts'

const FREE: Plan = {
  id: 'free',
  object: 'plan',
  default: true,
  monthly_credit_usd: 5,
  max_overrun_usd: 0.05,
  prepaid: true,
  requests_per_minute: 20,
  tokens_per_minute: 40_000,
  max_in_flight: 8,
}
const OPEN: Plan = {
  ...FREE,
  id: 'open',
  monthly_credit_usd: 0,
  prepaid: false,
  requests_per_minute: null,
  tokens_per_minute: null,
  max_in_flight: 5_000,
}

test('a plan says what it gives and what it limits', () => {
  assert.equal(
    planText(FREE),
    '$5.00 of credit a month, prepaid; 20 requests and 40,000 tokens a minute, 8 requests at once',
  )
  assert.equal(planText(OPEN), 'billed after the fact; no limit a minute, 5,000 requests at once')
})

test('another plan says what it changes, and nothing of what stays', () => {
  assert.deepEqual(effectOf(FREE, OPEN), [
    'It is in force in every process within a second.',
    'Requests need no credit any more: they are billed after the fact.',
    'Limits: no limit a minute, 5,000 requests at once.',
    'There is no monthly credit any more; what is left of this month’s expires with the month.',
  ])
  const more = { ...FREE, id: 'more', monthly_credit_usd: 9 }
  assert.deepEqual(effectOf(FREE, more).slice(1), [
    'Limits: 20 requests and 40,000 tokens a minute, 8 requests at once.',
    'Its credit of $9.00 a month is granted at once, unless this month’s was granted already.',
  ])
})

test('from a plan that is gone everything is a change', () => {
  assert.equal(effectOf(undefined, FREE).length, 4)
})
