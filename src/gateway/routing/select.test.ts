import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import {
  callerOf,
  deployment,
  HANGS,
  healthOf,
  incomingOf,
  modelOf,
  playNetwork,
  refusal,
  type Script,
  type TestClient,
  testClient,
  testPorts,
  upstreamOf,
  whole,
} from '../../../test/support/ledger/data-plane.ts'
import { hello, ordinary } from '../../../test/support/ledger/plane.ts'
import { completion as answer } from '../../../test/support/providers/answers.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { Deployment } from '../../domain/model.ts'
import type { ProviderStatus } from '../../domain/provider-status.ts'
import type { UpstreamCall } from '../../providers/provider.ts'
import { createGateway } from '../pipeline.ts'
import type { UpstreamProvider } from '../upstream/transport.ts'
import { MAX_WAITING_OF_ACCOUNT } from './breaker.ts'
import type { RoutingSettings } from './health.ts'

const USUAL: RoutingSettings = { retryBudget: 0.2, breaker: { failures: 5, openMs: 30_000 } }

interface HouseInput {
  /** By provider. */
  readonly answer: (host: string, credential: string, call: UpstreamCall) => Script
  readonly providers?: Readonly<Record<string, Partial<UpstreamProvider>>>
  readonly deployments?: readonly Deployment[]
  readonly settings?: RoutingSettings
  readonly maxAttempts?: number
  readonly random?: () => number
}

interface Asked {
  readonly client: TestClient
  readonly error: GatewayError | undefined
  /** `x-turnpike-route`, of the answer or the error. */
  readonly route: string
}

interface House {
  readonly calls: () => string[]
  readonly records: readonly CompletionRecord[]
  ask(account?: string, client?: TestClient, body?: object): Promise<Asked>
  status(name?: string): ProviderStatus
}

/** A gateway before providers that play scripts, under mocked time. */
function house(t: TestContext, input: HouseInput): House {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const { providers = { a: {} }, settings = USUAL, maxAttempts = 3, random = () => 0.5 } = input
  const clock = (): number => Date.now()
  const made: string[] = []
  const network = playNetwork((call) => {
    const host = new URL(call.url).hostname.replace('.test', '')
    const credential = call.headers['authorization']?.replace('Bearer ', '') ?? ''
    made.push(credential === 'sk-up' ? host : `${host}/${credential}`)
    return input.answer(host, credential, call)
  })
  const names = Object.keys(providers)
  const upstreams = names.map((name) => upstreamOf({ transport: network.transport, name, ...providers[name] }))
  const health = healthOf({ clock, now: clock, random }, settings)
  health.use(upstreams)
  const deployments = input.deployments ?? names.map((name, priority) => deployment(name, { model: 'm', priority }))
  const { ports, records } = testPorts({
    health,
    upstreams,
    models: [modelOf({ deployments })],
    clock,
    now: clock,
    random,
  })
  const gateway = createGateway(ports, () => ({ maxAttempts }))
  return {
    calls: () => made.splice(0),
    records,
    async ask(account = 'acc_1', client = testClient(), body = hello()) {
      const caller = callerOf({ accountId: account as AccountId }) // an id is born in a test
      try {
        await gateway.complete(incomingOf(body, { caller, receivedAt: clock() }), client)
        return { client, error: undefined, route: client.headers?.['x-turnpike-route'] ?? '' }
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error))
        return { client, error, route: error.headers?.['x-turnpike-route'] ?? '' }
      }
    },
    status: (name = 'a') => health.status().find((each) => each.name === name) ?? assert.fail(name),
  }
}

async function settled(turns = 12): Promise<void> {
  for (let i = 0; i < turns; i++) await turn()
}

/** Lets time go on in small steps, with everything done that it brings. */
async function pass(t: TestContext, ms: number, step = 20): Promise<void> {
  for (let gone = 0; gone < ms; gone += step) {
    t.mock.timers.tick(Math.min(step, ms - gone))
    await settled()
  }
}

const good = whole(answer({ content: 'Hi' }))
const TWO = { a: {}, b: {} }

for (const [name, providers, limit] of [
  ['alone', { a: {} }, Number.POSITIVE_INFINITY],
  ['with a fallback', TWO, 40],
] as const) {
  test(`F5, UP-2, UP-4: a provider that fails for 60 s at 100 rps, ${name}: at most 1.2 times the load, and recovered within 35 s`, async (t) => {
    let dead = true
    const plane = house(t, {
      answer: (host) => (host === 'a' && dead ? refusal(500) : good),
      providers,
      random: Math.random,
    })
    const calls = { a: 0, b: 0 }
    let answered = 0
    const second = async (): Promise<void> => {
      for (let i = 0; i < 100; i++) {
        void plane.ask().then(({ error }) => {
          if (error === undefined) answered += 1
        })
        t.mock.timers.tick(10)
        await settled(4)
      }
      for (const host of plane.calls()) calls[host as 'a' | 'b'] += 1 // the names given above
    }
    for (let s = 0; s < 60; s++) await second()
    assert.ok(calls.a <= Math.min(limit, 1.2 * 6_000 + 3), `${calls.a} calls`)
    assert.equal(plane.status().deployments[0]?.breaker !== 'closed', true)
    if (name !== 'alone') assert.ok(answered >= 5_990, `${answered} answered by the other`)
    dead = false
    calls.a = 0
    let seconds = 0
    while (plane.status().deployments[0]?.breaker !== 'closed') {
      seconds += 1
      assert.ok(seconds <= 35, 'no answer within 35 s of the recovery')
      await second()
    }
    assert.ok(calls.a > 0)
  })
}

test('TM14, UP-4: many requests that a provider rejects leave the breaker closed', async (t) => {
  for (const script of [refusal(400), refusal(422), refusal(404), refusal(413)]) {
    t.mock.timers.reset()
    const plane = house(t, { answer: () => script })
    for (let i = 0; i < 50; i++) await plane.ask()
    const [deployed] = plane.status().deployments
    assert.deepEqual([deployed?.breaker, deployed?.failures, deployed?.failedCalls], ['closed', 0, 0])
  }
})

for (const [status, outcome] of [
  [401, 'credentials'],
  [403, 'credentials'],
  [429, 'rate_limited'],
] as const) {
  test(`UP-4: ${status} of a provider opens the breaker, and is its failure in status and records`, async (t) => {
    const plane = house(t, { answer: () => refusal(status, {}, { 'retry-after': '300' }) })
    for (let call = 0; call < 5; call++) {
      const asked = plane.ask()
      await pass(t, 3_000, 100)
      assert.notEqual((await asked).error, undefined)
    }
    const [deployed] = plane.status().deployments
    assert.deepEqual([deployed?.breaker, deployed?.failures, deployed?.failedCalls], ['open', 5, 5])
    const outcomes = plane.records.flatMap(({ attemptLog = [] }) => attemptLog.map((attempt) => attempt.outcome))
    assert.deepEqual(
      outcomes,
      Array.from({ length: 5 }, () => outcome),
    )
  })
}

test('UP-4: disconnects and interruptions are not failures of the provider', async (t) => {
  const plane = house(t, { answer: () => ({ head: HANGS }) })
  for (let i = 0; i < 20; i++) {
    const client = testClient()
    const asked = plane.ask('acc_1', client)
    await settled()
    client.leave()
    await asked
  }
  const [deployed] = plane.status().deployments
  assert.deepEqual(
    [deployed?.breaker, deployed?.failures, deployed?.inFlight, plane.status().inFlight],
    ['closed', 0, 0, 0],
  )
})

test('UP-4: failures that clients script do not open the breaker', async (t) => {
  const source = { url: '', read: '' }
  const { provider } = upstreamOf({ transport: () => assert.fail() })
  const scripted = { ...provider, source, scripted: true }
  for (const script of [refusal(500), refusal(429, {}, { 'retry-after': '3600' }), refusal(401)]) {
    t.mock.timers.reset()
    const plane = house(t, { answer: () => script, providers: { a: { provider: scripted } }, maxAttempts: 1 })
    for (let i = 0; i < 20; i++) await plane.ask()
    assert.equal(plane.calls().length, 20)
    assert.equal(plane.status().deployments[0]?.breaker, 'closed')
  }
})

test('the last candidate is called once a request despite its open breaker, and an answer closes it', async (t) => {
  let dead = true
  const plane = house(t, { answer: () => (dead ? refusal(500) : good), maxAttempts: 3 })
  for (let i = 0; i < 5; i++) {
    const asked = plane.ask()
    await pass(t, 400)
    await asked
  }
  assert.equal(plane.status().deployments[0]?.breaker, 'open')
  plane.calls()
  const failed = await plane.ask()
  assert.deepEqual([failed.error?.code, failed.route], ['provider_error', 'a;model="m";why=last;outcome=status_500'])
  assert.deepEqual(plane.calls(), ['a'])
  dead = false
  assert.equal((await plane.ask()).error, undefined)
  assert.equal(plane.status().deployments[0]?.breaker, 'closed')
  assert.equal((await plane.ask()).route, 'a;model="m";why=only;outcome=answered')
})

test('the route header names attempts, skipped candidates and the reasons', async (t) => {
  let dead = true
  const plane = house(t, { answer: (host) => (host === 'a' && dead ? refusal(502) : good), providers: TWO })
  assert.equal(
    (await plane.ask()).route,
    'a;model="m";why=priority;outcome=status_502, b;model="m";why=fallback;outcome=answered',
  )
  for (let i = 0; i < 4; i++) await plane.ask()
  assert.equal((await plane.ask()).route, 'a;model="m";skipped=open, b;model="m";why=fallback;outcome=answered')
  dead = false
  await pass(t, 30_000, 30_000)
  assert.equal((await plane.ask()).route, 'a;model="m";why=probe;outcome=answered')
})

const KEYS = { a: { credentials: ['k1', 'k2'] } }

test('UP-3: one of two credentials cools down while the other is used', async (t) => {
  const limited = refusal(429, {}, { 'retry-after': '60' })
  const plane = house(t, { answer: (_, key) => (key === 'k1' ? limited : good), providers: KEYS, random: () => 0.999 })
  assert.equal((await plane.ask()).error, undefined)
  assert.deepEqual(plane.calls(), ['a/k1', 'a/k2'])
  for (let i = 0; i < 10; i++) await plane.ask()
  assert.deepEqual(new Set(plane.calls()), new Set(['a/k2']))
  const [first, second] = plane.status().credentials
  assert.deepEqual(
    [first?.coolingUntil, second?.coolingUntil],
    [{ __proto__: null, m: Date.now() + 60_000 }, { __proto__: null }],
  )
  await pass(t, 60_000, 60_000)
  await plane.ask()
  assert.deepEqual(plane.calls(), ['a/k1', 'a/k2'])
})

test('a refused credential is not used for a minute; the other one is', async (t) => {
  const plane = house(t, {
    answer: (_, key) => (key === 'k1' ? refusal(401) : good),
    providers: KEYS,
    random: () => 0.999,
  })
  for (let i = 0; i < 3; i++) assert.equal((await plane.ask()).error, undefined)
  assert.deepEqual(plane.calls(), ['a/k1', 'a/k2', 'a/k2', 'a/k2'])
})

test('if all credentials are refused, the first is retried once a request', async (t) => {
  const plane = house(t, { answer: () => refusal(401), providers: KEYS, random: () => 0.999 })
  assert.equal((await plane.ask()).error?.code, 'provider_credentials')
  assert.deepEqual(plane.calls().sort(), ['a/k1', 'a/k2'])
  assert.equal((await plane.ask()).error?.code, 'provider_credentials')
  assert.deepEqual(plane.calls(), ['a/k1'])
})

test('after a refused credential every other credential and deployment is tried, whatever the attempts and budgets', async (t) => {
  const plane = house(t, {
    answer: (host, key) => (host === 'c' && key === 'k9' ? good : refusal(401)),
    providers: { ...KEYS, b: { credentials: ['k3', 'k4'] }, c: { credentials: ['k9'] } },
    random: () => 0.999,
  })
  assert.equal((await plane.ask()).error, undefined)
  assert.deepEqual(plane.calls(), ['a/k1', 'a/k2', 'b/k3', 'b/k4', 'c/k9'])
})

test('of two deployments with one credential, the other is called if one model is refused', async (t) => {
  const plane = house(t, {
    answer: (_host, _key, { body }) => (body.includes('"m2"') ? good : refusal(403)),
    deployments: [deployment('a', { model: 'm', priority: 0 }), deployment('a', { model: 'm2', priority: 1 })],
    settings: { ...USUAL, retryBudget: 0 },
  })
  for (let i = 0; i < 5; i++) assert.equal((await plane.ask()).error, undefined)
  assert.deepEqual(plane.calls(), ['a', 'a', 'a', 'a', 'a', 'a'])
})

test('UP-3: while all credentials are limited, one request a second tries, and the others receive the error', async (t) => {
  const plane = house(t, { answer: () => refusal(429, {}, { 'retry-after': '30' }), providers: { a: {} } })
  await plane.ask()
  assert.equal(plane.calls().length, 1)
  await pass(t, 10_000, 10_000)
  const [tried, ...others] = [plane.ask(), plane.ask(), plane.ask()]
  assert.equal((await tried)?.error?.code, 'provider_rate_limited')
  assert.equal(plane.calls().length, 1, 'one tries')
  await pass(t, 900, 100)
  assert.equal(plane.calls().length, 0, 'and for a second nobody')
  await pass(t, 2_500, 100)
  for (const { error, route } of await Promise.all(others)) {
    assert.equal(error?.code, 'provider_rate_limited')
    assert.match(route ?? '', /skipped=cooling|outcome=status_429/)
  }
  assert.ok(plane.calls().length <= 3)
})

test('TM14, UP-3: if a limit applied to one request only, the next one succeeds, and all others after it', async (t) => {
  let limited = true
  const plane = house(t, { answer: () => (limited ? refusal(429, {}, { 'retry-after': '600' }) : good) })
  await plane.ask()
  limited = false
  const asked = Array.from({ length: 8 }, () => plane.ask())
  await pass(t, 200, 50)
  for (const { error } of await Promise.all(asked)) assert.equal(error, undefined)
  assert.deepEqual(plane.status().credentials[0]?.coolingUntil, { __proto__: null })
})

test('UP-3: a cooldown of less than 2 s is awaited', async (t) => {
  let limited = true
  const plane = house(t, { answer: () => (limited ? refusal(429, {}, { 'retry-after': '5' }) : good) })
  await plane.ask()
  await pass(t, 3_500, 3_500)
  limited = false
  const asked = plane.ask()
  await pass(t, 1_480)
  assert.equal(plane.calls().length, 1)
  await pass(t, 40)
  assert.equal((await asked).error, undefined)
})

/** Answers when the test says so. */
function gate() {
  const waiting: (() => void)[] = []
  const script = (): Script => {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.push(resolve)
    return { ...good, body: [() => promise, ...(good.body ?? [])] }
  }
  return { script, open: () => waiting.shift()?.(), size: () => waiting.length }
}

test('OVL-4: the next free call of a provider at its limit is another account’s, however many requests the first one queues', async (t) => {
  const { script, open } = gate()
  const plane = house(t, { answer: script, providers: { a: { maxInFlight: 1 } } })
  const ended: string[] = []
  const ask = (account: string) => plane.ask(account).then(({ error }) => ended.push(error?.code ?? account))
  for (let i = 0; i <= MAX_WAITING_OF_ACCOUNT; i++) void ask('acc_a')
  await settled()
  void ask('acc_b')
  void ask('acc_a')
  await settled()
  assert.deepEqual(ended, ['overloaded'], 'one account’s line has an end')
  assert.deepEqual([plane.status().inFlight, plane.status().queued], [1, 101])
  for (let i = 0; i < 3; i++) {
    open()
    await settled()
  }
  assert.deepEqual(ended.slice(1), ['acc_a', 'acc_a', 'acc_b'])
  for (let i = 0; i < 100; i++) {
    open()
    await settled()
  }
  assert.deepEqual([ended.length, plane.status().inFlight, plane.status().queued], [103, 0, 0])
})

test('a provider at its concurrency limit is skipped if another one has capacity', async (t) => {
  const { script, open } = gate()
  const plane = house(t, {
    answer: (host) => (host === 'a' ? script() : good),
    providers: { a: { maxInFlight: 1 }, b: {} },
  })
  const first = plane.ask()
  await settled()
  assert.equal((await plane.ask()).route, 'a;model="m";skipped=full, b;model="m";why=fallback;outcome=answered')
  open()
  assert.equal((await first).error, undefined)
})

test('a request queues for at most 10 s, and leaves the queue when its client disconnects [limit: queue-wait]', async (t) => {
  const { script, open } = gate()
  const plane = house(t, { answer: script, providers: { a: { maxInFlight: 1 } } })
  const first = plane.ask()
  await settled()
  const waiting = plane.ask()
  const client = testClient()
  const leaving = plane.ask('acc_1', client)
  await settled()
  assert.equal(plane.status().queued, 2)
  client.leave()
  await settled()
  assert.equal(plane.status().queued, 1)
  await pass(t, 10_000, 10_000)
  const { error, route } = await waiting
  assert.deepEqual([error?.code, error?.status, route], ['overloaded', 503, 'a;model="m";skipped=full'])
  await leaving
  open()
  await first
  assert.deepEqual([plane.status().queued, plane.status().inFlight, plane.calls().length], [0, 0, 1])
})

test('retries of a failing deployment do not use another provider’s concurrency limit or budget', async (t) => {
  const plane = house(t, { answer: (host) => (host === 'a' ? refusal(503) : good), providers: TWO })
  for (let i = 0; i < 20; i++) assert.equal((await plane.ask()).error, undefined)
  assert.equal(plane.status('b').deployments[0]?.calls, 20)
  assert.equal(plane.status('a').deployments[0]?.calls, 5)
})

test('a status contains no secret and no text of the provider', async (t) => {
  const secret = 'sk-very-secret'
  const plane = house(t, {
    answer: () => refusal(500, { message: `bad ${secret}: hello, hello` }),
    providers: { a: { credentials: [secret], baseUrl: 'http://user:pass@a.test/v1?key=hidden' } },
    maxAttempts: 1,
  })
  await plane.ask()
  const text = JSON.stringify(plane.status(), (_, value) => (typeof value === 'bigint' ? String(value) : value))
  assert.doesNotMatch(text, /secret|hello|pass|hidden/)
  assert.equal(plane.status().deployments[0]?.lastFailure?.message, 'The provider answered with status 500.')
})

const FATES: Readonly<Record<string, Script>> = {
  answers: ordinary(3),
  cuts: { body: [...(ordinary(3).body ?? []).slice(0, 2), new Error('ECONNRESET')] },
  fails: refusal(500),
  limits: refusal(429),
  refuses: refusal(400),
  forbids: refusal(401),
  breaks: { head: new Error('ECONNRESET') },
  hangs: { head: HANGS },
}

test('INV-4: whatever providers and clients do, all concurrency is released', async (t) => {
  const fates = fc.array(fc.constantFrom(...Object.keys(FATES)), { minLength: 8, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(
      fates,
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.nat(9), { maxLength: 5 }),
      async (planned, limit, leavers) => {
        t.mock.timers.reset()
        const script = [...planned]
        const plane = house(t, {
          answer: () => FATES[script.shift() ?? 'answers'] ?? good,
          providers: { a: { credentials: ['k1', 'k2'], maxInFlight: limit }, b: { maxInFlight: limit } },
        })
        const clients = Array.from({ length: 10 }, () => testClient())
        const asked = clients.map((client, i) => plane.ask(`acc_${i % 3}`, client, hello({ stream: i % 2 === 0 })))
        for (const position of leavers) {
          await settled(2)
          clients[position]?.leave()
        }
        let open = true
        const all = Promise.all(asked).then(() => {
          open = false
        })
        for (let i = 0; i < 60 && open; i++) await pass(t, 20_000, 10_000)
        await all
        for (const name of ['a', 'b']) {
          const { inFlight, queued, credentials, deployments } = plane.status(name)
          assert.deepEqual([inFlight, queued], [0, 0])
          for (const each of [...credentials, ...deployments]) assert.equal(each.inFlight, 0)
        }
      },
    ),
    { numRuns: 60 },
  )
})
