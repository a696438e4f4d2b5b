import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  deviceCode,
  type FakeAuthorizationServer,
  granted,
  refused,
  startAuthorizationServer,
} from '../../../test/support/identity/authorization-server.ts'
import { type Ended, type Home, makeHome } from '../../../test/support/process/command-line.ts'
import { freePort } from '../../../test/support/process/free-port.ts'

const ME = {
  object: 'me',
  credential: { kind: 'token', id: 'dev_1', scopes: ['chat'], expires_at: '2026-11-20T16:00:00.000Z' },
  account: { id: 'acc_1', name: 'Example', plan: 'pro' },
  user: { id: 'usr_1', email: 'ada@example.com', name: 'Ada' },
  role: 'developer',
}

let server: FakeAuthorizationServer
let home: Home

beforeEach(async () => {
  server = await startAuthorizationServer()
  server.answers.set('/v1/me', [{ body: ME }])
  home = makeHome()
})

afterEach(async () => {
  home.remove()
  await server.close()
})

const login = (...words: string[]) => home.run(['login', '--url', server.url, '--insecure-file', ...words])

/** Fails when anything secret was printed. */
function assertSilent({ stdout, stderr }: Ended): void {
  assert.doesNotMatch(stdout + stderr, /secret/)
}

async function signIn(number: number, ...words: string[]): Promise<Ended> {
  server.answers.set('/oauth/token', [granted(number)])
  const ended = await login(...words)
  assert.equal(ended.code, 0, ended.stderr)
  return ended
}

const read = (name: string) => readFileSync(join(home.folder, name), 'utf8')

test('J3: login reports within one poll of the approval who is signed in, and where', async () => {
  server.answers.set('/oauth/token', [refused('authorization_pending'), granted(1)])
  const ended = await login()
  assert.deepEqual(ended.stdout.split('\n'), [
    `Open ${server.url}/activate and enter the code BCDF-GHJK`,
    `Signed in to ${server.url} as ada@example.com, account Example.`,
    '',
  ])
  assert.equal(ended.code, 0)
  assert.match(ended.stderr, /Check that the page shows the same code/)
  assert.match(ended.stderr, /expires after 180 days, or after 60 days without use\. Run 'turnpike logout' to end it\./)
  assert.match(ended.stderr, /Commands now use the profile 'default'/)
  assertSilent(ended)
  const [begun] = server.asked.filter(({ path }) => path === '/device/code')
  assert.deepEqual(begun?.form, { client_id: 'turnpike-cli', scope: 'api offline_access' })
  assert.match(begun?.userAgent ?? '', /^turnpike-cli\/\d+\.\d+\.\d+ \(\w+\)$/)
})

test('profiles contain no token; only its owner can read the file with tokens', async () => {
  const ended = await signIn(1)
  assert.match(ended.stderr, /Warning: the tokens are stored unencrypted in .*credentials\.json/)
  assert.doesNotMatch(read('profiles.json'), /secret|tp[adr]_/)
  assert.deepEqual(JSON.parse(read('profiles.json')), {
    default: 'default',
    profiles: {
      default: {
        url: server.url,
        client_id: 'turnpike-cli',
        store: 'file',
        email: 'ada@example.com',
        account: 'Example',
      },
    },
  })
  assert.match(read('credentials.json'), /tpr_secret-refresh-1/)
  assert.equal(statSync(home.folder).mode & 0o777, 0o700)
  for (const name of readdirSync(home.folder).filter((name) => name.endsWith('.json'))) {
    assert.equal(statSync(join(home.folder, name)).mode & 0o777, 0o600, name)
  }
})

test('without a credential store login sends no request, and names the alternatives', async () => {
  const ended = await home.run(['login', '--url', server.url], { env: { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/none' } })
  assert.equal(ended.code, 1)
  assert.equal(ended.stdout, '')
  assert.match(
    ended.stderr,
    /^turnpike: This system's Secret Service is unavailable .*'turnpike login --url http:\S+ --insecure-file'.*TURNPIKE_API_KEY/,
  )
  assert.deepEqual(server.asked, [])
})

test('a denial, an expiry and an unknown code each have a message with advice', async () => {
  const again = `turnpike login --url ${server.url}`
  const cases = [
    ['access_denied', /The request was denied/],
    ['expired_token', /expired before it was approved/],
    ['invalid_grant', /returned an unexpected response: No\./],
  ] as const
  for (const [code, sentence] of cases) {
    server.answers.set('/oauth/token', [refused(code)])
    const ended = await login()
    assert.equal(ended.code, 1)
    assert.match(ended.stderr, sentence)
    assert.ok(ended.stderr.includes(again.slice(0, 14)), ended.stderr)
    assertSilent(ended)
  }
})

test('login retries while the server fails, sends invalid responses or is unreachable', async () => {
  server.answers.set('/oauth/token', [{ status: 502, body: '<h1>Bad gateway</h1>' }, granted(1)])
  const ended = await login()
  assert.equal(ended.code, 0, ended.stderr)
  assert.match(ended.stderr, /unexpected status 502\. Retrying\./)
  assert.match(ended.stderr, /The server responds again\./)
})

test('login fails at once for an unreachable server, and for one that is not Turnpike', async () => {
  server.answers.set('/device/code', [{ body: '<h1>Welcome</h1>' }])
  assert.match((await login()).stderr, /is not a Turnpike server/)
  server.answers.set('/device/code', [refused('invalid_client')])
  assert.match((await login()).stderr, /rejected the device sign-in: No\./)
  const nowhere = `http://127.0.0.1:${await freePort()}`
  const ended = await home.run(['login', '--url', nowhere, '--insecure-file'])
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /is unreachable: connection refused\./)
})

test('text of a server cannot control the terminal, and its page must be an http or https URL', async () => {
  const user_code = 'AB\u001b[2J\u0007CD'
  server.answers.set('/device/code', [{ body: deviceCode(server.url, { user_code }) }])
  const ended = await signIn(1)
  assert.match(ended.stdout, /enter the code AB\[2JCD\n/)
  server.answers.set('/device/code', [{ body: deviceCode(server.url, { verification_uri: 'file:///etc/passwd' }) }])
  assert.match((await login()).stderr, /is not a Turnpike server/)
})

test('Ctrl-C ends the wait, and an aborted login leaves nothing', async () => {
  const { child, ended, stdout } = home.start(['login', '--url', server.url, '--insecure-file'])
  while (!stdout().includes('BCDF-GHJK')) await sleep(10)
  child.kill('SIGINT')
  const { code, stderr } = await ended
  assert.equal(code, 1)
  assert.match(stderr, /turnpike: Stopped before the sign-in was complete\./)
  assert.doesNotMatch(stderr, /at .*\.ts/)
  assert.ok(!existsSync(join(home.folder, 'credentials.json')))
})

test('with several servers the last is used, --profile selects another, and whoami names it', async () => {
  await signIn(1)
  const { stderr } = await signIn(2, '--profile', 'work')
  assert.match(stderr, /Commands now use the profile 'work'/)
  const authorization = async (...words: string[]) => {
    const ended = await home.run(['whoami', ...words])
    assert.equal(ended.code, 0, ended.stderr)
    return [ended.stdout, server.asked.at(-1)?.authorization] as const
  }
  const [work, workToken] = await authorization()
  assert.match(work, new RegExp(`^server +${server.url}\nprofile +work\nuser +ada@example.com \\(developer\\)\n`))
  assert.equal(workToken, 'Bearer tpa_secret-access-2')
  assert.equal((await authorization('--profile', 'default'))[1], 'Bearer tpa_secret-access-1')
  assert.deepEqual(JSON.parse((await authorization('--json'))[0]), ME)
  const unknown = await home.run(['whoami', '--profile', 'home'])
  assert.match(unknown.stderr, /Profile 'home' does not exist, only 'default', 'work'\./)
})

test('signing in again with a profile, even to another server, ends its previous sign-in', async () => {
  await signIn(1)
  await signIn(2, '--url', server.url.replace('127.0.0.1', 'localhost'))
  const revoked = server.asked.filter(({ path }) => path === '/oauth/revoke').map(({ form }) => form['token'])
  assert.deepEqual(revoked, ['tpr_secret-refresh-1'])
  assert.match(read('credentials.json'), /refresh-2/)
  assert.doesNotMatch(read('credentials.json'), /refresh-1/)
})

test('logout revokes the tokens and deletes them; --all for every profile', async () => {
  await signIn(1)
  await signIn(2, '--profile', 'work')
  const first = await home.run(['logout'])
  assert.equal(first.code, 0, first.stderr)
  assert.equal(first.stdout, `Signed out of ${server.url}.\n`)
  assert.match(first.stderr, /Commands now use the profile 'default'/)
  assert.deepEqual(server.asked.at(-1)?.form, { client_id: 'turnpike-cli', token: 'tpr_secret-refresh-2' })
  await signIn(3, '--profile', 'third')
  const all = await home.run(['logout', '--all', '--json'])
  const left = (profile: string) => ({ profile, url: server.url, revoked: true })
  assert.deepEqual(JSON.parse(all.stdout), { data: [left('default'), left('third')] })
  assert.doesNotMatch(read('credentials.json'), /secret/)
  assert.deepEqual(JSON.parse(read('profiles.json')), { profiles: {} })
  const again = await home.run(['logout'])
  assert.deepEqual([again.code, again.stderr], [1, 'turnpike: You are not signed in.\n'])
  for (const ended of [first, all, again]) assertSilent(ended)
})

test('logout deletes the sign-in even if the server is unreachable, and reports it', async () => {
  await signIn(1)
  await server.close()
  const ended = await home.run(['logout'])
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /is unreachable.*deleted from this machine but is still valid at the server/)
  assert.deepEqual(JSON.parse(read('profiles.json')), { profiles: {} })
})

test('an invalid profile file is named, and not overwritten', async () => {
  await signIn(1)
  for (const text of ['{"profiles": {', '{"profiles": 3}', '{"profiles": {"work": {"url": 1}}}']) {
    writeFileSync(join(home.folder, 'profiles.json'), text)
    const ended = await login()
    assert.equal(ended.code, 1)
    assert.match(ended.stderr, /profiles\.json is invalid\. Fix it, or delete it/)
    assert.equal(read('profiles.json'), text)
  }
})

test('a file with tokens that other users can read is rejected', async () => {
  await signIn(1)
  chmodSync(join(home.folder, 'credentials.json'), 0o644)
  const ended = await home.run(['whoami'])
  assert.match(ended.stderr, /Other users can read .*credentials\.json.*chmod 600/)
})
