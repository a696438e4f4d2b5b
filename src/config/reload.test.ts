import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { loadConfig, reloadable } from './load.ts'
import { ConfigError } from './source-tree.ts'

const cwd = mkdtempSync(join(tmpdir(), 'turnpike-reload-'))
after(() => rmSync(cwd, { recursive: true }))

function load(yaml: string) {
  writeFileSync(join(cwd, 'turnpike.yaml'), yaml)
  return loadConfig({ env: {}, cwd, builtIn: { builtInProviders: ['openai'], providerVariables: {} } })
}

test('a reload takes providers, models, plans, routing and responses, and nothing else', async () => {
  const previous = await load('server: { port: 1 }\nlog_level: warn')
  const next = await load(
    'server: { port: 2 }\nlog_level: error\nproviders: { openai: {} }\nmodels: [ { id: a } ]\nplans: { gold: {} }\nrouting: { max_attempts: 1 }\nresponses: { store: true }',
  )
  const { providers, models, plans, routing, responses } = next
  const { origins, ...reloaded } = reloadable(previous, next)
  const { origins: earlier, ...others } = previous
  assert.deepEqual(reloaded, { ...others, providers, models, plans, routing, responses })
  assert.equal(origins['server.port'], earlier['server.port'])
  assert.equal(origins['models[0].id'], next.origins['models[0].id'])
})

test('a reload may not take away the plan that new accounts get', async () => {
  const previous = await load('plans: { gold: {} }\naccounts: { default_plan: gold }')
  const next = await load('accounts: { default_plan: pro }')
  assert.throws(() => reloadable(previous, next), ConfigError)
})
