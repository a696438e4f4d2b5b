import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  callerOf,
  deployment,
  healthOf,
  modelOf,
  playNetwork,
  requestOf,
  upstreamOf,
} from '../../test/support/ledger/data-plane.ts'
import type { ChatMessage } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Deployment, Model } from '../domain/model.ts'
import { countFailure } from './routing/breaker.ts'
import { candidatesOf, routeRequest } from './routing/candidates.ts'
import { startCooldown } from './routing/credentials.ts'
import type { Candidate, Health, KeyedTarget, Route, RoutingSettings } from './routing/health.ts'
import type { UpstreamProvider } from './upstream/transport.ts'

const { transport } = playNetwork(() => ({}))
const CONFIGURED = ['a', 'b', 'c', 'd'].map((name) => upstreamOf({ transport, name }))
const provider = (name: string) => CONFIGURED.find((upstream) => upstream.name === name)
const SETTINGS: RoutingSettings = { retryBudget: 0.2, breaker: { failures: 1, openMs: 30_000 } }

/** Mulberry32: the same numbers every time. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Table {
  readonly health: Health
  /** Time goes on. */
  advance(ms: number): void
  route(messages?: readonly ChatMessage[], accountId?: string): Route
  names(): string[]
  /** The first one drawn, over many draws. */
  shares(draws: number): Map<string, number>
}

function table(deployments: readonly Deployment[], random = seeded(1), find = provider): Table {
  let now = 0
  const health = healthOf({ random, clock: () => now }, SETTINGS)
  const model: Model = modelOf({ deployments })
  const route: Table['route'] = (messages = [{ role: 'user', content: 'hi' }], accountId = callerOf().accountId) =>
    routeRequest({ accountId, model, request: requestOf({ messages }) }, { provider: find, health })
  const names = (): string[] => route().candidates.map(({ upstream }) => upstream.name)
  return {
    health,
    advance: (ms) => {
      now += ms
    },
    route,
    names,
    shares(draws) {
      const firsts = new Map<string, number>()
      for (let i = 0; i < draws; i++) {
        const [first = ''] = names()
        firsts.set(first, (firsts.get(first) ?? 0) + 1 / draws)
      }
      return firsts
    },
  }
}

function candidate(from: Table, name: string): Candidate {
  return from.route().candidates.find(({ upstream }) => upstream.name === name) ?? assert.fail(name)
}

function eject(from: Table, name: string): void {
  const { breaker } = candidate(from, name).deployment
  countFailure(breaker, { role: 'normal', epoch: breaker.epoch }, from.health.clock(), SETTINGS.breaker)
}

function near(actual: number | undefined, expected: number): void {
  assert.ok(Math.abs((actual ?? 0) - expected) < 0.015, `${actual} is not ${expected}`)
}

test('the lowest priority number is called first, whatever the random draw and the weights', () => {
  const { names } = table([
    deployment('c', { priority: 2, weight: 1000 }),
    deployment('a', { priority: 0 }),
    deployment('b', { priority: 1, weight: 50 }),
  ])
  for (let i = 0; i < 200; i++) assert.deepEqual(names(), ['a', 'b', 'c'])
})

const BY_WEIGHT = [
  deployment('a', { weight: 6 }),
  deployment('b', { weight: 3 }),
  deployment('c', { weight: 1 }),
  deployment('d', { priority: 1, weight: 90 }),
]

test('within a priority the first position is drawn in proportion to weight', () => {
  const shares = table(BY_WEIGHT, seeded(2)).shares(20_000)
  near(shares.get('a'), 0.6)
  near(shares.get('b'), 0.3)
  near(shares.get('c'), 0.1)
  assert.equal(shares.get('d'), undefined)
})

test('of hundreds of deployments a request considers sixteen, drawn by weight, without unavailable ones', () => {
  const names = Array.from({ length: 500 }, (_, at) => `p${at}`)
  const upstreams = new Map(names.map((name) => [name, upstreamOf({ transport, name })]))
  const deployments = names.map((name, at) => deployment(name, { weight: at < 100 ? 5 : 1 }))
  const many = table(deployments, seeded(4), (name) => upstreams.get(name))
  let heavy = 0
  for (let i = 0; i < 4000; i++) {
    const drawn = many.names()
    assert.equal(new Set(drawn).size, 16)
    if (Number(drawn[0]?.slice(1)) < 100) heavy += 1
  }
  near(heavy / 4000, 500 / 900)
  const { candidates } = many.route()
  const [
    {
      upstream,
      deployment: { breaker },
    } = assert.fail(),
  ] = candidates
  countFailure(breaker, { role: 'normal', epoch: breaker.epoch }, many.health.clock(), SETTINGS.breaker)
  for (let i = 0; i < 200; i++) assert.ok(!many.names().includes(upstream.name))
})

test('if most of hundreds are unavailable, all are ordered, usable ones first', () => {
  const names = Array.from({ length: 100 }, (_, at) => `p${at}`)
  const upstreams = new Map(names.map((name) => [name, upstreamOf({ transport, name })]))
  const many = table(
    names.map((name) => deployment(name)),
    seeded(4),
    (name) => upstreams.get(name),
  )
  const all = candidatesOf(modelWith(names), {
    provider: (name) => upstreams.get(name),
    health: many.health,
  }).candidates
  for (const {
    upstream,
    deployment: { breaker },
  } of all) {
    if (upstream.name !== 'p7') countFailure(breaker, { role: 'normal', epoch: breaker.epoch }, 0, SETTINGS.breaker)
  }
  const ordered = many.names()
  assert.deepEqual([ordered.length, ordered[0]], [100, 'p7'])
})

const modelWith = (names: readonly string[]): Model => modelOf({ deployments: names.map((name) => deployment(name)) })

test('deployments with equal speed, and load in proportion to weight, keep their shares', () => {
  const busy = table(BY_WEIGHT, seeded(2))
  for (const [name, inFlight] of [
    ['a', 12],
    ['b', 5],
    ['c', 3],
  ] as const) {
    candidate(busy, name).deployment.inFlight = inFlight
    candidate(busy, name).deployment.firstEventMs = 300 + 10 * inFlight
  }
  const shares = busy.shares(20_000)
  near(shares.get('a'), 0.6)
  near(shares.get('c'), 0.1)
})

test('of two draws the clearly less loaded or clearly faster one is used', () => {
  const deployments = [deployment('a'), deployment('b')]
  const loaded = table(deployments)
  candidate(loaded, 'a').deployment.inFlight = 50
  near(loaded.shares(20_000).get('a'), 0.25)
  const slow = table(deployments)
  candidate(slow, 'a').deployment.firstEventMs = 3_000
  near(slow.shares(20_000).get('a'), 0.5)
  candidate(slow, 'b').deployment.firstEventMs = 300
  near(slow.shares(20_000).get('a'), 0.25)
})

test('the second position is drawn in proportion among the rest', () => {
  const { names } = table([deployment('a', { weight: 6 }), deployment('b', { weight: 3 }), deployment('c')], seeded(3))
  let afterA = 0
  let bAfterA = 0
  for (let i = 0; i < 20_000; i++) {
    const [first, second] = names()
    if (first !== 'a') continue
    afterA += 1
    if (second === 'b') bAfterA += 1
  }
  assert.ok(Math.abs(bAfterA / afterA - 0.75) < 0.02)
})

test('a deployment without weight is the last of its priority', () => {
  const { names } = table([deployment('a', { weight: 0 }), deployment('b', { weight: 1 })], seeded(4))
  for (let i = 0; i < 200; i++) assert.deepEqual(names(), ['b', 'a'])
})

test('every configured deployment is a target exactly once', () => {
  const known = fc.array(fc.constantFrom('a', 'b', 'c', 'missing', 'gone'), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(known, fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })), (listed, chances) => {
      const expected = listed.filter((name) => provider(name) !== undefined)
      const { names } = table(
        listed.map((name) => deployment(name)),
        () => chances.next().value,
      )
      if (expected.length === 0) assert.throws(names, { code: 'provider_error' })
      else assert.deepEqual(names().sort(), expected.sort())
    }),
  )
})

test('a model whose providers are not configured responds 503 with the reason', () => {
  try {
    table([deployment('missing')]).route()
    assert.fail()
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    assert.equal(error.status, 503)
    assert.match(error.message, /'m1'/)
  }
})

test('a target has the provider’s own name of the model', () => {
  const [target] = table([deployment('a', { model: 'theirs' })]).route().candidates
  assert.equal(target?.model, 'theirs')
})

test('UP-4: a candidate with an open breaker comes last, and returns to its position when half-open', () => {
  const two = table([deployment('a'), deployment('b', { priority: 1 })])
  assert.deepEqual([two.names(), two.route().why], [['a', 'b'], 'priority'])
  eject(two, 'a')
  const route = two.route()
  assert.deepEqual([two.names(), route.why, route.skipped], [['b', 'a'], 'fallback', 'a;model="a-model";skipped=open'])
  two.advance(30_000)
  assert.deepEqual([two.names(), two.route().skipped], [['a', 'b'], ''])
})

const KEYED: UpstreamProvider = upstreamOf({ transport, name: 'a', credentials: ['k1', 'k2'] })
const keyed = (): Table =>
  table([deployment('a'), deployment('b')], seeded(6), (name) => (name === 'a' ? KEYED : provider(name)))
const LONG_HEAD = 'You are a helpful assistant. '.repeat(200)

function talk(turns: number, system = 'Be kind.'): ChatMessage[] {
  const messages: ChatMessage[] = [
    { role: 'system', content: system },
    { role: 'user', content: 'hello' },
  ]
  for (let turn = 1; turn < turns; turn++) {
    messages.push({ role: 'assistant', content: `${turn}` }, { role: 'user', content: `more ${turn}` })
  }
  return messages
}

function remember(from: Table, messages: readonly ChatMessage[], target: KeyedTarget): void {
  const { prefix } = from.route(messages)
  const { deployment } = from.route().candidates.find(({ targets }) => targets.includes(target)) ?? assert.fail()
  from.health.affinity.remember(prefix ?? assert.fail(), { deployment, credential: target.health })
}

test('a conversation continues at its deployment and credential, and another one is drawn', () => {
  const from = keyed()
  const target = candidate(from, 'a').targets[1] ?? assert.fail()
  remember(from, talk(1), target)
  for (let i = 0; i < 50; i++) {
    const route = from.route(talk(3))
    assert.deepEqual([route.candidates[0]?.upstream.name, route.target?.credential, route.why], ['a', 'k2', 'sticky'])
  }
  assert.equal(from.route(talk(1)).why, 'sticky', 'what an application asks in the same words')
  const alone: ChatMessage[] = [{ role: 'user', content: 'hello' }]
  remember(from, alone, target)
  assert.notEqual(from.route(alone).why, 'sticky', 'a greeting is no conversation yet')
  assert.notEqual(from.route(talk(3, 'Be brief.')).why, 'sticky')
  assert.notEqual(from.route(talk(3), 'acc_2').why, 'sticky')
})

test('a conversation leaves its sticky target when that is unhealthy', () => {
  const home = (harm: (from: Table, at: Candidate) => void): string => {
    const from = keyed()
    const at = candidate(from, 'a')
    remember(from, talk(1), at.targets[1] ?? assert.fail())
    harm(from, at)
    return from.route(talk(2)).why
  }
  assert.equal(
    home(() => {}),
    'sticky',
  )
  assert.notEqual(
    home((from) => eject(from, 'a')),
    'sticky',
  )
  const failure = { kind: 'rate_limited', message: '', status: 429 } as const
  const input = { model: 'a-model', failure, now: 0, random: () => 0.5 }
  assert.notEqual(
    home((_, at) => startCooldown(at.targets[1]?.health ?? assert.fail(), input)),
    'sticky',
  )
  assert.equal(
    home((_, at) => startCooldown(at.targets[0]?.health ?? assert.fail(), input)),
    'sticky',
  )
  const full = (_: Table, { provider: { limiter } }: Candidate): void => {
    limiter.setLimit(1)
    limiter.acquire(1)
  }
  assert.notEqual(home(full), 'sticky')
})

test('a better priority that has recovered takes precedence over the sticky target', () => {
  const from = table([deployment('a'), deployment('b', { priority: 1 })])
  remember(from, talk(1), candidate(from, 'b').targets[0] ?? assert.fail())
  assert.equal(from.route(talk(2)).candidates[0]?.upstream.name, 'a')
  eject(from, 'a')
  assert.deepEqual([from.route(talk(2)).candidates[0]?.upstream.name, from.route(talk(2)).why], ['b', 'sticky'])
})

test('a long prefix without a sticky target selects the same target in all processes, distributed by weight', () => {
  const deployments = [deployment('a', { weight: 3 }), deployment('b', { weight: 1 })]
  const one = table(deployments, seeded(7))
  const other = table(deployments, seeded(8))
  let atA = 0
  for (let i = 0; i < 2_000; i++) {
    const messages = talk(1, `${i} ${LONG_HEAD}`)
    const [first] = one.route(messages).candidates
    assert.equal(other.route(messages).candidates[0]?.upstream.name, first?.upstream.name)
    if (first?.upstream.name === 'a') atA += 1
  }
  assert.ok(Math.abs(atA / 2_000 - 0.75) < 0.04, String(atA))
})

test('a request without a choice allocates nothing for routing', () => {
  const { route } = table([deployment('a')])
  assert.equal(route(), route())
  assert.deepEqual([route().why, route().prefix], ['only', undefined])
})
