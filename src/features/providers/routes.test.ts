import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/ids.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import type { CredentialStatus, DeploymentStatus, ProviderStatus } from '../../domain/provider-status.ts'
import { probeProvider } from '../../gateway/upstream/probe.ts'
import { callerOf } from '../../http/caller.ts'
import { type ProviderConfig, resolveProvider } from '../../providers/index.ts'
import { auditWriter } from '../audit/log.ts'
import type { RecentCalls } from './recent-calls.ts'
import { MAX_WAIT_MS, providerProbeRoute, providersRoutes } from './routes.ts'

const AT = Date.UTC(2026, 4, 5, 12)

function deployment(over: Partial<DeploymentStatus> = {}): DeploymentStatus {
  return {
    model: 'm',
    breaker: 'closed',
    openUntil: undefined,
    failures: 0,
    inFlight: 0,
    firstEventMs: undefined,
    wholeAnswerMs: undefined,
    calls: 1,
    failedCalls: 0,
    lastFailure: undefined,
    ...over,
  }
}

function provider(over: Partial<ProviderStatus> = {}): ProviderStatus {
  return {
    name: 'p',
    baseUrl: 'https://p.example/v1',
    maxInFlight: undefined,
    inFlight: 0,
    queued: 0,
    unbilledNanoUsd: 0n,
    credentials: [],
    deployments: [],
    ...over,
  }
}

async function setUp(t: TestContext, providers: readonly ProviderStatus[], recent: Record<string, RecentCalls> = {}) {
  const fixture = await openCreditFixture(t)
  const deps = {
    callerOf,
    cursorKey: Buffer.alloc(32, 1),
    status: () => providers,
    recentCalls: async () => new Map(Object.entries(recent)),
    disabled: () => [],
    sourceOf: () => 'configuration' as const,
  }
  const request = await serveRoutes(t, fixture, [providersRoutes(deps)])
  const { id: account } = await fixture.account('pro')
  const ask = (query = '', scopes = '') => request(`/admin/providers${query}`, `${account}${scopes}`)
  return { ask, namesOf: async (query: string) => namesIn((await ask(query)).body) }
}

const namesIn = ({ data }: { readonly data: readonly { readonly id: string }[] }) => data.map(({ id }) => id)

test('UP-4: a provider shows its breakers, its speed, and what it is busy with', async (t) => {
  const failing = deployment({
    model: 'big',
    breaker: 'open',
    openUntil: AT + 30_000,
    failures: 5,
    inFlight: 1,
    firstEventMs: 120.4,
    wholeAnswerMs: 900.6,
    calls: 40,
    failedCalls: 6,
    lastFailure: { at: AT, message: 'The provider answered 500.' },
  })
  const credential: CredentialStatus = { number: 1, coolingUntil: { big: AT + 1_000, '*': AT + 60_000 }, inFlight: 2 }
  const whole = provider({
    maxInFlight: 200,
    inFlight: 3,
    queued: 4,
    unbilledNanoUsd: 12_500_000n,
    credentials: [credential, { number: 2, coolingUntil: {}, inFlight: 1 }],
    deployments: [failing, deployment({ model: 'small' })],
  })
  const { ask } = await setUp(t, [whole])
  const { status, body } = await ask()
  assert.equal(status, 200)
  const shown = {
    id: 'p',
    object: 'provider',
    name: 'p',
    base_url: 'https://p.example/v1',
    status: 'healthy', // breakers and cooldowns are of the process alone
    source: 'configuration',
    problem: null,
    last_24h: { calls: 0, failures: 0, last_answer_at: null, last_failure: null, hours: [] },
    max_in_flight: 200,
    in_flight: 3,
    queued: 4,
    cost_unbilled_usd: 0.0125,
    credentials: [
      {
        number: 1,
        in_flight: 2,
        cooling: [
          { model: 'big', until: '2026-05-05T12:00:01.000Z' },
          { model: '*', until: '2026-05-05T12:01:00.000Z' },
        ],
      },
      { number: 2, in_flight: 1, cooling: [] },
    ],
    deployments: [
      {
        model: 'big',
        breaker: 'open',
        open_until: '2026-05-05T12:00:30.000Z',
        failures: 5,
        in_flight: 1,
        first_event_ms: 120,
        whole_answer_ms: 901,
        calls: 40,
        failed_calls: 6,
        last_failure: { at: '2026-05-05T12:00:00.000Z', message: 'The provider answered 500.' },
      },
      {
        model: 'small',
        breaker: 'closed',
        open_until: null,
        failures: 0,
        in_flight: 0,
        first_event_ms: null,
        whole_answer_ms: null,
        calls: 1,
        failed_calls: 0,
        last_failure: null,
      },
    ],
  }
  assert.deepEqual(body, { data: [shown], has_more: false, next_cursor: null })
})

test('it is down while its key is refused, degraded while many calls fail, as the last 24 hours of all processes say', async (t) => {
  const failure = { at: AT, outcome: 'credentials', status: 401, model: 'm' }
  const recent = {
    answered: { calls: 100, failures: 5, lastFailure: failure, lastAnswerAt: AT + 1, hours: [] },
    failing: {
      calls: 100,
      failures: 6,
      lastFailure: { ...failure, outcome: 'failed', status: null },
      lastAnswerAt: AT - 1,
      hours: [],
    },
    refused: {
      ...{ calls: 100, failures: 1, lastFailure: failure, lastAnswerAt: AT - 1 },
      hours: [{ at: AT, calls: 100, failures: 1 }],
    },
  }
  const { ask } = await setUp(
    t,
    Object.keys(recent).map((name) => provider({ name })),
    recent,
  )
  const { data } = (await ask()).body
  assert.deepEqual(
    data.map(({ status, problem }: { status: string; problem: string | null }) => [status, problem]),
    [
      ['healthy', null],
      ['degraded', 'No response'],
      ['down', 'Key refused (401)'],
    ],
  )
  assert.deepEqual(data[2].last_24h, {
    calls: 100,
    failures: 1,
    last_answer_at: '2026-05-05T11:59:59.999Z',
    last_failure: { at: '2026-05-05T12:00:00.000Z', model: 'm', status: 401, reason: 'Key refused (401)' },
    hours: [{ at: '2026-05-05T12:00:00.000Z', calls: 100, failures: 1 }],
  })
})

test('nothing of an address is shown that could be a credential', async (t) => {
  const addresses = [
    ['https://user:secret@a.example/v1?key=secret#secret', 'https://a.example/v1'],
    ['https://a.example', 'https://a.example'],
    ['https://a.example/?key=secret', 'https://a.example'],
    ['http://10.0.0.1:8000/v1/', 'http://10.0.0.1:8000/v1/'],
    ['secret', ''],
  ] as const
  const { ask } = await setUp(
    t,
    addresses.map(([baseUrl], index) => provider({ name: `p${index}`, baseUrl })),
  )
  const { body, text } = await ask()
  assert.deepEqual(
    body.data.map(({ base_url }: { base_url: string }) => base_url),
    addresses.map(([, shown]) => shown),
  )
  assert.doesNotMatch(text, /secret/)
})

test('they come in pages, by name', async (t) => {
  const names = ['openai', 'Local', 'anthropic', 'groq', 'local']
  const { ask, namesOf } = await setUp(
    t,
    names.map((name) => provider({ name })),
  )
  const sorted = ['Local', 'anthropic', 'groq', 'local', 'openai']
  assert.deepEqual(await namesOf(''), sorted)
  for (const order of ['asc', 'desc']) {
    const seen: string[] = []
    let next = ''
    for (const hasMore of [true, true, false]) {
      const { body } = await ask(`?limit=2&order=${order}${next}`)
      seen.push(...namesIn(body))
      assert.equal(body.has_more, hasMore)
      next = `&cursor=${body.next_cursor}`
    }
    assert.deepEqual(seen, order === 'asc' ? sorted : sorted.toReversed())
  }
})

test('a provider that goes while pages are read takes no other with it', async (t) => {
  const providers = ['a', 'b', 'c'].map((name) => provider({ name }))
  const { ask, namesOf } = await setUp(t, providers)
  const { next_cursor: cursor } = (await ask('?limit=2')).body
  providers.splice(1, 1)
  assert.deepEqual(await namesOf(`?limit=2&cursor=${cursor}`), ['c'])
})

test('only the operator sees them', async (t) => {
  const { ask } = await setUp(t, [provider()])
  assert.equal((await ask('', ' chat,billing,keys')).status, 403)
})

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

async function setUpProbe(t: TestContext, configs: Readonly<Record<string, Partial<ProviderConfig>>>, waitMs = 60_000) {
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
  const { ask } = await setUpProbe(t, {
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
  const { ask, entries } = await setUpProbe(t, { silent }, 1_000)
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
  const { account, ask, db, entries } = await setUpProbe(t, { local })
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
  const { ask, entries } = await setUpProbe(t, { simulator: { protocol: 'simulator' } })
  assert.equal((await ask('simulator', ' chat,billing,keys')).status, 403)
  for (const name of ['nobody', 'constructor', '%20']) {
    const { status, body } = await ask(name)
    assert.deepEqual([status, body.error.code], [404, 'not_found'], name)
  }
  assert.deepEqual(await entries(), [])
})
