import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createQueue } from './queue.ts'
import type { SendResult } from './sender.ts'

interface Sent {
  readonly batches: (readonly number[])[]
  readonly answer: (result: SendResult) => Promise<void>
}

/** A receiver that answers when the test says so. */
function receiver(): Sent & { readonly send: (batch: readonly number[]) => Promise<SendResult> } {
  const batches: (readonly number[])[] = []
  const open: ((result: SendResult) => void)[] = []
  return {
    batches,
    send(batch) {
      batches.push(batch)
      return new Promise((resolve) => open.push(resolve))
    },
    async answer(result) {
      open.shift()?.(result)
      for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    },
  }
}

const OK = { ok: true } as const
const FAILED = { ok: false, reason: 'status 503' } as const

function timers(t: TestContext): void {
  t.mock.timers.enable({ apis: ['setTimeout'] })
}

test('a full batch is sent at once, a smaller one after the delay, one at a time', async (t) => {
  timers(t)
  const { send, batches, answer } = receiver()
  const queue = createQueue<number>({ maxQueue: 10, maxBatch: 3, delayMs: 100, send })
  for (const item of [1, 2, 3, 4]) queue.add(item)
  assert.deepEqual(batches, [[1, 2, 3]])
  t.mock.timers.tick(1000)
  assert.equal(batches.length, 1, 'the next batch waits for the answer')
  await answer(OK)
  t.mock.timers.tick(100)
  assert.deepEqual(batches[1], [4])
  await answer(OK)
  assert.deepEqual({ ...queue.counts }, { exported: 4, dropped: 0 })
})

test('what does not fit is dropped and counted, by its weight [limit: span-queue]', (t) => {
  timers(t)
  const { send } = receiver()
  const queue = createQueue<number>({ maxQueue: 5, maxBatch: 5, delayMs: 100, send })
  queue.add(1, 3)
  queue.add(2, 3)
  assert.equal(queue.waiting, 3)
  assert.equal(queue.counts.dropped, 3)
})

test('a receiver that is dead for an hour is tried once a minute, and nothing grows [limit: span-backoff]', async (t) => {
  timers(t)
  const { send, batches, answer } = receiver()
  const failures: string[] = []
  const queue = createQueue<number>({
    maxQueue: 8,
    maxBatch: 4,
    delayMs: 100,
    send,
    onFailure: (r) => failures.push(r),
  })
  for (let second = 0; second < 3600; second++) {
    for (let item = 0; item < 10; item++) queue.add(item)
    assert.ok(queue.waiting <= 8)
    t.mock.timers.tick(1000)
    await answer(FAILED)
  }
  assert.ok(batches.length < 75, `${batches.length} tries`)
  assert.deepEqual(failures, ['status 503'], 'one line of the log')
  assert.equal(queue.counts.exported, 0)
  assert.equal(queue.counts.dropped + queue.waiting, 36_000)
  t.mock.timers.tick(60_000)
  await answer(OK)
  t.mock.timers.tick(100)
  await answer(OK)
  assert.equal(queue.waiting, 0)
  assert.equal(queue.counts.exported, 8)
})

test('closing sends what waits, and drops what the receiver does not take', async (t) => {
  timers(t)
  const { send, batches, answer } = receiver()
  const queue = createQueue<number>({ maxQueue: 9, maxBatch: 2, delayMs: 100, send })
  for (const item of [1, 2, 3]) queue.add(item)
  const closed = queue.close(1000)
  await answer(OK)
  await answer(FAILED)
  await closed
  assert.deepEqual(batches, [[1, 2], [3]])
  assert.deepEqual({ ...queue.counts }, { exported: 2, dropped: 1, lastFailure: 'status 503' })
})

test('what cannot be made is dropped and counted, and keeps no other item back', (t) => {
  timers(t)
  const { send, batches } = receiver()
  const failures: string[] = []
  const queue = createQueue<number>({
    maxQueue: 10,
    maxBatch: 2,
    delayMs: 100,
    send,
    onFailure: (r) => failures.push(r),
  })
  const unreadable = (): never => {
    throw new Error('unreadable')
  }
  queue.add(1)
  queue.addMade(unreadable, 2)
  assert.deepEqual([queue.counts.dropped, queue.waiting, failures], [2, 1, ['Error: unreadable']])
  queue.add(3)
  assert.deepEqual(batches, [[1, 3]])
})
