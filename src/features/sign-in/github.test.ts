import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startGithubFake } from '../../../test/support/agents/github-fake.ts'
import { comeBack, createTestBrowser, startSignIn } from '../../../test/support/browser/sign-in.ts'
import { githubProvider } from './github.ts'
import { createOutbound } from './provider.ts'
import { newRoundTrip } from './round-trip.ts'

async function stage(t: TestContext, allowed: readonly string[] = []) {
  const github = await startGithubFake(t)
  const { issuer, clientId, clientSecret } = github
  const client = { client_id: clientId, client_secret: clientSecret, allowed_domains: allowed }
  const world = await startSignIn(t, { providers: [{ kind: 'github', name: 'GitHub', issuer, ...client }] })
  const { url } = world
  const signIn = async () => {
    const browser = createTestBrowser()
    const callback = await comeBack(browser, { url, path: '/auth/github', login: 'ada' })
    const { status, text, location } = await browser.get(callback)
    return `${status} ${location.replace(url, '')}${text.split('\n')[0]}`
  }
  return { github, world, url, signIn }
}

test('OIDC-2: GitHub: the numeric ID identifies the person, the verified primary address is the label', async (t) => {
  const { github, world, signIn } = await stage(t, ['example.com'])
  assert.equal(await signIn(), '303 /app/')
  const identity = { email: 'ada@example.com', emailVerified: true, name: 'Ada Lovelace', invitation: undefined }
  assert.deepEqual(world.arrivals, [{ issuer: github.issuer, subject: '1815', ...identity }])
  github.user = { id: 1815, login: 'ada-renamed', name: null }
  assert.equal(await signIn(), '303 /app/')
  assert.deepEqual([world.arrivals[1]?.subject, world.arrivals[1]?.name], ['1815', 'ada-renamed'])
})

test('GitHub: only an address that is primary and verified counts', async (t) => {
  const { github, world, signIn } = await stage(t)
  const lists = [
    [],
    [{ email: 'ada@example.com', primary: true, verified: false }],
    [{ email: 'ada@example.com', primary: false, verified: true }],
    [{ email: 'not an address', primary: true, verified: true }],
    { message: 'no list' },
    null,
  ]
  for (const emails of lists) {
    github.emails = emails
    assert.equal(await signIn(), '403 Your e-mail address is missing')
  }
  for (const user of [{ login: 'ada' }, { id: '1815' }, { id: -1 }, { id: 1.5 }, [], null]) {
    github.user = user
    assert.equal(await signIn(), '502 You were not signed in')
  }
  github.apiStatus = 403
  assert.equal(await signIn(), '502 You were not signed in')
  github.apiStatus = 503
  assert.equal(await signIn(), '503 Sign-in is currently unavailable')
  assert.equal(world.sessions.length, 0)
})

test('OIDC-1: GitHub: a used, changed or foreign code is rejected', async (t) => {
  const { world, url } = await stage(t)
  const [one, two] = [createTestBrowser(), createTestBrowser()]
  const stolen = await comeBack(one, { url, path: '/auth/github', login: 'ada' })
  const own = await comeBack(two, { url, path: '/auth/github', login: 'ada' })
  own.searchParams.set('code', stolen.searchParams.get('code') ?? '')
  assert.equal((await two.get(own)).status, 502)
  assert.equal((await one.get(stolen)).status, 502, 'the code was used up')
  assert.equal(world.sessions.length, 0)
  assert.equal(JSON.stringify(world.log).includes('gho_'), false)
})

test('github.com is requested at its own addresses', async () => {
  const client = { client_id: 'Iv1.a', client_secret: 'b', allowed_domains: [] }
  const deps = { redirectUri: 'https://ai.example.com/auth/github/callback', outbound: createOutbound(), now: Date.now }
  const trip = newRoundTrip({ slug: 'github', next: '/', invitation: undefined })
  const url = await githubProvider({ kind: 'github', name: 'GitHub', ...client }, deps).begin(trip)
  assert.equal(`${url.origin}${url.pathname}`, 'https://github.com/login/oauth/authorize')
  assert.equal(url.searchParams.get('scope'), 'read:user user:email')
})
