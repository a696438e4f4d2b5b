import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createPlaces, MAX_WAITING, MAX_WAITING_OF_ACCOUNT, type Waiter } from './places.ts'

function joined(waiter: Waiter | undefined): Waiter {
  return waiter ?? assert.fail('there was no room to wait')
}

test('OVL-4: a hundred requests of one account delay another’s single one by one turn at most', () => {
  const places = createPlaces(1)
  places.take(1)
  const many = Array.from({ length: 100 }, () => joined(places.join('a', 1)))
  const single = joined(places.join('b', 1))
  const served: string[] = []
  for (let i = 0; i < 3; i++) {
    places.giveBack(1)
    served.push(single.granted() && !served.includes('b') ? 'b' : 'a')
  }
  assert.deepEqual(served, ['a', 'b', 'a'])
  assert.equal(many.filter((waiter) => waiter.granted()).length, 2)
})

test('within an account the first come is the first served, and nobody overtakes those who wait', () => {
  const places = createPlaces(2)
  places.take(2)
  const [first, second] = [joined(places.join('a', 1)), joined(places.join('a', 1))]
  places.giveBack(1)
  assert.deepEqual([first.granted(), second.granted(), places.isFree(1)], [true, false, false])
})

test('several calls of one request get their places together, and more than there are when all is quiet', () => {
  const places = createPlaces(3)
  places.take(2)
  const large = joined(places.join('a', 16))
  const small = joined(places.join('b', 1))
  places.giveBack(1)
  assert.deepEqual([large.granted(), small.granted()], [false, false], 'the large one is not overtaken for ever')
  places.giveBack(1)
  assert.deepEqual([large.granted(), small.granted()], [true, false])
  places.giveBack(16)
  assert.equal(small.granted(), true)
})

test('when one too large to be served leaves, the next one is served', () => {
  const places = createPlaces(2)
  places.take(1)
  const large = joined(places.join('a', 2))
  const small = joined(places.join('b', 1))
  large.leave()
  assert.deepEqual([large.granted(), small.granted(), places.waiting()], [false, true, 0])
})

test('OVL-1: so many wait for a provider, and so many of an account [limit: queue]', () => {
  const places = createPlaces(1)
  places.take(1)
  for (let i = 0; i < MAX_WAITING_OF_ACCOUNT; i++) joined(places.join('a', 1))
  assert.equal(places.join('a', 1), undefined)
  for (let i = places.waiting(); i < MAX_WAITING; i++) joined(places.join(`b${i}`, 1))
  assert.equal(places.join('c', 1), undefined)
})

test('a limit that is lifted lets those in who wait', () => {
  const places = createPlaces(1)
  places.take(1)
  const waiter = joined(places.join('a', 1))
  places.limitTo(undefined)
  assert.equal(waiter.granted(), true)
})

test('whatever comes, leaves and ends: never more than the limit, and at the end nothing is taken and nobody waits', () => {
  const step = fc.record({
    kind: fc.constantFrom('arrive', 'end', 'leave'),
    account: fc.constantFrom('a', 'b', 'c'),
    size: fc.integer({ min: 1, max: 5 }),
    at: fc.nat(50),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 80 }), (limit, steps) => {
      const places = createPlaces(limit)
      const running: number[] = []
      let waiting: { readonly waiter: Waiter; readonly size: number }[] = []
      const collect = (): void => {
        for (const { waiter, size } of waiting) if (waiter.granted()) running.push(size)
        waiting = waiting.filter(({ waiter }) => !waiter.granted())
      }
      for (const { kind, account, size, at } of steps) {
        if (kind === 'arrive') {
          if (places.isFree(size)) {
            places.take(size)
            running.push(size)
          } else waiting.push({ waiter: joined(places.join(account, size)), size })
        } else if (kind === 'end' && running.length > 0) {
          const [ended = 0] = running.splice(at % running.length, 1)
          places.giveBack(ended)
        } else if (kind === 'leave' && waiting.length > 0) {
          waiting.splice(at % waiting.length, 1)[0]?.waiter.leave()
        }
        collect()
        const sum = running.reduce((total, each) => total + each, 0)
        assert.equal(places.inFlight(), sum)
        assert.ok(sum <= limit || running.length === 1)
        assert.equal(places.waiting(), waiting.length)
        assert.ok(running.length > 0 || waiting.length === 0, 'nobody waits for nothing')
      }
      while (running.length > 0) {
        places.giveBack(running.pop() ?? 0)
        collect()
      }
      assert.deepEqual([places.inFlight(), places.waiting()], [0, 0])
    }),
    { numRuns: 300 },
  )
})
