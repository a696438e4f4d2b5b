import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Breaker,
  breakerState,
  closeOnFirstEvent,
  countFailure,
  createBreaker,
  createConcurrencyLimiter,
  createRetryBudget,
  earn,
  endTrial,
  FORGET_MS,
  MAX_OPEN_MS,
  MAX_WAITING,
  MAX_WAITING_OF_ACCOUNT,
  MIN_REPEATS,
  mayRepeat,
  type Role,
  refill,
  resetFailures,
  roleNow,
  spend,
  type Trial,
  type Waiter,
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

function joined(waiter: Waiter | undefined): Waiter {
  return waiter ?? assert.fail('there was no room to wait')
}

test('OVL-4: a hundred requests of one account delay a request of another by at most one call', () => {
  const limiter = createConcurrencyLimiter(1)
  limiter.acquire(1)
  const many = Array.from({ length: 100 }, () => joined(limiter.enqueue('a', 1)))
  const single = joined(limiter.enqueue('b', 1))
  const served: string[] = []
  for (let i = 0; i < 3; i++) {
    limiter.release(1)
    served.push(single.granted() && !served.includes('b') ? 'b' : 'a')
  }
  assert.deepEqual(served, ['a', 'b', 'a'])
  assert.equal(many.filter((waiter) => waiter.granted()).length, 2)
})

test('within an account the queue is first in, first out', () => {
  const limiter = createConcurrencyLimiter(2)
  limiter.acquire(2)
  const [first, second] = [joined(limiter.enqueue('a', 1)), joined(limiter.enqueue('a', 1))]
  limiter.release(1)
  assert.deepEqual([first.granted(), second.granted(), limiter.hasCapacity(1)], [true, false, false])
})

test('several calls of one request begin together, even above the limit if nothing else is in flight', () => {
  const limiter = createConcurrencyLimiter(3)
  limiter.acquire(2)
  const large = joined(limiter.enqueue('a', 16))
  const small = joined(limiter.enqueue('b', 1))
  limiter.release(1)
  assert.deepEqual([large.granted(), small.granted()], [false, false], 'the large one is not overtaken for ever')
  limiter.release(1)
  assert.deepEqual([large.granted(), small.granted()], [true, false])
  limiter.release(16)
  assert.equal(small.granted(), true)
})

test('when a request that was too large to begin leaves, the next one begins', () => {
  const limiter = createConcurrencyLimiter(2)
  limiter.acquire(1)
  const large = joined(limiter.enqueue('a', 2))
  const small = joined(limiter.enqueue('b', 1))
  large.leave()
  assert.deepEqual([large.granted(), small.granted(), limiter.queued()], [false, true, 0])
})

test('OVL-1: the queues of a provider and of an account have a limit [limit: queue]', () => {
  const limiter = createConcurrencyLimiter(1)
  limiter.acquire(1)
  for (let i = 0; i < MAX_WAITING_OF_ACCOUNT; i++) joined(limiter.enqueue('a', 1))
  assert.equal(limiter.enqueue('a', 1), undefined)
  for (let i = limiter.queued(); i < MAX_WAITING; i++) joined(limiter.enqueue(`b${i}`, 1))
  assert.equal(limiter.enqueue('c', 1), undefined)
})

test('removing a limit admits the waiting requests', () => {
  const limiter = createConcurrencyLimiter(1)
  limiter.acquire(1)
  const waiter = joined(limiter.enqueue('a', 1))
  limiter.setLimit(undefined)
  assert.equal(waiter.granted(), true)
})

test('in any sequence the limit holds, and at the end nothing is in flight and nobody waits', () => {
  const step = fc.record({
    kind: fc.constantFrom('arrive', 'end', 'leave'),
    account: fc.constantFrom('a', 'b', 'c'),
    size: fc.integer({ min: 1, max: 5 }),
    at: fc.nat(50),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 80 }), (limit, steps) => {
      const limiter = createConcurrencyLimiter(limit)
      const running: number[] = []
      let waiting: { readonly waiter: Waiter; readonly size: number }[] = []
      const collect = (): void => {
        for (const { waiter, size } of waiting) if (waiter.granted()) running.push(size)
        waiting = waiting.filter(({ waiter }) => !waiter.granted())
      }
      for (const { kind, account, size, at } of steps) {
        if (kind === 'arrive') {
          if (limiter.hasCapacity(size)) {
            limiter.acquire(size)
            running.push(size)
          } else waiting.push({ waiter: joined(limiter.enqueue(account, size)), size })
        } else if (kind === 'end' && running.length > 0) {
          const [ended = 0] = running.splice(at % running.length, 1)
          limiter.release(ended)
        } else if (kind === 'leave' && waiting.length > 0) {
          waiting.splice(at % waiting.length, 1)[0]?.waiter.leave()
        }
        collect()
        const sum = running.reduce((total, each) => total + each, 0)
        assert.equal(limiter.inFlight(), sum)
        assert.ok(sum <= limit || running.length === 1)
        assert.equal(limiter.queued(), waiting.length)
        assert.ok(running.length > 0 || waiting.length === 0, 'nobody waits for nothing')
      }
      while (running.length > 0) {
        limiter.release(running.pop() ?? 0)
        collect()
      }
      assert.deepEqual([limiter.inFlight(), limiter.queued()], [0, 0])
    }),
    { numRuns: 300 },
  )
})

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
