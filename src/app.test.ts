import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { currentLocation, openLocation, testIds } from '../test/support/database.ts'
import { type App, createApp } from './app.ts'
import { loadConfig } from './config/load.ts'
import type { Config } from './config/schema.ts'
import { migrate } from './db/migrate.ts'
import { COMPLETION_CHANNEL, type CompletionRecord, type CompletionSignal } from './domain/completion.ts'
import type { AccountId } from './domain/ids.ts'
import { createKey, FULL_ACCESS } from './features/keys/queries.ts'

/** Goes when all applications have ended: what they keep is in it. */
const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
after(() => rmSync(folder, { recursive: true }))

function configOf(yaml = ''): Promise<Config> {
  const cwd = mkdtempSync(join(folder, 'installation-'))
  writeFileSync(join(cwd, 'turnpike.yaml'), yaml)
  return loadConfig({ env: {}, cwd, builtIn: { builtInProviders: ['simulator'], providerVariables: {} } })
}

interface Opened {
  readonly app: App
  readonly config: Config
  /** What was metered. */
  readonly records: CompletionRecord[]
  chat(model: string, path?: string): Promise<{ status: number; body: { error?: { code: string; message: string } } }>
}

async function open(t: TestContext): Promise<Opened> {
  const config = await configOf()
  const database = await openLocation(await currentLocation(t))
  await migrate(database.db, Date.now)
  const accountId = 'acc_1' as AccountId
  await database.db
    .insertInto('account')
    .values({ id: accountId, name: 'a', plan: 'unlimited', created_at: 1, changed_at: 1 })
    .execute()
  const { secret } = await createKey(
    database.db,
    { accountId, name: 'k', ...FULL_ACCESS },
    { now: Date.now, ids: testIds },
  )
  const log = pino({ level: 'silent' })
  const app = await createApp({ config, database, log, version: '1.2.3', secret: Buffer.alloc(32, 1) })
  t.after(async () => {
    await app.server.close()
    await app.close()
    await database.close()
  })
  const records: CompletionRecord[] = []
  const note = (message: unknown): void => void records.push((message as CompletionSignal).record)
  subscribe(COMPLETION_CHANNEL, note)
  t.after(() => unsubscribe(COMPLETION_CHANNEL, note))
  return {
    app,
    config,
    records,
    async chat(model, path = '/v1/chat/completions') {
      const response = await app.server.inject({
        method: 'POST',
        url: path,
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        payload: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
      })
      return { status: response.statusCode, body: response.json() }
    },
  }
}

/** A model of the operator's own at the simulator. */
const OWN = {
  id: 'own-model',
  owned_by: 'us',
  capabilities: { streaming: true, function_calling: true, vision: true, json_mode: true },
  context_window: 1000,
  max_output_tokens: 100,
  pricing: { input_per_million: 1, output_per_million: 2 },
  deployments: [{ provider: 'simulator', model: 'turnpike-simulator' }],
}

test('with nothing configured the simulator answers, and its completion is metered', async (t) => {
  const { chat, records } = await open(t)
  assert.equal((await chat('turnpike-simulator')).status, 200)
  assert.deepEqual(
    records.map(({ model, status }) => [model, status]),
    [['turnpike-simulator', 'completed']],
  )
})

test('LED-8: a completion is metered by whichever path it came', async (t) => {
  const { chat, records } = await open(t)
  for (const path of ['/v1/chat/completions', '/chat/completions', '/v1/chat/completions/']) {
    assert.equal((await chat('turnpike-simulator', path)).status, 200)
  }
  assert.equal(records.length, 3)
})

test('no path below /v1 answers without a credential', async (t) => {
  const { app } = await open(t)
  const document = (await app.server.inject('/openapi.json')).json() as { paths: Record<string, object> }
  const paths = Object.entries(document.paths).filter(([path]) => path.startsWith('/v1/'))
  assert.ok(paths.length > 5)
  for (const [path, operations] of paths) {
    for (const method of Object.keys(operations)) {
      const url = path.replace(/\{\w+\}/g, 'x')
      const { statusCode } = await app.server.inject({ method: method.toUpperCase() as 'GET', url })
      assert.equal(statusCode, 401, `${method} ${path}`)
    }
  }
})

test('a reload brings models that can be called at once', async (t) => {
  const { app, chat, records } = await open(t)
  assert.equal((await chat(OWN.id)).status, 422)
  await app.reload(await configOf(JSON.stringify({ models: [OWN] })))
  assert.equal((await chat(OWN.id)).status, 200)
  assert.ok((records[0]?.costNanoUsd ?? 0n) > 0n)
})

test('a reload that does not fit together is refused, and changes nothing', async (t) => {
  const { app, chat, config } = await open(t)
  await app.reload(await configOf(JSON.stringify({ models: [OWN] })))
  const [own] = (await configOf(JSON.stringify({ models: [OWN] }))).models
  assert.ok(own)
  const pricing = { input_per_million: 0.00000001, output_per_million: 1 }
  await assert.rejects(app.reload({ ...config, models: [{ ...own, pricing }] }), /not exact/)
  assert.equal((await chat(OWN.id)).status, 200)
})

test('R-A15: once it drains, new completions are turned away and old answers stand', async (t) => {
  const { app, chat, records } = await open(t)
  await chat('turnpike-simulator')
  app.drain()
  const { status, body } = await chat('turnpike-simulator')
  assert.deepEqual([status, body.error?.code], [503, 'shutting_down'])
  assert.equal(records.length, 1)
  assert.equal(app.gateway.active, 0)
})
