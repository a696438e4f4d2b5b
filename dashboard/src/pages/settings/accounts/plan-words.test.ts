import assert from 'node:assert/strict'
import { test } from 'node:test'
import { effectOf, planText, readUsd } from './plan-words.ts'
import type { Plan } from './queries.ts'

const FREE: Plan = {
  id: 'free',
  object: 'plan',
  default: true,
  monthly_credit_usd: 5,
  max_overrun_usd: 0.05,
  markup_percent: 0,
  request_fee_usd: 0,
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
    '$5.00 of credit a month, prepaid; 20 requests and 40,000 tokens a minute, 8 concurrent requests',
  )
  assert.equal(planText(OPEN), 'postpaid; no rate limit, 5,000 concurrent requests')
  const marked = { ...OPEN, markup_percent: 12.5, request_fee_usd: 0.01 }
  assert.equal(
    planText(marked),
    'postpaid at prices plus 12.5% and $0.01 a call; no rate limit, 5,000 concurrent requests',
  )
  assert.ok(effectOf(OPEN, marked).includes('Requests are charged at prices plus 12.5% and $0.01 a call.'))
})

test('another plan says what it changes, and nothing of what stays', () => {
  assert.deepEqual(effectOf(FREE, OPEN), [
    'The change applies within a second.',
    'Requests no longer need credit: they are postpaid.',
    'Limits: no rate limit, 5,000 concurrent requests.',
    'Monthly credit ends; the rest of this month’s expires at its end.',
  ])
  const more = { ...FREE, id: 'more', monthly_credit_usd: 9 }
  assert.deepEqual(effectOf(FREE, more).slice(1), [
    'Limits: 20 requests and 40,000 tokens a minute, 8 concurrent requests.',
    'The credit of $9.00 a month is granted at once, unless it was granted for this month.',
  ])
})

test('from a plan that is gone everything is a change', () => {
  assert.equal(effectOf(undefined, FREE).length, 4)
})

test('an amount is read to the last digit', () => {
  assert.equal(readUsd('25').usd, 25)
  assert.equal(readUsd(' $1,234.50 ').usd, 1234.5)
  assert.equal(readUsd('.000000001').usd, 1e-9)
  assert.equal(readUsd('007.1000000000').usd, 7.1)
  assert.deepEqual(readUsd(''), { usd: undefined, problem: undefined })
})

test('what is no amount, or would not arrive as it was typed, is refused with a reason', () => {
  const problems = ['x', '-1', '1e3', '0', '0.0000000001', '100000000.01', '12345678.123456789'].map(
    (text) => readUsd(text).problem,
  )
  assert.deepEqual(problems, [
    'Enter an amount, such as 25 or 0.50.',
    'Enter an amount, such as 25 or 0.50.',
    'Enter an amount, such as 25 or 0.50.',
    'Enter more than 0.',
    'Enter at most 9 decimals.',
    'Enter $100,000,000 or less.',
    'Enter fewer digits.',
  ])
})
