import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  callerOf,
  deployment,
  healthOf,
  incomingOf,
  modelOf,
  PATIENT,
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
import { GatewayError } from '../domain/errors.ts'
import type { Deployment, Model } from '../domain/model.ts'
import { messagesApi } from '../protocols/anthropic-messages/client/index.ts'
import { chatCompletionsApi } from '../protocols/openai-chat/client/index.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { completionsApi } from '../protocols/openai-completions.ts'
import { responsesApi } from '../protocols/openai-responses/client/index.ts'
import { readProvider } from '../protocols/routing-fields.ts'
import { resolveProvider } from '../providers/index.ts'
import type { Transport } from '../providers/provider.ts'
import { createGateway } from './pipeline.ts'
import { candidatesOf } from './routing/candidates.ts'
import type { RoutingPolicy, RoutingSettings } from './routing/health.ts'
import { record } from './routing/measurements.ts'
import { EXPLORED_SHARE, preferredRoute } from './routing/preferences.ts'
import type { UpstreamProvider } from './upstream/transport.ts'

const LONG_TIMEOUTS = { connect: 1_000, idle: 1_000, total: 1_000 }

const NAMES = ['a', 'b', 'c', 'd', 'e']
const good = whole(answer({ content: 'Hi' }, { usage: counts(10, 3) }))
const bad = new Set<string>()

/** What was called, in order, and what became of it. */
async function send(
  body: object,
  { failing = bad, over = {}, models = [modelOver({})], settings = PATIENT }: SendInput = {},
) {
  const network = playNetwork(({ url }): Script => (failing.has(new URL(url).hostname[0] ?? '') ? refusal(503) : good))
  const upstreams = NAMES.map((name) => upstreamOf({ transport: network.transport, name }))
  const { ports, records, credit } = testPorts({ upstreams, models, health: healthOf({}, settings) })
  const client = testClient()
  const error = await createGateway(ports, () => ({ maxAttempts: 10 }))
    .complete(incomingOf(body, over), client)
    .then(
      () => undefined,
      (thrown: unknown) => (thrown instanceof GatewayError ? thrown : assert.fail(String(thrown))),
    )
  assert.equal(credit.open(), 0)
  const bodies = network.exchanges.map(({ call }) => JSON.parse(call.body) as Record<string, unknown>)
  return {
    hosts: network
      .hosts()
      .map((host) => host[0])
      .join(''),
    error,
    client,
    records,
    bodies,
  }
}

interface SendInput {
  readonly failing?: ReadonlySet<string>
  readonly over?: Parameters<typeof incomingOf>[1]
  readonly models?: readonly Model[]
  readonly settings?: RoutingSettings
}

const modelOver = (over: Partial<Model>): Model =>
  modelOf({ deployments: NAMES.map((name, priority) => deployment(name, { priority })), ...over })
const limitedTo = (only: readonly unknown[]) => ({ only })
const chat = (over: object): object => ({ model: 'm1', messages: [{ role: 'user', content: 'hi' }], ...over })

test('order, only, ignore and allow_fallbacks decide which providers are called, and in which order', async () => {
  const all = new Set(NAMES)
  const cases: readonly (readonly [provider: object, hosts: string])[] = [
    [{ order: ['c', 'A'] }, 'cabde'],
    [{ order: ['c', 'a'], allow_fallbacks: false }, 'ca'],
    [limitedTo(['b', 'd/turbo']), 'bd'],
    [{ ignore: ['a', 'B'] }, 'cde'],
    [{ allow_fallbacks: false }, 'a'],
    [{ order: ['e'], only: ['d', 'e'] }, 'ed'],
    [{ order: ['unknown'] }, 'abcde'],
  ]
  for (const [provider, hosts] of cases) {
    const { hosts: called } = await send(chat({ provider, max_tokens: 10 }), { failing: all })
    // Backoffs may repeat them: the first round is what is ordered.
    assert.equal(called.slice(0, hosts.length), hosts, JSON.stringify(provider))
    assert.deepEqual(new Set(called), new Set(hosts), JSON.stringify(provider))
  }
})

test('preferences that exclude all candidates lead to a 400 with the provider and the reason', async () => {
  const only = await send(chat({ provider: limitedTo(['zz']) }))
  assert.deepEqual([only.error?.status, only.error?.code, only.error?.param], [400, 'no_candidates', 'provider'])
  assert.match(only.error?.message ?? '', /'m1'.*'a' by `provider\.only`/)
  const dear = await send(chat({ provider: { max_price: { prompt: 0.5 } } }))
  assert.deepEqual([dear.error?.code, dear.error?.param], ['no_candidates', 'provider.max_price'])
  for (const provider of [{ zdr: true }, { data_collection: 'deny' }]) {
    assert.equal((await send(chat({ provider }))).error?.code, 'no_candidates')
  }
})

test('max_price accepts both names, numbers and text; a more expensive fallback is skipped', async () => {
  for (const max of [
    { prompt: 1, completion: '2' },
    { input: '1', output: 2 },
  ]) {
    assert.equal((await send(chat({ provider: { max_price: max } }))).error, undefined)
  }
  for (const max of [{ completion: 1.9 }, { output: '1.9' }, { input: 0.9 }]) {
    assert.equal((await send(chat({ provider: { max_price: max } }))).error?.code, 'no_candidates')
  }
  const price = { inputMicroUsd: 9_000_000, outputMicroUsd: 9_000_000 }
  const models = [
    modelOver({ deployments: [deployment('a')] }),
    modelOf({ id: 'dear', price, deployments: [deployment('b')] }),
    modelOf({ id: 'other', deployments: [deployment('c')] }),
  ]
  const body = chat({ models: ['dear', 'other'], provider: { max_price: { prompt: 1, completion: 2 } } })
  const { hosts, records } = await send(body, { models, failing: new Set(['a']) })
  assert.equal(hosts, 'ac')
  assert.equal(records[0]?.model, 'other')
})

test('a request’s data policy applies to deployments, else to providers', async () => {
  const deployments = [
    deployment('a'),
    deployment('b', { priority: 1, zdr: true }),
    deployment('c', { priority: 2, zdr: true, dataCollection: 'deny' }),
  ]
  const models = [modelOf({ deployments })]
  assert.equal((await send(chat({ provider: { zdr: true } }), { models })).hosts, 'b')
  assert.equal((await send(chat({ provider: { data_collection: 'deny' } }), { models })).hosts, 'c')
  assert.equal((await send(chat({ provider: { data_collection: 'allow', zdr: false } }), { models })).hosts, 'a')
})

test('facts are the operator’s, then those published of a built-in host; an unknown fact meets no requirement', () => {
  const { transport } = playNetwork(() => ({}))
  const published = { dataCollection: 'deny', zdr: true, region: 'EU-west' } as const
  const factsAt = (upstream: Partial<UpstreamProvider>, over: Partial<Deployment>, model = 'm') => {
    const host = { ...upstreamOf({ transport, name: 'a' }), ...upstream }
    const input = { health: healthOf(), provider: () => host }
    const [candidate] = candidatesOf(modelOf({ deployments: [deployment('a', { model, ...over })] }), input).candidates
    return candidate?.facts
  }
  const unknown = { dataCollection: 'allow', zdr: false, region: undefined }
  assert.deepEqual(factsAt({}, {}), unknown)
  assert.deepEqual(factsAt({}, { published }), unknown, 'another address is another host')
  assert.deepEqual(factsAt({ isBuiltIn: true }, { published }), { ...published, region: 'eu-west' })
  const said = { isBuiltIn: true, dataCollection: 'allow', zdr: false } as const
  assert.deepEqual(factsAt(said, { published, region: 'us' }), { dataCollection: 'allow', zdr: false, region: 'us' })
  assert.equal(factsAt(said, { published, zdr: true })?.zdr, true)
  const { provider } = resolveProvider('bedrock', { region: 'eu-central-1', timeout_ms: LONG_TIMEOUTS })
  for (const [model, region] of [
    ['amazon.nova-pro-v1:0', 'eu-central-1'],
    ['zai.glm-4.7', 'eu-central-1'],
    ['global.anthropic.claude-opus-4-8', 'global'],
    ['us.anthropic.claude-opus-4-8', 'us'],
    ['arn:aws:bedrock:eu-central-1:1:application-inference-profile/x', undefined],
  ] as const) {
    assert.equal(factsAt({ provider }, {}, model)?.region, region, model)
  }
})

test('a region includes its subregions', async () => {
  const models = [
    modelOf({
      deployments: [
        deployment('a', { region: 'europe-west4' }),
        deployment('b', { region: 'eu-central-1', priority: 1 }),
      ],
    }),
  ]
  const hosts = async (...regions: string[]) => {
    const { error, hosts: called } = await send(chat({ provider: { regions } }), { models })
    return error?.code ?? called
  }
  assert.deepEqual([await hosts('EU'), await hosts('europe')], ['b', 'a'])
  assert.deepEqual(
    [await hosts('eu-central-1'), await hosts('eu-central'), await hosts('e')],
    ['b', 'b', 'no_candidates'],
  )
})

test('a data policy applies to its accounts, keys and plans, whatever the request says', async () => {
  const deployments = [
    deployment('a', { region: 'us', zdr: true }),
    deployment('b', { priority: 1, region: 'EU' }),
    deployment('c', { priority: 2, region: 'eu', zdr: true, dataCollection: 'deny' }),
  ]
  const price = { inputMicroUsd: 1, outputMicroUsd: 1 }
  const models = [modelOf({ deployments }), modelOf({ id: 'm2', price, deployments: [deployment('d')] })]
  const caller = callerOf()
  const { accountId, keyId, plan } = caller
  const hosts = async (policies: readonly RoutingPolicy[], body: object = {}) => {
    const { error, hosts: called } = await send(chat(body), { models, settings: { ...PATIENT, policies } })
    return error?.code ?? called
  }
  assert.equal(await hosts([{ regions: ['eu'] }]), 'b')
  assert.equal(await hosts([{ accounts: [accountId], zdr: true }]), 'a')
  assert.equal(await hosts([{ keys: [keyId], dataCollection: 'deny' }]), 'c')
  assert.equal(await hosts([{ plans: [plan], zdr: true }, { regions: ['eu'] }]), 'c', 'every one holds')
  assert.equal(await hosts([{ accounts: ['acc_2'], zdr: true, regions: ['moon'] }]), 'a', 'another account')
  assert.equal(await hosts([{ keys: ['key_2'], plans: [plan], regions: ['moon'] }]), 'a', 'another key')
  assert.equal(await hosts([{ regions: ['moon'] }]), 'policy_not_satisfiable')
  assert.equal(await hosts([{ regions: ['moon'] }], { models: ['m2'] }), 'policy_not_satisfiable')
  assert.equal(await hosts([{ zdr: true }], { provider: { zdr: false, only: ['b'] } }), 'no_candidates')
  assert.equal(await hosts([], { provider: { regions: ['eu'] } }), 'b', 'a request may ask for a region itself')
})

test('no failure bypasses a policy: fallbacks that do not satisfy it are never called', async () => {
  const models = [
    modelOf({ deployments: [deployment('a', { zdr: true }), deployment('b', { priority: 1 })] }),
    modelOf({ id: 'm2', deployments: [deployment('c')] }),
    modelOf({ id: 'm3', deployments: [deployment('d', { zdr: true })] }),
  ]
  const settings = { ...PATIENT, policies: [{ zdr: true }] }
  const { hosts } = await send(chat({ models: ['m2', 'm3'] }), { models, settings, failing: new Set(NAMES) })
  assert.deepEqual(new Set(hosts), new Set(['a', 'd']))
})

test('a deployment whose protocol cannot express the request is skipped before anything is sent', async () => {
  const tool = { type: 'custom', custom: { name: 'f' } }
  const network = playNetwork(() => good)
  const upstreams = [
    upstreamOf({ transport: network.transport, name: 'a' }),
    upstreamOf({ transport: network.transport, name: 'b', protocol: openaiChat({ customTools: true }) }),
  ]
  const deployments = [deployment('a'), deployment('b', { priority: 1 })]
  const { ports, records } = testPorts({ upstreams, models: [modelOf({ deployments })] })
  const client = testClient()
  await createGateway(ports, () => ({ maxAttempts: 1 })).complete(incomingOf(chat({ tools: [tool] })), client)
  assert.deepEqual(network.hosts(), ['b.test'])
  assert.deepEqual([records.length, records[0]?.attempts], [1, 1])
  assert.match(client.headers?.['x-turnpike-route'] ?? '', /^a;model="a-model";skipped=unsupported_parameter, b;/)
})

test('require_parameters skips candidates that would drop a parameter', async () => {
  const body = chat({ made_up: 1, provider: { require_parameters: true } })
  assert.equal((await send(body)).error?.code, 'no_candidates', 'no host knows it')
  const known = chat({ seed: 1, temperature: 0.5, provider: { require_parameters: true } })
  const { hosts, bodies } = await send(known)
  assert.equal(hosts, 'a')
  assert.equal(bodies[0]?.['seed'], 1)
})

test('the fields of OpenRouter’s examples are accepted, and no provider receives them', async () => {
  const bodies: readonly object[] = [
    { provider: { order: ['anthropic', 'openai'], allow_fallbacks: true } },
    { provider: { sort: 'throughput' } },
    { provider: { sort: { by: 'price', partition: 'none' } } },
    { provider: { data_collection: 'allow' } },
    { provider: { ignore: ['deepinfra'] } },
    { provider: { quantizations: ['fp8'], enforce_distillable_text: false, preferred_max_latency: 1 } },
    { provider: { max_price: { prompt: 1, completion: 2, request: 0, image: 0 } } },
    { models: ['m1'], route: 'fallback', provider: {} },
    { provider: null, models: null, route: null },
  ]
  for (const body of bodies) {
    const { error, bodies: sent, client } = await send(chat(body))
    assert.equal(error, undefined, `${JSON.stringify(body)}: ${error?.message}`)
    for (const field of ['provider', 'models', 'route']) assert.ok(!(field in (sent[0] ?? {})), field)
    const isPartial = JSON.stringify(body).includes('quantizations')
    assert.equal(client.headers?.['x-turnpike-warnings']?.includes('provider.quantizations') ?? false, isPartial)
  }
})

test('unreadable preferences are rejected with their path', async () => {
  const cases: readonly (readonly [provider: unknown, param: string])[] = [
    ['openai', 'provider'],
    [{ sort: 'best' }, 'provider.sort'],
    [{ sort: { by: 'best' } }, 'provider.sort.by'],
    [{ order: 'a' }, 'provider.order'],
    [limitedTo([5]), 'provider.only[0]'],
    [{ max_price: { prompt: -1 } }, 'provider.max_price.prompt'],
    [{ max_price: { prompt: 'cheap' } }, 'provider.max_price.prompt'],
    [{ max_price: { words: 1 } }, 'provider.max_price.words'],
    [{ data_collection: 'no' }, 'provider.data_collection'],
    [{ zdr: 'yes' }, 'provider.zdr'],
    [{ ignore: Array.from({ length: 101 }, () => 'a') }, 'provider.ignore'],
  ]
  for (const [provider, param] of cases) {
    const { error } = await send(chat({ provider }))
    assert.deepEqual([error?.status, error?.param], [400, param], JSON.stringify(provider))
  }
})

test('the limit of named providers is 100 [limit: named-providers]', () => {
  const names = Array.from({ length: 100 }, (_, at) => `p${at}`)
  assert.equal(readProvider(limitedTo(names), 'provider').preferences.only?.length, 100)
  assert.throws(() => readProvider(limitedTo([...names, 'one']), 'provider'), GatewayError)
})

test('each API accepts the fields, and the header, which takes precedence', async () => {
  const apis = [
    [chatCompletionsApi, chat({})],
    [messagesApi, chat({ max_tokens: 10 })],
    [responsesApi, { model: 'm1', input: 'hi' }],
  ] as const
  for (const [api, body] of apis) {
    const fields = await send({ ...body, provider: limitedTo(['d']) }, { over: { api } })
    assert.equal(fields.hosts, 'd', api.endpoint)
    const routing = JSON.stringify({ provider: { order: ['e'] }, made_up: 1 })
    const header = await send({ ...body, provider: { order: ['d'] } }, { over: { api, routing } })
    assert.equal(header.hosts, 'e', api.endpoint)
    assert.match(header.client.headers?.['x-turnpike-warnings'] ?? '', /x-turnpike-routing\.made_up/)
    for (const sent of [...fields.bodies, ...header.bodies]) assert.ok(!('provider' in sent), api.endpoint)
  }
  const broken = await send(chat({}), { over: { routing: '[1]' } })
  assert.deepEqual([broken.error?.code, broken.error?.param], ['invalid_header', 'x-turnpike-routing'])
})

test('`:floor` and `:nitro` may follow any ID; the answer names the model itself', async () => {
  const apis = [
    [chatCompletionsApi, chat({})],
    [completionsApi, { prompt: 'hi' }],
    [messagesApi, chat({ max_tokens: 10 })],
    [responsesApi, { input: 'hi' }],
  ] as const
  for (const [api, body] of apis) {
    for (const id of ['m1:floor', 'm1:nitro']) {
      const { hosts, client, records } = await send({ ...body, model: id }, { over: { api } })
      assert.equal(hosts, 'a', api.endpoint)
      assert.equal(JSON.parse(client.body ?? '').model, 'm1', api.endpoint)
      assert.equal(records[0]?.model, 'm1', api.endpoint)
    }
  }
  const own = modelOf({ id: 'own:nitro', deployments: [deployment('c')] })
  assert.equal((await send(chat({ model: 'own:nitro' }), { models: [own] })).hosts, 'c')
  assert.equal((await send(chat({ model: 'zz:nitro' }))).error?.code, 'model_not_found')
})

test('a sort without partition sorts the deployments of each model, with `partition: none` the models too', async () => {
  const price = { inputMicroUsd: 10_000, outputMicroUsd: 10_000 }
  const models = [
    modelOver({ deployments: [deployment('a')] }),
    modelOf({ id: 'cheap', price, deployments: [deployment('b')] }),
  ]
  const hosts = async (sort: unknown): Promise<string> =>
    (await send(chat({ models: ['cheap'], provider: { sort } }), { models })).hosts
  assert.equal(await hosts('price'), 'a')
  assert.equal(await hosts({ by: 'price', partition: 'none' }), 'b')
})

interface Drawn {
  readonly deployments: readonly (Deployment & {
    readonly latency: number | undefined
    readonly speed: number | undefined
  })[]
  readonly provider: Record<string, unknown>
  readonly stream: boolean
  /** Whether the request has a parameter that the providers of `SEEDLESS` drop. */
  readonly seed: boolean
}

const SEEDLESS = ['b', 'd']
/** Of a network on which some providers drop a parameter. */
const upstreamsOn = (transport: Transport): UpstreamProvider[] =>
  NAMES.map((name) =>
    upstreamOf({ transport, name, ...(SEEDLESS.includes(name) && { protocol: openaiChat({ dropped: ['seed'] }) }) }),
  )

const usd = fc.constantFrom<number | string>(0.5, 1, '1', 1.5, '2', 3)
const names = fc.uniqueArray(fc.constantFrom(...NAMES, 'zz', 'B', 'c/fast'), { maxLength: 4 })
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })
const drawn: fc.Arbitrary<Drawn> = fc.record({
  deployments: fc.uniqueArray(
    fc.record({
      provider: fc.constantFrom(...NAMES),
      model: fc.constant('m'),
      priority: fc.nat(2),
      weight: fc.constant(1),
      dataCollection: optional(fc.constantFrom('allow' as const, 'deny' as const)),
      zdr: optional(fc.boolean()),
      region: optional(fc.constantFrom('eu', 'eu-west', 'us')),
      latency: optional(fc.integer({ min: 1, max: 6 }).map((exponent) => 10 ** exponent)),
      speed: optional(fc.integer({ min: 1, max: 6 }).map((exponent) => 10 ** exponent)),
    }),
    { minLength: 1, maxLength: 5, selector: ({ provider }) => provider },
  ),
  provider: fc.record(
    {
      order: names,
      only: names,
      ignore: names,
      sort: fc.constantFrom('price', 'latency', 'throughput'),
      allow_fallbacks: fc.boolean(),
      data_collection: fc.constantFrom('allow', 'deny'),
      zdr: fc.boolean(),
      regions: fc.uniqueArray(fc.constantFrom('eu', 'eu-west', 'moon'), { minLength: 1 }),
      max_price: fc.record({ prompt: usd, output: usd, request: usd }, { requiredKeys: [] }),
      require_parameters: fc.boolean(),
    },
    { requiredKeys: [] },
  ),
  stream: fc.boolean(),
  seed: fc.boolean(),
})

/** The rules of docs/routing.md, word by word. */
function naive({ deployments, provider, seed }: Drawn): string[] {
  const means = (list: unknown, name: string): number =>
    (list as string[]).findIndex((each) => each.toLowerCase().split('/')[0] === name)
  const { order, only, ignore, sort, allow_fallbacks: fallbacks, data_collection: data, zdr, regions } = provider
  const max = (provider['max_price'] ?? {}) as { readonly prompt?: number | string; readonly output?: number | string }
  // A dollar a million tokens of the prompt, and two of the answer.
  if (Number(max.prompt ?? 9) < 1 || Number(max.output ?? 9) < 2) return []
  let left = [...deployments].sort((x, y) => x.priority - y.priority)
  if (only !== undefined) left = left.filter((each) => means(only, each.provider) >= 0)
  if (ignore !== undefined) left = left.filter((each) => means(ignore, each.provider) < 0)
  if (data === 'deny') left = left.filter((each) => each.dataCollection === 'deny')
  if (zdr === true) left = left.filter((each) => each.zdr === true)
  if (regions !== undefined) {
    const parents = (region = ''): string[] => (region === 'eu-west' ? ['eu', region] : [region])
    left = left.filter(({ region }) => parents(region).some((each) => (regions as string[]).includes(each)))
  }
  if (provider['require_parameters'] === true && seed) left = left.filter((each) => !SEEDLESS.includes(each.provider))
  const score = (each: Drawn['deployments'][number]): number =>
    sort === 'latency'
      ? (each.latency ?? 1e12)
      : sort === 'throughput'
        ? each.speed === undefined
          ? 1e12
          : -each.speed
        : 0
  if (sort !== undefined) left.sort((x, y) => score(x) - score(y))
  if (order !== undefined) {
    const listed = (order as string[]).flatMap((_, rank) => left.filter((each) => means(order, each.provider) === rank))
    const others = left.filter((each) => means(order, each.provider) < 0)
    left = fallbacks === false ? listed : [...listed, ...others]
  } else if (fallbacks === false) left = left.slice(0, 1)
  return left.map((each) => each.provider)
}

/** A draw by weight is chance: where nothing orders them, one a priority. */
function isDetermined({ deployments, provider }: Drawn): boolean {
  if (provider['sort'] !== undefined || provider['order'] !== undefined) return true
  return new Set(deployments.map(({ priority }) => priority)).size === deployments.length
}

/** A draw that explores nothing, and by which backoffs are short. */
const ORDINARY = EXPLORED_SHARE + 0.01

/** The model, with its deployments measured as drawn. */
function measured({ deployments }: Drawn, upstreams: readonly UpstreamProvider[]) {
  const health = healthOf({ random: () => ORDINARY })
  const model = modelOf({ deployments }) as Model & { price: NonNullable<Model['price']> }
  const input = { health, provider: (name: string) => upstreams.find((upstream) => upstream.name === name) }
  for (const candidate of candidatesOf(model, input).candidates) {
    const { measurements } = candidate.deployment
    const facts = deployments.find(({ provider: name }) => name === candidate.upstream.name)
    if (facts?.latency !== undefined) record(measurements.firstEvent, facts.latency, 0)
    if (facts?.speed !== undefined) record(measurements.speed, facts.speed, 0)
  }
  return { health, model, input }
}

test('for any candidates, facts and preferences the order equals that of a naive reference', () => {
  const upstreams = upstreamsOn(playNetwork(() => ({})).transport)
  fc.assert(
    fc.property(drawn, (each) => {
      const { provider, stream, seed } = each
      fc.pre(isDetermined(each))
      const { model, input } = measured(each, upstreams)
      const { preferences } = readProvider(provider, 'provider')
      const { accountId } = callerOf()
      const request = requestOf({ stream, ...(seed && { seed: 1 }) })
      const expected = naive(each)
      const route = (): string[] =>
        preferredRoute({ accountId, model, request, preferences }, input).candidates.map(
          ({ upstream }) => upstream.name,
        )
      if (expected.length > 0) assert.deepEqual(route(), expected)
      else assert.throws(route, { code: 'no_candidates' })
    }),
    { numRuns: 2000 },
  )
})

/** Answers of a failing provider, with the code for the client if it is the last. */
const FAULTS = {
  error: { script: refusal(500), code: 'provider_error' },
  broken: { script: { head: new Error('reset') }, code: 'provider_error' },
  unreadable: { script: { headers: { 'content-type': 'text/html' }, body: ['<html>'] }, code: 'provider_error' },
  busy: { script: refusal(503, undefined, { 'retry-after': '60' }), code: 'provider_error' },
  limited: { script: refusal(429, undefined, { 'retry-after': '60' }), code: 'provider_rate_limited' },
  unknown: { script: refusal(404), code: 'provider_error' },
  credential: { script: refusal(401), code: 'provider_credentials' },
  invalid: { script: refusal(400), code: 'provider_rejected' },
} satisfies Readonly<Record<string, { readonly script: Script; readonly code: string }>>
type Fault = keyof typeof FAULTS

interface Expected {
  readonly called: readonly string[]
  readonly answering: string | undefined
  readonly code: string | undefined
}

/** Calls round by round: those that may soon answer again, until one answers or the attempts are used up. */
function naiveCalls(order: readonly string[], faults: ReadonlyMap<string, Fault>, maxAttempts: number): Expected {
  const called: string[] = []
  let counted = 0
  let code = 'no_candidates'
  for (let round = order; round.length > 0; ) {
    for (const name of round) {
      called.push(name)
      const fault = faults.get(name)
      if (fault === undefined) return { called, answering: name, code: undefined }
      code = FAULTS[fault].code
      if (fault !== 'credential') counted += 1
      if (fault === 'invalid' || counted >= maxAttempts) return { called, answering: undefined, code }
    }
    round = round.filter((name) => ['error', 'broken', 'unreadable'].includes(faults.get(name) ?? ''))
  }
  return { called, answering: undefined, code }
}

test('for any failures the calls equal those of a naive reference, and only the answer is charged', async () => {
  const kinds = Object.keys(FAULTS) as Fault[]
  const failing = fc.array(fc.option(fc.constantFrom(...kinds), { nil: undefined, freq: 4 }), {
    minLength: NAMES.length,
    maxLength: NAMES.length,
  })
  await fc.assert(
    fc.asyncProperty(drawn, failing, fc.integer({ min: 1, max: 7 }), async (each, failures, maxAttempts) => {
      fc.pre(isDetermined(each))
      const faults = new Map(NAMES.flatMap((name, at) => (failures[at] ? [[name, failures[at]]] : [])))
      const network = playNetwork(({ url }): Script => {
        const fault = faults.get(new URL(url).hostname[0] ?? '')
        return fault === undefined ? good : FAULTS[fault].script
      })
      const upstreams = upstreamsOn(network.transport)
      const { health, model } = measured(each, upstreams)
      const { ports, records } = testPorts({ upstreams, models: [model], health })
      const completing = createGateway(ports, () => ({ maxAttempts })).complete(
        incomingOf(chat({ provider: each.provider, ...(each.seed && { seed: 1 }) })),
        testClient(),
      )
      const error = await completing.then(
        () => undefined,
        (thrown: unknown) => (thrown as GatewayError).code,
      )
      const { called, answering, code } = naiveCalls(naive(each), faults, maxAttempts)
      assert.deepEqual(
        network.hosts().map((host) => host[0]),
        called,
      )
      assert.equal(error, code)
      assert.deepEqual(
        records.filter(({ costNanoUsd }) => costNanoUsd > 0n).map(({ provider, status }) => [provider, status]),
        answering === undefined ? [] : [[answering, 'completed']],
      )
    }),
    { numRuns: 300 },
  )
})

test('of hundreds of candidates, those that the request lists come first, then sixteen others', () => {
  const { transport } = playNetwork(() => ({}))
  const many = Array.from({ length: 200 }, (_, at) => `p${at}`)
  const upstreams = new Map(many.map((name) => [name, upstreamOf({ transport, name })]))
  const model = modelOf({ deployments: many.map((name) => deployment(name)) }) as Model & {
    price: NonNullable<Model['price']>
  }
  const input = { health: healthOf(), provider: (name: string) => upstreams.get(name) }
  const route = (provider: object): readonly string[] => {
    const { preferences } = readProvider(provider, 'provider')
    const asked = { accountId: 'acc_1', model, request: requestOf(), preferences }
    return preferredRoute(asked, input).candidates.map(({ upstream }) => upstream.name)
  }
  const others = many.slice(1, 17)
  assert.deepEqual(route({ order: ['p150', 'P90'], ignore: ['p0'] }), ['p150', 'p90', ...others])
  assert.deepEqual(route({ order: ['p150', 'zz'], allow_fallbacks: false }), ['p150'])
  assert.throws(() => route({ order: ['zz'], allow_fallbacks: false }), { code: 'no_candidates' })
})

test('deployments without measurements receive at most 5 % of the requests', () => {
  const { transport } = playNetwork(() => ({}))
  const upstreams = NAMES.map((name) => upstreamOf({ transport, name }))
  let state = 7
  const random = (): number => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  const health = healthOf({ random })
  const model = modelOver({}) as Model & { price: NonNullable<Model['price']> }
  const input = { health, provider: (name: string) => upstreams.find((upstream) => upstream.name === name) }
  const [, second] = candidatesOf(model, input).candidates
  if (second === undefined) assert.fail()
  record(second.deployment.measurements.firstEvent, 100, 0)
  const { preferences } = readProvider({ sort: 'latency' }, 'provider')
  const firsts = new Map<string, number>()
  const runs = 20_000
  for (let i = 0; i < runs; i++) {
    const request = requestOf()
    const [first] = preferredRoute({ accountId: 'acc_1', model, request, preferences }, input).candidates
    const name = first?.upstream.name ?? ''
    firsts.set(name, (firsts.get(name) ?? 0) + 1)
  }
  const explored = runs - (firsts.get('b') ?? 0)
  assert.ok(explored > runs * EXPLORED_SHARE * 0.8 && explored < runs * EXPLORED_SHARE * 1.2, String(explored))
  assert.equal(firsts.size, NAMES.length, 'each gets its turn')
})
