import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import type { CredentialStatus, DeploymentStatus, ProviderStatus } from '../../domain/provider-status.ts'
import { callerOf } from '../../http/caller.ts'
import type { RecentCalls } from './recent-calls.ts'
import { providersRoutes } from './routes.ts'

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
    status: 'degraded',
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

test('it is down when every model that was called is left alone, and healthy when nothing is', async (t) => {
  const [closed, open, halfOpen] = (['closed', 'open', 'half_open'] as const).map((breaker) => deployment({ breaker }))
  const cooling = { number: 1, coolingUntil: { m: AT }, inFlight: 0 }
  const cases = [
    [{}, 'healthy'],
    [{ deployments: [closed, closed] }, 'healthy'],
    [{ deployments: [closed, open] }, 'degraded'],
    [{ deployments: [halfOpen] }, 'degraded'],
    [{ deployments: [open, halfOpen] }, 'degraded'],
    [{ deployments: [closed], credentials: [cooling] }, 'degraded'],
    [{ deployments: [open, open] }, 'down'],
    [{ deployments: [open], credentials: [cooling] }, 'down'],
  ] as readonly (readonly [Partial<ProviderStatus>, string])[] // each breaker is there
  const { ask } = await setUp(
    t,
    cases.map(([over], index) => provider({ name: `p${index}`, ...over })),
  )
  const { data } = (await ask()).body
  assert.deepEqual(
    data.map(({ status }: { status: string }) => status),
    cases.map(([, status]) => status),
  )
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
