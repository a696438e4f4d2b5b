/**
 * The command line against a server that it is signed in to, and one that it has a key for.
 * Runs on one database: it is about what is said and shown.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openStore, ownerOf } from '../../src/cli/remote/auth/credential-store.ts'
import { beginDeviceFlow, CLIENT_ID, discover, pollOnce } from '../../src/cli/remote/auth/oauth.ts'
import { openProfiles, withProfile } from '../../src/cli/remote/auth/profiles.ts'
import type { OpenedDatabase } from '../../src/db/database.ts'
import type { AccountId, SessionId, UserId } from '../../src/domain/ids.ts'
import { type Activation, createActivation } from '../../src/features/oauth/activation.ts'
import { createClients, DATABASE_TIME } from '../../src/features/oauth/authority.ts'
import { eventually, send } from '../support/client.ts'
import { openLocation, testIds } from '../support/database.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { ORIGIN, sessionOf } from '../support/identity/oauth-server.ts'
import { type Home, makeHome } from '../support/process/command-line.ts'
import { ordinary } from '../support/providers/answers.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'

const ADA = 'usr_cli' as UserId

let provider: FakeProvider
let gateway: Gateway
let database: OpenedDatabase
let activation: Activation
let account: AccountId
let key: string
let home: Home

before(async () => {
  provider = await startFakeProvider(ordinary)
  gateway = await startGateway({ config: oneModel(provider.url) })
  account = (await gateway.cli('accounts', 'create', '--name', 'Example')) as AccountId
  key = await gateway.key('--account', account)
  database = await openLocation(gateway.database)
  const born = { created_at: 1, changed_at: Date.now() }
  await database.db
    .insertInto('person')
    .values({ id: ADA, email: 'ada@example.com', name: 'Ada', ...born })
    .execute()
  await database.db
    .insertInto('member')
    .values({ account_id: account, user_id: ADA, role: 'developer', ...born })
    .execute()
  activation = createActivation({
    ...{ db: database.db, ids: testIds, time: DATABASE_TIME, clients: createClients([]) },
    ...{ rotationKey: new Uint8Array(32), writeAudit: async () => undefined, changed: () => undefined },
    log: { warn: () => undefined },
  })
  home = makeHome()
})

after(async () => {
  home?.remove()
  await database?.close()
  await gateway?.stop()
  await provider?.close()
})

/** The person approves in the browser of another process. */
async function approve(userCode: string): Promise<void> {
  const session = sessionOf({ id: testIds.session() as SessionId, userId: ADA, accountId: account, role: 'developer' })
  assert.equal(await activation.decide(userCode, { approve: true, session, origin: ORIGIN }), true)
}

/** What a login ends with, without its pauses. */
async function signedIn(): Promise<void> {
  const { signal } = new AbortController()
  const server = await discover(gateway.url)
  const { userCode, deviceCode } = await beginDeviceFlow(server, signal)
  await approve(userCode)
  const poll = await pollOnce(server, deviceCode, signal)
  assert.ok(poll.kind === 'approved')
  const profile = { name: 'default', url: gateway.url, clientId: CLIENT_ID, store: 'file' } as const
  await openStore('file', home.folder).write(ownerOf(profile), poll.tokens)
  await openProfiles(home.folder).change((profiles) =>
    withProfile(profiles, { ...profile, email: undefined, account: undefined }),
  )
}

const run = async (...words: string[]) => {
  const ended = await home.run(words)
  assert.equal(ended.code, 0, ended.stderr)
  return ended.stdout
}

test('J3: a person signs the command line in, uses it, is disconnected and receives instructions', async () => {
  const login = home.start(['login', '--url', gateway.url, '--insecure-file'])
  const said = await eventually(
    async () => login.stdout(),
    (text) => /code \S+\n/.test(text),
  )
  await approve(/code (\S+)\n/.exec(said)?.[1] ?? '')
  const { code, stdout, stderr } = await login.ended
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\nSigned in to http:\S+ as ada@example\.com, account Example\.\n$/)
  assert.match(
    await run('whoami'),
    /^server .*\nprofile +default\nuser +ada@example\.com \(developer\)\naccount +Example/,
  )
  assert.match(await run('models'), /^MODEL +OWNER .*\n(.*\n)*m1 +up +128,000 +1,000 +1\.00 +2\.00 +streaming,/)
  assert.match((await home.run(['chat', 'm1'], { input: 'Hi' })).stdout, /^t0 t1 /)
  const report = await eventually(
    () => run('usage', '--group-by', 'key'),
    (text) => text.includes('turnpike-cli'),
  )
  assert.match(report, /\nKEY +TOKENS +COST +REQUESTS\ndevice "turnpike-cli" of ada@example\.com +15 +\$0\.00002 +1\n$/)
  const devices = JSON.parse((await send(gateway, '/v1/devices', { key })).text)
  assert.deepEqual([devices.data[0].client_id, devices.data[0].revoked_at], ['turnpike-cli', null])
  assert.equal((await send(gateway, `/v1/devices/${devices.data[0].id}`, { key, method: 'DELETE' })).status, 204)
  const refused = await home.run(['models'])
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /^turnpike: The sign-in to \S+ was revoked or has expired\. Run 'turnpike login --url \S+' to sign in again\.\n$/,
  )
})

test('logout disconnects the device at the server', async () => {
  await signedIn()
  const before = await home.run(['whoami', '--json'])
  assert.equal(JSON.parse(before.stdout).object, 'me')
  await run('logout')
  const devices = JSON.parse((await send(gateway, '/v1/devices', { key })).text)
  assert.notEqual(devices.data[0].revoked_at, null)
})

test('the address of a key: --url before the environment, HOST and PORT last; --json has the endpoint’s form', async () => {
  const own = makeHome({ TURNPIKE_API_KEY: key })
  try {
    const elsewhere = { TURNPIKE_URL: 'http://127.0.0.1:9' }
    const named = await own.run(['models', '--json', '--url', `${gateway.url}/v1/`], { env: elsewhere })
    assert.deepEqual(JSON.parse(named.stdout), JSON.parse((await send(gateway, '/v1/models', { key })).text))
    assert.match((await own.run(['models'], { env: elsewhere })).stderr, /127\.0\.0\.1:9 is unreachable/)
    const local = { HOST: '0.0.0.0', PORT: String(gateway.port) }
    const usage = await own.run(['usage', '--json', '--period-start', '2026-01-01', '--group-by', 'day'], {
      env: local,
    })
    assert.equal(JSON.parse(usage.stdout).period_start, '2026-01-01T00:00:00.000Z', usage.stderr)
    const operator = { ...local, TURNPIKE_API_KEY: await gateway.key('--operator') }
    const all = await own.run(['usage', '--account', 'all', '--group-by', 'account'], { env: operator })
    assert.match(all.stdout, /\nACCOUNT +NAME +TOKENS +COST +REQUESTS\nacc_\w+ +\S.*\$/, all.stderr)
    const refused = await own.run(['usage', '--account', 'all'], { env: local })
    assert.deepEqual([refused.code, refused.stdout], [1, ''])
    const wrong = await own.run(['models'], { env: { ...local, TURNPIKE_API_KEY: 'tp_wrong' } })
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /rejected the key in TURNPIKE_API_KEY/)
    assert.doesNotMatch(wrong.stderr, /tp_wrong/)
  } finally {
    own.remove()
  }
})
