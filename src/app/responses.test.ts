/** Runs on one database: on none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountId } from '../domain/ids.ts'
import { storeAnswer } from './responses.ts'

const ANSWER = JSON.stringify({ id: 'resp_1', object: 'response', output: [{ id: 'msg_1_0', type: 'message' }] })
const answer = { accountId: 'acc_ada' as AccountId, joined: { own: [], previousId: undefined }, maxBytes: 1000 }

/** A store whose insertion ends when the test says so. */
function pendingStore() {
  const inserted = Promise.withResolvers<void>()
  const removed = Promise.withResolvers<string>()
  const warnings: string[] = []
  const store = {
    insert: () => inserted.promise,
    async remove({ id }: { readonly id: string }) {
      removed.resolve(id)
      return true
    },
  }
  const log = { warn: (_fields: unknown, message?: string) => void warnings.push(message ?? '') }
  return { inserted, removed: removed.promise, warnings, store: storeAnswer({ store, log }, answer) }
}

test('a response that is not committed in time is not stored, and is removed when it is [limit: store-wait]', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { inserted, removed, warnings, store } = pendingStore()
  const stored = store(ANSWER)
  t.mock.timers.tick(4_999)
  assert.equal(await Promise.race([stored, Promise.resolve('waits')]), 'waits')
  t.mock.timers.tick(1)
  assert.equal(await stored, false)
  inserted.resolve()
  assert.equal(await removed, 'resp_1')
  assert.equal(warnings.length, 1)
})

test('a response that the database refuses is not stored', async () => {
  const { inserted, warnings, store } = pendingStore()
  const stored = store(ANSWER)
  inserted.reject(new Error('full'))
  assert.equal(await stored, false)
  assert.equal(warnings.length, 1)
})
