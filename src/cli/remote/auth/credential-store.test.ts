import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import {
  type FakeAuthorizationServer,
  granted,
  startAuthorizationServer,
} from '../../../../test/support/identity/authorization-server.ts'
import { type SecretService, startSecretService } from '../../../../test/support/identity/secret-service.ts'
import { makeHome } from '../../../../test/support/process/command-line.ts'
import { type CredentialStore, type Keyring, openStore, systemStore, type Tokens } from './credential-store.ts'

let service: SecretService
let server: FakeAuthorizationServer
before(async () => {
  service = await startSecretService()
  server = await startAuthorizationServer()
})
after(async () => {
  await server?.close()
  await service?.stop()
})

const tokens = (number: number): Tokens => ({
  accessToken: `tpa_${number}`,
  refreshToken: `tpr_${number}`,
  expiresAt: number,
})

/** What every store does. */
async function assertKeeps(store: CredentialStore): Promise<void> {
  await store.check()
  assert.equal(await store.read('default at https://a.example'), undefined)
  await store.write('default at https://a.example', tokens(1))
  await store.write('work at https://a.example', tokens(2))
  await store.write('default at https://a.example', tokens(3))
  assert.deepEqual(await store.read('default at https://a.example'), tokens(3))
  await store.remove('default at https://a.example')
  await store.remove('default at https://a.example')
  assert.equal(await store.read('default at https://a.example'), undefined)
  assert.deepEqual(await store.read('work at https://a.example'), tokens(2))
}

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-store-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a file stores tokens by owner', async (t) => {
  await assertKeeps(openStore('file', temporaryFolder(t)))
})

test('concurrent writers of the file lose nothing', async (t) => {
  const folder = temporaryFolder(t)
  const owners = Array.from({ length: 12 }, (_, number) => `profile-${number}`)
  await Promise.all(owners.map((owner, number) => openStore('file', folder).write(owner, tokens(number))))
  const found = await Promise.all(owners.map((owner) => openStore('file', folder).read(owner)))
  assert.deepEqual(
    found,
    owners.map((_, number) => tokens(number)),
  )
  assert.deepEqual(readdirSync(folder).toSorted(), ['credentials.json', 'credentials.json.lock'])
})

test('the credential store stores them, and never falls back to the kernel’s keyring', async () => {
  const kept = new Map<string, string>()
  const stores = new Set<unknown>()
  class AsyncEntry {
    readonly #name: string
    constructor(...[service, owner, options]: ConstructorParameters<Keyring['AsyncEntry']>) {
      this.#name = `${service} ${owner}`
      stores.add(options?.linux?.store)
    }
    getPassword = async () => kept.get(this.#name) ?? null
    setPassword = async (text: string) => void kept.set(this.#name, text)
    deletePassword = async () => kept.delete(this.#name)
  }
  await assertKeeps(systemStore(async () => ({ AsyncEntry })))
  assert.deepEqual([...stores], ['secret-service'])
})

test('a platform without the library, and a store that times out, are reported with alternatives', async () => {
  class AsyncEntry {
    getPassword = () => new Promise<string | null>(() => undefined)
    setPassword = async () => undefined
    deletePassword = async () => false
  }
  const missing = systemStore(async () => {
    throw new Error('Cannot find native binding.\nnpm has a bug …')
  })
  const silent = systemStore(async () => ({ AsyncEntry }), { timeoutMs: 1 })
  for (const [store, reason] of [
    [missing, /is unavailable \(Cannot find native binding\.\)/],
    [silent, /is unavailable \(it timed out\)/],
  ] as const) {
    await assert.rejects(store.check(), reason)
    await assert.rejects(store.check(), /--insecure-file.*TURNPIKE_API_KEY/)
  }
})

test('on a desktop, login stores tokens only in the Secret Service, and logout deletes them', async () => {
  const home = makeHome(service.env)
  const run = async (...words: string[]) => {
    const ended = await home.run(words)
    assert.equal(ended.code, 0, ended.stderr)
    assert.doesNotMatch(ended.stdout + ended.stderr, /secret|Warning/)
    return ended.stdout
  }
  try {
    server.answers.set('/oauth/token', [granted(1)])
    server.answers.set('/v1/models', [{ body: { object: 'list', data: [] } }])
    await run('login', '--url', server.url)
    assert.deepEqual(readdirSync(home.folder).toSorted(), ['default.lock', 'profiles.json', 'profiles.lock'])
    const files = [home.folder, join(service.folder, 'keyrings')].flatMap((folder) =>
      readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1')),
    )
    assert.ok(files.length >= 4)
    for (const file of files) assert.doesNotMatch(file, /tp[ar]_secret/)
    await run('models')
    assert.equal(server.asked.at(-1)?.authorization, 'Bearer tpa_secret-access-1')
    await run('logout')
    assert.deepEqual(server.asked.at(-1)?.form, { client_id: 'turnpike-cli', token: 'tpr_secret-refresh-1' })
    assert.match((await home.run(['models'])).stderr, /You are not signed in\. Run 'turnpike login/)
  } finally {
    home.remove()
  }
})
