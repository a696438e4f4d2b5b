import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { startOAuthServer } from '../../../test/support/identity/oauth-server.ts'

const client: oauth.Client = { client_id: 'turnpike-ide' }
const scope = 'api offline_access'
const http = { [oauth.allowInsecureRequests]: true }

async function discovered(t: TestContext) {
  const it = await startOAuthServer(t)
  const issuer = new URL(it.url)
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...http })
  return { it, server: await oauth.processDiscoveryResponse(issuer, response) }
}

test('oauth4webapi, unmodified: discovery, device flow, refresh, revocation', async (t) => {
  const { it, server } = await discovered(t)
  const none = oauth.None()
  const begun = await oauth.deviceAuthorizationRequest(server, client, none, { scope }, http)
  const device = await oauth.processDeviceAuthorizationResponse(server, client, begun)
  const poll = () => oauth.deviceCodeGrantRequest(server, client, none, device.device_code, http)
  const refused = (code: string) => async () => {
    await assert.rejects(oauth.processDeviceCodeResponse(server, client, await poll()), { error: code, status: 400 })
  }
  await refused('authorization_pending')()
  await refused('slow_down')()
  assert.equal(await it.decide(device.user_code, true), true)
  const tokens = await oauth.processDeviceCodeResponse(server, client, await poll())
  assert.equal(tokens.token_type, 'bearer')
  assert.equal((await it.authenticator.authenticate(tokens.access_token)).userId, 'usr_ada')
  await refused('invalid_grant')()

  const refresh = (token = '') => oauth.refreshTokenGrantRequest(server, client, none, token, http)
  const next = await oauth.processRefreshTokenResponse(server, client, await refresh(tokens.refresh_token))
  assert.notEqual(next.refresh_token, tokens.refresh_token)

  const revoked = await oauth.revocationRequest(server, client, none, next.refresh_token ?? '', http)
  assert.equal(await oauth.processRevocationResponse(revoked), undefined)
  await assert.rejects(async () => it.authenticator.authenticate(next.access_token))
  await assert.rejects(oauth.processRefreshTokenResponse(server, client, await refresh(next.refresh_token)), {
    error: 'invalid_grant',
  })
})

for (const [code, prepare] of [
  ['expired_token', (it) => Promise.resolve(it.advance(900_000))],
  ['access_denied', (it, userCode) => it.decide(userCode, false)],
] satisfies [string, (it: Awaited<ReturnType<typeof discovered>>['it'], userCode: string) => Promise<unknown>][]) {
  test(`oauth4webapi understands ${code}`, async (t) => {
    const { it, server } = await discovered(t)
    const begun = await oauth.deviceAuthorizationRequest(server, client, oauth.None(), { scope }, http)
    const device = await oauth.processDeviceAuthorizationResponse(server, client, begun)
    await prepare(it, device.user_code)
    const response = await oauth.deviceCodeGrantRequest(server, client, oauth.None(), device.device_code, http)
    await assert.rejects(oauth.processDeviceCodeResponse(server, client, response), { error: code })
  })
}

test('openid-client, unmodified: discovery, device flow, refresh, revocation', async (t) => {
  const it = await startOAuthServer(t)
  const config = await openid.discovery(new URL(it.url), 'turnpike-cli', undefined, openid.None(), {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  })
  const device = await openid.initiateDeviceAuthorization(config, { scope })
  await it.decide(device.user_code, true)
  // It waits a whole interval before it asks.
  const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...device, interval: 0 })
  assert.ok(tokens.refresh_token !== undefined)
  const next = await openid.refreshTokenGrant(config, tokens.refresh_token)
  assert.equal((await it.authenticator.authenticate(next.access_token)).kind, 'token')
  await openid.tokenRevocation(config, next.access_token)
  await assert.rejects(openid.refreshTokenGrant(config, next.refresh_token ?? ''), { error: 'invalid_grant' })
})
