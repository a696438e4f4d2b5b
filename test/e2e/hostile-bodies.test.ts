/**
 * What bodies that are made to stall the gateway cost it: event loop, memory, other accounts. Runs on one database. Runs in
 * a process of its own.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { getHeapStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { pino } from 'pino'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import { migrate } from '../../src/db/migrate.ts'
import type { Scope } from '../../src/domain/identity/caller.ts'
import { createAccount } from '../../src/features/accounts/queries.ts'
import { createKey, FULL_ACCESS } from '../../src/features/keys/queries.ts'
import { bodyCaps } from '../../src/http/request-body.ts'
import { currentLocation, openLocation, testIds } from '../support/database.ts'
import type { AssaultOrder } from '../support/http/hostile-client.ts'

const MEBI = 1024 * 1024
const MODEL = 'm1'
/**
 * CPU time, so that what else the machine does is not in it. Before the limits one body of distinct names took seconds;
 * what is left is rendering and copying one large prompt.
 */
const LONGEST_BLOCK_MS = 500

const endings: (() => unknown)[] = []
const later = { after: (end: () => unknown) => void endings.unshift(end) }
after(async () => {
  for (const end of endings) await end()
})

const thread = new Worker(new URL('../support/http/hostile-client.ts', import.meta.url))
later.after(() => thread.terminate())

interface Site {
  readonly url: string
  readonly port: number
  key(plan: string, scopes?: readonly Scope[]): Promise<string>
}
let site: Site

before(async () => {
  const [{ providerUrl }] = (await once(thread, 'message')) as [{ providerUrl: string }]
  site = await startSite(providerUrl)
})

function configOf(providerUrl: string): object {
  return {
    providers: { up: { protocol: 'openai', base_url: `${providerUrl}/v1`, api_key: 'sk-up' } },
    models: [
      {
        id: MODEL,
        owned_by: 'up',
        context_window: 1_000_000,
        max_output_tokens: 4096,
        capabilities: { streaming: true, function_calling: true, vision: true, json_mode: true },
        pricing: { input_per_million: 0, output_per_million: 0 },
        deployments: [{ provider: 'up', model: MODEL }],
      },
    ],
  }
}

async function startSite(providerUrl: string): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  later.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'turnpike.yaml'), JSON.stringify(configOf(providerUrl)))
  const builtIn = { builtInProviders: [], providerVariables: {}, settingVariables: {} }
  const config = await loadConfig({ env: {}, cwd: folder, builtIn })
  const database = await openLocation(await currentLocation(later))
  await migrate(database.db, Date.now)
  const log = pino({ level: 'silent' })
  const app = await createApp({ config, database, log, version: '1.2.3', secret: Buffer.alloc(32, 1), role: 'api' })
  later.after(async () => {
    app.server.server.closeAllConnections()
    await app.server.close()
    await app.close()
    await database.close()
  })
  await app.server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.server.address() as AddressInfo
  const made = { now: Date.now, ids: testIds }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async key(plan, scopes = FULL_ACCESS.scopes) {
      const { id } = await createAccount(database.db, { name: 'a', plan }, made)
      const { secret } = await createKey(database.db, { accountId: id, name: 'k', ...FULL_ACCESS, scopes }, made)
      return secret
    },
  }
}

interface Answer {
  readonly status: number
  readonly body: { readonly error?: { readonly code: string; readonly retry_after?: number } }
}

async function ask(key: string, body: object | string, path = '/v1/chat/completions'): Promise<Answer> {
  const response = await fetch(site.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

const hello = { model: MODEL, messages: [{ role: 'user', content: 'hi' }] }

/** What the first 422s leave comes back at one a second: those that are asked at once use it up, however slow this is. */
async function assertIsRefused(key: string, path: string): Promise<void> {
  const statuses = new Set<number>()
  for (let at = 0; at < 30 && !statuses.has(429); at++) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(key, '{"unheard_of":1}', path)))
    for (const { status } of answers) statuses.add(status)
  }
  assert.ok(statuses.has(429), `${path}: ${[...statuses]}`)
}

test('300 invalid requests on a plan of 20 a minute: 60 are 422, then 429 until there is room again', async () => {
  const key = await site.key('free')
  const invalid = { ...hello, model: 'nobody-has-it' }
  const statuses: number[] = []
  const startedAt = performance.now()
  for (let at = 0; at < 300; at++) {
    const { status, body } = await ask(key, invalid)
    statuses.push(status)
    if (status === 429) assert.ok((body.error?.retry_after ?? 0) >= 1)
  }
  const rejected = statuses.filter((status) => status === 422).length
  const cameBack = Math.ceil((performance.now() - startedAt) / 1000)
  assert.ok(rejected >= 60 && rejected <= 60 + cameBack, `${rejected} were rejected, and ${cameBack} came back`)
  assert.equal(statuses.filter((status) => status === 429).length, 300 - rejected)
  await assertIsRefused(key, '/v1/keys') // every endpoint that takes a body
  assert.equal((await ask(await site.key('free'), hello)).status, 200)
})

test('rejected requests of agents, webhooks and administration count as those of completions do', async () => {
  for (const path of ['/v1/agents', '/v1/webhooks', '/v1/admin/accounts']) {
    const key = await site.key('free', path.includes('admin') ? ['operator'] : [])
    await assertIsRefused(key, path)
  }
})

test('large requests that mean well are answered: 20 MB of images, a prompt of a million tokens', async () => {
  const key = await site.key('unlimited')
  const url = `data:image/png;base64,${Buffer.alloc(1_500_000, 'abcdefg').toString('base64')}`
  const image = { type: 'image_url', image_url: { url } }
  const images = { ...hello, messages: [{ role: 'user', content: Array.from({ length: 10 }, () => image) }] }
  assert.equal((await ask(key, images)).status, 200)
  const words = { ...hello, messages: [{ role: 'user', content: 'of the '.repeat(450_000) }] }
  assert.equal((await ask(key, words)).status, 200)
})

/** Watches this thread: the most CPU time between two looks, and the most memory outside of the heap. */
function watchLoop(): { end(): { blockMs: number; arrayBuffers: number } } {
  let [blockMs, arrayBuffers] = [0, 0]
  let last = process.threadCpuUsage()
  const look = (): void => {
    const now = process.threadCpuUsage()
    blockMs = Math.max(blockMs, (now.user + now.system - last.user - last.system) / 1000)
    last = now
    arrayBuffers = Math.max(arrayBuffers, process.memoryUsage().arrayBuffers)
  }
  const timer = setInterval(look, 5)
  return {
    end() {
      clearInterval(timer)
      look()
      return { blockMs, arrayBuffers }
    },
  }
}

async function assaultBy(key: string, order: AssaultOrder['assault']): Promise<Map<number, number>> {
  thread.postMessage({ target: { port: site.port, key, model: MODEL }, assault: order } satisfies AssaultOrder)
  const [{ statuses }] = (await once(thread, 'message')) as [{ statuses: Map<number, number> }]
  return statuses
}

/** One request after another until `over`; @returns how long each took. */
async function keepAsking(key: string, isOver: () => boolean): Promise<number[]> {
  const times: number[] = []
  while (!isOver()) {
    const startedAt = performance.now()
    assert.equal((await ask(key, hello)).status, 200)
    times.push(performance.now() - startedAt)
  }
  return times
}

test('no mix of hostile bodies stalls the event loop, exceeds an account’s memory, or affects others', async (t: TestContext) => {
  const [hostile, victim] = [await site.key('unlimited'), await site.key('unlimited')]
  assert.equal((await ask(victim, hello)).status, 200)
  const before = process.memoryUsage().arrayBuffers
  const loop = watchLoop()
  let isOver = false
  const asking = keepAsking(victim, () => isOver)
  const statuses = await assaultBy(hostile, { atOnce: 6, bytes: 8 * MEBI, slow: 40 })
  isOver = true
  const times = (await asking).sort((one, other) => one - other)
  const { blockMs, arrayBuffers } = loop.end()
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0
  t.diagnostic(`longest block ${blockMs.toFixed()} ms of CPU; ${times.length} others, p99 ${p99.toFixed()} ms`)
  t.diagnostic(
    `${Math.round((arrayBuffers - before) / MEBI)} MiB outside of the heap; ${JSON.stringify([...statuses])}`,
  )
  assert.ok(blockMs < LONGEST_BLOCK_MS, `${blockMs} ms`)
  const { account } = bodyCaps(getHeapStatistics().heap_size_limit, 32 * MEBI)
  assert.ok(arrayBuffers - before < account + 64 * MEBI, `${arrayBuffers - before} bytes`)
  for (const status of statuses.keys()) assert.ok([200, 400, 429].includes(status), `${status}`)
})
