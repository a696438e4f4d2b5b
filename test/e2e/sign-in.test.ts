/** A person signs in to the whole service; the queries have both databases in src/features/sign-in. Runs on one database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comeBack, createTestBrowser } from '../support/browser/sign-in.ts'
import { openLocation } from '../support/database.ts'
import { startGateway } from '../support/gateway.ts'
import { startOidcProvider } from '../support/identity/oidc.ts'

test('OIDC-1, OIDC-2, OIDC-3: a person of a real OpenID provider signs in to the whole service; no secret is printed or kept', async (t) => {
  const idp = await startOidcProvider(t, { users: { ada: { email: 'ada@example.com', email_verified: true } } })
  const { issuer, clientId: client_id, clientSecret: client_secret } = idp
  const providers = [{ kind: 'oidc', name: 'Example Login', issuer, client_id, client_secret }]
  const gateway = await startGateway({ config: { auth: { providers }, log_level: 'trace' } })
  t.after(gateway.stop)
  const url = `http://localhost:${gateway.port}` // what it takes itself for
  idp.redirectUris.add(`${url}/auth/example-login/callback`)
  const browser = createTestBrowser()
  const callback = await comeBack(browser, { url, path: '/auth/example-login?next=/activate', login: 'ada' })
  const { status, location, setCookies, text } = await browser.get(callback)
  assert.deepEqual([status, location], [303, `${url}/activate`], text)
  assert.equal(setCookies.length, 2)
  const session = setCookies.find((line) => line.startsWith('__Host-turnpike=')) ?? ''
  assert.match(session, /; Secure; HttpOnly; SameSite=Lax/)

  const { db, close } = await openLocation(gateway.database)
  const identities = await db.selectFrom('identity').selectAll().execute().finally(close)
  assert.deepEqual(
    identities.map((row) => [row.issuer, row.subject, row.email]),
    [[issuer, 'ada', 'ada@example.com']],
  )
  const canaries = [
    client_secret,
    callback.searchParams.get('code') ?? '',
    callback.searchParams.get('state') ?? '',
    session.split(/[=;]/)[1] ?? '',
  ]
  for (const canary of canaries) assert.ok(canary.length > 10 && !gateway.output().includes(canary), canary)
})
