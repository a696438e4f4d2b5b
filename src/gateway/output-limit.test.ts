import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Network, playNetwork, refusal, testClient, upstreamOf } from '../../test/support/ledger/data-plane.ts'
import { fakeCredit } from '../../test/support/ledger/fake-credit.ts'
import { hello, plane } from '../../test/support/ledger/plane.ts'
import type { HoldRequest } from '../domain/credit.ts'
import type { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import { messagesApi } from '../protocols/anthropic-messages/client/index.ts'
import type { ClientApi } from '../protocols/client-api.ts'
import { completionsApi } from '../protocols/openai-completions.ts'
import { responsesApi } from '../protocols/openai-responses/client/index.ts'
import { PROTOCOLS, PROVIDERS } from '../providers/index.ts'
import { bearer, type Provider } from '../providers/provider.ts'

const SETTINGS = { region: 'eu-west-1', project: 'p', base_url: 'https://host.example' }
/** Names of what limits an answer, in any of the formats. */
const LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'maxOutputTokens', 'maxTokens']
/** The provider's own names, whose rules of what goes with a limit differ. */
const MODELS = [
  'gpt-6-sol',
  'claude-opus-5-5',
  'claude-sonnet-4-5',
  'gemini-2.5-pro',
  'amazon.nova-2-lite-v1:0',
  'other',
]

interface Case {
  readonly name: string
  /** Chat completions unless set. */
  readonly api?: ClientApi
  readonly body: object
  readonly model: Partial<Model>
}
const KNOWN = { contextWindow: 100_000, maxOutputTokens: 2000 }
const UNKNOWN = { contextWindow: 100_000, maxOutputTokens: undefined }
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const CASES: readonly Case[] = [
  { name: 'no limit', body: {}, model: KNOWN },
  { name: 'no limit, streamed', body: { stream: true }, model: KNOWN },
  { name: 'a limit', body: { max_tokens: 300 }, model: KNOWN },
  { name: 'a limit by its newer name', body: { max_completion_tokens: 300 }, model: KNOWN },
  { name: 'a limit above the maximum', body: { max_tokens: 50_000 }, model: KNOWN },
  { name: 'a limit above the window', body: { max_tokens: 5_000_000 }, model: UNKNOWN },
  { name: 'no limit, unknown maximum', body: {}, model: UNKNOWN },
  { name: 'a limit, unknown maximum', body: { max_tokens: 300 }, model: UNKNOWN },
  { name: 'several choices', body: { n: 3, max_tokens: 300 }, model: KNOWN },
  { name: 'several choices without a limit', body: { n: 3 }, model: UNKNOWN },
  ...EFFORTS.map((effort) => ({ name: `effort ${effort}`, body: { reasoning_effort: effort }, model: KNOWN })),
  ...EFFORTS.map((effort) => ({
    name: `effort ${effort}, unknown`,
    body: { reasoning_effort: effort },
    model: UNKNOWN,
  })),
  { name: 'effort and limit', body: { reasoning_effort: 'high', max_tokens: 1500 }, model: KNOWN },
  ...inOtherApis(KNOWN),
  ...inOtherApis(UNKNOWN),
]

/** Requests of the other APIs, which hosts of the same protocol receive as their clients wrote them. */
function inOtherApis(model: Partial<Model>): readonly Case[] {
  const message = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1500 }
  const input = { input: 'Hi' }
  const prompt = { prompt: 'Hi' }
  const bodies: readonly (readonly [api: ClientApi, bodies: readonly object[]])[] = [
    [
      messagesApi,
      [
        message,
        { ...message, stream: true },
        { ...message, max_tokens: 5_000_000 },
        { ...message, thinking: { type: 'enabled', budget_tokens: 1024 } },
        { ...message, thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
      ],
    ],
    [
      responsesApi,
      [
        input,
        { ...input, stream: true },
        { ...input, max_output_tokens: 300 },
        { ...input, max_output_tokens: 5_000_000 },
        ...EFFORTS.map((effort) => ({ ...input, reasoning: { effort } })),
      ],
    ],
    [completionsApi, [prompt, { ...prompt, max_tokens: 300, n: 3 }, { ...prompt, max_tokens: 5_000_000, suffix: '.' }]],
  ]
  return bodies.flatMap(([api, each]) =>
    each.map((body) => ({ name: `${api.endpoint} ${JSON.stringify(body)}`, api, body, model })),
  )
}

interface Tried {
  readonly ask: HoldRequest | undefined
  readonly held: number | undefined
  readonly error: GatewayError | undefined
  readonly warnings: string
  readonly network: Network
}

/** @param affordable What a request without a limit is lowered to. */
async function tryOut(
  provider: Provider,
  { api, body, model }: Case,
  theirs: string,
  affordable?: number,
): Promise<Tried> {
  const network = playNetwork(() => refusal(400))
  const upstream = {
    ...upstreamOf({ transport: network.transport }),
    provider: { ...provider, ...provider.configure?.(SETTINGS), authorize: bearer },
  }
  const credit = fakeCredit(affordable === undefined ? {} : { nanoUsd: BigInt(affordable) })
  const deployments = [{ provider: 'up', model: theirs, priority: 0, weight: 1 }]
  const { ask } = plane(() => assert.fail(), { credit, upstreams: [upstream], model: { ...model, deployments } })
  const { client, error } = await (api === undefined
    ? ask(hello(body))
    : ask({ model: 'm1', ...body }, testClient(), { api }))
  const warnings = String(client.headers?.['x-turnpike-warnings'] ?? error?.headers?.['x-turnpike-warnings'] ?? '')
  return { ask: credit.asks[0], held: credit.holds[0]?.outputTokens, error, warnings, network }
}

interface Sent {
  readonly limit: number
  readonly choices: number
}

/** What one call may generate, as its bytes say it; the model's maximum where it takes no limit. */
function sentOf(body: string, { maxOutputTokens }: Partial<Model>): Sent {
  const wire = JSON.parse(body)
  const places = [wire, wire.generationConfig, wire.inferenceConfig].filter((place) => place !== undefined)
  const found = places.flatMap((place) => LIMITS.flatMap((name) => (name in place ? [Number(place[name])] : [])))
  const choices = wire.n ?? wire.generationConfig?.candidateCount ?? 1
  const effort = wire.additionalModelRequestFields?.reasoningConfig?.maxReasoningEffort
  if (effort === 'high') return { limit: found[0] ?? maxOutputTokens ?? assert.fail('no limit'), choices }
  assert.equal(found.length, 1, `one limit in ${body}`)
  return { limit: found[0] ?? assert.fail(), choices }
}

const HOSTS: Readonly<Record<string, Provider>> = {
  ...PROVIDERS,
  ...Object.fromEntries(Object.entries(PROTOCOLS).map(([id, provider]) => [`any host of ${id}`, provider])),
  ...Object.fromEntries(
    Object.values(PROVIDERS).flatMap((provider) =>
      Object.entries(provider.protocols ?? {}).map(([id, protocol]) => [
        `${provider.id} by ${id}`,
        { ...provider, protocol },
      ]),
    ),
  ),
}
for (const [id, provider] of Object.entries(HOSTS)) {
  test(`LED-4: the output limit that is sent for ${id} is the held one`, async () => {
    for (const model of MODELS) {
      for (const each of CASES) await checkCase(provider, each, model)
    }
  })
}

/** The paths that requests of an API were sent to. */
const sentTo = new Map<string, Set<string>>()

test('requests of each API are sent to hosts of its own protocol and of others', () => {
  const pathsOf = (api: ClientApi): string => [...(sentTo.get(api.endpoint) ?? [])].join()
  assert.match(pathsOf(messagesApi), /\/messages.*\/chat\/completions|\/chat\/completions.*\/messages/)
  assert.match(pathsOf(responsesApi), /\/responses.*\/chat\/completions|\/chat\/completions.*\/responses/)
  assert.match(pathsOf(completionsApi), /(?<!chat)\/completions/)
})

async function checkCase(provider: Provider, each: Case, model: string): Promise<void> {
  const place = `${provider.id} ${model}: ${each.name}`
  const { ask, held, network, error } = await tryOut(provider, each, model)
  if (held === undefined || ask === undefined) {
    assert.ok(['invalid_value', 'unsupported_parameter'].includes(error?.code ?? ''), `${place}: ${error?.message}`)
    return
  }
  if (network.exchanges.length === 0) return void assert.equal(error?.code, 'unsupported_parameter', place)
  const paths = sentTo.get(each.api?.endpoint ?? '') ?? new Set()
  sentTo.set(each.api?.endpoint ?? '', paths)
  for (const { call } of network.exchanges) paths.add(new URL(call.url).pathname)
  let generated = 0
  const calls = network.exchanges.map(({ call }) => sentOf(call.body, each.model))
  for (const { limit, choices } of calls) {
    assert.ok(limit >= 1 && limit <= held, `${place}: ${limit} of ${held}`)
    generated += limit * choices
  }
  assert.ok(generated <= held * ask.choices, `${place}: ${generated} of ${held} × ${ask.choices}`)
}

const NO_THOUGHT: Case = { name: 'x', body: { reasoning_effort: 'none' }, model: KNOWN }

test('the affordable limit is sent, and a request without a limit is informed', async () => {
  for (const [id, provider] of Object.entries(HOSTS)) {
    const { held, network } = await tryOut(provider, NO_THOUGHT, 'other', 2_500_000)
    assert.ok(held !== undefined && held < 2000, id)
    for (const { call } of network.exchanges) assert.ok(sentOf(call.body, KNOWN).limit <= held, id)
  }
})

test('a limit above the maximum is rejected if the host rejects it, naming the maximum, and nothing is held', async () => {
  const above = { name: 'above', body: { max_tokens: 2001 }, model: KNOWN }
  const { error, ask, network } = await tryOut(PROVIDERS['openai'] ?? assert.fail(), above, 'other')
  assert.deepEqual([error?.code, error?.status, error?.param], ['invalid_value', 400, 'max_tokens'])
  assert.match(error?.message ?? '', /at most 2000.*not 2001/)
  assert.deepEqual([ask, network.exchanges.length], [undefined, 0])
  const { error: none } = await tryOut(
    PROVIDERS['openai'] ?? assert.fail(),
    { ...above, body: { max_tokens: 2000 } },
    'o',
  )
  assert.notEqual(none?.code, 'invalid_value')
})

test('a limit above the maximum is lowered, with a warning, if the host would take it', async () => {
  const above = { name: 'above', body: { max_tokens: 2001 }, model: KNOWN }
  const { held, warnings, network } = await tryOut(PROVIDERS['together'] ?? assert.fail(), above, 'other')
  assert.equal(held, 2000)
  assert.match(warnings, /max_tokens/)
  assert.deepEqual(
    network.exchanges.map(({ call }) => sentOf(call.body, KNOWN).limit),
    [2000],
  )
})

test('reasoning that a host counts in addition to the limit is held for', async () => {
  const alibaba = PROVIDERS['alibaba'] ?? assert.fail()
  const heldFor = async (body: object): Promise<HoldRequest> =>
    (await tryOut(alibaba, { name: 'x', body, model: KNOWN }, 'qwen')).ask ?? assert.fail()
  const feesOf = async (body: object): Promise<number> => (await heldFor(body)).rates.fixedNanoUsd
  const none = await heldFor({ reasoning_effort: 'none' })
  const rate = none.rates.outputMicroUsd
  const beside = async (body: object): Promise<number> => (await feesOf(body)) - none.rates.fixedNanoUsd
  assert.equal(await beside({ reasoning_effort: 'low' }), (2048 * rate) / 1000)
  assert.equal(await beside({}), (81_920 * rate) / 1000)
  assert.equal((await beside({ enable_thinking: false, reasoning_effort: 'none' })) < rate, true)
})
