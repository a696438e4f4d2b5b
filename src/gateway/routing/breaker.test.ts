import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Breaker,
  breakerState,
  closeOnFirstEvent,
  countFailure,
  createBreaker,
  endTrial,
  FORGET_MS,
  MAX_OPEN_MS,
  type Role,
  resetFailures,
  roleNow,
  type Trial,
} from './breaker.ts'

const SETTINGS = { failures: 5, openMs: 30_000 }

function begin(breaker: Breaker, now: number, forced?: Role): Trial {
  const role = forced ?? roleNow(breaker, now) ?? assert.fail('it is left alone')
  if (role === 'probe') breaker.probing = true
  return { role, epoch: breaker.epoch }
}

function fail(breaker: Breaker, now: number, trial = begin(breaker, now)): void {
  countFailure(breaker, trial, now, SETTINGS)
  endTrial(breaker, trial)
}

function succeed(breaker: Breaker, now: number, trial = begin(breaker, now)): void {
  closeOnFirstEvent(breaker, trial, now)
  resetFailures(breaker, trial)
  endTrial(breaker, trial)
}

function opened(now = 0): Breaker {
  const breaker = createBreaker()
  for (let i = 0; i < 5; i++) fail(breaker, now)
  return breaker
}

test('UP-4: five consecutive failures open the breaker for 30 s, and an answer in between resets the count', () => {
  const breaker = createBreaker()
  for (let i = 0; i < 4; i++) fail(breaker, 0)
  succeed(breaker, 0)
  for (let i = 0; i < 4; i++) fail(breaker, 0)
  assert.equal(breakerState(breaker, 0), 'closed')
  fail(breaker, 0)
  assert.equal(breakerState(breaker, 29_999), 'open')
  assert.equal(roleNow(breaker, 29_999), undefined)
  assert.equal(breakerState(breaker, 30_000), 'half_open')
})

test('UP-4: one request probes a half-open breaker, and no other in the meantime', () => {
  const breaker = opened()
  const probe = begin(breaker, 30_000)
  assert.deepEqual([probe.role, roleNow(breaker, 30_001)], ['probe', undefined])
  succeed(breaker, 30_500, probe)
  assert.deepEqual([breakerState(breaker, 30_500), breaker.failures], ['closed', 0])
})

test('UP-4: a failed probe keeps the breaker open for the same time, not longer', () => {
  const breaker = opened()
  for (const at of [30_000, 60_000, 90_000]) {
    fail(breaker, at)
    assert.deepEqual([breakerState(breaker, at + 29_999), breakerState(breaker, at + 30_000)], ['open', 'half_open'])
  }
})

test('a probe without an outcome permits another one', () => {
  const breaker = opened()
  endTrial(breaker, begin(breaker, 30_000))
  assert.equal(roleNow(breaker, 30_001), 'probe')
})

test('UP-4: the n-th recent opening lasts n times as long, at most 300 s, and openings are forgotten after 10 minutes [limit: breaker]', () => {
  const breaker = createBreaker()
  let now = 0
  for (let n = 1; n <= 12; n++) {
    for (let i = 0; i < 5; i++) fail(breaker, now)
    const length = Math.min(MAX_OPEN_MS, n * 30_000)
    assert.deepEqual(
      [breakerState(breaker, now + length - 1), breakerState(breaker, now + length)],
      ['open', 'half_open'],
    )
    now += length
    succeed(breaker, now)
  }
  now += FORGET_MS + 1
  for (let i = 0; i < 5; i++) fail(breaker, now)
  assert.equal(breakerState(breaker, now + 30_000), 'half_open')
})

test('a call that began before the opening neither closes the breaker nor keeps it open', () => {
  const breaker = createBreaker()
  const old = begin(breaker, 0)
  for (let i = 0; i < 5; i++) fail(breaker, 0)
  closeOnFirstEvent(breaker, old, 10)
  assert.equal(breakerState(breaker, 10), 'open')
  fail(breaker, 29_000, old)
  assert.equal(breakerState(breaker, 30_000), 'half_open')
})

test('UP-4: if it is the last candidate, an answer closes the breaker and a failure changes nothing', () => {
  const breaker = opened()
  fail(breaker, 10_000, begin(breaker, 10_000, 'last'))
  assert.equal(breakerState(breaker, 30_000), 'half_open')
  succeed(breaker, 11_000, begin(breaker, 11_000, 'last'))
  assert.equal(breakerState(breaker, 11_000), 'closed')
})
