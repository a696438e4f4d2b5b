import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  comeBack,
  createTestBrowser,
  SESSION_COOKIE,
  type SignInWorld,
  startSignIn,
} from '../../../test/support/browser/sign-in.ts'
import { type OidcProvider, type OidcUser, startOidcProvider } from '../../../test/support/identity/oidc.ts'
import { freePort } from '../../../test/support/process/free-port.ts'
import type { AccountId, UserId } from '../../domain/ids.ts'
import { choices, type ProviderSettings } from './provider.ts'

function settingsOf(idp: OidcProvider, name: string, allowed: readonly string[] = []): ProviderSettings {
  const { issuer, clientId, clientSecret } = idp
  return { kind: 'oidc', name, issuer, client_id: clientId, client_secret: clientSecret, allowed_domains: allowed }
}

const USERS: Readonly<Record<string, OidcUser>> = {
  ada: { email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' },
  eve: { email: 'eve@evil.example', email_verified: true },
  bob: { email: 'bob@example.com', email_verified: false },
  tim: { email: 'tim@example.com' },
  nil: {},
}

interface Input {
  readonly allowed?: readonly string[]
  readonly claimsInIdToken?: boolean
}

async function startWorld(t: Parameters<typeof startSignIn>[0], { allowed, claimsInIdToken }: Input = {}) {
  const port = await freePort()
  const redirectUris = [`http://127.0.0.1:${port}/auth/example/callback`]
  const idp = await startOidcProvider(t, { redirectUris, users: USERS, claimsInIdToken: claimsInIdToken ?? false })
  const world = await startSignIn(t, { port, providers: [settingsOf(idp, 'Example', allowed)] })
  return { idp, world, url: world.url }
}

/** Somebody whom the installation knows. */
async function addOwner(db: SignInWorld['db'], issuer: string, subject: string): Promise<void> {
  const [account, user] = ['acc_e' as AccountId, 'usr_e' as UserId]
  const born = { created_at: 1, changed_at: 1 }
  await db
    .insertInto('account')
    .values({ id: account, name: 'E', plan: 'free', ...born })
    .execute()
  await db
    .insertInto('person')
    .values({ id: user, email: 'e@x.example', name: 'E', disabled_at: null, ...born })
    .execute()
  const label = { user_id: user, email: null, created_at: 1, last_used_at: 1 }
  await db
    .insertInto('identity')
    .values({ issuer, subject, ...label })
    .execute()
  const member = { account_id: account, user_id: user, role: 'owner', removed_at: null, ...born } as const
  await db.insertInto('member').values(member).execute()
}

test('OIDC-1, OIDC-2, F31: a person signs in with a real OpenID provider, and returns to the requested page', async (t) => {
  const { idp, world, url } = await startWorld(t)
  const browser = createTestBrowser()
  const begun = await browser.get(`${url}/auth/example?next=%2Factivate%3Fuser_code%3DBCDF-GHJK&invitation=tpi_abc`)
  assert.equal(begun.status, 303)
  const asked = new URL(begun.location).searchParams
  assert.equal(asked.get('redirect_uri'), `${url}/auth/example/callback`)
  assert.deepEqual([asked.get('response_type'), asked.get('code_challenge_method')], ['code', 'S256'])
  assert.match(asked.get('scope') ?? '', /\bopenid\b/)
  assert.ok(['state', 'nonce', 'code_challenge'].every((name) => (asked.get(name)?.length ?? 0) >= 43))

  const page = await browser.follow(begun.location, (at) => at.pathname.startsWith('/interaction/'))
  const { location } = await browser.post(page, { login: 'ada' })
  const callback = await browser.follow(location, (at) => at.href.startsWith(url))
  assert.equal(callback.searchParams.get('iss'), idp.issuer)
  const back = await browser.get(callback)
  assert.deepEqual([back.status, back.location], [303, `${url}/activate?user_code=BCDF-GHJK`])
  assert.equal(back.setCookies.length, 2)
  assert.match(back.setCookies[0] ?? '', /^__Host-turnpike-sign-in=; Max-Age=0; /)
  assert.ok(back.setCookies[1]?.startsWith(SESSION_COOKIE))
  assert.equal(back.headers.get('cache-control'), 'no-store')
  assert.equal(back.headers.get('referrer-policy'), 'no-referrer')
  assert.deepEqual(world.arrivals, [
    {
      issuer: idp.issuer,
      subject: 'ada',
      email: 'ada@example.com',
      emailVerified: true,
      name: 'Ada Lovelace',
      invitation: 'tpi_abc',
    },
  ])
  assert.deepEqual(world.sessions, [{ userId: 'usr_ada', accountId: 'acc_ada' }])
})

test('the claims may be in the ID token or at the userinfo endpoint', async (t) => {
  const { world, idp, url } = await startWorld(t, { claimsInIdToken: true })
  const browser = createTestBrowser()
  await browser.get(await comeBack(browser, { url, path: '/auth/example', login: 'ada' }))
  assert.equal(world.arrivals[0]?.name, 'Ada Lovelace')
  assert.equal(idp.requests.includes('GET /me'), false)
})

test('OIDC-1: a callback completes a sign-in once', async (t) => {
  const { world, url } = await startWorld(t)
  const browser = createTestBrowser()
  const callback = await comeBack(browser, { url, path: '/auth/example', login: 'ada' })
  const kept = new Map(browser.cookies.get(url))
  assert.equal((await browser.get(callback)).status, 303)
  const again = await browser.get(callback)
  assert.deepEqual([again.status, again.text.split('\n')[0]], [400, 'This sign-in has expired'])
  browser.cookies.set(url, kept) // somebody has kept the cookie, too
  assert.equal((await browser.get(callback)).status, 400)
  assert.equal(world.sessions.length, 1)
})

test('OIDC-1: another browser can neither complete a sign-in nor use its code in its own', async (t) => {
  const { world, url } = await startWorld(t)
  const victim = createTestBrowser()
  const attacker = createTestBrowser()
  const stolen = await comeBack(victim, { url, path: '/auth/example', login: 'ada' })
  assert.equal((await attacker.get(stolen)).status, 400)
  const own = await comeBack(attacker, { url, path: '/auth/example', login: 'eve' })
  assert.match((await attacker.get(stolen)).text, /^This sign-in does not match/)
  assert.equal(world.sessions.length, 0)

  // The right state with the stolen code: PKCE makes the provider refuse it.
  const third = createTestBrowser()
  const fresh = await comeBack(third, { url, path: '/auth/example', login: 'eve' })
  fresh.searchParams.set('code', own.searchParams.get('code') ?? '')
  const injected = await third.get(fresh)
  assert.deepEqual([injected.status, world.sessions.length], [400, 0])
})

test('OIDC-1: each of several providers accepts only its own callback', async (t) => {
  const port = await freePort()
  const start = (slug: string) =>
    startOidcProvider(t, { redirectUris: [`http://127.0.0.1:${port}/auth/${slug}/callback`], users: USERS })
  const [one, two] = [await start('one'), await start('two-2')]
  const providers = [settingsOf(one, 'One'), settingsOf(two, 'Two (2)')]
  assert.deepEqual(choices(providers), [
    { slug: 'one', name: 'One' },
    { slug: 'two-2', name: 'Two (2)' },
  ])
  const world = await startSignIn(t, { port, providers })
  const { url } = world
  for (const path of ['/auth/one', '/auth/two-2']) {
    const browser = createTestBrowser()
    assert.equal((await browser.get(await comeBack(browser, { url, path, login: 'ada' }))).status, 303)
  }
  assert.deepEqual(
    world.arrivals.map(({ issuer }) => issuer),
    [one.issuer, two.issuer],
  )

  // Mix-up: an answer of One with the state of a sign-in at Two, on the way back of either.
  const browser = createTestBrowser()
  const fromOne = await comeBack(browser, { url, path: '/auth/one', login: 'ada' })
  const fromTwo = await comeBack(browser, { url, path: '/auth/two-2', login: 'ada' })
  const kept = new Map(browser.cookies.get(url))
  const state = fromTwo.searchParams.get('state') ?? ''
  fromOne.searchParams.set('state', state)
  assert.match((await browser.get(fromOne)).text, /^This sign-in does not match/)
  browser.cookies.set(url, new Map(kept))
  const swapped = new URL(fromTwo)
  for (const name of ['code', 'iss']) swapped.searchParams.set(name, fromOne.searchParams.get(name) ?? '')
  const answer = await browser.get(swapped)
  assert.deepEqual([answer.status, world.sessions.length], [502, 2])
  assert.match(JSON.stringify(world.log), /issuer/)
})

test('OIDC-2: allowed domains require a verified address, and audit logs record a rejection', async (t) => {
  const { idp, world, url } = await startWorld(t, { allowed: ['example.com'] })
  await addOwner(world.db, idp.issuer, 'eve')
  const titleFor = async (login: string) => {
    const browser = createTestBrowser()
    const { status, text, location } = await browser.get(await comeBack(browser, { url, path: '/auth/example', login }))
    return `${status} ${text.split('\n')[0] ?? ''}${location.replace(url, '')}`
  }
  assert.equal(await titleFor('ada'), '303 /app/')
  assert.equal(await titleFor('eve'), '403 This e-mail address cannot sign in here')
  assert.equal(await titleFor('bob'), '403 Your e-mail address is not verified')
  assert.equal(await titleFor('tim'), '403 Your e-mail address is not verified')
  assert.equal(await titleFor('nil'), '403 Your e-mail address is missing')
  assert.deepEqual([world.arrivals.length, world.sessions.length], [1, 1])
  assert.deepEqual(
    world.audit.map(({ accountId, action, result, subject, details }) => ({
      accountId,
      action,
      result,
      subject,
      details,
    })),
    [
      {
        accountId: 'acc_e',
        action: 'sign_in.refused',
        result: 'denied',
        subject: 'usr_e',
        details: { reason: 'domain', provider: 'Example' },
      },
    ],
  )
})

test('whoever has no account here, or is disabled, gets a page that says so and no session', async (t) => {
  const { world, url } = await startWorld(t)
  const textFor = async () => {
    const browser = createTestBrowser()
    return browser.get(await comeBack(browser, { url, path: '/auth/example?next=/activate', login: 'ada' }))
  }
  world.arrival = { kind: 'no account', email: 'ada@example.com' }
  const outsider = await textFor()
  assert.deepEqual([outsider.status, outsider.setCookies.length], [403, 1])
  assert.match(outsider.text, /^You are not a member yet\nada@example.com .*\n\/sign-in\?next=%2Factivate$/s)
  world.arrival = { kind: 'disabled' }
  assert.match((await textFor()).text, /^You cannot sign in/)
  assert.equal(world.sessions.length, 0)
})

test('a cancelled or rejected sign-in shows a page with the reason', async (t) => {
  const { world, url } = await startWorld(t)
  const browser = createTestBrowser()
  const cancelled = await browser.get(await comeBack(browser, { url, path: '/auth/example', login: '' }))
  assert.deepEqual([cancelled.status, cancelled.text.split('\n')[0]], [403, 'You were not signed in'])
  assert.match(cancelled.text, /cancelled or rejected at Example/)
  const textOf = async (error: string) => {
    const { location } = await browser.get(`${url}/auth/example`)
    const state = new URL(location).searchParams.get('state') ?? ''
    const iss = new URL(location).origin
    const query = new URLSearchParams({ error, error_description: 'secret words', state, iss })
    const { status, text } = await browser.get(`${url}/auth/example/callback?${query}`)
    assert.equal(text.includes('secret words'), false)
    return `${status} ${text}`
  }
  assert.match(await textOf('login_required'), /^403 .*Example did not sign you in \(login_required\)\./s)
  assert.match(await textOf('temporarily_unavailable'), /^503 .*Example does not respond/s)
  assert.match(await textOf('<script>'), /^403 .*\(unreadable error code\)/s)
  assert.equal(world.sessions.length, 0)
})

test('an expired round trip, and one without cookie or with a repeated state, is rejected', async (t) => {
  const { world, url } = await startWorld(t)
  const browser = createTestBrowser()
  const late = await comeBack(browser, { url, path: '/auth/example', login: 'ada' })
  world.skewMs = 11 * 60_000
  assert.match((await browser.get(late)).text, /^This sign-in has expired/)
  world.skewMs = 0
  assert.match((await createTestBrowser().get(late)).text, /^This sign-in has expired/)
  const twice = await comeBack(browser, { url, path: '/auth/example', login: 'ada' })
  twice.searchParams.append('state', twice.searchParams.get('state') ?? '')
  assert.match((await browser.get(twice)).text, /^This sign-in does not match/)
  assert.equal(world.sessions.length, 0)
})

test('an unknown provider shows a page, HEAD uses up nothing, and next= stays local', async (t) => {
  const { url } = await startWorld(t)
  const browser = createTestBrowser()
  for (const path of [
    '/auth/nobody',
    '/auth/nobody/callback?code=1',
    '/auth/__proto__',
    '/auth/constructor/callback',
  ]) {
    const { status, text } = await browser.get(`${url}${path}`)
    assert.deepEqual([status, text.split('\n')[0]], [404, 'Unknown identity provider'], path)
  }
  assert.equal((await fetch(`${url}/auth/example`, { method: 'HEAD' })).status, 405)
  for (const next of ['//evil.example', '/\\evil.example', 'https://evil.example', '/\t/evil.example']) {
    const visitor = createTestBrowser()
    const path = `/auth/example?next=${encodeURIComponent(next)}`
    const back = await visitor.get(await comeBack(visitor, { url, path, login: 'ada' }))
    assert.deepEqual([back.status, back.location], [303, `${url}/app/`], next)
  }
})

test('only pages of this server start a sign-in: a link elsewhere leads to the sign-in page', async (t) => {
  const { url } = await startWorld(t)
  const browser = createTestBrowser()
  const path = '/auth/example?invitation=tpi_evil&next=/activate'
  for (const site of ['cross-site', 'same-site']) {
    const { status, location, setCookies } = await browser.get(`${url}${path}`, { 'sec-fetch-site': site })
    assert.deepEqual([status, location, setCookies.length], [303, `${url}/sign-in?next=%2Factivate`, 0])
  }
  for (const site of ['same-origin', 'none']) {
    const { setCookies } = await browser.get(`${url}${path}`, { 'sec-fetch-site': site })
    assert.equal(setCookies.length, 1)
  }
})

test('F31, OIDC-3: without the provider a new sign-in fails with a page, and sessions continue', async (t) => {
  const { idp, world, url } = await startWorld(t)
  const browser = createTestBrowser()
  const callback = await comeBack(browser, { url, path: '/auth/example', login: 'ada' })
  await idp.close()
  const { status, text, headers } = await browser.get(callback)
  assert.deepEqual([status, headers.get('retry-after')], [503, '60'])
  assert.match(text, /Example does not respond. Existing sessions stay signed in/)
  assert.equal((await browser.get(`${url}/auth/example`)).status, 503)
  assert.equal(world.sessions.length, 0)
  assert.match(JSON.stringify(world.log), /ECONNREFUSED/)
})
