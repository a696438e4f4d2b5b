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

test('UP-4: five failures in a row open it for 30 s, and an answer in between restarts the count', () => {
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

test('UP-4: one request tries a half-open one, and while it does no other', () => {
  const breaker = opened()
  const probe = begin(breaker, 30_000)
  assert.deepEqual([probe.role, roleNow(breaker, 30_001)], ['probe', undefined])
  succeed(breaker, 30_500, probe)
  assert.deepEqual([breakerState(breaker, 30_500), breaker.failures], ['closed', 0])
})

test('UP-4: a probe that fails leaves it open for as long again, not longer', () => {
  const breaker = opened()
  for (const at of [30_000, 60_000, 90_000]) {
    fail(breaker, at)
    assert.deepEqual([breakerState(breaker, at + 29_999), breakerState(breaker, at + 30_000)], ['open', 'half_open'])
  }
})

test('a probe that comes to nothing makes room for another', () => {
  const breaker = opened()
  endTrial(breaker, begin(breaker, 30_000))
  assert.equal(roleNow(breaker, 30_001), 'probe')
})

test('UP-4: the n-th opening lately lasts n times as long, 300 s at most, and all is forgotten after 10 minutes [limit: breaker]', () => {
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

test('what began before it opened neither closes it nor keeps it open', () => {
  const breaker = createBreaker()
  const old = begin(breaker, 0)
  for (let i = 0; i < 5; i++) fail(breaker, 0)
  closeOnFirstEvent(breaker, old, 10)
  assert.equal(breakerState(breaker, 10), 'open')
  fail(breaker, 29_000, old)
  assert.equal(breakerState(breaker, 30_000), 'half_open')
})

test('UP-4: called for want of anything else, an answer closes it and a failure changes nothing', () => {
  const breaker = opened()
  fail(breaker, 10_000, begin(breaker, 10_000, 'last'))
  assert.equal(breakerState(breaker, 30_000), 'half_open')
  succeed(breaker, 11_000, begin(breaker, 11_000, 'last'))
  assert.equal(breakerState(breaker, 11_000), 'closed')
})
