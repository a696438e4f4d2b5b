import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import type { AccountId } from '../../domain/ids.ts'
import { createAuthenticator } from './authenticator.ts'
import { createKey, FULL_ACCESS } from './queries.ts'

const ACCOUNT = 'acc_a' as AccountId
const NOW = Date.UTC(2026, 0, 1)

/** Three keys of one account, and who knows them by heart. */
async function setUp(t: TestContext, memory: { keys: number; strangers: number }) {
  let time = NOW
  const { db, batch, onChange } = await temporaryDatabase(t)
  const account = { id: ACCOUNT, name: 'a', plan: 'free', created_at: 1, changed_at: 1 }
  await db.insertInto('account').values(account).execute()
  const create = () =>
    createKey(db, { accountId: ACCOUNT, name: 'k', ...FULL_ACCESS }, { now: () => NOW, ids: testIds })
  const secrets = [(await create()).secret, (await create()).secret, (await create()).secret] as const
  const authenticator = createAuthenticator({ db, batch, onChange, now: () => time, memory })
  await authenticator.refresh()
  const isIn = async (secret: string): Promise<boolean> => {
    try {
      await authenticator.authenticate(`Bearer ${secret}`, '203.0.113.7')
      return true
    } catch {
      return false
    }
  }
  /** As if the rows were gone, without a word to anybody. */
  const hide = () =>
    db
      .updateTable('credential')
      .set({ kind: 'refresh' as never })
      .execute()
  const show = () => db.updateTable('credential').set({ kind: 'key' }).execute()
  return { secrets, isIn, hide, show, advance: (ms: number) => (time += ms) }
}

test('of keys known by heart the longest unused is looked up again [limit: known-keys]', async (t) => {
  const { secrets, isIn, hide } = await setUp(t, { keys: 2, strangers: 10 })
  const [first, second, third] = secrets
  for (const secret of [first, second, first, third]) assert.equal(await isIn(secret), true)
  await hide()
  assert.deepEqual([await isIn(first), await isIn(third), await isIn(second)], [true, true, false])
})

test('of wrong keys the last ones are remembered, for 5 s [limit: wrong-keys]', async (t) => {
  const { secrets, isIn, hide, show, advance } = await setUp(t, { keys: 10, strangers: 2 })
  const [first, second, third] = secrets
  await hide()
  for (const secret of [first, second, third]) assert.equal(await isIn(secret), false)
  await show()
  assert.deepEqual([await isIn(second), await isIn(third), await isIn(first)], [false, false, true])
  advance(5_000)
  assert.deepEqual([await isIn(second), await isIn(third)], [true, true])
})
