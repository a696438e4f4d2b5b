import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type BuiltIn, loadConfig } from './load.ts'
import type { ProviderConfig } from './schema.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-config-'))
after(() => rmSync(folder, { recursive: true }))

const BUILT_IN: BuiltIn = {
  builtInProviders: ['cloud', 'openai'],
  providerVariables: {},
  settingVariables: { cloud: { region: 'CLOUD_REGION', base_url: 'CLOUD_ADDRESS', api_key: 'CLOUD_KEY' } },
}
const ENV = { CLOUD_REGION: 'north-1', CLOUD_ADDRESS: 'https://cloud.example/', CLOUD_KEY: 'secret', EMPTY: '' }

async function providers(yaml: string, env = ENV): Promise<Readonly<Record<string, Partial<ProviderConfig>>>> {
  const cwd = mkdtempSync(join(folder, 'case-'))
  writeFileSync(join(cwd, 'turnpike.yaml'), yaml)
  return (await loadConfig({ env, cwd, builtIn: BUILT_IN })).providers
}

test('variables fill what an entry leaves open', async () => {
  const { cloud } = await providers('providers: { cloud: {} }')
  assert.deepEqual([cloud?.region, cloud?.base_url, cloud?.api_key], ['north-1', 'https://cloud.example', 'secret'])
  const { cloud: bare } = await providers('providers:\n  cloud:\n')
  assert.equal(bare?.region, 'north-1')
})

test('what the file says stays', async () => {
  const { cloud } = await providers('providers: { cloud: { region: south-1, api_keys: [a, b] } }')
  assert.deepEqual([cloud?.region, cloud?.api_key, cloud?.api_keys], ['south-1', undefined, ['a', 'b']])
})

test('they switch nothing on', async () => {
  assert.deepEqual(Object.keys(await providers('providers: {}')), [])
})

test('they fill entries of that kind, unless those have an address of their own', async () => {
  const yaml = 'providers: { one: { kind: cloud }, two: { kind: cloud, base_url: "https://other.example" } }'
  const { one, two } = await providers(yaml)
  assert.deepEqual([one?.region, one?.base_url, one?.api_key], ['north-1', 'https://cloud.example', 'secret'])
  assert.deepEqual([two?.region, two?.base_url, two?.api_key], [undefined, 'https://other.example', undefined])
})

test('an empty variable fills nothing', async () => {
  const { cloud } = await providers('providers: { cloud: {} }', { ...ENV, CLOUD_REGION: '' })
  assert.equal(cloud?.region, undefined)
})

test('the settings of clouds are read as they are written', async () => {
  const yaml =
    'providers: { openai: { region: r, project: p, api_version: "2024-10-21", credentials_file: ./key.json } }'
  const { openai } = await providers(yaml)
  assert.deepEqual(
    [openai?.region, openai?.project, openai?.api_version, openai?.credentials_file],
    ['r', 'p', '2024-10-21', './key.json'],
  )
})
