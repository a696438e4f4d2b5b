import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountId } from '../../domain/ids.ts'
import { createPace } from './pace.ts'

const accountOf = (index: number) => `acc_${index}` as AccountId

test('[limit: sent-by-hand] an account has at most 600 events a minute sent by hand; others have theirs', () => {
  const clock = { now: 0 }
  const pace = createPace(() => clock.now)
  for (let sent = 0; sent < 600; sent++) pace(accountOf(1))
  assert.throws(() => pace(accountOf(1)), { code: 'rate_limit_exceeded', retryAfterMs: 100 })
  pace(accountOf(2))
  clock.now += 100
  pace(accountOf(1))
  assert.throws(() => pace(accountOf(1)), { code: 'rate_limit_exceeded' })
})

test('[limit: paced-accounts] the pace of 10 000 accounts is remembered; the one unseen for longest is forgotten', () => {
  const pace = createPace(() => 0)
  for (let sent = 0; sent < 600; sent++) pace(accountOf(0))
  for (let index = 1; index < 10_000; index++) pace(accountOf(index))
  assert.throws(() => pace(accountOf(0)))
  for (let index = 10_000; index < 19_999; index++) pace(accountOf(index))
  assert.throws(() => pace(accountOf(0)))
  for (let index = 20_000; index < 30_000; index++) pace(accountOf(index))
  pace(accountOf(0))
})
