import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { configChanges, explainConfig, settingsBelow } from './explain.ts'
import { loadConfig, reloadable } from './load.ts'
import { ConfigError } from './source-tree.ts'

const BUILT_IN = {
  builtInProviders: ['acme'],
  providerVariables: { ACME_API_KEY: 'acme' },
}

async function folderWith(t: TestContext, files: Readonly<Record<string, string>>) {
  const cwd = await mkdtemp(join(tmpdir(), 'turnpike-explain-'))
  t.after(() => rm(cwd, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(cwd, name), text)
  const load = (env: Readonly<Record<string, string>> = {}, config?: string) =>
    loadConfig({ env, cwd, builtIn: BUILT_IN, flags: config === undefined ? {} : { config } })
  return load
}

const FILE = `
server: { port: 8080 }
providers:
  acme: { api_key: top-secret }
models:
  - id: one/two
    context_window: 1000
    deployments: [{ provider: acme, model: m }]
`

test('each setting names its source: file with line, variable, default', async (t) => {
  const load = await folderWith(t, { 'turnpike.yaml': FILE })
  const settings = explainConfig(await load({ HOST: '0.0.0.0' }))
  const of = (path: string) => settingsBelow(settings, path)
  assert.deepEqual(of('server.port'), [{ path: 'server.port', value: 8080, origin: 'turnpike.yaml:2:17' }])
  assert.deepEqual(of('server.host'), [{ path: 'server.host', value: '0.0.0.0', origin: 'environment: HOST' }])
  assert.deepEqual(of('log_level'), [{ path: 'log_level', value: 'info', origin: 'default' }])
  const [window] = of('models["one/two"].context_window')
  assert.deepEqual([window?.value, window?.origin], [1000, 'turnpike.yaml:7:21'])
  assert.ok(of('server').length > 5)
  assert.deepEqual(of('serv'), [])
})

test('secrets are never explained, and a changed one is still a difference', async (t) => {
  const load = await folderWith(t, {
    'turnpike.yaml': FILE,
    'next.yaml': FILE.replace('top-secret', 'other-secret').replace('8080', '8081'),
  })
  const before = await load()
  assert.doesNotMatch(JSON.stringify(explainConfig(before)), /top-secret/)
  const changes = configChanges(before, await load({}, 'next.yaml'))
  assert.doesNotMatch(JSON.stringify(changes), /-secret/)
  assert.deepEqual(
    changes.map(({ path, reloadable: reloads }) => [path, reloads]),
    [
      ['server.port', false],
      ['server.public_url', false],
      ['providers.acme.api_key', true],
    ],
  )
  assert.deepEqual(configChanges(before, before), [])
})

test('after a reload, origins are those of what was reloaded', async (t) => {
  const load = await folderWith(t, { 'turnpike.yaml': FILE, 'next.yaml': `\n${FILE}` })
  const config = reloadable(await load(), await load({}, 'next.yaml'))
  assert.match(config.origins['server.port'] ?? '', /^turnpike\.yaml:2/)
  assert.match(config.origins['models[0].context_window'] ?? '', /^next\.yaml:8/)
})

test('secrets come from files: variables by _FILE, settings by _file, without the last line break', async (t) => {
  const load = await folderWith(t, {
    'turnpike.yaml': `providers:\n  acme: { api_key: "\${KEY}" }\n  other: { kind: acme, api_key_file: second }\n`,
    first: 'from-a-file\n',
    second: 'from another file\r\n',
    long: `${'x'.repeat(32)}\n`,
  })
  const config = await load({ KEY_FILE: 'first', TURNPIKE_SECRET_FILE: 'long' })
  assert.equal(config.providers['acme']?.api_key, 'from-a-file')
  assert.equal(config.providers['other']?.api_key, 'from another file')
  assert.equal(config.secret, 'x'.repeat(32))
  assert.equal(config.origins['secret'], 'environment: TURNPIKE_SECRET_FILE')
  const direct = await load({ KEY: 'direct', KEY_FILE: 'first' })
  assert.equal(direct.providers['acme']?.api_key, 'direct')
})

test('a secret file that cannot be read is a problem with its position', async (t) => {
  const load = await folderWith(t, {
    'turnpike.yaml':
      'providers:\n  acme: { api_key_file: missing }\n  both: { kind: acme, api_key: a, api_key_file: b }\n',
  })
  await assert.rejects(load({ REDIS_URL_FILE: 'nowhere' }), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /REDIS_URL_FILE: found a file that cannot be read \(ENOENT\)/)
    assert.match(error.message, /turnpike\.yaml:2:\d+: providers\.acme\.api_key_file: found a file that cannot be read/)
    assert.match(error.message, /providers\.both\.api_key_file: found beside api_key/)
    return true
  })
})
