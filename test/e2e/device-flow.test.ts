import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import * as oauth from 'oauth4webapi'
import type { OpenedDatabase } from '../../src/db/database.ts'
import type { AccountId, DeviceId, SessionId, UserId } from '../../src/domain/ids.ts'
import { type Activation, createActivation } from '../../src/features/oauth/activation.ts'
import { createClients, DATABASE_TIME } from '../../src/features/oauth/authority.ts'
import { CHAT, errorOf, eventually, hello, open, send } from '../support/client.ts'
import { openLocation, testIds } from '../support/database.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { ORIGIN, sessionOf } from '../support/identity/oauth-server.ts'
import { makeHome, type Running } from '../support/process/command-line.ts'
import { ordinary, streamUntil } from '../support/providers/answers.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'
import { readStream } from '../support/providers/sse.ts'

const client: oauth.Client = { client_id: 'our-ide' }
const none = oauth.None()
const http = { [oauth.allowInsecureRequests]: true }
const ADA = 'usr_e2e' as UserId

let provider: FakeProvider
let gateway: Gateway
let database: OpenedDatabase
let activation: Activation
let account: AccountId
let key: string
let server: oauth.AuthorizationServer
/** Everything that must be nowhere. */
const secrets: string[] = []

before(async () => {
  provider = await startFakeProvider(ordinary)
  const auth = { clients: [{ id: 'our-ide', name: 'Our IDE' }] }
  gateway = await startGateway({ config: oneModel(provider.url, {}, { auth }), env: { LOG_LEVEL: 'trace' } })
  account = (await gateway.cli('accounts', 'create', '--name', 'devices')) as AccountId
  key = await gateway.key('--account', account)
  database = await openLocation(gateway.database)
  const { db } = database
  const born = { created_at: 1, changed_at: Date.now() }
  await db
    .insertInto('person')
    .values({ id: ADA, email: 'ada@example.com', name: 'Ada', ...born })
    .execute()
  await db
    .insertInto('member')
    .values({ account_id: account, user_id: ADA, role: 'developer', ...born })
    .execute()
  // The person decides at another process of the installation.
  activation = createActivation({
    ...{ db, ids: testIds, time: DATABASE_TIME, clients: createClients([]), rotationKey: new Uint8Array(32) },
    ...{ writeAudit: async () => undefined, changed: () => undefined, log: { warn: () => undefined } },
  })
  const issuer = new URL(`http://localhost:${gateway.port}`)
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...http })
  server = await oauth.processDiscoveryResponse(issuer, response)
})

after(async () => {
  await database?.close()
  await gateway?.stop()
  await provider?.close()
})

async function begin(scope: string): Promise<oauth.DeviceAuthorizationResponse> {
  const response = await oauth.deviceAuthorizationRequest(server, client, none, { scope }, http)
  const begun = await oauth.processDeviceAuthorizationResponse(server, client, response)
  secrets.push(begun.device_code)
  return begun
}

async function poll(deviceCode: string): Promise<oauth.TokenEndpointResponse> {
  const response = await oauth.deviceCodeGrantRequest(server, client, none, deviceCode, http)
  return noted(await oauth.processDeviceCodeResponse(server, client, response))
}

function noted(tokens: oauth.TokenEndpointResponse): oauth.TokenEndpointResponse {
  secrets.push(tokens.access_token, tokens.refresh_token ?? tokens.access_token)
  return tokens
}

async function connect(scope = 'api offline_access') {
  const { device_code, user_code } = await begin(scope)
  const session = sessionOf({ id: testIds.session() as SessionId, userId: ADA, accountId: account, role: 'developer' })
  assert.equal(await activation.decide(user_code, { approve: true, session, origin: ORIGIN }), true)
  const tokens = await poll(device_code)
  return { access: tokens.access_token, refresh: tokens.refresh_token ?? '', scope: tokens.scope }
}

interface ListedDevice {
  readonly id: DeviceId
  readonly client_name: string
  readonly user_email: string
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

async function devices(): Promise<readonly ListedDevice[]> {
  return (JSON.parse((await send(gateway, '/v1/devices', { key })).text) as { data: readonly ListedDevice[] }).data
}

const statusOf = async (token: string, path: string) => (await send(gateway, path, { key: token })).status

test('a device is approved at another process, calls models with its token, refreshes it, and is listed', async () => {
  const { device_code } = await begin('api')
  await assert.rejects(poll(device_code), { error: 'authorization_pending' })
  // Who took longer than the interval for a poll was not too fast with it.
  const polled = () => poll(device_code).then(String, ({ error }: oauth.ResponseBodyError) => error)
  assert.equal(await eventually(polled, (error) => error === 'slow_down'), 'slow_down')
  const { access, refresh } = await connect()
  const answer = await send(gateway, CHAT, { key: access, body: hello() })
  assert.equal(answer.status, 200, answer.text)
  const stream = await open(gateway, CHAT, { key: access, body: hello({ stream: true }) })
  assert.equal(readStream(await stream.body.text()).error, undefined)
  const response = await oauth.refreshTokenGrantRequest(server, client, none, refresh, http)
  const next = noted(await oauth.processRefreshTokenResponse(server, client, response))
  assert.equal(await statusOf(next.access_token, '/v1/models'), 200)
  const [device] = await devices()
  assert.deepEqual([device?.client_name, device?.user_email], ['Our IDE', 'ada@example.com'])
  const usage = await eventually(
    async () => JSON.parse((await send(gateway, '/v1/usage?group_by=key', { key: access })).text),
    ({ groups }) => groups[0]?.requests === 2,
  )
  assert.equal(usage.groups[0].key, device?.id, 'usage is booked on the device')
})

test('DEV-4: a token is refused where its scopes and its person’s rights end', async () => {
  const { access } = await connect('models:read')
  assert.equal(await statusOf(access, '/v1/models'), 200)
  for (const path of ['/v1/keys', '/v1/usage', '/v1/ledger', '/v1/devices', '/v1/admin/accounts']) {
    assert.equal(await statusOf(access, path), 403, path)
  }
  assert.equal((await send(gateway, CHAT, { key: access, body: hello() })).status, 403)
})

test('OA-3: revoking a token ends the requests with it, and no others', async () => {
  const told = Promise.withResolvers<void>()
  provider.answer(streamUntil(told.promise))
  const [victim, other] = [await connect(), await connect()]
  const streams = await Promise.all(
    [victim, other].map(({ access }) => open(gateway, CHAT, { key: access, body: hello({ stream: true }) })),
  )
  const [cut, whole] = streams.map(({ body }) => body.text())
  await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, none, victim.refresh, http))
  provider.answer(ordinary)
  assert.equal(readStream((await cut) ?? '').error?.code, 'invalid_credential')
  told.resolve()
  const { error, done } = readStream((await whole) ?? '')
  assert.deepEqual([error, done], [undefined, true])
  const refused = await send(gateway, '/v1/models', { key: victim.access })
  assert.deepEqual([refused.status, errorOf(refused).code], [401, 'invalid_credential'])
})

test('a device is disconnected over HTTP, and by another process within a second', async () => {
  const [first, second] = [await connect(), await connect()]
  for (const { access } of [first, second]) assert.equal(await statusOf(access, '/v1/models'), 200)
  const [latest, before] = await devices()
  assert.equal((await send(gateway, `/v1/devices/${latest?.id}`, { key, method: 'DELETE' })).status, 204)
  assert.equal(await statusOf(second.access, '/v1/models'), 401)
  await database.db
    .updateTable('device')
    .set({ revoked_at: 1, changed_at: Date.now() + 1_000 })
    .where('account_id', '=', account)
    .where('id', '=', before?.id ?? ('' as DeviceId))
    .execute()
  const revoked = await eventually(
    () => statusOf(first.access, '/v1/models'),
    (status) => status === 401,
  )
  assert.equal(revoked, 401)
})

/** Approves the code in a browser's place: signs in by the link, and sends the form. */
async function approveInBrowser(userCode: string): Promise<void> {
  const headers = { 'sec-fetch-site': 'same-origin' }
  const token = (await gateway.cli('login-link')).split('=')[1]
  const signedIn = await send(gateway, '/auth/link', { headers, body: { token } })
  assert.equal(signedIn.status, 200, signedIn.text)
  const cookie = signedIn.headers['set-cookie']?.split(';', 1)[0] ?? ''
  const form = { ...headers, cookie, 'content-type': 'application/x-www-form-urlencoded' }
  const body = String(new URLSearchParams({ user_code: userCode, decision: 'approve' }))
  const decided = await send(gateway, '/activate/decision', { headers: form, body })
  assert.equal(decided.headers['location'], '/activate/approved', decided.text)
}

async function printed({ ended, stdout, stderr }: Running, part: RegExp): Promise<RegExpExecArray> {
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  const output = () => stdout() + stderr()
  await eventually(
    async () => output(),
    (text) => isOver || part.test(text),
  )
  return part.exec(output()) ?? assert.fail(output())
}

/** `xdg-open` on a machine without a display: missing, or there without a browser that it could start. */
const HEADLESS = [
  { name: 'login', opener: undefined },
  { name: 'login --open without xdg-open', opener: undefined },
  { name: 'login --open with an xdg-open that finds no browser', opener: '#!/bin/sh\nexit 3\n' },
]

for (const { name, opener } of HEADLESS) {
  test(`a machine without browser and terminal is signed in from another one: ${name}`, async (t) => {
    const home = makeHome()
    t.after(() => home.remove())
    const env = { PATH: home.bin }
    if (opener !== undefined) writeFileSync(join(home.bin, 'xdg-open'), opener, { mode: 0o755 })
    const opens = name.includes('--open')
    const flags = ['--url', gateway.url, '--insecure-file', ...(opens ? ['--open'] : [])]
    const login = home.start(['login', ...flags], { env })
    t.after(() => login.child.kill('SIGKILL'))
    const [, page, code = ''] = await printed(login, /^Open (\S+) and enter the code (\S+)\n/)
    assert.match(page ?? '', new RegExp(`:${gateway.port}/activate$`))
    if (opens) await printed(login, /No browser could be opened on this machine\. Open the address above/)
    await approveInBrowser(code)
    const { code: status, stdout, stderr } = await login.ended
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^Open .*\nSigned in to \S+.*\n$/)
    assert.equal(/No browser/.test(stderr), opens)
    assert.match(readFileSync(join(home.folder, 'credentials.json'), 'utf8'), /tpr_/)
    const whoami = await home.run(['whoami', '--json'], { env })
    assert.equal(JSON.parse(whoami.stdout).credential.kind, 'token', whoami.stderr)
  })
}

test('tokens and codes are in no log, metric or answer but their own', async () => {
  const metrics = await send(gateway, '/metrics', { key: await gateway.key('--operator') })
  assert.equal(metrics.status, 200)
  const list = JSON.stringify(await devices())
  assert.ok(secrets.length > 5)
  for (const secret of secrets) {
    for (const text of [gateway.output(), metrics.text, list]) assert.ok(!text.includes(secret.slice(4)))
  }
})
