import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { type Deadline, startDeadline } from './call.ts'
import type { UpstreamTimeouts } from './transport.ts'

interface Watched {
  readonly deadline: Deadline
  /** Kind and moment of each expiry. */
  readonly fired: string[]
  advance(ms: number): void
}

/** Starts at 0 of a clock that only `advance` moves. */
function start(t: TestContext, waits: Partial<UpstreamTimeouts>): Watched {
  t.mock.timers.reset()
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 })
  const timeouts = { connect: 1, wholeAnswer: 1, firstByte: 600, idle: 200, total: 10_000, ...waits }
  const fired: string[] = []
  const deadline = startDeadline({
    timeouts,
    clock: () => Date.now(),
    onExpire: (kind) => fired.push(`${kind} ${Date.now()}`),
  })
  const advance = (ms: number): void => {
    for (let i = 0; i < ms; i++) t.mock.timers.tick(1) // one by one: in a longer tick every timer sees its end
  }
  return { deadline, fired, advance }
}

test('R-A8: without any event the first-byte timeout expires, to the millisecond and once', (t) => {
  const { deadline, fired, advance } = start(t, {})
  advance(599)
  assert.deepEqual([fired, deadline.expired()], [[], undefined])
  advance(1)
  assert.deepEqual(fired, ['first_byte 600'])
  assert.equal(deadline.expired(), 'first_byte')
  advance(20_000)
  assert.equal(fired.length, 1)
})

test('R-A10: the first-byte timeout does not end an answer that has begun', (t) => {
  const { deadline, fired, advance } = start(t, {})
  for (let i = 0; i < 20; i++) {
    advance(100)
    deadline.progress()
  }
  assert.deepEqual(fired, [])
})

test('R-A7: an idle timeout shorter than the first-byte timeout counts from the last event', (t) => {
  const { deadline, fired, advance } = start(t, {})
  advance(10)
  deadline.progress()
  advance(150)
  deadline.progress()
  advance(199)
  assert.deepEqual(fired, [])
  advance(1)
  assert.deepEqual(fired, ['idle 360'])
})

test('an idle timeout longer than the first-byte timeout applies as well', (t) => {
  const { deadline, fired, advance } = start(t, { firstByte: 50, idle: 400 })
  advance(49)
  deadline.progress()
  advance(399)
  assert.deepEqual(fired, [])
  advance(1)
  assert.deepEqual(fired, ['idle 449'])
})

test('the total timeout expires however much arrives', (t) => {
  const { deadline, fired, advance } = start(t, { total: 1000 })
  for (let i = 0; i < 30; i++) {
    advance(50)
    deadline.progress()
  }
  assert.deepEqual(fired, ['total 1000'])
})

test('a total timeout shorter than the first-byte timeout expires first', (t) => {
  const { fired, advance } = start(t, { total: 100 })
  advance(1000)
  assert.deepEqual(fired, ['total 100'])
})

test('OVL-3: while the reader is busy the provider’s silence does not count, the total timeout does', (t) => {
  const { deadline, fired, advance } = start(t, { total: 5000 })
  deadline.progress()
  deadline.suspend()
  advance(4999)
  assert.deepEqual(fired, [])
  advance(1)
  assert.deepEqual(fired, ['total 5000'])
})

test('R-A7: a provider that falls silent after a busy reader has returned is idle from then on', (t) => {
  const { deadline, fired, advance } = start(t, {})
  deadline.progress()
  deadline.suspend()
  advance(1000)
  deadline.resume()
  advance(199)
  assert.deepEqual(fired, [])
  advance(1)
  assert.deepEqual(fired, ['idle 1200'])
})

test('resuming without a suspension grants no time', (t) => {
  const { deadline, fired, advance } = start(t, {})
  deadline.progress()
  advance(150)
  deadline.resume()
  advance(50)
  assert.deepEqual(fired, ['idle 200'])
})

test('no timeout expires after it is cleared, even if data arrives', (t) => {
  for (const begun of [false, true]) {
    const { deadline, fired, advance } = start(t, {})
    if (begun) deadline.progress()
    deadline.clear()
    deadline.progress()
    deadline.resume()
    advance(20_000)
    assert.deepEqual([fired, deadline.expired()], [[], undefined])
  }
})

const waits = fc.record({ firstByte: fc.integer({ min: 1, max: 50 }), idle: fc.integer({ min: 1, max: 50 }) })
const steps = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 40 }), fc.constantFrom('progress', 'suspend', 'resume', 'nothing')),
  { maxLength: 30 },
)

test('for any history the expired timeout and its time follow the rules', (t) => {
  fc.assert(
    fc.property(waits, fc.integer({ min: 1, max: 400 }), steps, ({ firstByte, idle }, total, history) => {
      const { deadline, fired, advance } = start(t, { firstByte, idle, total })
      let now = 0
      let due = firstByte
      let kind = 'first_byte'
      let suspended = false
      for (const [ms, action] of [...history, [500, 'nothing'] as const]) {
        const first = Math.min(total, suspended ? Number.POSITIVE_INFINITY : due)
        if (now + ms >= first) {
          advance(ms)
          assert.deepEqual(fired, [`${first === total ? 'total' : kind} ${first}`])
          return
        }
        advance(ms)
        now += ms
        assert.deepEqual(fired, [])
        if (action === 'progress') {
          deadline.progress()
          due = now + idle
          kind = 'idle'
          suspended = false
        } else if (action === 'suspend') {
          deadline.suspend()
          suspended = true
        } else if (action === 'resume') {
          deadline.resume()
          if (suspended) due = now + (kind === 'idle' ? idle : firstByte)
          suspended = false
        }
      }
    }),
    { numRuns: 500 },
  )
})
