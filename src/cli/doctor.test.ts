import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CATALOGUE } from '../../catalogue/index.ts'
import { findTool } from '../../scripts/kit/machine-tools.ts'
import { eventually } from '../../test/support/client.ts'
import { runCommandHere } from '../../test/support/process/command-in-process.ts'
import { freePort } from '../../test/support/process/free-port.ts'
import { temporaryRedis } from '../../test/support/process/redis-server.ts'
import { migrate } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import { storeCatalogue } from '../features/stored-settings/published-catalogue.ts'
import { addVersion } from '../features/stored-settings/store.ts'
import { type Check, checkClock, checkNode } from './doctor.ts'

for (const tool of ['git', 'bubblewrap'] as const) findTool(tool)

const PROGRAM = fileURLToPath(new URL('../../bin/turnpike.js', import.meta.url))
const NAMES = [
  ...['node', 'configuration', 'data_directory', 'database', 'redis', 'port', 'providers', 'agents', 'prices', 'clock'],
]

const folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-'))
after(() => rmSync(folder, { recursive: true }))

interface Report {
  readonly ok: boolean
  readonly checks: readonly Check[]
}

interface Examined {
  readonly status: unknown
  readonly output: string
}

/** Each in its own folder, on any free port unless the environment says another. */
async function turnpike(words: readonly string[], env: Record<string, string>, cwd: string): Promise<Examined> {
  const { code, out } = await runCommandHere(words, { cwd, env: { PORT: '0', ...env } })
  return { status: code, output: out }
}

async function ownProcess(words: readonly string[], cwd: string): Promise<Examined> {
  const child = spawn(process.execPath, [PROGRAM, ...words], { cwd, env: { PORT: '0' } })
  const [output, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { status, output }
}

interface Examination extends Report {
  readonly status: unknown
}

async function examine(yaml: string, env: Record<string, string> = {}): Promise<Examination> {
  const cwd = newFolder()
  writeFileSync(join(cwd, 'turnpike.yaml'), yaml)
  const look = async (): Promise<Examination> => {
    const { status, output } = await turnpike(['doctor', '--json'], env, cwd)
    return { ...(JSON.parse(output) as Report), status }
  }
  // A busy machine may need longer for an answer than a check waits.
  return eventually(look, ({ checks }) => checks.every(({ message }) => !message.includes('no answer within')))
}

function newFolder(): string {
  return mkdtempSync(join(folder, 'case-'))
}

function find(report: Report, name: string): Check {
  const check = report.checks.find((one) => one.name === name)
  assert.ok(check !== undefined, name)
  return check
}

async function serve(status: number, body: string): Promise<{ port: number }> {
  const server = createServer((request, response) => {
    const isRefused = status === 200 && request.headers['authorization'] === 'Bearer wrong'
    response.writeHead(isRefused ? 401 : status, { 'content-type': 'application/json' }).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  return { port: (server.address() as AddressInfo).port }
}

test('on a new machine every check passes, and nothing is created', async () => {
  const cwd = newFolder()
  const { status, output } = await ownProcess(['doctor', '--json'], cwd)
  const report = JSON.parse(output) as Report
  assert.deepEqual([status, report.ok], [0, true], output)
  assert.deepEqual(
    report.checks.map((check) => check.name),
    NAMES,
  )
  for (const check of report.checks) assert.deepEqual(Object.keys(check), ['name', 'ok', 'message', 'fix'])
  assert.equal(existsSync(join(cwd, 'turnpike-data')), false)
})

test('the text has a mark for each check, and the fix of a failed one', async () => {
  const cwd = newFolder()
  writeFileSync(join(cwd, 'turnpike.yaml'), 'server: { prot: 1 }')
  const { status, output } = await turnpike(['doctor'], {}, cwd)
  assert.equal(status, 1)
  assert.match(output, /^✓ node: /m)
  assert.match(output, /^✗ configuration: turnpike\.yaml:1:11: server\.prot: .*\n {2}→ Fix/m)
})

test('with an invalid configuration the dependent checks are skipped', async () => {
  const report = await examine('server: 5')
  assert.deepEqual([report.status, report.ok], [1, false])
  assert.deepEqual(
    report.checks.map((check) => [check.name, check.ok]),
    NAMES.map((name) => [name, name === 'node' || name === 'clock']),
  )
})

test('a data directory that is a file, or below one, fails the check', async () => {
  const cwd = newFolder()
  writeFileSync(join(cwd, 'file'), '')
  for (const place of [join(cwd, 'file'), join(cwd, 'file', 'below')]) {
    const report = await examine('', { TURNPIKE_DATA_DIR: place })
    assert.match(find(report, 'data_directory').message, /is not a folder|ENOTDIR/)
    assert.equal(report.status, 1)
  }
})

test('a database passes with the current schema, and fails with an old or broken one', async () => {
  const cwd = newFolder()
  const env = { TURNPIKE_DATA_DIR: cwd }
  const database = await openDatabase({ path: join(cwd, 'turnpike.db') })
  const before = find(await examine('', env), 'database')
  assert.match(`${before.ok} ${before.message} ${before.fix}`, /false .*the schema lacks .*turnpike migrate/)
  await migrate(database.db, () => 0)
  await database.close()
  assert.match(find(await examine('', env), 'database').message, /schema current/)
  writeFileSync(join(cwd, 'turnpike.db'), 'this is no database'.repeat(1000))
  rmSync(join(cwd, 'turnpike.db-wal'), { force: true })
  assert.equal(find(await examine('', env), 'database').ok, false)
})

test('prices of the database and of a pulled catalogue are checked as those of the file are', async () => {
  const cwd = newFolder()
  const ends = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
  const pricing = { input_per_million: 1, output_per_million: 2, ends }
  const yaml = `models: [{ id: filed, pricing: ${JSON.stringify(pricing)}, deployments: [{ provider: simulator, model: m }] }]`
  const database = await openDatabase({ path: join(cwd, 'turnpike.db') })
  await migrate(database.db, () => 0)
  const stored = { pricing, deployments: [{ provider: 'own', model: 'm' }] }
  const own = { protocol: 'openai', base_url: 'http://127.0.0.1:1', api_key: 'sk-sealed' }
  for (const [kind, name, settings] of [
    ['model', 'stored', stored],
    ['provider', 'own', own],
  ] as const) {
    const version = { kind, name, settings, effectiveFrom: 0, createdBy: null }
    await addVersion(database.db, version, { keys: [new Uint8Array(32).fill(1)], now: 1 })
  }
  const models = [{ ...CATALOGUE.find(({ id }) => id === 'turnpike-simulator'), id: 'pulled', aliases: [], pricing }]
  await storeCatalogue(database.db, { publishedAt: '2099-01-01T00:00:00Z', models }, 1)
  await database.close()
  const { ok, message } = find(
    await examine(`providers: { simulator: {} }\n${yaml}`, { TURNPIKE_DATA_DIR: cwd }),
    'prices',
  )
  const named = message.split('; ').sort()
  assert.deepEqual([ok, named], [true, ['filed', 'pulled', 'stored'].map((id) => `${id} ends on ${ends}`)])
})

test('Redis passes if it is reachable, fails with a wrong password or if it is down, and passes without REDIS_URL', async (t) => {
  const server = await temporaryRedis(t, { password: 'hush' })
  const redisAt = async (url: string) => find(await examine('', { REDIS_URL: url }), 'redis')
  assert.match(find(await examine(''), 'redis').message, /^not configured/)
  const { ok, fix } = await redisAt(server.url)
  assert.deepEqual([ok, fix], [true, null])
  const refused = await redisAt(`redis://:wr0ng@127.0.0.1:${server.port}`)
  assert.match(`${refused.ok} ${refused.message}`, /^false REDIS_URL: .*WRONGPASS/)
  assert.doesNotMatch(JSON.stringify(refused), /wr0ng/)
  assert.match((await redisAt('redis://127.0.0.1:1')).message, /ECONNREFUSED/)
})

test('a port in use by another program fails, one in use by Turnpike passes', async () => {
  const other = await serve(200, '{}')
  const taken = find(await examine('', { PORT: String(other.port) }), 'port')
  assert.match(`${taken.ok} ${taken.message} ${taken.fix}`, /false .*another program .*PORT/)
  const turnpikeServer = await serve(200, '{"openapi":"3.1.0","info":{"title":"Turnpike"}}')
  const own = await eventually(
    async () => find(await examine('', { PORT: String(turnpikeServer.port) }), 'port'),
    ({ ok }) => ok, // a busy machine may need longer for an answer than the check waits
  )
  assert.match(`${own.ok} ${own.message}`, /true .*in use by a running Turnpike/)
  const elsewhere = find(await examine('', { HOST: '192.0.2.1' }), 'port')
  assert.match(`${elsewhere.ok} ${elsewhere.message} ${elsewhere.fix}`, /false .*EADDRNOTAVAIL.* HOST/)
})

test('providers: reachable, rejected key, limited, failing, silent, without key', async () => {
  const { port } = await serve(200, '{"data":[]}')
  const gone = await freePort()
  const [limited, failing] = [await serve(429, ''), await serve(503, '')]
  const yaml = `providers:
  good: { protocol: openai, base_url: "http://127.0.0.1:${port}/v1", api_key: right }
  refused: { protocol: openai, base_url: "http://127.0.0.1:${port}/v1", api_key: wrong }
  gone: { protocol: openai, base_url: "http://127.0.0.1:${gone}/v1" }
  limited: { protocol: anthropic, base_url: "http://127.0.0.1:${limited.port}", api_key: right }
  failing: { protocol: gemini, base_url: "http://127.0.0.1:${failing.port}", api_key: right }
  openai: {}
  simulator: { protocol: simulator }
`
  const report = await examine(yaml)
  const { ok, message, fix } = find(report, 'providers')
  assert.deepEqual([ok, report.status], [false, 1])
  assert.deepEqual(message.split('\n'), [
    'good: reachable',
    'refused: unauthorised (401)',
    'gone: unreachable (ECONNREFUSED)',
    'limited: limits requests (429)',
    'failing: fails (503)',
    'openai: no key',
    'simulator: built in',
  ])
  assert.match(fix ?? '', /key of the provider refused.*providers\.gone\.base_url.*Wait.*status page.*OPENAI_API_KEY/)
})

test('a provider with a key to which no model is routed is mentioned; models of the database count', async () => {
  const { port } = await serve(200, '{"data":[]}')
  const cwd = newFolder()
  const { db, close } = await openDatabase({ path: join(cwd, 'turnpike.db') })
  await migrate(db, () => 0)
  const settings = { deployments: [{ provider: 'stored', model: 'm' }] }
  const version = { kind: 'model', name: 'of-database', settings, effectiveFrom: 0, createdBy: null } as const
  await addVersion(db, version, { keys: [new Uint8Array(32)], now: 1 })
  await close()
  const host = `protocol: openai, base_url: "http://127.0.0.1:${port}/v1"`
  const yaml = `providers:
  acme: { ${host}, api_key: right }
  filed: { ${host}, api_key: right }
  stored: { ${host}, api_keys: [right] }
  keyless: { ${host} }
  mistral: { base_url: "http://127.0.0.1:${port}/v1", api_key: right }
  later: { ${host}, api_key: right, disabled: true }
models: [{ id: m, deployments: [{ provider: filed, model: m }] }]
`
  const report = find(await examine(yaml, { TURNPIKE_DATA_DIR: cwd }), 'providers')
  const unused = 'The provider acme has a key, but no model of the configuration or the catalogue uses it'
  assert.deepEqual([report.ok, report.fix], [true, `${unused}: add it to \`deployments\` of a model under \`models\`.`])
})

test('calls of the last 24 hours count: a key that they show as refused fails the check', async () => {
  const { port } = await serve(200, '{"data":[]}')
  const cwd = newFolder()
  const { db, close } = await openDatabase({ path: join(cwd, 'turnpike.db') })
  await migrate(db, Date.now)
  const now = Date.now()
  const at = new Date(now).toISOString()
  const failure = { last_failure_outcome: 'credentials', last_failure_status: 401, last_failure_model: 'm' }
  const counts = { hour: Math.floor(now / 3_600_000), calls: 1_200, failures: 3, ...failure, last_failure_at: now }
  const rows = [
    { ...counts, provider: 'refused', last_answer_at: now - 1 },
    { ...counts, provider: 'good', last_answer_at: now + 1 },
  ]
  await db.insertInto('provider_hour').values(rows).execute()
  await close()
  const url = `"http://127.0.0.1:${port}/v1"`
  const yaml = `providers:
  good: { protocol: openai, base_url: ${url}, api_key: right }
  refused: { protocol: openai, base_url: ${url}, api_key: right }
`
  const { ok, message, fix } = find(await examine(yaml, { TURNPIKE_DATA_DIR: cwd }), 'providers')
  assert.deepEqual(message.split('\n'), [
    `good: reachable; last 24 hours: healthy, 1,200 calls, 3 failed; last failure: Key refused (401), ${at}`,
    `refused: reachable; last 24 hours: down, 1,200 calls, 3 failed; last call: Key refused (401), ${at}`,
  ])
  assert.equal(ok, false)
  assert.match(
    fix ?? '',
    /^Check the key and the account of the provider refused\. The provider good has a key, but no/,
  )
})

test('agents pass with git and a working sandbox; a disabled sandbox is reported in capitals', async () => {
  const usual = find(await examine(''), 'agents')
  assert.match(`${usual.ok} ${usual.message}`, /^true git 2\.\d+\.\d+, sandbox works$/)
  const none = find(await examine('agents: { sandbox: { backend: none } }'), 'agents')
  assert.match(`${none.ok} ${none.message} ${none.fix}`, /^false THEY RUN WITHOUT A SANDBOX.*bubblewrap/)
})

test('an old Node.js and a wrong clock fail', () => {
  assert.deepEqual([checkNode('26.1.0').ok, checkNode('24.0.0').ok, checkNode('20.19.0').ok], [true, true, false])
  const clock = () => 5
  assert.equal(checkClock(() => Date.UTC(2026, 10, 20), clock).ok, true)
  assert.equal(checkClock(() => 0, clock).ok, false)
  let reading = 100
  const backwards = () => reading--
  assert.equal(checkClock(() => Date.UTC(2026, 10, 20), backwards).ok, false)
})

test('exports of completions are named with how far they are, and why the last run failed', async () => {
  const cwd = newFolder()
  const yaml = 'exports: [{ name: lake, url: "s3://bucket" }, { name: local, url: "file:///srv/lake" }]'
  writeFileSync(join(cwd, 'turnpike.yaml'), yaml)
  const first = JSON.parse((await turnpike(['doctor', '--json'], {}, cwd)).output) as Report
  assert.equal(find(first, 'exports').message, 'lake: not run yet\nlocal: not run yet')
  const database = await openDatabase({ path: join(cwd, 'turnpike-data', 'turnpike.db') })
  await migrate(database.db, Date.now)
  const row = { version: 1, begun_at: 1, exported_until: Date.UTC(2026, 4, 5), run_at: 1, failure: 'No bucket.' }
  const inPeriod = { period_end: null, after_account: null, after_id: null }
  await database.db
    .insertInto('analytics_export')
    .values({ name: 'lake', ...row, ...inPeriod })
    .execute()
  await database.close()
  const second = find(JSON.parse((await turnpike(['doctor', '--json'], {}, cwd)).output) as Report, 'exports')
  assert.equal(second.ok, false)
  assert.equal(second.message, 'lake: exported until 2026-05-05T00:00:00.000Z; No bucket.\nlocal: not run yet')
})
