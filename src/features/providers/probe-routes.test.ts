import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/ids.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { probeProvider } from '../../gateway/upstream/probe.ts'
import { callerOf } from '../../http/caller.ts'
import { type ProviderConfig, resolveProvider } from '../../providers/index.ts'
import { auditWriter } from '../audit/log.ts'
import { MAX_WAIT_MS, providerProbeRoute } from './probe-routes.ts'

const SECRET = 'sk-never-told-to-anybody'
const REST = { timeout_ms: { connect: 60_000, idle: 60_000, total: 60_000 }, on_disconnect: 'cancel' } as const

/** Takes one key, tells others what they sent, fails under `/500`, limits under `/429`, and is silent under `/silent`. */
async function startProvider(t: TestContext) {
  const provider = { calls: 0, silence: Promise.withResolvers<void>() }
  const server = createServer(async (request, response) => {
    provider.calls++
    const { url = '', headers } = request
    if (url.startsWith('/silent')) await provider.silence.promise
    const [, status = headers.authorization === `Bearer ${SECRET}` ? 200 : 401] = /^\/(\d{3})/.exec(url) ?? []
    response.writeHead(Number(status)).end(`{"error":{"message":"You sent ${headers.authorization}"}}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    provider.silence.resolve()
    server.closeAllConnections()
    server.close()
  })
  return { provider, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function setUp(t: TestContext, configs: Readonly<Record<string, Partial<ProviderConfig>>>, waitMs = 60_000) {
  const fixture = await openCreditFixture(t)
  const { db, now } = fixture
  const targets = new Map(
    Object.entries(configs).map(([name, config]) => [name, resolveProvider(name, { ...REST, ...config })]),
  )
  const route = providerProbeRoute({
    db,
    callerOf,
    clock: () => performance.now(),
    writeAudit: auditWriter({ now, ids: testIds }),
    probe: (name, wait) => {
      const target = targets.get(name)
      return target && probeProvider(target, wait)
    },
    waitMs,
  })
  const request = await serveRoutes(t, fixture, [route])
  const { id: account } = await fixture.account('pro')
  const ask = (name: string, scopes = ' operator') =>
    request(`/admin/providers/${name}/test`, `${account}${scopes}`, { method: 'POST' })
  const entries = () => db.selectFrom('audit').selectAll().orderBy('id').execute()
  return { account, ask, db, entries }
}

test('a test reports in words whether a provider works, never the key or the text of the provider', async (t) => {
  const { url, provider } = await startProvider(t)
  const openai = { protocol: 'openai', api_key: SECRET } as const
  const { ask } = await setUp(t, {
    good: { ...openai, base_url: url },
    wrong: { ...openai, base_url: url, api_key: 'sk-another-secret' },
    strange: { ...openai, base_url: `${url}/404` },
    failing: { ...openai, base_url: `${url}/500` },
    limited: { ...openai, base_url: `${url}/429` },
    gone: { ...openai, base_url: 'http://127.0.0.1:1' },
    openai: {},
    vertex: { project: 'p', credentials_file: '/nowhere/at-all.json' },
    simulator: { protocol: 'simulator' },
  })
  for (const [name, ok, status, message] of [
    ['good', true, 200, 'The provider responded and did not reject the key.'],
    ['wrong', false, 401, 'The provider rejected the key (status 401): check providers.wrong.api_key.'],
    ['strange', true, 404, 'The provider responded with status 404; whether it accepts the key is unknown.'],
    ['failing', false, 500, 'The provider failed with status 500.'],
    ['limited', false, 429, 'The provider limits requests at the moment: status 429.'],
    [
      'gone',
      false,
      null,
      'The provider could not be reached (ECONNREFUSED): check providers.gone.base_url and the network.',
    ],
    ['openai', false, null, 'The provider has no key: set OPENAI_API_KEY, or providers.openai.api_key.'],
    ['vertex', false, null, 'No credential available: check the credentials file or the identity of the machine.'],
    ['simulator', true, null, 'The provider is built in: there is no server to call.'],
  ] as const) {
    const answer = await ask(name)
    const { duration_ms: duration, ...told } = answer.body
    assert.equal(answer.status, 200)
    assert.deepEqual(told, { ok, status, message })
    assert.ok(Number.isInteger(duration) && duration >= 0)
    assert.doesNotMatch(answer.text, /never-told|another-secret|You sent/)
  }
  assert.equal(provider.calls, 5, 'one call each')
})

test('a test waits 10 s for a silent provider; concurrent requests share it [limit: provider-test]', async (t) => {
  assert.equal(MAX_WAIT_MS, 10_000)
  const { url, provider } = await startProvider(t)
  const silent = { protocol: 'openai', base_url: `${url}/silent` } as const
  const { ask, entries } = await setUp(t, { silent }, 1_000)
  const thrice = (name: string) => Promise.all([ask(name), ask(name), ask(name)])
  await thrice('nobody') // connections to the database are made before the second begins
  const answers = await thrice('silent')
  for (const { body } of answers) {
    const { duration_ms: duration, ...told } = body
    assert.deepEqual(told, { ok: false, status: null, message: 'The provider did not respond within 1 s.' })
    assert.ok(duration >= 990)
  }
  assert.deepEqual([provider.calls, (await entries()).length], [1, 3])
  await ask('silent')
  assert.equal(provider.calls, 2, 'the next test is another call')
})

test('SUP-3: a test is in the operator’s audit log, and charges nobody', async (t) => {
  const { url } = await startProvider(t)
  const local = { protocol: 'openai', base_url: url, api_key: 'sk-another-secret' } as const
  const { account, ask, db, entries } = await setUp(t, { local })
  await ask('local')
  const [entry, ...more] = await entries()
  assert.deepEqual(
    [entry?.account_id, entry?.actor_kind, entry?.actor_id, entry?.action, entry?.subject, entry?.result],
    [account, 'key', 'key_a', 'provider.tested', 'local', 'done'],
  )
  assert.deepEqual(JSON.parse(entry?.details ?? ''), { provider: 'local', ok: false, status: 401 })
  assert.deepEqual(more, [])
  for (const table of ['ledger', 'completion', 'hold'] as const) {
    assert.deepEqual(await db.selectFrom(table).selectAll().execute(), [], table)
  }
})

test('only operators test providers, and only configured ones', async (t) => {
  const { ask, entries } = await setUp(t, { simulator: { protocol: 'simulator' } })
  assert.equal((await ask('simulator', ' chat,billing,keys')).status, 403)
  for (const name of ['nobody', 'constructor', '%20']) {
    const { status, body } = await ask(name)
    assert.deepEqual([status, body.error.code], [404, 'not_found'], name)
  }
  assert.deepEqual(await entries(), [])
})
