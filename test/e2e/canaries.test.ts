/**
 * No secret gets out: every kind of secret that the service holds or hands out is used rightly and wrongly, and then looked
 * for in all that the process said and kept.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { echoes, FORM, form, GRANT, misplaced, OWN_PAGE, withCookie } from '../support/agents/canary-uses.ts'
import { createWatch, type Told } from '../support/agents/canary-watch.ts'
import { comeBack, createTestBrowser } from '../support/browser/sign-in.ts'
import { type Answer, type Call, CHAT, eventually, hello, open } from '../support/client.ts'
import { openLocation } from '../support/database.ts'
import { type Gateway, model, startGateway } from '../support/gateway.ts'
import { type LyingOidc, startLyingOidc } from '../support/identity/lying-oidc.ts'
import { type OidcProvider, startOidcProvider } from '../support/identity/oidc.ts'
import { ordinary } from '../support/providers/answers.ts'
import { type FakeProvider, type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

/** Of a provider of models, by protocol. A message that is cut off must not keep the first half of one either. */
const PROVIDER_KEYS = {
  openai: 'canary-7Hq2Lw9Zt4-Xc8Vb3Nm6-Kd1Pf5Rg0Js-9Wz3Tn', // of a form that no pattern knows
  anthropic: 'sk-ant-canaryAnthropic3Fj8Kq1Wn6Ys2Bt7Xm4Rd9Ge',
  gemini: 'AIzacanaryGemini5Td0Vh6Zp2Lk8Cs3Wb9Nx1Qf7Mj',
} as const
/** Of an account at a provider: accepted, replaced, and rejected. */
const OWN_KEYS = {
  'own provider key': 'canary-Own5-Tz8Kw2Rb6-Hn4Vx9Qc1-Mp7Jd3Ls',
  'rotated provider key': 'canary-Own6-Yf3Gt8Wk1-Bz5Nr9Xh2-Qv6Dm4Pc',
  'rejected provider key': 'canary-Own7-Lc9Sv4Jx7-Wd2Kt6Fb8-Zn1Rh5Gq',
} as const
const IDENTITY_SECRET = 'canaryLyingIdentity4Gk9Rp2Vx7Bm1Zt6Hd3Wq8'
const SETTINGS = {
  TURNPIKE_SECRET: 'canaryInstallation8Dn3Xr6Kt1Yw9Fq4Lb7Sj2Hm5',
  TURNPIKE_SECRET_PREVIOUS: 'canaryPrevious2Wc7Mh5Gz0Pv8Rk3Tn6Jx1Lf4Bd9',
}

type Watch = ReturnType<typeof createWatch>

interface Runtime {
  readonly t: TestContext
  readonly watch: Watch
  readonly gateway: Gateway
  readonly providers: Readonly<Record<keyof typeof PROVIDER_KEYS, FakeProvider>>
  readonly idp: OidcProvider
  readonly liar: LyingOidc
  /** As the service names itself. */
  readonly url: string
  readonly operator: string
}

async function setUp(t: TestContext, level: string): Promise<Runtime> {
  const watch = createWatch()
  const [idp, liar] = [await startOidcProvider(t), await startLyingOidc(t)]
  const [openai, anthropic, gemini] = [
    await startFakeProvider(ordinary),
    await startFakeProvider(ordinary),
    await startFakeProvider(ordinary),
  ]
  const providers = { openai, anthropic, gemini }
  t.after(() => Promise.all(Object.values(providers).map((provider) => provider.close())))
  const gateway = await startGateway({
    config: configurationOf({ idp, liar, providers }),
    env: { ...SETTINGS, LOG_LEVEL: level },
  })
  t.after(gateway.stop)
  for (const [protocol, key] of Object.entries(PROVIDER_KEYS)) watch.plant(`key at ${protocol}`, key)
  for (const [name, secret] of Object.entries(SETTINGS)) watch.plant(name, secret)
  watch.plant('client secret', idp.clientSecret)
  watch.plant('other client secret', IDENTITY_SECRET)
  const operator = watch.plant('key of the operator', await gateway.key('--operator'))
  const url = `http://localhost:${gateway.port}`
  for (const slug of ['honest', 'liar']) idp.redirectUris.add(`${url}/auth/${slug}/callback`)
  return { t, watch, gateway, providers, idp, liar, url, operator }
}

function configurationOf({ idp, liar, providers }: Pick<Runtime, 'idp' | 'liar' | 'providers'>): object {
  const names = Object.keys(PROVIDER_KEYS) as (keyof typeof PROVIDER_KEYS)[] // the keys of a constant
  const { issuer, clientId: client_id, clientSecret: client_secret } = idp
  const other = { issuer: liar.issuer, client_id: liar.clientId, client_secret: IDENTITY_SECRET }
  return {
    providers: Object.fromEntries(
      names.map((name) => [
        name,
        { protocol: name, base_url: `${providers[name].url}/v1`, api_key: PROVIDER_KEYS[name] },
      ]),
    ),
    models: names.map((name) => model(name === 'openai' ? 'm1' : name, name, 'up-model')),
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
    auth: {
      providers: [
        { kind: 'oidc', name: 'Honest', issuer, client_id, client_secret },
        { kind: 'oidc', name: 'Liar', ...other },
      ],
    },
  }
}

/** What a first start prints once for whoever started it; it is taken out of what is searched. */
async function readWelcome({ gateway, watch }: Runtime): Promise<{ key: string; link: string; rest: () => string }> {
  const end = /#token=([\w-]+)\s/
  const printed = await eventually(
    async () => gateway.output(),
    (text) => end.test(text),
  )
  const welcome = /\n {2}Turnpike is running at[\s\S]*?#token=[\w-]+\s/.exec(printed)?.[0] ?? ''
  const [, key = ''] = /\n {4}(tp_\w+)\n/.exec(welcome) ?? []
  const [, link = ''] = end.exec(welcome) ?? []
  watch.plant('first key', key)
  watch.plant('one-time link', link)
  return { key, link, rest: () => gateway.output().replace(welcome, '') }
}

const cookieOf = ({ headers }: Answer): string | undefined =>
  /__Host-turnpike=([\w-]{43})/.exec(headers['set-cookie'] ?? '')?.[1]

const json = <T>({ text }: Answer): T => JSON.parse(text) as T // of our own service

/** Through the provider's page. @returns the cookie's secret. */
async function signIn({ watch, gateway, url }: Runtime, login: string, query = ''): Promise<string> {
  const browser = createTestBrowser()
  const callback = await comeBack(browser, { url, path: `/auth/honest${query}`, login })
  const cookie = [...(browser.cookies.get(url) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ')
  watch.plant('authorization code', callback.searchParams.get('code') ?? '')
  const path = callback.pathname + callback.search
  const answer = await watch.ask(gateway, path, { headers: { cookie } })
  const secret = answer.secret(`cookie of ${login}`, cookieOf(answer))
  assert.equal((await watch.ask(gateway, path, { headers: { cookie } })).status >= 400, true, 'a code is good once')
  return secret
}

async function tokenOf({ watch, gateway }: Runtime, cookie: string): Promise<string> {
  const answer = await watch.ask(gateway, '/auth/session', { method: 'POST', headers: withCookie(cookie) })
  answer.secret('cookie of ada', cookieOf(answer)) // as it was, for longer
  return answer.secret('JWT', json<{ access_token?: string }>(answer).access_token)
}

/** A device asks, the person approves on the page, the device gets tokens and exchanges them for others. */
async function connect({ watch, gateway }: Runtime, cookie: string) {
  const post = (path: string, fields: Readonly<Record<string, string>>, headers = {}) =>
    watch.ask(gateway, path, { body: form(fields), headers: { ...FORM, ...headers } })
  const client_id = 'turnpike-cli'
  const begun = await post('/device/code', { client_id, scope: 'api offline_access' })
  const { device_code, user_code } = json<{ device_code: string; user_code: string }>(begun)
  begun.secret('device code', device_code)
  const page = await post('/activate', { user_code }, withCookie(cookie))
  assert.equal(page.status, 200, page.text)
  const decided = await post('/activate/decision', { user_code, decision: 'approve' }, withCookie(cookie))
  assert.equal(decided.headers['location'], '/activate/approved')
  const takeTokens = (answer: Told) => {
    const { access_token, refresh_token } = json<{ access_token?: string; refresh_token?: string }>(answer)
    return {
      access: answer.secret('access token', access_token),
      refresh: answer.secret('refresh token', refresh_token),
    }
  }
  const first = takeTokens(await post('/oauth/token', { client_id, device_code, grant_type: GRANT }))
  const grant = { client_id, grant_type: 'refresh_token' }
  const second = takeTokens(await post('/oauth/token', { ...grant, refresh_token: first.refresh }))
  return { device_code, first, second }
}

/** Of a key that is used when its time is over. What is done until then takes longer on most machines. */
const EXPIRES_AFTER_MS = 15_000

/** A key that is revoked, and one that will be too old soon. */
async function spentKeys({ watch, gateway }: Runtime, token: string): Promise<readonly string[]> {
  const make = async (body: object) => {
    const answer = await watch.ask(gateway, '/v1/keys', { key: token, body })
    const { id, key } = json<{ id: string; key?: string }>(answer)
    return { id, key: answer.secret('API key', key) }
  }
  const revoked = await make({ name: 'revoked' })
  const expired = await make({ name: 'expired', expires_at: new Date(Date.now() + EXPIRES_AFTER_MS).toISOString() })
  assert.equal((await watch.ask(gateway, '/v1/models', { key: revoked.key })).status, 200)
  await watch.ask(gateway, `/v1/keys/${revoked.id}`, { key: token, method: 'DELETE' })
  return [revoked.key, expired.key]
}

async function assertSpent({ watch, gateway }: Runtime, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const { status } = await eventually(
      () => watch.ask(gateway, '/v1/models', { key }),
      (answer) => answer.status === 401,
    )
    assert.equal(status, 401)
  }
}

/** The page that chooses how to sign in hands an invitation on, to the browser that sent it. */
async function invite(world: Runtime, token: string): Promise<string> {
  const { watch, gateway, idp } = world
  const made = await watch.ask(gateway, '/v1/invitations', { key: token, body: { role: 'developer' } })
  const link = /#token=(tpi_\w+)/.exec(made.text)?.[1]
  const invitation = made.secret('invitation', link)
  const body = form({ token: invitation })
  const choices = await watch.ask(gateway, '/invitation', { body, headers: { ...FORM, ...OWN_PAGE } })
  choices.secret('invitation', choices.text.includes(invitation) ? invitation : undefined)
  idp.users.set('bob', { email: 'bob@example.com', email_verified: true })
  const bob = await signIn(world, 'bob', `?invitation=${invitation}`)
  await watch.ask(gateway, '/invitation', { body: `${body}&accept=yes`, headers: { ...FORM, ...withCookie(bob) } })
  return invitation
}

/** Sign-in at a provider that repeats what it was sent, and lies. */
async function failToSignIn({ watch, gateway, liar, url }: Runtime): Promise<void> {
  const basic = Buffer.from(`${liar.clientId}:${IDENTITY_SECRET}`).toString('base64')
  const said = `Basic ${basic} of ${IDENTITY_SECRET} is wrong`
  const refusals = [
    { status: 401, body: JSON.stringify({ error: 'invalid_client', error_description: said }) },
    { status: 400, body: JSON.stringify({ error: said, error_uri: said }) },
    { status: 500, body: said },
    { status: 200, body: JSON.stringify({ access_token: said, token_type: 'Bearer', id_token: said }) },
    undefined, // its ID token is of somebody else's key
  ]
  liar.idToken = async () => watch.plant('ID token', await liar.sign({ ...liar.claims('another'), aud: 'nobody' }))
  for (const refusal of refusals) {
    liar.answer = (path) => (path === '/token' ? refusal : undefined)
    const begun = await watch.ask(gateway, '/auth/liar?next=/activate')
    const cookie = (begun.headers['set-cookie'] ?? '').split(';', 1)[0] ?? ''
    const state = new URL(begun.headers['location'] ?? url).searchParams.get('state') ?? ''
    const code = watch.plant('code of a liar', `canaryCode${liar.tokenRequests.length}Zr5Kx8Wd1Tm6Qh3Ls9Bv2Nf7Yc`)
    const answer = await watch.ask(gateway, `/auth/liar/callback?${form({ code, state, iss: liar.issuer })}`, {
      headers: { cookie },
    })
    assert.ok(answer.status >= 400 && cookieOf(answer) === undefined, answer.text)
  }
  assert.ok(liar.tokenRequests.length >= refusals.length, 'the provider was asked')
}

async function failAtProviders({ watch, gateway, providers }: Runtime, key: string): Promise<void> {
  const fail = async ([name, provider]: readonly [string, FakeProvider]): Promise<void> => {
    const secret = PROVIDER_KEYS[name as keyof typeof PROVIDER_KEYS] // the same names
    const before = provider.calls.length
    const scripts = echoes(secret)
    for (const script of scripts) {
      provider.answer(script)
      for (const stream of [true, false].slice(0, script === scripts.at(-1) ? 1 : 2)) {
        const body = hello({ model: name === 'openai' ? 'm1' : name, stream })
        const response = await open(gateway, CHAT, { key, body })
        const text = await response.body.text().catch(String) // broken off
        watch.hear(`completion by ${name}, ${response.statusCode}`, JSON.stringify(response.headers) + text)
      }
    }
    assert.equal(provider.calls.length - before, 2 * scripts.length - 1, `${name} was asked each time`)
    assert.ok(JSON.stringify(provider.calls[0]?.headers).includes(secret), `${name} was sent its key`)
    provider.answer(ordinary)
  }
  await Promise.all(Object.entries(providers).map(fail))
}

/** An account's own keys: tested, used, quoted by a provider that refuses them, rotated, and rejected on entry. */
async function useOwnKeys({ watch, gateway, providers: { openai } }: Runtime, key: string): Promise<void> {
  const { 'own provider key': own, 'rotated provider key': rotated, 'rejected provider key': rejected } = OWN_KEYS
  for (const [name, secret] of Object.entries(OWN_KEYS)) watch.plant(name, secret)
  const path = '/v1/provider-credentials'
  const echo: Script = (call, reply) => {
    reply.head(401, { 'content-type': 'application/json' })
    reply.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${call.headers.authorization}` } }))
  }
  const withList: Script = (call, reply) => {
    if (!call.path.endsWith('/models')) return ordinary(call, reply)
    reply.head(200, { 'content-type': 'application/json' })
    reply.end('{"data":[]}')
  }
  openai.answer(withList)
  const before = openai.calls.length
  const added = await watch.ask(gateway, path, { key, body: { provider: 'openai', api_key: own, name: 'canary' } })
  assert.equal(added.status, 201, added.text)
  const { id } = json<{ id: string }>(added)
  assert.equal((await watch.ask(gateway, CHAT, { key, body: hello() })).status, 200)
  openai.answer(echo)
  for (const stream of [true, false]) {
    assert.equal((await watch.ask(gateway, CHAT, { key, body: hello({ stream }) })).status, 403)
  }
  assert.equal(
    (await watch.ask(gateway, path, { key, body: { provider: 'anthropic', api_key: `${rejected} ` } })).status,
    400,
  )
  const refused = { method: 'PATCH', key, body: { api_key: rejected } }
  assert.equal((await watch.ask(gateway, `${path}/${id}`, refused)).status, 400)
  openai.answer(withList)
  const rotation = { method: 'PATCH', key, body: { api_key: rotated } }
  assert.equal((await watch.ask(gateway, `${path}/${id}`, rotation)).status, 200)
  assert.equal((await watch.ask(gateway, CHAT, { key, body: hello() })).status, 200)
  const sent = JSON.stringify(openai.calls.slice(before).map(({ headers }) => headers.authorization))
  for (const secret of Object.values(OWN_KEYS)) assert.ok(sent.includes(secret), 'the provider was sent it')
  openai.answer(ordinary)
  for (const listed of [path, `${path}/${id}`]) assert.equal((await watch.ask(gateway, listed, { key })).status, 200)
}

/** Those whose kind is used in the wrong places; one of each kind. */
const MISPLACED =
  /^(key at openai|client secret|TURNPIKE_SECRET|first key|access token|refresh token|device code|cookie of ada|JWT|one-time link|invitation)$/

/** What the service recognises; errors may quote to its sender what is a text like any other. */
const OURS = /^(tp[a-z]?_|eyJ)/

async function misplaceAll({ watch, gateway }: Runtime, good: { key: string; cookie: string }): Promise<number> {
  const kinds = new Map(
    [...watch.planted].filter(([, name]) => MISPLACED.test(name)).map(([secret, name]) => [name, secret]),
  )
  const before = watch.heardCount()
  const misplace = async (secret: string): Promise<void> => {
    for (const [path, call] of misplaced(secret)) {
      const ask = async (asked: Call) => {
        const answer = await watch.ask(gateway, path, asked)
        const isError = answer.headers['content-type']?.includes('json') === true && answer.status >= 400
        if (path === '/auth/session' && answer.status === 200) answer.secret('cookie of ada', cookieOf(answer))
        if (isError && !OURS.test(secret)) answer.mayRepeat(secret)
      }
      await ask(call)
      const { authorization, cookie } = call.headers ?? {}
      if (path.startsWith('/v1/') && call.key === undefined && authorization === undefined) {
        await ask({ ...call, key: good.key })
      }
      if (/^\/(activate|app|sign-in|invitation|auth)/.test(path) && cookie === undefined) {
        await ask({ ...call, headers: { ...call.headers, ...withCookie(good.cookie) } })
      }
    }
  }
  await Promise.all([...kinds.values()].map(misplace))
  assert.equal(kinds.size, 11, [...kinds.keys()].join())
  return (watch.heardCount() - before) / 2 // headers and body are heard apart
}

/** Every row of every table, and every file but that of the installation's secret. */
async function hearWhatIsKept({ watch, gateway }: Runtime): Promise<number> {
  const { db, dialect, close } = await openLocation(gateway.database)
  const names =
    dialect === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_master where type = 'table'`
      : sql<{
          name: string
        }>`select table_name as name from information_schema.tables where table_schema = current_schema()`
  const tables = (await names.execute(db)).rows.map(({ name }) => name)
  for (const table of tables) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(db)
    for (const row of rows) {
      for (const [column, value] of Object.entries(row)) watch.hear(`column ${table}.${column}`, textOf(value))
    }
  }
  await close()
  for (const entry of readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = relative(gateway.dataDir, path)
    if (entry.isFile() && name !== 'secret') watch.hear(`file ${name}`, readFileSync(path, 'latin1'))
  }
  return tables.length
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const REPORTS = [
  '/v1/audit',
  '/v1/usage?group_by=key',
  '/v1/usage/completions',
  '/v1/keys',
  '/v1/devices',
  '/v1/sessions',
]
const MORE_REPORTS = ['/v1/members', '/v1/invitations', '/v1/me', '/v1/account', '/v1/ledger', '/v1/models', '/docs/']
const OF_OPERATORS = [
  '/metrics',
  '/openapi.json',
  '/healthz',
  '/readyz',
  '/v1/admin/providers',
  '/v1/admin/price_ends',
  '/v1/admin/instances',
  '/v1/admin/accounts',
]

for (const level of ['trace', 'info']) {
  test(`SUP-2, OA-1, KEY-1: no secret is in any output, answer, metric, file or column, with the log at '${level}'`, async (t) => {
    const world = await setUp(t, level)
    const { watch, gateway } = world
    const welcome = await readWelcome(world)
    const cookie = await signIn(world, 'ada')
    const token = await tokenOf(world, cookie)
    const { first, second } = await connect(world, cookie)
    const spent = await spentKeys(world, token)
    await invite(world, token)
    const link = { method: 'POST', headers: OWN_PAGE, body: { token: welcome.link } }
    const linked = await watch.ask(gateway, '/auth/link', link)
    linked.secret('cookie by link', cookieOf(linked))
    linked.secret('JWT by link', json<{ access_token?: string }>(linked).access_token)
    assert.equal((await watch.ask(gateway, '/auth/link', link)).status, 401, 'a link is good once')
    for (const key of [welcome.key, token, second.access]) {
      assert.equal((await watch.ask(gateway, CHAT, { key, body: hello() })).status, 200)
    }
    await failToSignIn(world)
    await failAtProviders(world, welcome.key)
    const tries = await misplaceAll(world, { key: welcome.key, cookie })
    const grant = { client_id: 'turnpike-cli', grant_type: 'refresh_token', refresh_token: second.refresh }
    for (const secret of [first.refresh, second.refresh]) {
      await watch.ask(gateway, '/oauth/revoke', { body: form({ token: secret }), headers: FORM })
    }
    await watch.ask(gateway, '/oauth/token', { body: form(grant), headers: FORM })
    await assertSpent(world, spent)
    for (const key of [first.access, second.access, ...spent]) await watch.ask(gateway, CHAT, { key, body: hello() })
    for (const path of [...REPORTS, ...MORE_REPORTS]) {
      const report = await watch.ask(gateway, path, { key: welcome.key })
      assert.equal(report.status, 200, `${path}: ${report.text}`)
    }
    for (const path of OF_OPERATORS)
      assert.equal((await watch.ask(gateway, path, { key: world.operator })).status, 200, path)
    await useOwnKeys(world, welcome.key)
    const tables = await hearWhatIsKept(world)
    const signOut = { method: 'POST', headers: withCookie(cookie) }
    assert.equal((await watch.ask(gateway, '/auth/sign-out', signOut)).status, 204)
    assert.equal((await watch.ask(gateway, '/auth/session', signOut)).status, 401)
    gateway.signal('SIGTERM')
    await gateway.exited // and has printed everything
    watch.hear('output', welcome.rest())
    t.diagnostic(
      `canaries: ${watch.planted.size} secrets, ${tries} misplaced, ${tables} tables, ${watch.heardCount()} texts`,
    )
    const found = watch.search()
    assert.equal(found.length, 0, `${found.length} found:\n${[...new Set(found)].slice(0, 60).join('\n')}`)
  })
}
