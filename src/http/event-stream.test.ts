import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountId } from '../domain/ids.ts'
import { createEventStreams } from './event-stream.ts'

const accountOf = (index: number) => `acc_${index}` as AccountId

test('[limit: listeners-of-process] a process opens 200 event streams, ten of an account', () => {
  const { open } = createEventStreams()
  const all = Array.from({ length: 200 }, (_, index) => open(accountOf(Math.floor(index / 10))))
  assert.throws(() => open(accountOf(0)), { code: 'rate_limit_exceeded' })
  assert.throws(() => open(accountOf(99)), { code: 'overloaded' })
  all[7]?.close()
  all[7]?.close()
  open(accountOf(99))
  assert.throws(() => open(accountOf(99)), { code: 'overloaded' })
})

test('an account at its limit leaves the streams of others', () => {
  const { open } = createEventStreams()
  for (let opened = 0; opened < 10; opened++) open(accountOf(0))
  for (let refused = 0; refused < 300; refused++) {
    assert.throws(() => open(accountOf(0)), { code: 'rate_limit_exceeded' })
  }
  for (let opened = 0; opened < 190; opened++) open(accountOf(1 + Math.floor(opened / 10)))
})

test('endAll aborts every open stream and rejects new ones', () => {
  const { open, endAll } = createEventStreams()
  const [one, other] = [open(accountOf(1)), open(accountOf(2))]
  one.close()
  endAll()
  assert.deepEqual([one.signal.aborted, other.signal.aborted], [false, true])
  assert.throws(() => open(accountOf(3)), { code: 'shutting_down' })
})
