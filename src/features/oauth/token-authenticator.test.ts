import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startOAuthServer } from '../../../test/support/oauth-server.ts'
import { createTokenAuthenticator } from './token-authenticator.ts'

/** Three connected devices, and who knows their access tokens by heart. */
async function setUp(t: TestContext, memory: { tokens: number; strangers: number }) {
  const it = await startOAuthServer(t)
  const { db } = it
  const connect = async () => (await it.connect()).access_token
  const tokens = [await connect(), await connect(), await connect()] as const
  const authenticator = createTokenAuthenticator({
    ...{ db, memory, now: it.now, clock: it.now, time: it.deps.time },
    batch: async () => undefined,
    onChange: () => () => undefined,
  })
  t.after(() => authenticator.close())
  await authenticator.refresh()
  const isIn = async (token: string): Promise<boolean> => {
    try {
      await authenticator.authenticate(token)
      return true
    } catch {
      return false
    }
  }
  /** As if the rows were gone, without a word to anybody. */
  const hide = () => db.updateTable('credential').set({ kind: 'key' }).where('kind', '=', 'access').execute()
  const show = () => db.updateTable('credential').set({ kind: 'access' }).where('kind', '=', 'key').execute()
  return { tokens, isIn, hide, show, advance: it.advance }
}

test('of access tokens known by heart the longest unused is looked up again [limit: known-tokens]', async (t) => {
  const { tokens, isIn, hide } = await setUp(t, { tokens: 2, strangers: 10 })
  const [first, second, third] = tokens
  for (const token of [first, second, first, third]) assert.equal(await isIn(token), true)
  await hide()
  assert.deepEqual([await isIn(first), await isIn(third), await isIn(second)], [true, true, false])
})

test('of wrong access tokens the last ones are remembered, for 5 s [limit: wrong-tokens]', async (t) => {
  const { tokens, isIn, hide, show, advance } = await setUp(t, { tokens: 10, strangers: 2 })
  const [first, second, third] = tokens
  await hide()
  for (const token of tokens) assert.equal(await isIn(token), false)
  await show()
  assert.deepEqual([await isIn(second), await isIn(third), await isIn(first)], [false, false, true])
  advance(5_000)
  assert.deepEqual([await isIn(second), await isIn(third)], [true, true])
})
