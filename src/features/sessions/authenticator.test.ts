import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import type { SessionId, UserId } from '../../domain/ids.ts'
import { createAccount } from '../accounts/queries.ts'
import { createSessionAuthenticator } from './authenticator.ts'
import { insertSession } from './queries.ts'
import { createTokenSigner } from './token.ts'

const NOW = Date.UTC(2026, 0, 1)
const ORIGIN = { address: '203.0.113.7', userAgent: 'Browser', requestId: 'req_1' }

/** A person with three sessions, and a cache of this capacity. */
async function setUp(t: TestContext, capacity: { tokenCapacity: number; sessionCapacity: number }) {
  const now = () => NOW
  const { db, onChange } = await temporaryDatabase(t)
  const { id: accountId } = await createAccount(db, { name: 'a', plan: 'free' }, { now, ids: testIds })
  const userId = 'usr_ada' as UserId
  const born = { created_at: 1, changed_at: 1 }
  await db
    .insertInto('person')
    .values({ id: userId, email: 'ada@example.com', name: 'Ada', ...born })
    .execute()
  await db
    .insertInto('member')
    .values({ account_id: accountId, user_id: userId, role: 'owner', ...born })
    .execute()
  const signer = await createTokenSigner({ keys: [Buffer.alloc(32, 1)], now })
  const create = async (number: number): Promise<string> => {
    const id = `ses_${number}` as SessionId
    const secretHash = Buffer.alloc(32, number)
    await insertSession(db, { id, secretHash, userId, accountId, origin: ORIGIN }, NOW)
    return signer.sign({ userId, email: 'ada@example.com', role: 'owner', sessionId: id })
  }
  const tokens = [await create(1), await create(2), await create(3)] as const
  const verified: string[] = []
  const authenticator = createSessionAuthenticator({
    ...{ db, onChange, now, ...capacity, onEnded: () => undefined },
    signer: {
      sign: signer.sign,
      verify(token) {
        verified.push(token)
        return signer.verify(token)
      },
    },
  })
  t.after(() => authenticator.close())
  await authenticator.refresh()
  const isValid = async (token: string): Promise<boolean> => {
    try {
      await authenticator.authenticate(token)
      return true
    } catch {
      return false
    }
  }
  /** As if the rows were gone, without a notification. */
  const hide = () => db.updateTable('member').set({ removed_at: 1 }).execute()
  return { tokens, verified, isValid, hide }
}

test('the least recently used session leaves the cache [limit: known-sessions]', async (t) => {
  const { tokens, isValid, hide } = await setUp(t, { tokenCapacity: 10, sessionCapacity: 2 })
  const [first, second, third] = tokens
  for (const token of [first, second, first, third]) assert.equal(await isValid(token), true)
  await hide()
  assert.deepEqual([await isValid(first), await isValid(third), await isValid(second)], [true, true, false])
})

test('the least recently used token leaves the cache [limit: known-sessions]', async (t) => {
  const { tokens, isValid, verified } = await setUp(t, { tokenCapacity: 2, sessionCapacity: 10 })
  const [first, second, third] = tokens
  for (const token of [first, second, first, third, first, third]) assert.equal(await isValid(token), true)
  assert.deepEqual(verified, [first, second, third])
  assert.equal(await isValid(second), true)
  assert.deepEqual(verified, [first, second, third, second])
})
