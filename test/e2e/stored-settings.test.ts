/** Models and providers that operators change at run time, with two processes on one database. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { builtIn } from '../../src/cli/configuration.ts'
import { loadConfig } from '../../src/config/load.ts'
import { bestOf, CHAT, eventually, getJson, hello, open, send } from '../support/client.ts'
import { model, oneModel, startGateway } from '../support/gateway.ts'
import { bodyOf, ordinary, streamUntil } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { readStream } from '../support/providers/sse.ts'

const provider = await startFakeProvider(ordinary)
const config = oneModel(provider.url)
const first = await startGateway({ config })
const second = await startGateway({ config, dataDir: first.dataDir })
const key = await first.key('--operator')
after(async () => {
  await second.stop()
  await first.stop()
  await provider.close()
})

/** By the other process, of a change. */
const APPLIED_WITHIN_MS = 1_000
const SECRET = 'sk-stored-0123456789abcdef'
const STORED = { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: SECRET }
const { id: _, ...SETTINGS } = model('any', 'stored', 'up-model')

interface Version {
  readonly version: number
  readonly in_force: boolean
  readonly overridden_by: string | null
  readonly settings: Readonly<Record<string, unknown>> | null
  readonly api_keys: readonly { readonly last4: string }[]
}

async function ask<T = Version>(
  path: string,
  method = 'GET',
  body?: object,
): Promise<{ status: number; json: T; text: string }> {
  const { status, text } = await send(first, path, { key, method, ...(body && { body }) })
  return { status, text, json: (text === '' ? undefined : JSON.parse(text)) as T }
}

const statusAt = async (gateway: typeof first, id: string) =>
  (await send(gateway, CHAT, { key, body: hello({ model: id }) })).status

test('a stored provider and a stored model serve requests in every process, with the stored key', async () => {
  const put = await ask('/v1/admin/providers/stored', 'PUT', STORED)
  assert.equal(put.status, 200, put.text)
  assert.deepEqual([put.json.version, put.json.in_force, put.json.overridden_by], [1, true, null])
  assert.deepEqual(put.json.api_keys, [{ last4: 'cdef' }])
  assert.equal((await ask('/v1/admin/models/team%2Fnew', 'PUT', SETTINGS)).status, 200)
  assert.equal(await statusAt(first, 'team/new'), 200)
  await eventually(
    () => statusAt(second, 'team/new'),
    (status) => status === 200,
  )
  assert.equal(provider.calls.at(-1)?.headers['authorization'], `Bearer ${SECRET}`)
})

test('keys are sealed, and shown nowhere', async () => {
  assert.ok(!(await ask('/v1/admin/providers/stored')).text.includes(SECRET))
  assert.ok(!(await ask('/v1/admin/providers/stored/versions')).text.includes(SECRET))
  assert.ok(!(await ask('/v1/audit?limit=100')).text.includes(SECRET))
  assert.ok(!first.output().includes(SECRET))
  if (first.database.startsWith('postgres')) return
  for (const file of ['turnpike.db', 'turnpike.db-wal']) {
    assert.ok(!readFileSync(join(first.dataDir, file)).includes(SECRET), file)
  }
})

test('a disabled provider is not called, is listed as such, and answers again when it is enabled', async () => {
  interface Listed {
    readonly data: readonly { readonly id: string; readonly status: string; readonly source: string }[]
  }
  const listed = async (id: string) => {
    const { data } = (await ask<Listed>('/v1/admin/providers?limit=100')).json
    return data.filter((each) => each.id === id).map(({ status, source }) => [status, source])
  }
  const kinds = (await ask<Listed>('/v1/admin/provider_kinds?limit=100')).json.data.map(({ id }) => id)
  assert.ok(kinds.includes('openai') && !kinds.includes('simulator'))
  const { api_key: _key, ...others } = STORED
  assert.equal((await ask('/v1/admin/providers/stored', 'PUT', { ...others, disabled: true })).status, 200)
  assert.deepEqual(await listed('stored'), [['disabled', 'database']])
  assert.deepEqual(await listed('simulator'), [['healthy', 'built_in']])
  assert.equal(await statusAt(first, 'team/new'), 422)
  assert.equal((await ask('/v1/admin/providers/stored', 'PUT', others)).status, 200)
  assert.equal(await statusAt(first, 'team/new'), 200)
})

test('a change without a key keeps the stored one; null removes it', async () => {
  const { api_key: _key, ...others } = STORED
  const kept = await ask('/v1/admin/providers/stored', 'PUT', { ...others, max_in_flight: 5 })
  assert.deepEqual([kept.json.version, kept.json.api_keys], [4, [{ last4: 'cdef' }]])
  assert.equal(await statusAt(first, 'team/new'), 200)
  assert.equal(provider.calls.at(-1)?.headers['authorization'], `Bearer ${SECRET}`)
  const removed = await ask('/v1/admin/providers/stored', 'PUT', { ...others, api_key: null })
  assert.deepEqual(removed.json.api_keys, [])
  await ask('/v1/admin/providers/stored', 'PUT', STORED)
})

test('a price change concerns requests that are admitted after it, and no stream that runs', async () => {
  const told = Promise.withResolvers<void>()
  provider.answer(streamUntil(told.promise))
  const stream = await open(first, CHAT, { key, body: hello({ model: 'team/new', stream: true }) })
  const raised = { ...SETTINGS, pricing: { input_per_million: 1000, output_per_million: 2000 } }
  assert.equal((await ask('/v1/admin/models/team%2Fnew', 'PUT', raised)).json.version, 2)
  told.resolve()
  const { error, done } = readStream(await stream.body.text())
  assert.deepEqual([error, done], [undefined, true])
  provider.answer(ordinary)
  assert.equal(await statusAt(first, 'team/new'), 200)
  interface Row {
    readonly cost_usd: number
    readonly prompt_tokens: number
    readonly completion_tokens: number
  }
  const rows = await eventually(
    async () => (await ask<{ data: Row[] }>('/v1/usage/completions?model=team%2Fnew&limit=2')).json.data,
    ([newest]) => (newest?.cost_usd ?? 0) > 0.001,
  )
  const at = ({ prompt_tokens, completion_tokens }: Row, factor: number) =>
    Number(((prompt_tokens + 2 * completion_tokens) * 1e-6 * factor).toFixed(9))
  const [dear, cheap] = rows as [Row, Row]
  assert.equal(dear.cost_usd, at(dear, 1000))
  assert.equal(cheap.cost_usd, at(cheap, 1))
})

test('a change is effective in the other process within a second', async () => {
  let count = 0
  const change = async () => {
    const name = `Name ${++count}`
    assert.equal((await ask('/v1/admin/models/team%2Fnew', 'PUT', { ...SETTINGS, name })).status, 200)
    const changedAt = performance.now()
    await eventually(
      () => getJson<{ readonly name: string }>(second, key, '/v1/models/team%2Fnew'),
      (listed) => listed.name === name,
    )
    return performance.now() - changedAt
  }
  const appliedMs = await bestOf(change, APPLIED_WITHIN_MS)
  assert.ok(appliedMs <= APPLIED_WITHIN_MS, `applied after ${appliedMs} ms`)
})

test('a change with `effective_from` waits for its time', async () => {
  const later = new Date(Date.now() + 86_400_000).toISOString()
  const planned = await ask('/v1/admin/models/team%2Fnew', 'PUT', { ...SETTINGS, name: 'Later', effective_from: later })
  assert.deepEqual([planned.status, planned.json.in_force], [200, false], planned.text)
  assert.notEqual((await ask('/v1/admin/models/team%2Fnew')).json.settings?.['name'], 'Later')
  const soon = new Date(Date.now() + 300).toISOString()
  await ask('/v1/admin/models/team%2Fsoon', 'PUT', { ...SETTINGS, effective_from: soon })
  for (const gateway of [first, second])
    await eventually(
      () => statusAt(gateway, 'team/soon'),
      (status) => status === 200,
    )
})

test('the configuration file has precedence, and the answer reports it', async () => {
  const put = await ask('/v1/admin/models/m1', 'PUT', { ...SETTINGS, name: 'Stored' })
  assert.deepEqual([put.status, put.json.in_force, put.json.overridden_by], [200, false, 'configuration'], put.text)
  const { data } = (await ask<{ data: { id: string; name: string }[] }>('/v1/models')).json
  assert.notEqual(data.find(({ id }) => id === 'm1')?.name, 'Stored')
})

test('a name has at most 128 characters [limit: stored-name]', async () => {
  for (const [length, status] of [
    [128, 200],
    [129, 400],
  ] as const) {
    const path = `/v1/admin/models/${'n'.repeat(length)}`
    assert.equal((await ask(path, 'PUT', SETTINGS)).status, status)
    if (status === 200) assert.equal((await ask(path, 'DELETE')).status, 204)
  }
})

test('an invalid change is rejected with the setting and the allowed values, and changes nothing', async () => {
  for (const [path, body, message] of [
    [
      'models/bad',
      { pricing: { input_per_million: -1, output_per_million: 1 } },
      /pricing\.input_per_million: found -1/,
    ],
    ['models/bad', { deployments: [{ provider: 'nobody', model: 'x' }] }, /deployments\[0\]\.provider: found "nobody"/],
    ['models/bad', { aliases: ['m1'] }, /aliases\[0\]: found "m1" a second time/],
    ['models/bad', { priceing: {} }, /did you mean "pricing"/],
    ['providers/bad', { base_url: 'http://127.0.0.1:9' }, /without protocol/],
    ['providers/Bad', { protocol: 'openai', base_url: 'http://127.0.0.1:9' }, /names of lower-case letters/],
    ['models/bad', { effective_from: 'soon' }, /effective_from/],
  ] as const) {
    const { status, text } = await ask(`/v1/admin/${path}`, 'PUT', body)
    assert.equal(status, 400, text)
    assert.match(JSON.parse(text).error.message, message)
    assert.equal((await ask(`/v1/admin/${path}`)).status, 404)
  }
})

test('a removed model disappears in every process; its versions stay', async () => {
  const removal = await ask('/v1/admin/models/team%2Fsoon', 'DELETE')
  assert.equal(removal.status, 204, removal.text)
  assert.equal((await ask('/v1/admin/models/team%2Fsoon', 'DELETE')).status, 404)
  for (const gateway of [first, second]) {
    await eventually(
      async () => (await send(gateway, '/v1/models', { key })).text,
      (models) => !models.includes('team/soon'),
    )
    assert.equal(await statusAt(gateway, 'team/soon'), 422)
  }
  const { data } = (await ask<{ data: Version[] }>('/v1/admin/models/team%2Fsoon/versions')).json
  assert.deepEqual(
    data.map(({ version, settings }) => [version, settings === null]),
    [
      [2, true],
      [1, false],
    ],
  )
  const listed = (await ask<{ data: { id: string }[] }>('/v1/admin/models')).json.data.map(({ id }) => id)
  assert.deepEqual(listed, ['m1', 'team/new'])
})

test('changes are audited with the names of the settings', async () => {
  const { data } = (
    await ask<{ data: { action: string; subject: string; details: { settings: string[] } }[] }>(
      '/v1/audit?action=provider.changed',
    )
  ).json
  assert.deepEqual(data.at(-1)?.details.settings, ['protocol', 'base_url', 'api_key'])
  assert.equal(data.at(-1)?.subject, 'stored')
})

test('`config export` writes stored settings as YAML, with variables instead of keys', async () => {
  const text = await first.cli('config', 'export')
  assert.match(text, /^providers:\n {2}stored:\n/m)
  assert.match(text, /api_key: "?\$\{STORED_API_KEY\}/)
  assert.match(text, /- id: team\/new/)
  assert.ok(!text.includes(SECRET))
})

test('the file that `config export` writes has the same meaning', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-export-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const keys = ['sk-first-0123456789abcdef', 'sk-second-0123456789abcdef']
  const { api_key: _key, ...several } = STORED
  assert.equal((await ask('/v1/admin/providers/several-keys', 'PUT', { ...several, api_keys: keys })).status, 200)
  const named = { ...SETTINGS, name: ['Costs $', '{MUCH}'].join('') }
  assert.equal((await ask('/v1/admin/models/team%2Fnamed', 'PUT', named)).status, 200)
  const config = join(folder, 'exported.yaml')
  writeFileSync(config, await first.cli('config', 'export'))
  const env = { STORED_API_KEY: SECRET, SEVERAL_KEYS_API_KEY_1: keys[0], SEVERAL_KEYS_API_KEY_2: keys[1] }
  const { providers, models } = await loadConfig({ env, cwd: folder, builtIn: builtIn(), flags: { config } })
  assert.deepEqual(Object.keys(providers).sort(), ['several-keys', 'stored'])
  assert.deepEqual([providers['stored']?.api_key, providers['several-keys']?.api_keys], [SECRET, keys])
  assert.equal(providers['stored']?.base_url, STORED.base_url)
  const [exported] = models.filter(({ id }) => id === 'team/new')
  const { settings } = (await ask('/v1/admin/models/team%2Fnew')).json
  assert.partialDeepStrictEqual(exported, settings)
  assert.equal(models.find(({ id }) => id === 'team/named')?.name, named.name)
  assert.equal((await ask('/v1/admin/models/team%2Fnamed', 'DELETE')).status, 204)
  assert.equal((await ask('/v1/admin/providers/several-keys', 'DELETE')).status, 204)
})

test('stored settings survive a restart', async () => {
  assert.equal(bodyOf(provider.calls.at(-1) as never).model, 'up-model')
  const third = await startGateway({ config, dataDir: first.dataDir })
  try {
    assert.equal(await statusAt(third, 'team/new'), 200)
  } finally {
    await third.stop()
  }
})

test('operators read the settings of a process with their sources, without secrets; `config explain` adds stored ones', async () => {
  const { status, json, text } = await ask<{ settings: { path: string; value: unknown; origin: string }[] }>(
    '/v1/admin/config',
  )
  assert.equal(status, 200, text)
  const settings = new Map(json.settings.map((setting) => [setting.path, setting]))
  const model = settings.get('models.m1.context_window')
  assert.match(model?.origin ?? '', /turnpike\.yaml:\d+:\d+$/)
  assert.equal(settings.get('routing.retry_budget')?.origin, 'default')
  assert.match(settings.get('data_dir')?.origin ?? '', /TURNPIKE_DATA_DIR|turnpike\.yaml/)
  assert.equal(settings.get('providers.stored.base_url')?.origin, 'database')
  assert.doesNotMatch(text, new RegExp(SECRET))
  const without = await first.key('--scopes', 'chat')
  assert.equal((await send(first, '/v1/admin/config', { key: without })).status, 403)
  const explained = JSON.parse(await first.cli('config', 'explain', 'providers', '--json'))
  const stored = explained.settings.find(({ origin }: { origin: string }) => origin === 'database')
  assert.doesNotMatch(JSON.stringify(explained), new RegExp(SECRET))
  assert.equal(stored?.value.api_key, '(secret)')
})
