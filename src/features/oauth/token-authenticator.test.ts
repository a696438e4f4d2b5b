import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startOAuthServer } from '../../../test/support/identity/oauth-server.ts'
import { createTokenAuthenticator } from './token-authenticator.ts'

/** Three connected devices, and a cache of this capacity. */
async function setUp(t: TestContext, cache: { capacity: number; negativeCapacity: number }) {
  const it = await startOAuthServer(t)
  const { db } = it
  const connect = async () => (await it.connect()).access_token
  const tokens = [await connect(), await connect(), await connect()] as const
  const authenticator = createTokenAuthenticator({
    ...{ db, ...cache, now: it.now, clock: it.now, time: it.deps.time },
    batch: async () => undefined,
    onChange: () => () => undefined,
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
  const hide = () => db.updateTable('credential').set({ kind: 'key' }).where('kind', '=', 'access').execute()
  const show = () => db.updateTable('credential').set({ kind: 'access' }).where('kind', '=', 'key').execute()
  return { tokens, isValid, hide, show, advance: it.advance }
}

test('the least recently used access token leaves the cache [limit: known-tokens]', async (t) => {
  const { tokens, isValid, hide } = await setUp(t, { capacity: 2, negativeCapacity: 10 })
  const [first, second, third] = tokens
  for (const token of [first, second, first, third]) assert.equal(await isValid(token), true)
  await hide()
  assert.deepEqual([await isValid(first), await isValid(third), await isValid(second)], [true, true, false])
})

test('the negative cache holds the latest wrong access tokens, for 5 s [limit: wrong-tokens]', async (t) => {
  const { tokens, isValid, hide, show, advance } = await setUp(t, { capacity: 10, negativeCapacity: 2 })
  const [first, second, third] = tokens
  await hide()
  for (const token of tokens) assert.equal(await isValid(token), false)
  await show()
  assert.deepEqual([await isValid(second), await isValid(third), await isValid(first)], [false, false, true])
  advance(5_000)
  assert.deepEqual([await isValid(second), await isValid(third)], [true, true])
})
