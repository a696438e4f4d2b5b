import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OAuthServer, ORIGIN, sessionOf, startOAuthServer } from '../../../test/support/oauth-server.ts'
import { forgetWhatIsOver, oauthJobs } from './jobs.ts'

const HOUR_MS = 3_600_000

const counts = async ({ db }: OAuthServer) => {
  const tables = ['device_code', 'device_token', 'credential', 'guess', 'device'] as const
  return Promise.all(tables.map(async (table) => (await db.selectFrom(table).selectAll().execute()).length))
}

test('codes, tokens and counts that are over are deleted, and nothing else', async (t) => {
  const it = await startOAuthServer(t)
  const { refresh_token } = await it.connect()
  await it.connect('chat')
  await it.activation.find('BBBBBBBB', { session: sessionOf(), origin: ORIGIN })
  assert.deepEqual(await counts(it), [2, 3, 3, 3, 2])
  await forgetWhatIsOver(it)
  assert.deepEqual(await counts(it), [2, 3, 3, 3, 2])
  it.advance(2 * HOUR_MS + 1)
  await forgetWhatIsOver(it)
  assert.deepEqual(await counts(it), [0, 1, 1, 0, 2])
  assert.equal((await it.refresh(refresh_token)).status, 200)
  it.advance(61 * 24 * HOUR_MS)
  await forgetWhatIsOver(it)
  assert.deepEqual(await counts(it), [0, 0, 0, 0, 2])
  assert.deepEqual(Object.keys(oauthJobs(it)), ['oauth.retention'])
})

test('a device that never came for its tokens is connected no longer', async (t) => {
  const it = await startOAuthServer(t)
  const { user_code } = await it.begin()
  await it.decide(user_code, true)
  it.advance(2 * HOUR_MS)
  await forgetWhatIsOver(it)
  const { revoked_at } = await it.db.selectFrom('device').select('revoked_at').executeTakeFirstOrThrow()
  assert.equal(revoked_at, it.now())
})
