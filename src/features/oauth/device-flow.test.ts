import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  CODE_GRANT,
  type OAuthAnswer,
  type OAuthServer,
  ORIGIN,
  sessionOf,
  setRole,
  startOAuthServer,
} from '../../../test/support/identity/oauth-server.ts'
import type { UserId } from '../../domain/ids.ts'
import { deleteExpired, oauthJobs } from './jobs.ts'
import { SUPPORTED_SCOPES } from './scopes.ts'

function assertRefusal({ status, headers, body }: OAuthAnswer, code: string, expected = 400): void {
  assert.deepEqual([status, body?.error], [expected, code], JSON.stringify(body))
  assert.match(body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  assert.deepEqual(Object.keys(body), ['error', 'error_description'])
  assert.equal(headers.get('cache-control'), 'no-store')
}

test('DEV-1: an approved code returns tokens once', async (t) => {
  const it = await startOAuthServer(t)
  const { status, headers, body } = await it.post('/device/code', { client_id: 'turnpike-cli', scope: 'api' })
  assert.equal(status, 200)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.match(body.device_code, /^tpd_[0-9A-Za-z]{43}$/)
  assert.match(body.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  assert.deepEqual(
    [body.verification_uri, body.verification_uri_complete, body.expires_in, body.interval],
    [`${it.url}/activate`, `${it.url}/activate?user_code=${body.user_code}`, 900, 5],
  )
  assertRefusal(await it.poll(body.device_code), 'authorization_pending')
  assert.equal(await it.decide(body.user_code, true), true)
  const tokens = (await it.poll(body.device_code)).body
  assert.match(tokens.access_token, /^tpa_[0-9A-Za-z]{46}$/)
  assert.deepEqual(
    { ...tokens, access_token: '' },
    {
      access_token: '',
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'chat models:read usage:read agents:read agents:write webhooks',
    },
  )
  assertRefusal(await it.poll(body.device_code), 'invalid_grant')
  const caller = await it.authenticator.authenticate(tokens.access_token)
  assert.deepEqual([caller.kind, caller.accountId, caller.userId, caller.role], ['token', 'acc_a', 'usr_ada', 'owner'])
  assert.deepEqual([...caller.scopes].join(' '), tokens.scope)
  assert.ok(Object.isFrozen(caller))
})

test('DEV-1: of concurrent polls after the approval one returns the tokens', async (t) => {
  const it = await startOAuthServer(t)
  const { device_code, user_code } = await it.begin()
  await it.decide(user_code, true)
  const answers = await Promise.all(Array.from({ length: 12 }, () => it.poll(device_code)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const answer of answers) if (answer.status !== 200) assertRefusal(answer, 'invalid_grant')
  assert.equal((await it.db.selectFrom('device_token').selectAll().execute()).length, 2)
})

test('DEV-1: each early poll returns slow_down and adds 5 seconds to the interval', async (t) => {
  const it = await startOAuthServer(t)
  const { device_code } = await it.begin()
  assertRefusal(await it.poll(device_code), 'authorization_pending')
  it.advance(4_000)
  assertRefusal(await it.poll(device_code), 'slow_down') // the interval is 10 s now
  it.advance(6_000)
  assertRefusal(await it.poll(device_code), 'slow_down') // 15 s
  it.advance(14_800) // a network's jitter is forgiven
  assertRefusal(await it.poll(device_code), 'authorization_pending')
  it.advance(10_000)
  assertRefusal(await it.poll(device_code), 'slow_down')
  const { interval_ms } = await it.db.selectFrom('device_code').select('interval_ms').executeTakeFirstOrThrow()
  assert.equal(interval_ms, 20_000)
})

test('a client that ignores slow_down receives it until the code expires', async (t) => {
  const it = await startOAuthServer(t)
  const { device_code } = await it.begin()
  await it.poll(device_code)
  for (let second = 0; second < 50; second++) {
    it.advance(1_000)
    assertRefusal(await it.poll(device_code), 'slow_down')
  }
  it.advance(900_000)
  assertRefusal(await it.poll(device_code), 'expired_token')
})

test('DEV-1: an undecided code, and an approval that is not fetched, expire after 900 seconds', async (t) => {
  const it = await startOAuthServer(t)
  const [one, other] = [await it.begin(), await it.begin()]
  await it.decide(other.user_code, true)
  it.advance(899_999)
  assertRefusal(await it.poll(one.device_code), 'authorization_pending')
  it.advance(1)
  assertRefusal(await it.poll(one.device_code), 'expired_token')
  assertRefusal(await it.poll(other.device_code), 'expired_token')
  assert.equal(await it.decide(one.user_code, true), false)
})

test('every poll of a denied code returns the denial', async (t) => {
  const it = await startOAuthServer(t)
  const { device_code, user_code } = await it.begin()
  assert.equal(await it.decide(user_code, false), true)
  for (const _ of [1, 2]) assertRefusal(await it.poll(device_code), 'access_denied')
  assert.equal(await it.decide(user_code, true), false)
  assert.deepEqual(
    it.audit.map(({ action, subject, result }) => [action, subject, result]),
    [['device.denied', undefined, 'done']],
  )
})

test('a code belongs to the client that requested it', async (t) => {
  const it = await startOAuthServer(t)
  const { device_code, user_code } = await it.begin()
  await it.decide(user_code, true)
  assertRefusal(await it.poll(device_code, 'turnpike-ide'), 'invalid_grant')
  assert.equal((await it.poll(device_code)).status, 200)
})

test('only the hash of a device code is stored', async (t) => {
  const it = await startOAuthServer(t)
  const { device_code } = await it.begin()
  const tokens = await it.connect()
  const tables = ['device_code', 'device', 'device_token', 'credential', 'guess'] as const
  const rows = await Promise.all(tables.map((table) => it.db.selectFrom(table).selectAll().execute()))
  const bytesAsText = (_name: string, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value
  const text = JSON.stringify([rows, it.audit], bytesAsText)
  for (const secret of [device_code, tokens.access_token, tokens.refresh_token]) {
    assert.ok(!text.includes(secret.slice(4, 30)))
  }
})

test('DEV-4: no scope beyond api is granted, whoever approves', async (t) => {
  const it = await startOAuthServer(t)
  for (const scope of ['keys', 'billing', 'operator', 'members', 'audit', 'devices', 'openid', 'api keys', 'CHAT']) {
    assertRefusal(await it.post('/device/code', { client_id: 'turnpike-cli', scope }), 'invalid_scope')
  }
  for (const scope of SUPPORTED_SCOPES) {
    const { access_token } = await it.connect(scope)
    const { scopes } = await it.authenticator.authenticate(access_token)
    for (const right of ['keys', 'billing', 'operator', 'members', 'members:read', 'audit', 'devices'] as const) {
      assert.ok(!scopes.has(right), `${scope} → ${right}`)
    }
  }
})

test('scopes: the default is api, single scopes stay single, and only offline_access returns a refresh token', async (t) => {
  const it = await startOAuthServer(t)
  const api = 'chat models:read usage:read agents:read agents:write webhooks'
  for (const [asked, granted] of [
    ['', api],
    ['chat api', api],
    ['usage:read chat chat', 'chat usage:read'],
    ['offline_access', `${api} offline_access`],
    ['models:read offline_access', 'models:read offline_access'],
  ] as const) {
    const tokens = await it.connect(asked)
    assert.equal(tokens.scope, granted, asked)
    assert.equal(tokens.refresh_token !== undefined, asked.includes('offline'))
  }
})

test('a token has the approved scopes that the current role of its user has', async (t) => {
  const it = await startOAuthServer(t)
  await setRole(it.db, 'billing')
  const tokens = await it.connect()
  assert.equal(tokens.scope, 'models:read usage:read offline_access')
  await setRole(it.db, 'developer')
  await it.authenticator.refresh()
  assert.ok((await it.authenticator.authenticate(tokens.access_token)).scopes.has('chat'))
  await setRole(it.db, 'billing')
  await it.authenticator.refresh()
  assert.ok(!(await it.authenticator.authenticate(tokens.access_token)).scopes.has('chat'))
})

test('a person without any of the requested rights cannot approve', async (t) => {
  const it = await startOAuthServer(t)
  await setRole(it.db, 'billing')
  const { user_code, device_code } = await it.begin('chat webhooks')
  await assert.rejects(it.decide(user_code, true), { code: 'insufficient_scope' })
  assert.equal(it.audit.at(-1)?.result, 'denied')
  assertRefusal(await it.poll(device_code), 'authorization_pending')
})

test('a former member cannot approve, and earlier approvals return no tokens', async (t) => {
  const it = await startOAuthServer(t)
  const [before, after] = [await it.begin(), await it.begin()]
  await it.decide(before.user_code, true)
  await setRole(it.db, undefined)
  assert.equal(await it.decide(after.user_code, true), false)
  assertRefusal(await it.poll(before.device_code), 'access_denied')
})

test('forms and JSON are equivalent; unknown parameters are ignored, empty ones are absent', async (t) => {
  const it = await startOAuthServer(t)
  const form = new URLSearchParams({ client_id: 'turnpike-ide', scope: '', more: 'x' })
  assert.equal((await it.post('/device/code', form)).status, 200)
  assert.equal((await it.post('/device/code', { client_id: 'other-client', more: { deep: [1] } })).status, 200)
  const twice = new URLSearchParams([...form, ['client_id', 'turnpike-cli']])
  assertRefusal(await it.post('/device/code', twice), 'invalid_request')
})

test('OA-3: every error has the form of RFC 6749 and is not cacheable', async (t) => {
  const it = await startOAuthServer(t)
  const { device_code } = await it.begin()
  const [code, token] = ['/device/code', '/oauth/token']
  const plain = { 'content-type': 'text/plain' }
  for (const [answer, error, status] of [
    [it.post(code, {}), 'invalid_request', 400],
    [it.post(code, { client_id: '' }), 'invalid_request', 400],
    [it.post(code, { client_id: ['turnpike-cli'] }), 'invalid_request', 400],
    [it.post(code, { client_id: 7 }), 'invalid_request', 400],
    [it.post(code, { client_id: 'x'.repeat(3_000) }), 'invalid_request', 400],
    [it.post(code, { client_id: 'nobody' }), 'invalid_client', 400],
    [it.post(code, { client_id: '__proto__' }), 'invalid_client', 400],
    [it.post(code, '{"client_id": '), 'invalid_request', 400],
    [it.post(code, '[]'), 'invalid_request', 400],
    [it.post(code, ''), 'invalid_request', 400],
    [it.post(code, 'client_id=turnpike-cli', plain), 'invalid_request', 400],
    [it.post(code, JSON.stringify({ scope: 'x'.repeat(20_000) })), 'invalid_request', 413],
    [it.post(code, new URLSearchParams({ scope: 'x'.repeat(20_000) })), 'invalid_request', 413],
    [it.post(token, {}), 'invalid_request', 400],
    [it.post(token, { grant_type: 'password' }), 'unsupported_grant_type', 400],
    [it.post(token, { grant_type: 'authorization_code' }), 'unsupported_grant_type', 400],
    [it.post(token, { grant_type: CODE_GRANT, device_code }), 'invalid_request', 400],
    [it.post(token, { grant_type: CODE_GRANT, client_id: 'turnpike-cli' }), 'invalid_request', 400],
    [it.post(token, { grant_type: CODE_GRANT, client_id: 'no', device_code }), 'invalid_client', 400],
    [it.poll('tpd_unknown'), 'invalid_grant', 400],
    [it.refresh('tpr_unknown'), 'invalid_grant', 400],
    [it.refresh(''), 'invalid_request', 400],
    [it.refresh('tpr_unknown', { client_id: 'no' }), 'invalid_client', 400],
    [it.revoke(''), 'invalid_request', 400],
  ] as const) {
    assertRefusal(await answer, error, status)
  }
})

test('an unavailable database is 503 with a retryable error', async (t) => {
  const it = await startOAuthServer(t)
  await it.database.close()
  const answer = await it.post('/device/code', { client_id: 'turnpike-cli' })
  assertRefusal(answer, 'temporarily_unavailable', 503)
  assert.ok(Number(answer.headers.get('retry-after')) >= 1)
})

test('RL-4: a flood from one address is rejected, and other addresses are not', async (t) => {
  const it = await startOAuthServer(t)
  const from = (address: string) => it.post('/device/code', { client_id: 'no' }, { 'x-forwarded-for': address })
  for (let sent = 0; sent < 30; sent++) assertRefusal(await from('2001:db8::1'), 'invalid_client')
  const refused = await from('2001:db8::2')
  assertRefusal(refused, 'temporarily_unavailable', 429)
  assert.equal(refused.headers.get('retry-after'), '2')
  assertRefusal(await from('2001:db8:0:1::1'), 'invalid_client')
  it.advance(2_000)
  assertRefusal(await from('2001:db8::2'), 'invalid_client')
})

test('the metadata names the endpoints', async (t) => {
  const it = await startOAuthServer(t)
  const response = await fetch(`${it.url}/.well-known/oauth-authorization-server`)
  assert.deepEqual(await response.json(), {
    issuer: it.url,
    device_authorization_endpoint: `${it.url}/device/code`,
    token_endpoint: `${it.url}/oauth/token`,
    revocation_endpoint: `${it.url}/oauth/revoke`,
    grant_types_supported: [CODE_GRANT, 'refresh_token'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    scopes_supported: SUPPORTED_SCOPES,
  })
})

test('an approval belongs to the account of the session, and is in the audit log', async (t) => {
  const it = await startOAuthServer(t)
  const session = sessionOf({ userId: 'usr_bob' as UserId, email: 'bob@example.com' })
  const { access_token } = await it.connect('chat', session)
  const { keyId, userId } = await it.authenticator.authenticate(access_token)
  assert.equal(userId, 'usr_bob')
  const [event] = it.audit
  assert.deepEqual(
    [event?.action, event?.subject, event?.actor, event?.accountId, event?.result],
    ['device.approved', keyId, { kind: 'session', id: 'usr_bob', name: 'bob@example.com' }, 'acc_a', 'done'],
  )
})

const HOUR_MS = 3_600_000

const counts = async ({ db }: OAuthServer) => {
  const tables = ['device_code', 'device_token', 'credential', 'guess', 'device'] as const
  return Promise.all(tables.map(async (table) => (await db.selectFrom(table).selectAll().execute()).length))
}

test('expired codes, tokens and counts are deleted, and nothing else', async (t) => {
  const it = await startOAuthServer(t)
  const { refresh_token } = await it.connect()
  await it.connect('chat')
  await it.activation.find('BBBBBBBB', { session: sessionOf(), origin: ORIGIN })
  assert.deepEqual(await counts(it), [2, 3, 3, 3, 2])
  await deleteExpired(it)
  assert.deepEqual(await counts(it), [2, 3, 3, 3, 2])
  it.advance(2 * HOUR_MS + 1)
  await deleteExpired(it)
  assert.deepEqual(await counts(it), [0, 1, 1, 0, 2])
  assert.equal((await it.refresh(refresh_token)).status, 200)
  it.advance(61 * 24 * HOUR_MS)
  await deleteExpired(it)
  assert.deepEqual(await counts(it), [0, 0, 0, 0, 2])
  assert.deepEqual(Object.keys(oauthJobs(it)), ['oauth.retention'])
})

test('a device that never fetched its tokens is disconnected', async (t) => {
  const it = await startOAuthServer(t)
  const { user_code } = await it.begin()
  await it.decide(user_code, true)
  it.advance(2 * HOUR_MS)
  await deleteExpired(it)
  const { revoked_at } = await it.db.selectFrom('device').select('revoked_at').executeTakeFirstOrThrow()
  assert.equal(revoked_at, it.now())
})
