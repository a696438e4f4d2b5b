/**
 * Nothing that costs passes unpriced: a provider that bills every field which changes a price, wherever in the request
 * it is, against what the gateway charges. For each field on each host the charge is the bill, or the field never arrives.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  incomingOf,
  modelOf,
  playNetwork,
  type Script,
  testClient,
  testPorts,
  upstreamOf,
  whole,
} from '../../test/support/ledger/data-plane.ts'
import { completion as answer } from '../../test/support/providers/answers.ts'
import { serveAndBill } from '../../test/support/providers/billing-provider.ts'
import { NATIVES } from '../../test/support/providers/native-answers.ts'
import { PLAIN_PRICE, RICH_PRICE } from '../../test/support/providers/prices.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Price } from '../domain/price/tariff.ts'
import { COST_FIELDS } from '../protocols/body-fields.ts'
import type { UpstreamProtocol } from '../protocols/protocol.ts'
import { ROUTING_FIELDS } from '../protocols/routing-fields.ts'
import { PROVIDERS } from '../providers/index.ts'
import { createGateway } from './pipeline.ts'

interface Values {
  /** Asks for something that costs. */
  readonly costly: unknown
  /** Asks for nothing; undefined: every value costs. */
  readonly free?: unknown
}

const VALUES: Readonly<Record<string, Values>> = {
  service_tier: { costly: 'priority', free: 'auto' },
  models: { costly: ['dear/model'], free: [] },
  fallbacks: { costly: ['dear/model'], free: [] },
  provider: { costly: { order: ['dear'] }, free: {} },
  route: { costly: 'fallback' },
  transforms: { costly: ['middle-out'], free: [] },
  plugins: { costly: [{ id: 'web' }], free: [] },
  mcp_servers: { costly: [{ url: 'https://a.example' }], free: [] },
  container: { costly: 'c1' },
  compound_custom: { costly: { tools: { enabled_tools: ['web_search'] } }, free: {} },
  guardrail_config: { costly: { guardrailIdentifier: 'g' }, free: {} },
  web_search_options: { costly: {} },
  enable_search: { costly: true, free: false },
  search_options: { costly: { forced_search: true } },
  search_parameters: { costly: { mode: 'on' }, free: { mode: 'off' } },
  best_of: { costly: 4, free: 1 },
  num_return_sequences: { costly: 4, free: 1 },
  candidate_count: { costly: 4, free: 1 },
  n_cmpl: { costly: 4, free: 1 },
  max_output_tokens: { costly: 1_000_000 },
  max_new_tokens: { costly: 1_000_000 },
  max_tokens_to_sample: { costly: 1_000_000 },
  n_predict: { costly: 1_000_000 },
  num_predict: { costly: 1_000_000 },
  audio: { costly: { voice: 'alloy', format: 'wav' }, free: {} },
  modalities: { costly: ['text', 'audio'], free: ['text'] },
  prompt_cache_options: { costly: { ttl: '12h' }, free: {} },
  cache_control: { costly: { type: 'ephemeral', ttl: '1h' } },
  speed: { costly: 'fast', free: 'standard' },
  inference_geo: { costly: 'us', free: 'global' },
  performance_config: { costly: { latency: 'optimized' }, free: {} },
}

/** What the provider charges for each, in nano-dollars. */
const SURCHARGE = 1_000_000_000n
const BASE_BILL = 20_000n

const plain = (name: string): string => name.replaceAll('_', '').toLowerCase()
const BILLED = new Map(Object.entries(VALUES).map(([name, values]) => [plain(name), values]))

/** Bills what it finds anywhere in the request: whoever sends a field means it. */
function surchargeOf(value: unknown): bigint {
  if (typeof value !== 'object' || value === null) return 0n
  let sum = Array.isArray(value) ? BigInt(value.filter(isServerTool).length) * SURCHARGE : 0n
  for (const [name, member] of Object.entries(value)) {
    const values = BILLED.get(plain(name))
    // Hosts have their own words for tiers; of any other field what was asked is what is billed.
    const isBilled =
      name === 'service_tier' || name === 'serviceTier' || JSON.stringify(values?.costly) === JSON.stringify(member)
    if (values !== undefined && isBilled) sum += SURCHARGE
    sum += surchargeOf(member)
  }
  return sum
}

function isServerTool(entry: unknown): boolean {
  const { type } = (entry ?? {}) as { readonly type?: unknown }
  return typeof type === 'string' && /search|code_(interpreter|execution)|computer/.test(type)
}

/** Whose answers a protocol has; chat completions by default. */
const SPOKEN: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  gemini: 'google',
  bedrock: 'bedrock',
  'openai-responses': 'responses',
}

interface Asked {
  readonly bill: bigint
  readonly charge: bigint
  readonly refused: GatewayError | undefined
  readonly sent: unknown
}

async function ask(
  host: string,
  body: object,
  { price, forwardUnknown }: { price: Price; forwardUnknown: boolean },
): Promise<Asked> {
  const provider = HOSTS[host] ?? assert.fail(host)
  const native = NATIVES[SPOKEN[provider.protocol.id] ?? '']
  const said = { text: ['Hi'], promptTokens: 10, completionTokens: 5 }
  const sent: unknown[] = []
  const network = playNetwork((call): Script => {
    sent.push(JSON.parse(call.body))
    return native === undefined ? whole(answer({ content: 'Hi' })) : whole(JSON.parse(native.whole(said)))
  })
  const upstream = upstreamOf({
    transport: network.transport,
    forwardUnknown,
    protocol: provider.protocol,
  })
  const { ports, records } = testPorts({ upstreams: [upstream], models: [modelOf({ price })] })
  const incoming = incomingOf({ model: 'm1', messages: [{ role: 'user', content: 'hello, hello' }], ...body })
  const refused = await createGateway(ports, () => ({ maxAttempts: 1 }))
    .complete(incoming, testClient())
    .then(
      () => undefined,
      (error: unknown) => (error instanceof GatewayError ? error : assert.fail(String(error))),
    )
  const bill = sent.length === 0 ? 0n : BASE_BILL + sent.reduce((sum: bigint, each) => sum + surchargeOf(each), 0n)
  return { bill, charge: records.reduce((sum, record) => sum + record.costNanoUsd, 0n), refused, sent: sent[0] }
}

const { openai } = PROVIDERS
const HOSTS: Readonly<Record<string, { readonly protocol: UpstreamProtocol }>> = {
  ...PROVIDERS,
  'openai-responses': { protocol: openai?.protocols?.['openai-responses'] ?? assert.fail() },
}
const WHO = Object.keys(HOSTS).flatMap((host) => [true, false].map((forwardUnknown) => ({ host, forwardUnknown })))

/** Where a field may stand. */
const PLACES: readonly (readonly [string, (name: string, value: unknown) => object])[] = [
  ['NAME', (name, value) => ({ [name]: value })],
  ['extra_body.NAME', (name, value) => ({ extra_body: { [name]: value } })],
  ['extra_body.vendor.NAME', (name, value) => ({ extra_body: { vendor: { [name]: value } } })],
  ['providerOptions.vendor.NAME', (name, value) => ({ providerOptions: { vendor: { [name]: value } } })],
]

/** The gateway's own at the top level of a request: it follows them, or refuses them, and never forwards them. */
const OWN: ReadonlySet<string> = new Set(ROUTING_FIELDS)

test('every field of the cost table is billed, and no other', () => {
  assert.deepEqual(Object.keys(VALUES).sort(), Object.keys(COST_FIELDS).sort())
})

for (const [name, { costly, ...free }] of Object.entries(VALUES)) {
  test(`${name} without a price never reaches a provider`, async () => {
    for (const { host, forwardUnknown } of WHO) {
      for (const [place, put] of PLACES) {
        const { bill, charge, refused, sent } = await ask(host, put(name, costly), {
          price: PLAIN_PRICE,
          forwardUnknown,
        })
        const where = `${host} ${place}`
        if (place === 'NAME' && OWN.has(name)) {
          assert.ok(refused?.status === 400 || (sent !== undefined && !JSON.stringify(sent).includes(name)), where)
          assert.equal(charge, bill, where)
          continue
        }
        assert.equal(refused?.code, 'unsupported_parameter', where)
        assert.equal(refused?.status, 422, where)
        assert.equal(refused?.param, place.replace('NAME', name), where)
        assert.deepEqual([bill, charge], [0n, 0n], where)
      }
      if (!('free' in free)) continue
      const { bill, charge, refused } = await ask(host, { [name]: free.free }, { price: PLAIN_PRICE, forwardUnknown })
      assert.deepEqual([refused, charge], [undefined, bill], `${host} ${JSON.stringify(free.free)}`)
    }
  })
}

const CAMEL = {
  serviceTier: 'priority',
  generationConfig: { maxOutputTokens: 1_000_000 },
  bestOf: 4,
  maxOutputTokens: 9,
}
const SERVER_TOOLS = [
  { type: 'web_search_20260209', name: 'web_search', max_uses: 5 },
  { google_search: {} },
  { type: 'code_interpreter' },
]

test('other spellings, tools that run at the provider, and fields of the gateway are removed as well', async () => {
  const bodies = [
    ...Object.entries(CAMEL).map(([name, value]) => ({ [name]: value })),
    ...SERVER_TOOLS.map((tool) => ({ tools: [tool] })),
    ...SERVER_TOOLS.filter(({ type }) => type !== undefined).map((tool) => ({ extra_body: { tools: [tool] } })),
    { vendor_extension: { service_tier: 'priority' } },
    { vendor_extension: { a: { b: { web_search_options: {} } } } },
    ...['model', 'messages', 'n', 'max_tokens', 'tools'].map((name) => ({ extra_body: { [name]: 5 } })),
  ]
  for (const { host, forwardUnknown } of WHO) {
    for (const body of bodies) {
      const { bill, charge, refused } = await ask(host, body, { price: PLAIN_PRICE, forwardUnknown })
      assert.equal(refused?.status, 422, `${host} ${JSON.stringify(body)}`)
      assert.deepEqual([bill, charge], [0n, 0n])
    }
  }
})

test('provider_context of a client never becomes a field or a tool of the provider’s request', async () => {
  const entries = [
    { type: 'server_tool_use', name: 'web_search', id: 's', input: {} },
    { type: 'web_search_tool_result', service_tier: 'priority' },
  ]
  const context = {
    anthropic: entries,
    gemini: entries,
    bedrock: entries,
    openai: entries,
    service_tier: 'priority',
    tools: SERVER_TOOLS,
  }
  const messages = [
    { role: 'user', content: 'hello, hello' },
    { role: 'assistant', content: 'Hi', provider_context: context },
    { role: 'user', content: 'again' },
  ]
  for (const { host, forwardUnknown } of WHO) {
    const { bill, charge, sent } = await ask(host, { messages }, { price: PLAIN_PRICE, forwardUnknown })
    assert.equal(charge, bill, `${host}: ${JSON.stringify(sent)}`)
  }
})

test('a cache lifetime without a price is removed', async () => {
  const part = { type: 'text', text: 'hello, hello', cache_control: { type: 'ephemeral', ttl: '1h' } }
  const body = { messages: [{ role: 'user', content: [part] }] }
  for (const { host, forwardUnknown } of WHO) {
    const { sent } = await ask(host, body, { price: PLAIN_PRICE, forwardUnknown })
    assert.ok(!JSON.stringify(sent).includes('"1h"'), host)
  }
  const { sent } = await ask('anthropic', body, { price: RICH_PRICE, forwardUnknown: false })
  assert.ok(JSON.stringify(sent).includes('"1h"'))
})

test('a priced field is sent to hosts that support it, and rejected for others', async () => {
  const cases: readonly (readonly [object, readonly string[], readonly string[]])[] = [
    [
      { service_tier: 'priority' },
      ['openai', 'google', 'bedrock'],
      ['groq', 'anthropic', 'vertex', 'deepseek', 'vllm'],
    ],
    [{ web_search_options: {} }, ['openai', 'openai-responses', 'perplexity'], ['bedrock', 'vllm', 'groq']],
    [{ enable_search: true }, ['alibaba'], ['openai', 'anthropic']],
    [
      { modalities: ['text', 'audio'], audio: { voice: 'a', format: 'wav' } },
      ['openai'],
      ['anthropic', 'google', 'groq'],
    ],
    [{ modalities: ['text', 'image'] }, ['google', 'vertex'], ['anthropic', 'bedrock', 'deepseek']],
  ]
  for (const [body, takes, refuses] of cases) {
    const settings = { price: RICH_PRICE, forwardUnknown: false }
    for (const host of takes) {
      const { refused, sent } = await ask(host, body, settings)
      assert.equal(refused, undefined, `${host} ${JSON.stringify(body)}`)
      assert.ok(surchargeOf(sent) > 0n || JSON.stringify(sent).includes('IMAGE'), `${host}: ${JSON.stringify(sent)}`)
    }
    for (const host of refuses) assert.equal((await ask(host, body, settings)).refused?.status, 422, host)
  }
})

/** Those of the table that no price covers: none of them may arrive. */
const UNPRICED = new Map(
  Object.entries(COST_FIELDS)
    .filter(([, { isPriced }]) => isPriced === undefined)
    .map(([name]) => [plain(name), VALUES[name]?.costly] as const),
)

/** What costs, in the words of the configuration's price, and of every maker's tools. */
const RICH_BODIES: readonly object[] = [
  {},
  ...Object.entries(VALUES).map(([name, { costly }]) => ({ [name]: costly })),
  { service_tier: 'flex' },
  { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
  { modalities: ['text', 'image'] },
  { prompt_cache_options: { ttl: '1h' } },
  { cache_control: { type: 'ephemeral' } },
  { enable_search: true, search_options: { search_strategy: 'agent' } },
  { web_search_options: { search_context_size: 'high', user_location: { type: 'approximate', approximate: {} } } },
  { web_search_options: {}, tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }] },
  { service_tier: 'priority', web_search_options: {} },
  ...SERVER_TOOLS.map((tool) => ({ tools: [tool] })),
  { tools: [{ type: 'web_search', max_uses: 1 }] },
  { tools: [{ googleSearch: {} }], tool_choice: 'none' },
]

interface RichBill {
  readonly bill: bigint
  readonly charge: bigint
  readonly held: bigint
  readonly refused: GatewayError | undefined
}

async function askRich(host: string, body: object, forwardUnknown: boolean): Promise<RichBill> {
  const provider = HOSTS[host] ?? assert.fail(host)
  let bill = 0n
  const network = playNetwork((call): Script => {
    const { protocol } = provider
    const served = serveAndBill(JSON.parse(call.body), host, { protocol: protocol.id, unknown: UNPRICED })
    bill += served.billNanoUsd
    return whole(served.answer)
  })
  const upstream = upstreamOf({ transport: network.transport, forwardUnknown, protocol: provider.protocol })
  const { ports, records, credit } = testPorts({ upstreams: [upstream], models: [modelOf({ price: RICH_PRICE })] })
  // As long as the provider says that it is.
  const messages = [{ role: 'user', content: 'hello, '.repeat(600) }]
  const incoming = incomingOf({ model: 'm1', messages, max_tokens: 500, ...body })
  const refused = await createGateway(ports, () => ({ maxAttempts: 1 }))
    .complete(incoming, testClient())
    .then(
      () => undefined,
      (error: unknown) => (error instanceof GatewayError ? error : assert.fail(String(error))),
    )
  const charge = records.reduce((sum, record) => sum + record.costNanoUsd, 0n)
  return { bill, charge, held: credit.holds.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n), refused }
}

test('with every price set, each request to each host is rejected or charged as the provider bills it', async () => {
  let served = 0
  for (const { host, forwardUnknown } of WHO) {
    for (const body of RICH_BODIES) {
      const { bill, charge, held, refused } = await askRich(host, body, forwardUnknown)
      const where = `${host} ${forwardUnknown} ${JSON.stringify(body)}`
      assert.equal(charge, bill, where)
      const isOwn = Object.keys(body).every((name) => OWN.has(name)) && refused?.status === 400
      if (refused !== undefined) assert.deepEqual([refused.status, bill], [isOwn ? 400 : 422, 0n], where)
      else {
        assert.ok(charge > 0n && charge <= held, `${where}: ${charge} of ${held}`)
        served += 1
      }
    }
  }
  assert.ok(served > 100, `${served} were served`)
})
