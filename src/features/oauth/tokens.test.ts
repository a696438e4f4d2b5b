import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type OAuthServer, setRole, startOAuthServer } from '../../../test/support/identity/oauth-server.ts'

const DAY_MS = 86_400_000

async function works(it: OAuthServer, token: string): Promise<boolean> {
  try {
    await it.authenticator.authenticate(token)
    return true
  } catch {
    return false
  }
}

function headsOf({ db, now }: OAuthServer) {
  return db
    .selectFrom('device_token')
    .selectAll()
    .where('kind', '=', 'refresh')
    .where('used_at', 'is', null)
    .where('expires_at', '>', now())
    .execute()
}

test('OA-1: every refresh brings a new pair; the access token before stays good for its hour', async (t) => {
  const it = await startOAuthServer(t)
  const first = await it.connect()
  const { status, headers, body: second } = await it.refresh(first.refresh_token, { client_id: 'turnpike-cli' })
  assert.equal(status, 200)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.match(second.refresh_token, /^tpr_[0-9A-Za-z]{46}$/)
  assert.notEqual(second.refresh_token, first.refresh_token)
  assert.notEqual(second.access_token, first.access_token)
  assert.deepEqual([second.token_type, second.expires_in, second.scope], ['Bearer', 3600, first.scope])
  assert.deepEqual([await works(it, first.access_token), await works(it, second.access_token)], [true, true])
  it.advance(3_600_000)
  assert.deepEqual([await works(it, first.access_token), await works(it, second.access_token)], [false, false])
})

test('OA-2: a repeated refresh returns the same tokens for 30 seconds', async (t) => {
  const it = await startOAuthServer(t)
  const { refresh_token } = await it.connect()
  const { body: first } = await it.refresh(refresh_token)
  it.advance(30_000)
  const { body: again } = await it.refresh(refresh_token)
  assert.deepEqual(again, { ...first, expires_in: 3570 })
  assert.equal((await headsOf(it)).length, 1)
  assert.equal((await it.refresh(first.refresh_token)).status, 200)
})

test('OA-2: a later repeat disconnects the device, and is in the audit log', async (t) => {
  const it = await startOAuthServer(t)
  const { refresh_token, access_token } = await it.connect()
  const { keyId } = await it.authenticator.authenticate(access_token)
  const { body: next } = await it.refresh(refresh_token)
  it.advance(30_001)
  assert.equal((await it.refresh(refresh_token)).body.error, 'invalid_grant')
  assert.equal((await it.refresh(next.refresh_token)).body.error, 'invalid_grant')
  for (const token of [access_token, next.access_token]) assert.equal(await works(it, token), false)
  assert.deepEqual([...it.revoked], [keyId])
  const event = it.audit.at(-1)
  assert.deepEqual([event?.action, event?.subject, event?.actor.kind], ['device.reuse_detected', keyId, 'system'])
  await it.refresh(refresh_token)
  assert.equal(it.audit.at(-1), event, 'once')
})

test('OA-2: 20 concurrent refreshes with one token return the same successor', async (t) => {
  const it = await startOAuthServer(t)
  const { refresh_token } = await it.connect()
  const answers = await Promise.all(Array.from({ length: 20 }, () => it.refresh(refresh_token)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1)
  assert.equal(new Set(answers.map(({ body }) => body.access_token)).size, 1)
  assert.equal((await headsOf(it)).length, 1)
})

test('OA-2: two processes return the same successor', async (t) => {
  const it = await startOAuthServer(t)
  const other = await startOAuthServer(t, { place: it.place })
  const { refresh_token } = await it.connect()
  const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => (at % 2 ? it : other).refresh(refresh_token)))
  assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1)
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
})

test('a refresh token belongs to one client', async (t) => {
  const it = await startOAuthServer(t)
  const { refresh_token, access_token } = await it.connect()
  assert.equal((await it.refresh(refresh_token, { client_id: 'turnpike-ide' })).body.error, 'invalid_grant')
  assert.equal((await it.refresh(access_token)).body.error, 'invalid_grant')
  assert.equal((await it.refresh(refresh_token)).status, 200)
})

test('a refresh can narrow the access token, never widen it, and the refresh token keeps the approved scopes', async (t) => {
  const it = await startOAuthServer(t)
  const { refresh_token } = await it.connect('chat usage:read offline_access')
  for (const scope of ['webhooks', 'chat webhooks', 'api', 'keys', 'nonsense']) {
    assert.equal((await it.refresh(refresh_token, { scope })).body.error, 'invalid_scope', scope)
  }
  const { body: narrow } = await it.refresh(refresh_token, { scope: 'usage:read' })
  assert.equal(narrow.scope, 'usage:read offline_access')
  const { scopes } = await it.authenticator.authenticate(narrow.access_token)
  assert.deepEqual([...scopes], ['usage:read'])
  const { body: again } = await it.refresh(refresh_token, { scope: 'usage:read' })
  assert.equal(again.access_token, narrow.access_token)
  const { body: whole } = await it.refresh(refresh_token)
  assert.equal(whole.refresh_token, narrow.refresh_token)
  assert.notEqual(whole.access_token, narrow.access_token)
  assert.equal((await it.refresh(narrow.refresh_token)).body.scope, 'chat usage:read offline_access')
})

test('OA-1: a refresh token is valid for 60 days, its family for 180', async (t) => {
  const it = await startOAuthServer(t)
  const idle = await it.connect()
  it.advance(60 * DAY_MS)
  assert.equal((await it.refresh(idle.refresh_token)).body.error, 'invalid_grant')
  let { refresh_token } = await it.connect()
  for (let days = 50; days < 180; days += 50) {
    it.advance(50 * DAY_MS)
    const { status, body } = await it.refresh(refresh_token)
    assert.equal(status, 200)
    refresh_token = body.refresh_token
  }
  it.advance(30 * DAY_MS)
  assert.equal((await it.refresh(refresh_token)).body.error, 'invalid_grant')
})

test('a former member cannot refresh', async (t) => {
  const it = await startOAuthServer(t)
  const { refresh_token } = await it.connect()
  await setRole(it.db, undefined)
  assert.equal((await it.refresh(refresh_token)).body.error, 'invalid_grant')
})

test('after a change of the server’s secret a repeat fails without disconnecting the device', async (t) => {
  const it = await startOAuthServer(t)
  const other = await startOAuthServer(t, { place: it.place, rotationKey: Buffer.alloc(32, 8) })
  const { refresh_token } = await it.connect()
  const { body } = await it.refresh(refresh_token)
  assert.equal((await other.refresh(refresh_token)).body.error, 'invalid_grant')
  assert.equal((await other.refresh(body.refresh_token)).status, 200)
})

test('the last 2 000 refresh tokens of a device are stored [limit: used-refresh-tokens]', async (t) => {
  const it = await startOAuthServer(t)
  const { refresh_token } = await it.connect()
  const { body } = await it.refresh(refresh_token)
  await it.db.updateTable('device_token').set({ generation: 2_001 }).where('generation', '=', 2).execute()
  await it.db.updateTable('device_token').set({ generation: 2 }).where('generation', '=', 1).execute()
  const { status, body: next } = await it.refresh(body.refresh_token)
  assert.equal(status, 200)
  const rows = await it.db.selectFrom('device_token').select('generation').where('kind', '=', 'refresh').execute()
  assert.deepEqual(rows.map(({ generation }) => generation).sort(), [2_001, 2_002])
  assert.equal((await it.db.selectFrom('credential').selectAll().where('kind', '=', 'refresh').execute()).length, 2)
  it.advance(30_001)
  assert.equal((await it.refresh(refresh_token)).body.error, 'invalid_grant', 'forgotten')
  assert.equal((await it.refresh(next.refresh_token)).status, 200, 'and the device is still connected')
})

/** What the rules say, without hashes and databases: a chain of generations. */
interface Model {
  /** When each was used, by its place in the chain. */
  readonly usedAt: (number | undefined)[]
  connected: boolean
}

function predict(model: Model, generation: number, now: number): number | undefined {
  if (!model.connected) return undefined
  const used = model.usedAt[generation]
  if (used === undefined) {
    model.usedAt[generation] = now
    model.usedAt.push(undefined)
  } else if (now - used > 30_000) {
    model.connected = false
    return undefined
  }
  return generation + 1
}

test('OA-2: property: any order of refreshes and waits leaves at most one valid token', async (t) => {
  const it = await startOAuthServer(t)
  const step = fc.record({ back: fc.nat({ max: 3 }), wait: fc.constantFrom(0, 1, 15_000, 29_999, 30_001) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      await it.db.deleteFrom('device_token').execute()
      const tokens = [(await it.connect()).refresh_token]
      const model: Model = { usedAt: [undefined], connected: true }
      for (const { back, wait } of steps) {
        it.advance(wait)
        const generation = Math.max(0, tokens.length - 1 - back)
        const expected = predict(model, generation, it.now())
        const { status, body } = await it.refresh(tokens[generation] ?? '')
        assert.equal(status, expected === undefined ? 400 : 200)
        if (expected === undefined) continue
        if (expected === tokens.length) tokens.push(body.refresh_token)
        assert.equal(body.refresh_token, tokens[expected])
      }
      assert.equal((await headsOf(it)).length, 1)
      it.advance(61_000) // so that limits of requests are rested
    }),
    { numRuns: 25 },
  )
})
