import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type AppForTests, type Browser, OWN_PAGE, openApp } from '../../../test/support/browser/signed-in.ts'

const HOUR_MS = 3_600_000
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function openSignedIn(t: TestContext, accountName?: string): Promise<{ app: AppForTests; ada: Browser }> {
  const app = await openApp(t)
  const ada = await app.browser(await app.person(await app.account(accountName), 'owner', 'ada@example.com'))
  return { app, ada }
}

async function begin(app: AppForTests, userAgent = 'Device'): Promise<string> {
  const headers = { 'user-agent': userAgent }
  const answer = await app.ask('POST', '/device/code', { headers, body: { client_id: 'turnpike-cli' } })
  return answer.json<{ user_code: string }>().user_code
}

function send(app: AppForTests, path: string, form: Readonly<Record<string, string>>, headers: object = {}) {
  return app.ask('POST', path, {
    headers: { ...FORM, ...OWN_PAGE, ...headers },
    body: String(new URLSearchParams(form)),
  })
}

test('WEB-3: every page has the strict headers, and what it loads comes from here under a name of its own', async (t) => {
  const { app, ada } = await openSignedIn(t)
  for (const path of ['/app/', '/app/anything', '/sign-in', '/app/sign-in', '/invitation', '/activate']) {
    const { statusCode, headers, body } = await app.ask('GET', path, { headers: { cookie: ada.cookie } })
    assert.equal(statusCode, 200, path)
    assert.match(String(headers['content-security-policy']), /^default-src 'none'; script-src 'self'; style-src 'self'/)
    assert.deepEqual([headers['cache-control'], headers['referrer-policy']], ['no-store', 'no-referrer'])
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.doesNotMatch(body, /<style|<script>|\son[a-z]+=|\sstyle=/, path)
    for (const [, asset = ''] of body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)) {
      const answer = await app.ask('GET', asset)
      assert.equal(answer.statusCode, 200, asset)
      assert.match(String(answer.headers['cache-control']), /immutable/)
    }
  }
})

test('a page of another version gets the style of this one, which no cache keeps under that name', async (t) => {
  const app = await openApp(t)
  const answer = await app.ask('GET', '/assets/pages-0123456789ab.css')
  assert.deepEqual([answer.statusCode, answer.headers['cache-control']], [200, 'no-store'])
  assert.equal((await app.ask('GET', '/assets/other.css')).statusCode, 404)
})

test('WEB-2: what comes from a page of another site changes nothing, and is told on a page', async (t) => {
  const { app, ada } = await openSignedIn(t)
  const user_code = await begin(app)
  const cookie = { cookie: ada.cookie }
  for (const path of ['/activate', '/activate/decision', '/invitation', '/app/account']) {
    const forged = await send(
      app,
      path,
      { user_code, decision: 'approve' },
      { ...cookie, 'sec-fetch-site': 'cross-site' },
    )
    assert.equal(forged.statusCode, 403, path)
    assert.match(forged.body, /<h1>Request rejected<\/h1>/)
    assert.match(String(forged.headers['content-security-policy']), /default-src 'none'/)
  }
  const decided = await send(app, '/activate/decision', { user_code, decision: 'approve' }, cookie)
  assert.equal(decided.headers.location, '/activate/approved')
})

test('a form of 16 KiB is read, a longer one is not [limit: forms]', async (t) => {
  const { app, ada } = await openSignedIn(t)
  const cookie = { cookie: ada.cookie }
  for (const path of ['/activate', '/activate/decision', '/app/account', '/auth/link', '/auth/sign-out']) {
    const longest = await send(app, path, { x: 'y'.repeat(16 * 1024 - 2) }, cookie)
    assert.notEqual(longest.statusCode, 413, path)
    const tooLong = await send(app, path, { x: 'y'.repeat(16 * 1024 - 1) }, cookie)
    assert.equal(tooLong.statusCode, 413, path)
    if (path.startsWith('/auth/')) assert.equal(tooLong.json().error.code, 'body_too_large', path)
  }
})

test('WEB-1: no page takes a bearer token for a person', async (t) => {
  const { app, ada } = await openSignedIn(t)
  const token = await app.token(ada)
  const answer = await app.ask('GET', '/activate', { token })
  assert.equal(answer.statusCode, 303)
  assert.match((await app.ask('GET', '/app/', { token })).body, /Turnpike is running/)
})

test('whoever is not signed in, or was long ago, signs in first and comes back with the code', async (t) => {
  const { app, ada } = await openSignedIn(t)
  const signIn = '/sign-in?next=%2Factivate%3Fuser_code%3DWDJB-MJHT'
  const visit = () => app.ask('GET', '/activate?user_code=WDJB-MJHT', { headers: { cookie: ada.cookie } })
  assert.equal((await app.ask('GET', '/activate?user_code=WDJB-MJHT')).headers.location, signIn)
  assert.equal((await send(app, '/activate', { user_code: 'WDJB-MJHT' })).headers.location, signIn)
  const decision = { user_code: 'WDJB-MJHT', decision: 'approve' }
  assert.equal((await send(app, '/activate/decision', decision)).headers.location, signIn)
  assert.equal((await visit()).statusCode, 200)
  await app.database.db
    .updateTable('session')
    .set({ created_at: Date.now() - 12 * HOUR_MS })
    .execute()
  assert.equal((await visit()).headers.location, signIn)
  const again = await app.ask('GET', signIn, { headers: { cookie: ada.cookie } })
  assert.deepEqual([again.statusCode, again.body.includes('Sign in again')], [200, true])
})

test('OIDC-3: after the sign-in nobody is sent anywhere but to a path of ours', async (t) => {
  const { app, ada } = await openSignedIn(t)
  const targets = [
    '//evil.example',
    'https://evil.example',
    '/\\evil.example',
    '/%09/evil.example\n',
    'javascript:1',
    '',
  ]
  for (const next of targets) {
    const query = new URLSearchParams({ next })
    const { headers } = await app.ask('GET', `/sign-in?${query}`, { headers: { cookie: ada.cookie } })
    assert.match(String(headers.location), /^\/(?:app\/|%09\/evil\.example)$/, next)
    const moved = await send(app, '/app/account', { next, account_id: ada.accountId }, { cookie: ada.cookie })
    assert.equal(moved.headers.location, headers.location)
  }
})

test('what devices and accounts are called is text, never markup', async (t) => {
  const { app, ada } = await openSignedIn(t, '<img src=x onerror=alert(1)>')
  const user_code = await begin(app, '"><script>alert(1)</script>\u00a0/1')
  const question = await send(app, '/activate', { user_code }, { cookie: ada.cookie })
  assert.equal(question.statusCode, 200)
  assert.match(question.body, /&lt;img src=x onerror=alert\(1\)&gt;/)
  assert.doesNotMatch(question.body, /<script|<img src=x/)
  const typed = '"><script>alert(1)</script>'
  const wrong = await send(app, '/activate', { user_code: typed }, { cookie: ada.cookie })
  assert.equal(wrong.statusCode, 400)
  assert.doesNotMatch(wrong.body, /<script/)
})

test('a form that does not say which decision is asked again, and decides nothing', async (t) => {
  const { app, ada } = await openSignedIn(t)
  const user_code = await begin(app)
  for (const form of [{ user_code }, { user_code, decision: 'yes' }]) {
    const answer = await send(app, '/activate/decision', form, { cookie: ada.cookie })
    assert.match(answer.body, /code-to-compare/)
  }
  const twice = `user_code=${user_code}&decision=approve&decision=deny`
  const headers = { ...FORM, ...OWN_PAGE, cookie: ada.cookie }
  const answer = await app.ask('POST', '/activate/decision', { headers, body: twice })
  assert.match(answer.body, /code-to-compare/)
})

test('J3: whoever has sent too many wrong codes is told so when they decide, and nothing is decided', async (t) => {
  const { app, ada } = await openSignedIn(t)
  const user_code = await begin(app)
  const cookie = { cookie: ada.cookie }
  const first = await app.ask('GET', '/activate', { headers: cookie })
  assert.match(first.body, /autocomplete="one-time-code"/)
  for (let at = 0; at < 5; at++) await send(app, '/activate', { user_code: 'BBBB-BBBB' }, cookie)
  for (const decision of ['approve', 'deny']) {
    const answer = await send(app, '/activate/decision', { user_code, decision }, cookie)
    assert.equal(answer.statusCode, 429, decision)
    assert.match(answer.body, /<h1>.*Too many wrong codes/)
    assert.ok(Number(answer.headers['retry-after']) > 0)
  }
  const other = await app.browser(await app.person(await app.account(), 'owner'))
  const asked = await send(app, '/activate', { user_code }, { cookie: other.cookie })
  assert.match(asked.body, /code-to-compare/)
})

test('a role that allows nothing of what is asked for is told, and cannot approve', async (t) => {
  const app = await openApp(t)
  const bill = await app.browser(await app.person(await app.account(), 'billing'))
  const asked = await app.ask('POST', '/device/code', { body: { client_id: 'turnpike-cli', scope: 'chat webhooks' } })
  const { user_code } = asked.json<{ user_code: string }>()
  const question = await send(app, '/activate', { user_code }, { cookie: bill.cookie })
  assert.match(question.body, /The request exceeds what your role \(billing\) allows/)
  assert.doesNotMatch(question.body, /value="approve"/)
  const forced = await send(app, '/activate/decision', { user_code, decision: 'approve' }, { cookie: bill.cookie })
  assert.equal(forced.statusCode, 403)
  assert.match(forced.body, /The role &#39;billing&#39; has none of the rights/)
})

test('nobody moves their session to an account that is not theirs', async (t) => {
  const { app, ada } = await openSignedIn(t)
  const foreign = await app.account('Foreign')
  const answers = await Promise.all(
    [foreign, 'acc_none'].map((account_id) =>
      send(app, '/app/account', { account_id, next: '/app/' }, { cookie: ada.cookie }),
    ),
  )
  for (const { statusCode } of answers) assert.equal(statusCode, 404)
  const home = await app.ask('GET', '/app/', { headers: { cookie: ada.cookie } })
  assert.doesNotMatch(home.body, /Foreign/)
})

test('over plain HTTP from elsewhere the sign-in says that browsers will keep nobody signed in', async (t) => {
  const app = await openApp(t)
  for (const [host, isTold] of [
    ['localhost:7575', false],
    ['127.0.0.1:7575', false],
    ['10.1.2.3:7575', true],
  ] as const) {
    for (const path of ['/sign-in', '/app/sign-in']) {
      const { body } = await app.ask('GET', path, { headers: { host } })
      assert.equal(body.includes('plain HTTP'), isTold, host)
      const behindTls = await app.ask('GET', path, { headers: { host, 'sec-fetch-site': 'none' } })
      assert.ok(!behindTls.body.includes('plain HTTP'))
    }
  }
})
