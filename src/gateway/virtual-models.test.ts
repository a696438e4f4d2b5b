import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  callerOf,
  deployment,
  healthOf,
  incomingOf,
  modelOf,
  playNetwork,
  refusal,
  requestOf,
  type Script,
  testClient,
  testPorts,
  upstreamOf,
  whole,
} from '../../test/support/ledger/data-plane.ts'
import { completion as answer, counts } from '../../test/support/providers/answers.ts'
import { attemptLogText, parseAttemptLog } from '../domain/completion.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model, VirtualModel } from '../domain/model.ts'
import { virtualModel } from '../features/models/book.ts'
import { createGateway } from './pipeline.ts'
import { candidatesOf } from './routing/candidates.ts'
import { record } from './routing/measurements.ts'
import { EXPLORED_SHARE, preferredRoute } from './routing/preferences.ts'
import { requestedModels } from './routing/requested-models.ts'

const NAMES = ['a', 'b', 'c']
const good = whole(answer({ content: 'Hi' }, { usage: counts(10, 3) }))

function modelAt(id: string, over: Partial<Model> = {}): Model {
  return modelOf({ id, priceVersion: `pv_${id}`, deployments: [deployment(id)], ...over })
}

/** Park and Miller's: the same numbers every time. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

interface MixInput {
  readonly models?: readonly Model[]
  readonly random?: () => number
  readonly weights?: readonly number[]
}

/** A gateway with the virtual model `mix` of `a`, `b` and `c`. */
function mix(over: Partial<Pick<VirtualModel, 'strategy' | 'sticky'>>, input: MixInput = {}) {
  const { models = NAMES.map((id) => modelAt(id)), random = () => 0.5, weights = [1, 1, 1] } = input
  const failing = new Set<string>()
  const network = playNetwork(({ url }): Script => (failing.has(new URL(url).hostname[0] ?? '') ? refusal(503) : good))
  const upstreams = NAMES.map((name) => upstreamOf({ transport: network.transport, name }))
  const health = healthOf({ random })
  let current = weights
  const virtual = (): Model =>
    virtualModel(
      { id: 'mix', candidates: models.map(({ id }, at) => ({ model: id, weight: current[at] ?? 0 })), ...over },
      (id) => models.find((model) => model.id === id),
    ) ?? assert.fail()
  const book = {
    find: (id: string) => (id === 'mix' ? virtual() : models.find((model) => model.id === id)),
    nearest: () => [],
    get all() {
      return [...models, virtual()]
    },
  }
  const { ports, records, credit } = testPorts({ upstreams, health, models, random })
  const gateway = createGateway({ ...ports, models: () => book }, () => ({ maxAttempts: 1 }))
  return {
    failing,
    health,
    records,
    input: { health, provider: ports.provider },
    book,
    models,
    shift(next: readonly number[]) {
      current = next
    },
    /** The hosts that are called, in order. */
    async ask(body: object = {}, over: Parameters<typeof incomingOf>[1] = {}) {
      const before = network.exchanges.length
      const client = testClient()
      const asked = { model: 'mix', messages: [{ role: 'user', content: 'hi' }], ...body }
      const error = await gateway.complete(incomingOf(asked, over), client).then(
        () => undefined,
        (thrown: unknown) => (thrown instanceof GatewayError ? thrown : assert.fail(String(thrown))),
      )
      assert.equal(credit.open(), 0)
      const hosts = network.hosts().slice(before)
      return { hosts: hosts.map((host) => host[0]).join(''), error, client }
    },
  }
}

test('priority: the configured order, and the next model if the first cannot answer', async () => {
  const { ask, failing, records } = mix({})
  assert.equal((await ask()).hosts, 'a')
  failing.add('a')
  const { hosts, client } = await ask()
  assert.equal(hosts, 'ab')
  assert.equal(JSON.parse(client.body ?? '').model, 'b')
  assert.deepEqual(
    records.map(({ model, priceVersion }) => [model, priceVersion]),
    [
      ['a', 'pv_a'],
      ['b', 'pv_b'],
    ],
  )
})

test('cheapest: by price, three tokens of prompt for one of output', async () => {
  const models = [
    modelAt('a', { price: { inputMicroUsd: 300, outputMicroUsd: 100 } }),
    modelAt('b', { price: { inputMicroUsd: 100, outputMicroUsd: 600 } }),
    modelAt('c', { price: { inputMicroUsd: 200, outputMicroUsd: 600 } }),
  ]
  const { ask, failing } = mix({ strategy: 'cheapest' }, { models })
  for (const name of NAMES) failing.add(name)
  assert.equal((await ask()).hosts, 'bac')
})

test('fastest: by measured tokens a second; models without measurements come last and are explored', async () => {
  let chance = 0.5
  const { ask, models, input } = mix({ strategy: 'fastest' }, { random: () => chance })
  const measure = (at: number, speed: number): void => {
    const model = models[at] ?? assert.fail()
    for (const each of candidatesOf(model, input).candidates) record(each.deployment.measurements.speed, speed, 0)
  }
  assert.equal((await ask()).hosts, 'a', 'nothing is known')
  measure(1, 10)
  assert.equal((await ask()).hosts, 'b')
  measure(2, 20)
  assert.equal((await ask()).hosts, 'c')
  chance = 0.01
  assert.equal((await ask()).hosts, 'a', 'one request in twenty')
})

test('`:nitro` of a virtual model explores models and deployments with at most 5 % of the requests', () => {
  const models = [modelAt('a', { deployments: [deployment('a'), deployment('b')] }), modelAt('c')]
  const { book, input } = mix({}, { models, random: seeded(11) })
  const [measured] = candidatesOf(models[0] ?? assert.fail(), input).candidates
  record((measured ?? assert.fail()).deployment.measurements.speed, 10, 0)
  const explored = new Map<string, number>()
  const runs = 20_000
  const explore = (): string => {
    const request = requestOf({ model: 'mix:nitro' })
    const { first } = requestedModels({ book, caller: callerOf(), request, kind: 'chat', now: () => 0, routing: input })
    const { model, preferences = {} } = first
    const [host] = preferredRoute({ accountId: 'acc_1', model, request, preferences }, input).candidates
    return host?.upstream.name ?? ''
  }
  for (let run = 0; run < runs; run++) {
    const host = explore()
    explored.set(host, (explored.get(host) ?? 0) + 1)
  }
  const share = 1 - (explored.get('a') ?? 0) / runs
  assert.ok(share > EXPLORED_SHARE * 0.8 && share < EXPLORED_SHARE * 1.1, String(share))
  assert.deepEqual([...explored.keys()].sort(), NAMES, 'each is measured some time')
})

test('least_busy: by calls in flight', async () => {
  const { ask, models, input } = mix({ strategy: 'least_busy' })
  const [first] = candidatesOf(models[0] ?? assert.fail(), input).candidates
  const [second] = candidatesOf(models[1] ?? assert.fail(), input).candidates
  if (first === undefined || second === undefined) assert.fail()
  first.deployment.inFlight = 2
  second.deployment.inFlight = 1
  assert.equal((await ask()).hosts, 'c')
  first.deployment.inFlight = 0
  assert.equal((await ask()).hosts, 'a')
})

test('weighted: requests are distributed by weight; weight 0 answers only if the others cannot', async () => {
  const { ask, failing } = mix({ strategy: 'weighted' }, { random: seeded(11), weights: [3, 1, 0] })
  const firsts = new Map<string, number>()
  for (let i = 0; i < 2000; i++) {
    const { hosts } = await ask()
    firsts.set(hosts, (firsts.get(hosts) ?? 0) + 1)
  }
  assert.ok(Math.abs((firsts.get('a') ?? 0) - 1500) < 80, JSON.stringify([...firsts]))
  assert.deepEqual([...firsts.keys()].sort(), ['a', 'b'])
  failing.add('a').add('b')
  assert.equal((await ask()).hosts.at(-1), 'c')
})

test('a conversation, or a user, is sticky to the model that answered it, also after a fallback', async () => {
  for (const sticky of ['conversation', 'user'] as const) {
    const { ask, failing } = mix({ strategy: 'weighted', sticky }, { random: seeded(5) })
    const say = (who: number): object =>
      sticky === 'user' ? { user: `user ${who}` } : { messages: [{ role: 'user', content: `about ${who}` }] }
    const chosen = new Map<number, string>()
    for (let who = 0; who < 60; who++) chosen.set(who, (await ask(say(who))).hosts)
    assert.equal(new Set(chosen.values()).size, 3, 'they are spread')
    for (const [who, host] of chosen) assert.equal((await ask(say(who))).hosts, host, sticky)
    failing.add('a')
    const [moved] = [...chosen].find(([, host]) => host === 'a') ?? assert.fail()
    const { hosts } = await ask(say(moved))
    failing.clear()
    assert.equal((await ask(say(moved))).hosts, hosts.at(-1), 'its cache is there now')
  }
})

test('sticky draws are the same in all processes, and a change of weights moves few', async () => {
  const [one, other] = [1, 2].map((seed) => mix({ strategy: 'weighted', sticky: 'user' }, { random: seeded(seed) }))
  const shifted = mix({ strategy: 'weighted', sticky: 'user' }, { weights: [1, 1, 2] })
  let moved = 0
  for (let who = 0; who < 300; who++) {
    const user = `user ${who}`
    const { hosts } = (await one?.ask({ user })) ?? assert.fail()
    assert.equal((await other?.ask({ user }))?.hosts, hosts)
    const now = (await shifted.ask({ user })).hosts
    if (now !== hosts) {
      assert.equal(now, 'c', 'only towards what weighs more')
      moved += 1
    }
  }
  assert.ok(moved > 20 && moved < 90, String(moved))
})

test('changed weights apply to the next request', async () => {
  const { ask, shift } = mix({ strategy: 'weighted' }, { random: seeded(3), weights: [1, 0, 0] })
  for (let i = 0; i < 20; i++) assert.equal((await ask()).hosts, 'a')
  shift([0, 1, 0])
  for (let i = 0; i < 20; i++) assert.equal((await ask()).hosts, 'b')
})

test('a key that may use the virtual model may use its candidates, and no other key may', async () => {
  const { ask } = mix({})
  assert.equal((await ask({}, { caller: callerOf({ models: new Set(['mix']) }) })).hosts, 'a')
  const { error } = await ask({}, { caller: callerOf({ models: new Set(['a']) }) })
  assert.equal(error?.code, 'model_not_allowed')
})

test('candidates that lack a capability, have no price or are shut down are skipped', async () => {
  const capabilities = { streaming: true, function_calling: false, vision: false, json_mode: false }
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const models = [modelAt('a', { capabilities }), modelAt('b', { price: undefined }), modelAt('c')]
  assert.equal((await mix({}, { models }).ask({ tools })).hosts, 'c')
  const gone = [modelAt('a', { deprecationDate: '2020-01-01' }), modelAt('b')]
  assert.equal((await mix({}, { models: gone }).ask()).hosts, 'b')
  const none = await mix({}, { models: [modelAt('a', { deprecationDate: '2020-01-01' })] }).ask()
  assert.deepEqual([none.error?.status, none.error?.code], [400, 'no_candidates'])
  assert.match(none.error?.message ?? '', /'mix'/)
})

test('at most 11 models may answer one request [limit: answering-models]', async () => {
  const models = Array.from({ length: 12 }, (_, at) =>
    modelAt(`m${at}`, { deployments: [deployment('a', { model: `m${at}` })] }),
  )
  const { ask, failing, records } = mix({}, { models, weights: models.map(() => 1) })
  failing.add('a')
  assert.equal((await ask()).hosts.length, 11)
  const kept = parseAttemptLog(attemptLogText(records[0]?.attemptLog) ?? null) ?? []
  assert.deepEqual(
    kept.map((note) => [note.model, note.reason]),
    models.slice(0, 11).map(({ id }) => [id, 'overloaded']),
    'the row has every attempt with its reason',
  )
})

test('`models` after a virtual model, and a virtual model among them, are tried in order, each model once', async () => {
  const { ask, failing } = mix({})
  for (const name of NAMES) failing.add(name)
  assert.equal((await ask({ models: ['c', 'a'] })).hosts, 'abc')
  assert.equal((await ask({ model: 'c', models: ['mix'] })).hosts, 'cab')
})

test('`:floor` and `:nitro` replace strategy and stickiness', async () => {
  const models = NAMES.map((id, at) => modelAt(id, { price: { inputMicroUsd: 300 - at, outputMicroUsd: 100 } }))
  const { ask, input } = mix({ strategy: 'priority', sticky: 'conversation' }, { models })
  for (const each of candidatesOf(models[1] ?? assert.fail(), input).candidates)
    record(each.deployment.measurements.speed, 10, 0)
  assert.equal((await ask()).hosts, 'a')
  assert.equal((await ask({ model: 'mix:floor' })).hosts, 'c')
  assert.equal((await ask({ model: 'mix:nitro' })).hosts, 'b')
  assert.equal((await ask()).hosts, 'a', 'the conversation is where it was')
})

test('for any prices, speeds and failures the order of a suffix equals that of a naive reference', async () => {
  const of = fc.record({
    input: fc.integer({ min: 1, max: 5 }),
    output: fc.integer({ min: 1, max: 5 }),
    speed: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    fails: fc.boolean(),
  })
  const strategy = fc.constantFrom('priority' as const, 'weighted' as const, 'cheapest' as const, 'fastest' as const)
  await fc.assert(
    fc.asyncProperty(
      fc.array(of, { minLength: 3, maxLength: 3 }),
      fc.constantFrom(':floor', ':nitro'),
      strategy,
      async (facts, suffix, own) => {
        const models = NAMES.map((id, at) => {
          const { input = 1, output = 1 } = facts[at] ?? {}
          return modelAt(id, { price: { inputMicroUsd: input * 4, outputMicroUsd: output * 4 } })
        })
        const { ask, failing, input } = mix({ strategy: own }, { models })
        const named = facts.map((each, at) => ({ ...each, name: NAMES[at] ?? '' }))
        for (const [at, { name, fails, speed }] of named.entries()) {
          if (fails) failing.add(name)
          for (const { deployment: measured } of candidatesOf(models[at] ?? assert.fail(), input).candidates)
            if (speed !== undefined) record(measured.measurements.speed, 10 ** speed, 0)
        }
        const dearness = (each: (typeof named)[number]): number =>
          suffix === ':floor' ? 3 * each.input + each.output : -(each.speed ?? 0)
        const order = [...named].sort((x, y) => dearness(x) - dearness(y))
        const answering = order.findIndex(({ fails }) => !fails)
        const expected = order.slice(0, answering < 0 ? order.length : answering + 1).map(({ name }) => name)
        assert.equal((await ask({ model: `mix${suffix}` })).hosts, expected.join(''))
      },
    ),
    { numRuns: 300 },
  )
})

test('for any weights the order of a draw is a permutation with weight 0 last', () => {
  return fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(3), { minLength: 3, maxLength: 3 }),
      fc.integer({ min: 1, max: 1e9 }),
      async (weights, seed) => {
        const { ask, failing } = mix({ strategy: 'weighted' }, { random: seeded(seed), weights })
        for (const name of NAMES) failing.add(name)
        const { hosts } = await ask()
        assert.deepEqual([...hosts].sort().join(''), 'abc')
        const isZero = [...hosts].map((name) => weights[NAMES.indexOf(name)] === 0)
        assert.deepEqual(isZero, [...isZero].sort(), hosts)
      },
    ),
    { numRuns: 200 },
  )
})
