import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import {
  type FakeAuthorizationServer,
  granted,
  refused,
  startAuthorizationServer,
} from '../../../../test/support/identity/authorization-server.ts'
import { createClient } from '../client.ts'
import { type Bearer, profileBearer } from './bearer.ts'
import { openStore, ownerOf, type Tokens } from './credential-store.ts'
import { withLock } from './private-files.ts'
import type { Profile } from './profiles.ts'

const HOUR_MS = 3_600_000

let fake: FakeAuthorizationServer
let folder: string
let profile: Profile
beforeEach(async () => {
  fake = await startAuthorizationServer()
  folder = mkdtempSync(join(tmpdir(), 'turnpike-bearer-'))
  const { url } = fake
  profile = { name: 'default', url, clientId: 'turnpike-cli', store: 'file', email: undefined, account: undefined }
})
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true })
  await fake.close()
})

const store = () => openStore('file', folder)
const bearer = (): Bearer => profileBearer({ profile, store: store(), folder })
const kept = () => store().read(ownerOf(profile))
const refreshes = () =>
  fake.asked.filter(({ path }) => path === '/oauth/token').map(({ form }) => form['refresh_token'])

async function keep(lifetimeMs: number, over: Partial<Tokens> = {}): Promise<void> {
  const tokens = { accessToken: 'tpa_0', refreshToken: 'tpr_0', expiresAt: Date.now() + lifetimeMs, ...over }
  await store().write(ownerOf(profile), tokens)
}

test('an access token is used while it is valid, and renewed a minute before it expires', async () => {
  await keep(HOUR_MS)
  assert.equal(await bearer().current(), 'tpa_0')
  assert.deepEqual(fake.asked, [])
  await keep(59_000)
  fake.answers.set('/oauth/token', [granted(1)])
  assert.equal(await bearer().current(), 'tpa_secret-access-1')
  assert.equal((await kept())?.refreshToken, 'tpr_secret-refresh-1')
  assert.equal(await bearer().current(), 'tpa_secret-access-1')
  assert.deepEqual(refreshes(), ['tpr_0'])
})

test('of concurrent commands one renews the tokens, and all use them', async () => {
  await keep(0)
  fake.answers.set('/oauth/token', [granted(1), granted(2)])
  const got = await Promise.all(Array.from({ length: 8 }, () => bearer().current()))
  assert.deepEqual(new Set(got), new Set(['tpa_secret-access-1']))
  assert.deepEqual(refreshes(), ['tpr_0'])
})

test('a 401 renews the tokens once, and the command continues', async () => {
  await keep(HOUR_MS)
  fake.answers.set('/oauth/token', [granted(1)])
  fake.answers.set('/v1/models', [{ status: 401, body: {} }, { body: { data: [] } }])
  const client = createClient({ url: profile.url, bearer: bearer(), profile })
  assert.deepEqual(await client.get('/models'), { data: [] })
  const sent = fake.asked.filter(({ path }) => path === '/v1/models').map(({ authorization }) => authorization)
  assert.deepEqual(sent, ['Bearer tpa_0', 'Bearer tpa_secret-access-1'])
})

test('a 401 uses the tokens that another command has renewed', async () => {
  await keep(HOUR_MS)
  assert.equal(await bearer().renewed('tpa_older'), 'tpa_0')
  assert.deepEqual(fake.asked, [])
})

test('a disconnected device gets the command to run', async () => {
  const todo = new RegExp(`The sign-in to ${profile.url} was revoked or has expired\\. Run 'turnpike login --url`)
  await keep(0)
  fake.answers.set('/oauth/token', [refused('invalid_grant')])
  await assert.rejects(bearer().current(), todo)
  await keep(0, { refreshToken: undefined })
  await assert.rejects(bearer().current(), todo)
  await keep(HOUR_MS)
  fake.answers.set('/v1/models', [{ status: 401, body: {} }])
  await assert.rejects(createClient({ url: profile.url, bearer: bearer(), profile }).get('/models'), todo)
  await store().remove(ownerOf(profile))
  await assert.rejects(bearer().current(), /has no tokens on this machine\. Run 'turnpike login/)
})

test('an unreachable server does not end the sign-in', async () => {
  await keep(0)
  await fake.close()
  await assert.rejects(bearer().current(), /is unreachable: connection refused/)
  assert.equal((await kept())?.refreshToken, 'tpr_0')
})

test('the lock excludes other processes, and a killed process releases it', async () => {
  const path = join(folder, 'x.lock')
  const program = `
    import { withLock } from ${JSON.stringify(new URL('./private-files.ts', import.meta.url).href)}
    await withLock(${JSON.stringify(path)}, () => { console.log('held'); return new Promise((resolve) => setTimeout(resolve, 1e6)) })`
  const child = execFile(process.execPath, ['--input-type=module', '-e', program])
  try {
    await new Promise((resolve) => child.stdout?.once('data', resolve))
    await assert.rejects(
      withLock(path, async () => 1, { waitMs: 50 }),
      /Another turnpike command has locked/,
    )
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
    assert.equal(await withLock(path, async () => 2), 2)
  } finally {
    child.kill('SIGKILL')
  }
})
