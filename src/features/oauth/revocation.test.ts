import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OAuthServer, setRole, startOAuthServer } from '../../../test/support/identity/oauth-server.ts'
import { GatewayError } from '../../domain/errors.ts'
import { accessForm } from './tokens.ts'

async function refusalOf({ authenticator }: OAuthServer, token: string): Promise<GatewayError | undefined> {
  try {
    await authenticator.authenticate(token)
    return undefined
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return error
  }
}

/** Asks again until it is so; the test runner's time-out ends it. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

for (const kind of ['access_token', 'refresh_token'] as const) {
  test(`OA-3: revoking the ${kind} disconnects the device at once, and is in the audit log`, async (t) => {
    const it = await startOAuthServer(t)
    const tokens = await it.connect()
    const { keyId } = await it.authenticator.authenticate(tokens.access_token)
    const { status, headers, body } = await it.revoke(tokens[kind], { client_id: 'turnpike-cli', token_type_hint: 'x' })
    assert.deepEqual([status, body, headers.get('cache-control')], [200, {}, 'no-store'])
    assert.equal((await refusalOf(it, tokens.access_token))?.code, 'invalid_credential')
    assert.equal((await it.refresh(tokens.refresh_token)).body.error, 'invalid_grant')
    assert.deepEqual([...it.revoked], [keyId], 'what still runs is to end')
    const event = it.audit.at(-1)
    assert.deepEqual([event?.action, event?.subject, event?.actor.kind], ['device.revoked', keyId, 'token'])
    assert.equal((await it.revoke(tokens[kind])).status, 200, 'again')
    assert.equal(it.audit.at(-1), event)
  })
}

test('RFC 7009: an unknown token counts as revoked', async (t) => {
  const it = await startOAuthServer(t)
  for (const token of ['x', accessForm.mint((length) => 'x'.repeat(length)), 'tp_key', 'a.b.c']) {
    assert.equal((await it.revoke(token)).status, 200)
  }
})

test('a client can revoke only its own tokens', async (t) => {
  const it = await startOAuthServer(t)
  const { access_token } = await it.connect()
  assert.equal((await it.revoke(access_token, { client_id: 'turnpike-ide' })).body.error, 'invalid_grant')
  assert.equal((await it.revoke(access_token, { client_id: 'nobody' })).body.error, 'invalid_client')
  assert.equal(await refusalOf(it, access_token), undefined)
})

test('OA-3: a revocation takes effect in other processes', async (t) => {
  const it = await startOAuthServer(t)
  const other = await startOAuthServer(t, { place: it.place })
  const { access_token } = await it.connect()
  const { keyId } = await other.authenticator.authenticate(access_token)
  await it.revoke(access_token)
  await eventually(async () => (await refusalOf(other, access_token)) !== undefined)
  await eventually(async () => other.revoked.has(keyId))
})

test('leaving the account or being disabled ends the devices and their requests', async (t) => {
  const it = await startOAuthServer(t)
  const first = await it.connect()
  const { keyId } = await it.authenticator.authenticate(first.access_token)
  await setRole(it.db, undefined)
  await it.authenticator.refresh()
  assert.equal((await refusalOf(it, first.access_token))?.code, 'invalid_credential')
  assert.deepEqual([...it.revoked], [keyId])
  await setRole(it.db, 'admin')
  await it.authenticator.refresh()
  assert.equal(await refusalOf(it, first.access_token), undefined)
  it.revoked.clear()
  await it.db
    .updateTable('person')
    .set({ disabled_at: 1, changed_at: 2 })
    .where('id', '=', 'usr_ada' as never)
    .execute()
  await it.authenticator.refresh()
  assert.equal((await refusalOf(it, first.access_token))?.code, 'invalid_credential')
  assert.deepEqual([...it.revoked], [keyId])
})

test('unknown, malformed, expired and revoked tokens have the same answer', async (t) => {
  const it = await startOAuthServer(t)
  const [expired, revoked] = [await it.connect(), await it.connect()]
  it.advance(3_600_000)
  await it.revoke(revoked.refresh_token)
  const unknown = accessForm.mint((length) => 'x'.repeat(length))
  const wrongKind = (await it.connect()).refresh_token
  for (let round = 0; round < 2; round++) {
    for (const token of [
      unknown,
      'tpa_',
      `tpa_${'x'.repeat(46)}`,
      wrongKind,
      expired.access_token,
      revoked.access_token,
    ]) {
      const refusal = await refusalOf(it, token)
      assert.deepEqual(
        [refusal?.status, refusal?.code, refusal?.message],
        [401, 'invalid_credential', 'The credential is not valid: it is wrong, expired or revoked.'],
      )
    }
  }
})

test('neither a cached token nor a wrong checksum causes a query', async (t) => {
  const it = await startOAuthServer(t)
  const { access_token } = await it.connect()
  await it.authenticator.authenticate(access_token)
  await it.authenticator.refresh()
  const first = await it.authenticator.authenticate(access_token)
  await it.database.close()
  assert.equal(it.authenticator.authenticate(access_token), first)
  assert.equal((await refusalOf(it, `tpa_${'x'.repeat(46)}`))?.code, 'invalid_credential')
  const unknown = accessForm.mint((length) => 'x'.repeat(length))
  assert.equal((await refusalOf(it, unknown))?.code, 'database_unavailable')
})

test('a change of the plan takes effect for tokens', async (t) => {
  const it = await startOAuthServer(t)
  const { access_token } = await it.connect()
  await it.authenticator.authenticate(access_token)
  await it.db
    .updateTable('account')
    .set({ plan: 'pro', changed_at: 9 })
    .where('id', '=', 'acc_a' as never)
    .execute()
  await it.authenticator.refresh()
  assert.equal((await it.authenticator.authenticate(access_token)).plan, 'pro')
})

for (const [before, after, what] of [
  [300_000, 300_000, 'is 5 min ahead'],
  [-300_000, -300_000, 'is 5 min behind'],
  [0, 3_600_000, 'is set an hour ahead'],
  [0, -3_600_000, 'is set an hour back'],
] as const) {
  test(`TIME-2: if the clock of the process ${what}, the database's clock expires a token`, async (t) => {
    const it = await startOAuthServer(t, { skewMs: before })
    const { access_token } = await it.connect()
    await it.authenticator.refresh()
    assert.equal(await refusalOf(it, access_token), undefined)
    it.skew(after)
    it.advance(3_599_999)
    assert.equal(await refusalOf(it, access_token), undefined)
    it.advance(1)
    assert.equal((await refusalOf(it, access_token))?.code, 'invalid_credential')
  })
}

test('the last use of a device is written when the process ends', async (t) => {
  const it = await startOAuthServer(t)
  const { access_token } = await it.connect()
  it.advance(5_000)
  await it.authenticator.authenticate(access_token)
  await it.authenticator.close()
  const { last_used_at } = await it.db.selectFrom('device').select('last_used_at').executeTakeFirstOrThrow()
  assert.equal(last_used_at, it.now())
})
