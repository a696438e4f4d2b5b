import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createConcurrencyLimiter, MAX_WAITING, MAX_WAITING_OF_ACCOUNT, type Waiter } from './concurrency-limiter.ts'

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
