import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountId } from '../domain/ids.ts'
import { createListeners } from './listeners.ts'

const accountOf = (index: number) => `acc_${index}` as AccountId

test('[limit: listeners-of-process] a process has 200 who listen, ten of an account', () => {
  const { enter } = createListeners('something')
  const all = Array.from({ length: 200 }, (_, index) => enter(accountOf(Math.floor(index / 10))))
  assert.throws(() => enter(accountOf(0)), { code: 'rate_limit_exceeded' })
  assert.throws(() => enter(accountOf(99)), { code: 'overloaded' })
  all[7]?.leave()
  all[7]?.leave()
  enter(accountOf(99))
  assert.throws(() => enter(accountOf(99)), { code: 'overloaded' })
})

test('when all are to end, each is told, and nobody comes in any more', () => {
  const { enter, endAll } = createListeners('something')
  const [one, other] = [enter(accountOf(1)), enter(accountOf(2))]
  one.leave()
  endAll()
  assert.deepEqual([one.signal.aborted, other.signal.aborted], [false, true])
  assert.throws(() => enter(accountOf(3)), { code: 'shutting_down' })
})
