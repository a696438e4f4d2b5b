import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { join, OWN_PAGE, openApp, VERSION } from '../../../test/support/browser/signed-in.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { SessionId } from '../../domain/ids.ts'
import { createSignInLink } from '../accounts/bootstrap.ts'
import { deleteOldSessions, IDLE_LIFE_MS, MAX_SESSIONS, WHOLE_LIFE_MS } from './queries.ts'

const DAY_MS = 86_400_000

test('WEB-1: the cookie returns a token for /v1 with exactly the claims of the contract', async (t) => {
  const { ask, account, person, browser } = await openApp(t)
  const accountId = await account('Acme')
  const who = await browser(await person(accountId, 'admin'))
  const answer = await ask('POST', '/auth/session', { headers: { cookie: `a=b; ${who.cookie}; c=d`, ...OWN_PAGE } })
  assert.equal(answer.statusCode, 200)
  const { access_token: token, ...rest } = answer.json()
  assert.deepEqual(rest, {
    token_type: 'Bearer',
    expires_in: 900,
    user: { id: who.userId, email: who.email, name: 'Ada' },
    account: { id: accountId, name: 'Acme' },
    accounts: [{ id: accountId, name: 'Acme', role: 'admin' }],
    role: 'admin',
  })
  assert.equal(answer.headers['cache-control'], 'no-store')
  const cookie = String(answer.headers['set-cookie'])
  assert.equal(cookie, `${who.cookie}; Max-Age=${IDLE_LIFE_MS / 1000}; Path=/; Secure; HttpOnly; SameSite=Lax`)
  const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
  assert.deepEqual(Object.keys(claims).sort(), ['email', 'exp', 'iat', 'role', 'sid', 'sub'])
  assert.deepEqual([claims.sub, claims.sid, claims.exp - claims.iat], [who.userId, who.sessionId, 900])
  assert.equal((await ask('GET', '/v1/models', { token })).statusCode, 200)
})

test('WEB-1: /v1 ignores cookies, and /auth ignores tokens', async (t) => {
  const { ask, account, person, browser, token } = await openApp(t)
  const who = await browser(await person(await account(), 'owner'))
  const access = await token(who)
  const headers = { cookie: who.cookie, ...OWN_PAGE }
  const onApi = await ask('GET', '/v1/models', { headers })
  assert.deepEqual([onApi.statusCode, onApi.json().error.code], [401, 'missing_credential'])
  assert.equal((await ask('GET', '/v1/models', { headers, token: `${access}x` })).statusCode, 401)
  assert.equal((await ask('POST', '/auth/session', { token: access })).statusCode, 401)
})

test('WEB-2: pages of other sites can neither get a token nor sign anybody in or out', async (t) => {
  const { ask, account, person, browser, token } = await openApp(t)
  const who = await browser(await person(await account(), 'owner'))
  for (const url of ['/auth/session', '/auth/sign-out', '/auth/link']) {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, {}]) {
      const answer = await ask('POST', url, { headers: { cookie: who.cookie, ...headers }, body: {} })
      assert.deepEqual([answer.statusCode, answer.json().error.code], [403, 'cross_site_request'])
    }
  }
  for (const type of ['text/plain', 'multipart/form-data; boundary=x']) {
    const headers = { cookie: who.cookie, ...OWN_PAGE, 'content-type': type }
    assert.equal((await ask('POST', '/auth/session', { headers, body: '{}' })).statusCode, 415)
  }
  assert.equal((await ask('GET', '/v1/me', { token: await token(who) })).statusCode, 200)
})

test('a wrong, repeated, malformed or differently named cookie has no session', async (t) => {
  const { ask, account, person, browser } = await openApp(t)
  const { cookie } = await browser(await person(await account(), 'owner'))
  const wrong = `__Host-turnpike=${'A'.repeat(43)}`
  const cases = [wrong, `${cookie}; ${wrong}`, `${cookie}; ${cookie}`, `${cookie}A`, cookie.slice(0, -1)]
  for (const sent of [...cases, cookie.replace('__Host-', ''), `${cookie}; x=${'y'.repeat(9_000)}`, '=', ';;']) {
    const answer = await ask('POST', '/auth/session', { headers: { cookie: sent, ...OWN_PAGE } })
    assert.equal(answer.statusCode, 401, sent.slice(0, 100))
  }
})

test('JWT-3: signing out ends the session and its token at once, and removes the cookie', async (t) => {
  const { ask, account, person, browser, token } = await openApp(t)
  const who = await browser(await person(await account(), 'owner'))
  const access = await token(who)
  assert.equal((await ask('GET', '/v1/me', { token: access })).statusCode, 200)
  const answer = await ask('POST', '/auth/sign-out', { headers: { cookie: who.cookie, ...OWN_PAGE } })
  assert.equal(answer.statusCode, 204)
  assert.match(String(answer.headers['set-cookie']), /^__Host-turnpike=; Max-Age=0; Path=\/; Secure; HttpOnly/)
  assert.equal((await ask('GET', '/v1/me', { token: access })).statusCode, 401)
  assert.equal((await ask('POST', '/auth/session', { headers: { cookie: who.cookie, ...OWN_PAGE } })).statusCode, 401)
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...OWN_PAGE }
  const again = await ask('POST', '/auth/sign-out', { headers: { cookie: who.cookie, ...form }, body: '' })
  assert.deepEqual([again.statusCode, again.headers.location], [303, '/sign-in'])
})

/** What the database says is done by another process. */
for (const [name, change] of [
  ['the member is removed', 'member'],
  ['the person is disabled', 'person'],
  ['the session is ended', 'session'],
] as const) {
  test(`JWT-3: every process rejects a token once ${name}`, async (t) => {
    const { ask, account, person, browser, token, database } = await openApp(t)
    const who = await browser(await person(await account(), 'owner'))
    const access = await token(who)
    assert.equal((await ask('GET', '/v1/me', { token: access })).statusCode, 200)
    const changed = { changed_at: Date.now() + 1_000 }
    const { db } = database
    if (change === 'member')
      await db
        .updateTable('member')
        .set({ removed_at: 1, ...changed })
        .execute()
    if (change === 'person')
      await db
        .updateTable('person')
        .set({ disabled_at: 1, ...changed })
        .execute()
    if (change === 'session')
      await db
        .updateTable('session')
        .set({ ended_at: 1, ...changed })
        .execute()
    database.notifyChange()
    while ((await ask('GET', '/v1/me', { token: access })).statusCode === 200) await new Promise(setImmediate)
    const { error } = (await ask('GET', '/v1/me', { token: access })).json()
    assert.equal(error.message, 'The credential is not valid: it is wrong, expired or revoked.')
    assert.equal((await ask('POST', '/auth/session', { headers: { cookie: who.cookie, ...OWN_PAGE } })).statusCode, 401)
  })
}

test('the current role applies, not the role in the token', async (t) => {
  const { ask, account, person, browser, token, database } = await openApp(t)
  const who = await browser(await person(await account(), 'owner'))
  const access = await token(who)
  assert.equal((await ask('GET', '/v1/keys', { token: access })).statusCode, 200)
  await database.db
    .updateTable('member')
    .set({ role: 'billing', changed_at: Date.now() + 1_000 })
    .execute()
  database.notifyChange()
  while ((await ask('GET', '/v1/keys', { token: access })).statusCode === 200) await new Promise(setImmediate)
  const refused = await ask('GET', '/v1/keys', { token: access })
  assert.deepEqual([refused.statusCode, refused.json().error.code], [403, 'insufficient_scope'])
  const me = (await ask('GET', '/v1/me', { token: access })).json()
  assert.equal(me.role, 'billing')
})

test('a session ends after 30 idle days, and always after 90 days', async (t) => {
  const { ask, account, person, browser, database } = await openApp(t)
  const ada = await person(await account(), 'owner')
  const renew = async ({ ageDays, idleDays }: { ageDays: number; idleDays: number }) => {
    const { cookie, sessionId } = await browser(ada)
    const createdAt = Date.now() - ageDays * DAY_MS
    const times = {
      created_at: createdAt,
      expires_at: createdAt + WHOLE_LIFE_MS,
      renewed_at: Date.now() - idleDays * DAY_MS,
    }
    await database.db.updateTable('session').set(times).where('id', '=', sessionId).execute()
    const answer = await ask('POST', '/auth/session', { headers: { cookie, ...OWN_PAGE } })
    const lifeS = Number(/Max-Age=(\d+)/.exec(String(answer.headers['set-cookie']))?.[1])
    return { status: answer.statusCode, lifeDays: Math.round(lifeS / 86_400), sessionId }
  }
  assert.equal((await renew({ ageDays: 30, idleDays: 30 })).status, 401)
  assert.equal((await renew({ ageDays: 90, idleDays: 1 })).status, 401)
  const young = await renew({ ageDays: 29, idleDays: 29 })
  assert.deepEqual([young.status, young.lifeDays], [200, 30])
  const row = await database.db
    .selectFrom('session')
    .select('renewed_at')
    .where('id', '=', young.sessionId)
    .executeTakeFirstOrThrow()
  assert.ok(Date.now() - row.renewed_at < DAY_MS, 'it was renewed')
  const old = await renew({ ageDays: 80, idleDays: 1 })
  assert.deepEqual([old.status, old.lifeDays], [200, 10])
})

test('a person can switch to their own accounts only', async (t) => {
  const { ask, account, person, browser, token, database } = await openApp(t)
  const [first, second, foreign] = [await account('One'), await account('Two'), await account('Three')]
  const ada = await person(first, 'owner')
  await join(database.db, { userId: ada.userId, accountId: second }, 'billing')
  const who = await browser(ada)
  const access = await token(who)
  const go = (id: string) =>
    ask('POST', '/auth/session', { headers: { cookie: who.cookie, ...OWN_PAGE }, body: { account_id: id } })
  const [other, none] = [await go(foreign), await go('acc_0000000000000000000000')]
  const { request_id: _one, ...otherError } = other.json().error
  const { request_id: _two, ...noneError } = none.json().error
  assert.deepEqual([other.statusCode, otherError], [none.statusCode, noneError])
  assert.equal(other.statusCode, 404)
  const moved = await go(second)
  assert.deepEqual([moved.statusCode, moved.json().account.id, moved.json().role], [200, second, 'billing'])
  assert.equal(moved.json().accounts.length, 2)
  const me = (await ask('GET', '/v1/me', { token: access })).json()
  assert.deepEqual([me.account.id, me.role], [second, 'billing'], 'the session decides, not the token')
})

test('the owner of the first account is the operator, other owners are not', async (t) => {
  const { ask, account, person, browser, token, database } = await openApp(t)
  const [first, second] = [await account('One'), await account('Two')]
  await database.db.insertInto('setting').values({ key: 'first_account', value: first }).execute()
  const statusOf = async (accountId: typeof first, role: 'owner' | 'admin') => {
    const access = await token(await browser(await person(accountId, role)))
    return (await ask('GET', '/v1/admin/accounts', { token: access })).statusCode
  }
  assert.equal(await statusOf(first, 'owner'), 200)
  assert.equal(await statusOf(first, 'admin'), 403)
  assert.equal(await statusOf(second, 'owner'), 403)
})

test('GET /v1/me describes a key and a session', async (t) => {
  const { ask, account, person, browser, token, key } = await openApp(t)
  const accountId = await account('Acme')
  const ofKey = (await ask('GET', '/v1/me', { token: await key(accountId) })).json()
  assert.equal(ofKey.object, 'me')
  assert.match(ofKey.credential.id, /^key_/)
  assert.deepEqual(
    [ofKey.credential.kind, ofKey.credential.expires_at, ofKey.user, ofKey.role],
    ['key', null, null, null],
  )
  assert.ok(ofKey.credential.scopes.includes('members') && !ofKey.credential.scopes.includes('operator'))
  assert.deepEqual(ofKey.rights, ofKey.credential.scopes)
  assert.deepEqual(ofKey.accounts, [{ id: accountId, name: 'Acme', role: null }])
  assert.deepEqual([ofKey.version, ofKey.command_line, ofKey.identity_providers], [VERSION, 'turnpike', false])
  assert.equal(ofKey.newer_release, null)
  const who = await browser(await person(accountId, 'developer'))
  const answer = await ask('GET', '/v1/me', { token: await token(who) })
  const { credential, account: shown, user, role } = answer.json()
  assert.deepEqual([credential.kind, credential.id, role], ['session', who.sessionId, 'developer'])
  assert.ok(Date.parse(credential.expires_at) > Date.now() + 29 * DAY_MS)
  assert.deepEqual(shown, { id: accountId, name: 'Acme', plan: 'unlimited' })
  assert.deepEqual(user, { id: who.userId, email: who.email, name: 'Ada' })
  assert.ok(!credential.scopes.includes('billing'))
  assert.equal(answer.headers['cache-control'], 'no-store')
})

test('GET /v1/me lists the accounts that a session can switch to, and the operator right', async (t) => {
  const { ask, account, person, browser, token, database } = await openApp(t)
  const [home, away, left] = [await account('Home'), await account('Away'), await account('Left')]
  await database.db.insertInto('setting').values({ key: 'first_account', value: home }).execute()
  const ada = await person(home, 'owner')
  await join(database.db, { ...ada, accountId: away }, 'billing')
  await join(database.db, { ...ada, accountId: left }, 'admin')
  await database.db.updateTable('member').set({ removed_at: 1 }).where('account_id', '=', left).execute()
  const me = (await ask('GET', '/v1/me', { token: await token(await browser(ada)) })).json()
  const byName = me.accounts.toSorted((one: { name: string }, other: { name: string }) =>
    one.name < other.name ? 1 : -1,
  )
  assert.deepEqual(byName, [
    { id: home, name: 'Home', role: 'owner' },
    { id: away, name: 'Away', role: 'billing' },
  ])
  assert.ok(me.rights.includes('operator') && me.rights.includes('members'))
})

test('people list and end only their own sessions', async (t) => {
  const { ask, account, person, browser, token, key } = await openApp(t)
  const accountId = await account()
  const ada = await person(accountId, 'developer', 'ada@example.com')
  const [one, two] = [await browser(ada), await browser(ada)]
  const eve = await browser(await person(accountId, 'owner', 'eve@example.com'))
  const access = await token(one)
  const list = (await ask('GET', '/v1/sessions', { token: access })).json()
  assert.deepEqual(
    list.data.map(({ id, current }: { id: string; current: boolean }) => [id, current]).sort(),
    [
      [one.sessionId, true],
      [two.sessionId, false],
    ].sort(),
  )
  assert.equal((await ask('GET', '/v1/sessions', { token: await key(accountId) })).json().data.length, 0)
  for (const id of [eve.sessionId, 'ses_0000000000000000000000']) {
    assert.equal((await ask('DELETE', `/v1/sessions/${id}`, { token: access })).statusCode, 404)
  }
  assert.equal((await ask('GET', '/v1/me', { token: await token(eve) })).statusCode, 200)
  const victim = await token(two)
  assert.equal((await ask('GET', '/v1/me', { token: victim })).statusCode, 200)
  assert.equal((await ask('DELETE', `/v1/sessions/${two.sessionId}`, { token: access })).statusCode, 204)
  assert.equal((await ask('GET', '/v1/me', { token: victim })).statusCode, 401)
  assert.equal((await ask('DELETE', `/v1/sessions/${two.sessionId}`, { token: access })).statusCode, 404)
})

test('developers create keys with at most their own rights; owners create full ones', async (t) => {
  const { ask, account, person, browser, token } = await openApp(t)
  const accountId = await account()
  const developer = await token(await browser(await person(accountId, 'developer')))
  const make = (by: string, scopes?: string[]) =>
    ask('POST', '/v1/keys', { token: by, body: { name: 'k', ...(scopes && { scopes }) } })
  const made = (await make(developer)).json()
  assert.ok(made.scopes.length > 0 && !made.scopes.includes('billing'))
  const refused = await make(developer, ['billing'])
  assert.deepEqual([refused.statusCode, refused.json().error.param], [403, 'scopes'])
  const full = (await make(await token(await browser(await person(accountId, 'owner'))))).json()
  assert.deepEqual(full.scopes, [])
  for (const body of [{ scopes: ['billing', 'chat'] }, { expires_at: '2099-01-01T00:00:00Z' }]) {
    assert.equal((await ask('PATCH', `/v1/keys/${full.id}`, { token: developer, body })).statusCode, 403)
  }
  const billing = await token(await browser(await person(accountId, 'billing')))
  assert.equal((await make(billing)).statusCode, 403)
})

test('a one-time link is redeemed once, even concurrently, and within 15 minutes', async (t) => {
  const { ask, account, database } = await openApp(t)
  const accountId = await account()
  await database.db.insertInto('setting').values({ key: 'first_account', value: accountId }).execute()
  const link = () => createSignInLink(database.db, accountId, Date.now())
  const use = (token: string) => ask('POST', '/auth/link', { headers: OWN_PAGE, body: { token } })
  const token = await link()
  const race = await Promise.all(Array.from({ length: 5 }, () => use(token)))
  assert.deepEqual(race.map(({ statusCode }) => statusCode).sort(), [200, 401, 401, 401, 401])
  const winner = race.find(({ statusCode }) => statusCode === 200)
  assert.equal(winner?.json().role, 'owner')
  assert.match(String(winner?.headers['set-cookie']), /^__Host-turnpike=[\w-]{43}; Max-Age=2592000; Path=\/; Secure/)
  const old = await createSignInLink(database.db, accountId, Date.now() - 15 * 60_000)
  assert.equal((await use(old)).statusCode, 401)
  assert.equal((await use('x'.repeat(43))).statusCode, 401)
  const headers = { ...OWN_PAGE, 'content-type': 'application/x-www-form-urlencoded' }
  const form = await ask('POST', '/auth/link', { headers, body: `token=${await link()}` })
  assert.deepEqual([form.statusCode, form.headers.location], [303, '/app/'])
  const refused = await ask('POST', '/auth/link', { headers, body: 'token=x' })
  assert.equal(refused.statusCode, 401)
  assert.match(String(refused.headers['content-type']), /^text\/html/)
  assert.match(String(refused.headers['content-security-policy']), /form-action 'self'/)
})

test('a new sign-in has a new ID and cookie, and ends the previous one of this browser', async (t) => {
  const { ask, account, database } = await openApp(t)
  const accountId = await account()
  await database.db.insertInto('setting').values({ key: 'first_account', value: accountId }).execute()
  const signIn = async (cookie?: string) => {
    const token = await createSignInLink(database.db, accountId, Date.now())
    const headers = { ...OWN_PAGE, ...(cookie && { cookie }) }
    return String((await ask('POST', '/auth/link', { headers, body: { token } })).headers['set-cookie']).split(';')[0]
  }
  const first = await signIn()
  const second = await signIn(first)
  assert.notEqual(first, second)
  const stored = await database.db.selectFrom('session').selectAll().execute()
  const rows = stored.map((row) => ({ ...row, secret_hash: Buffer.from(row.secret_hash).toString('hex') }))
  const secret = String(second).split('=')[1] ?? ''
  const [before, now] = [String(first).split('=')[1] ?? '', secret].map((one) => {
    return rows.find(({ secret_hash }) => secret_hash === hash('sha256', one, 'hex'))
  })
  assert.ok(before && now && rows.length === 2, 'the hash is kept')
  assert.deepEqual([before.ended_at !== null, now.ended_at !== null], [true, false])
  assert.ok(!JSON.stringify(rows).includes(secret), 'and nothing but the hash')
  const events = await database.db.selectFrom('audit').select(['action', 'subject']).execute()
  assert.deepEqual(
    events
      .filter(({ action }) => action.startsWith('session.'))
      .map(({ action, subject }) => `${action} ${subject}`)
      .sort(),
    [`session.started ${before.id}`, `session.ended ${before.id}`, `session.started ${now.id}`].sort(),
  )
})

test('a person has at most 50 sessions: another one ends the oldest [limit: sessions]', async (t) => {
  const { account, person, browser, ask, database } = await openApp(t)
  const accountId = await account()
  await database.db.insertInto('setting').values({ key: 'first_account', value: accountId }).execute()
  const ada = await person(accountId, 'owner')
  const before: SessionId[] = []
  for (let count = 0; count < MAX_SESSIONS; count++) before.push((await browser(ada)).sessionId)
  const token = await createSignInLink(database.db, accountId, Date.now())
  assert.equal((await ask('POST', '/auth/link', { headers: OWN_PAGE, body: { token } })).statusCode, 200)
  const ended = await database.db.selectFrom('session').select('id').where('ended_at', 'is not', null).execute()
  assert.deepEqual(
    ended.map(({ id }) => id),
    [before.sort()[0]],
  )
})

test('a session stores 200 characters of the user agent [limit: session-user-agent]', async (t) => {
  const { account, ask, database } = await openApp(t)
  const accountId = await account()
  await database.db.insertInto('setting').values({ key: 'first_account', value: accountId }).execute()
  const token = await createSignInLink(database.db, accountId, Date.now())
  const headers = { ...OWN_PAGE, 'user-agent': 'b'.repeat(201) }
  assert.equal((await ask('POST', '/auth/link', { headers, body: { token } })).statusCode, 200)
  const { user_agent } = await database.db.selectFrom('session').select('user_agent').executeTakeFirstOrThrow()
  assert.equal(user_agent, 'b'.repeat(200))
})

test('sessions are deleted 30 days after their end, others are not', async (t) => {
  const { account, person, browser, database } = await openApp(t)
  const ada = await person(await account(), 'owner')
  const now = Date.now()
  const session = async (columns: object) => {
    const { sessionId } = await browser(ada)
    await database.db.updateTable('session').set(columns).where('id', '=', sessionId).execute()
    return sessionId
  }
  const kept = [
    await session({ renewed_at: now }),
    await session({ ended_at: now - 29 * DAY_MS }),
    await session({ renewed_at: now - 59 * DAY_MS }),
    await session({ created_at: 1, expires_at: now - 29 * DAY_MS }),
  ]
  await session({ ended_at: now - 31 * DAY_MS })
  await session({ renewed_at: now - 61 * DAY_MS })
  await session({ created_at: 1, expires_at: now - 31 * DAY_MS })
  assert.equal(await deleteOldSessions(database.db, now), 3)
  const left = await database.db.selectFrom('session').select('id').execute()
  assert.deepEqual(left.map(({ id }) => id).sort(), kept.sort())
})

test('JWT-3: signing out aborts requests of the session, and no others', async (t) => {
  const { app, ask, account, person, browser, token, key } = await openApp(t)
  const accountId = await account()
  const ada = await person(accountId, 'owner')
  const [leaving, staying] = [await browser(ada), await browser(ada)]
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 })
  const open = async (credential: string) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'turnpike-simulator',
        stream: true,
        messages: [{ role: 'user', content: 'simulate: tokens 1000' }],
      }),
    })
    assert.equal(response.status, 200)
    return response
  }
  const streams = [await open(await token(leaving)), await open(await token(staying)), await open(await key(accountId))]
  const texts = streams.map((stream) => stream.text())
  await ask('POST', '/auth/sign-out', { headers: { cookie: leaving.cookie, ...OWN_PAGE } })
  while (app.gateway.active > 2) await new Promise((resolve) => setTimeout(resolve, 5))
  app.gateway.interrupt(new GatewayError('shutting_down', 'The test ends.'))
  const codes = (await Promise.all(texts)).map((text) => /"code":"(\w+)"/.exec(text)?.[1])
  assert.deepEqual(codes, ['invalid_credential', 'shutting_down', 'shutting_down'])
})
