import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import {
  callerOf,
  countQuarters,
  deployment,
  HANGS,
  incomingOf,
  modelOf,
  playNetwork,
  refusal,
  type Script,
  type Step,
  streamed,
  type TestClient,
  testClient,
  testPorts,
  upstreamOf,
  whole,
} from '../../test/support/ledger/data-plane.ts'
import { fakeCredit } from '../../test/support/ledger/fake-credit.ts'
import { begun, hello, only, ordinary, type PlaneInput, plane, STREAM } from '../../test/support/ledger/plane.ts'
import {
  completion as answer,
  chunk,
  counts,
  frame,
  textChunks,
  usageChunk,
} from '../../test/support/providers/answers.ts'
import { assemble, assertWireRules, readStream } from '../../test/support/providers/sse.ts'
import { type ErrorCode, GatewayError } from '../domain/errors.ts'
import { usdNumber, usdText } from '../domain/money.ts'
import { chargeNanoUsd } from '../domain/price/price.ts'
import type { Price } from '../domain/price/tariff.ts'
import { createLimiter } from '../features/limits/limiter.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { createGateway } from './pipeline.ts'

/** What the estimate of `hello()` comes to: `user`, a line feed and 12 characters, in quarters. */
const PROMPT_ESTIMATE = 5

const streamOf = (client: TestClient): ReturnType<typeof readStream> => readStream(client.written.join(''))
test('a whole answer carries the metered usage and cost, to the last nano-dollar', async () => {
  const usage = { ...counts(1001, 333), prompt_tokens_details: { cached_tokens: 500 } }
  const price = { inputMicroUsd: 270_000, outputMicroUsd: 1_100_001, cachedInputMicroUsd: 70_000 }
  const { ask, records } = plane(() => whole(answer({ content: 'Hi' }, { usage })), { model: { price } })
  const { client } = await ask(hello())
  const record = only(records)
  const body = JSON.parse(client.body ?? '')
  const cost = chargeNanoUsd({ prompt: 1001, completion: 333, cached: 500 }, price)
  assert.deepEqual([record.promptTokens, record.completionTokens, record.cachedTokens], [1001, 333, 500])
  assert.equal(record.costNanoUsd, cost)
  assert.deepEqual(
    [body.usage.prompt_tokens, body.usage.completion_tokens, body.usage.cost],
    [1001, 333, usdNumber(cost)],
  )
  assert.equal(client.headers?.['x-turnpike-cost-usd'], usdText(cost))
  assert.equal(body.id, record.id)
})

test('an answer is charged by usage classes, service tier and length, and its row names the rule', async () => {
  const usage = {
    ...counts(1001, 300),
    prompt_tokens_details: { cached_tokens: 500, audio_tokens: 100 },
    completion_tokens_details: { reasoning_tokens: 100, audio_tokens: 50 },
  }
  const price: Price = {
    inputMicroUsd: 1000,
    outputMicroUsd: 4000,
    audioInputMicroUsd: 10_000,
    audioOutputMicroUsd: 20_000,
    reasoningOutputMicroUsd: 5000,
    perImageNanoUsd: 7,
    perRequestNanoUsd: 3,
    serviceTiers: { flex: { inputMicroUsd: 500, cachedInputMicroUsd: 50 } },
    tiers: [{ abovePromptTokens: 1000, appliesTo: 'request', outputMicroUsd: 8000 }],
  }
  const body = { ...answer({ content: 'Hi' }, { usage }), service_tier: 'flex' }
  const { ask, records } = plane(() => whole(body), {
    model: { price, capabilities: { streaming: true, function_calling: true, vision: true, json_mode: true } },
  })
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const
  await ask({ ...hello(), messages: [{ role: 'user', content: [image, { type: 'text', text: 'Hello' }] }] })
  const record = only(records)
  const tokens = 401 * 500 + 500 * 50 + 100 * 10_000 + 150 * 8000 + 100 * 5000 + 50 * 20_000
  assert.equal(record.costNanoUsd, BigInt(Math.ceil(tokens / 1000) + 7 + 3))
  assert.equal(record.priceRule, 'flex+above_1000')
  assert.deepEqual(record.usageDetail, { audioInput: 100, audioOutput: 50, images: 1, serviceTier: 'flex' })
})

test('INV-10: the row has every fact of its completion', async () => {
  const { ask, records } = plane(() => ordinary(3), { model: { id: 'alias', aliasOf: 'm1' } })
  await ask({ ...STREAM, model: 'alias' })
  const { id, ...rest } = only(records)
  assert.match(id, /^chatcmpl-/)
  assert.deepEqual(rest, {
    accountId: 'acc_1',
    keyId: 'key_1',
    model: 'm1',
    provider: 'up',
    status: 'completed',
    stream: true,
    finishReason: 'stop',
    promptTokens: 10,
    completionTokens: 3,
    usageDetail: undefined,
    priceRule: undefined,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costNanoUsd: 16_000n,
    providerCostNanoUsd: undefined,
    priceVersion: 'pv_1',
    usageSource: 'provider',
    createdAt: 1_760_000_000_000,
    durationMs: 0,
    firstByteMs: 0,
    attempts: 1,
    attemptLog: undefined,
    clientRequestId: 'mine',
    api: undefined,
    teamId: undefined,
    attribution: undefined,
    requestId: 'req_1',
  })
})

test('R-C5, INV-10: the last chunk of a stream has the metered usage and the same ID', async () => {
  for (const include of [false, true]) {
    const { ask, records } = plane(() => ordinary(3))
    const { client } = await ask({ ...STREAM, stream_options: { include_usage: include } })
    const stream = streamOf(client)
    assertWireRules(stream, { model: 'm1', includeUsage: include })
    const record = only(records)
    const last = stream.chunks.at(-1)
    assert.deepEqual(last?.usage, { ...counts(10, 3), cost: usdNumber(record.costNanoUsd) })
    assert.equal(last?.id, record.id)
    assert.equal(client.ended, true)
  }
})

test('the prices at admission apply', async () => {
  const network = playNetwork(() => ordinary(3))
  let model = modelOf()
  const ports = testPorts({ upstreams: [upstreamOf({ transport: network.transport })] })
  const gateway = createGateway(
    { ...ports.ports, models: () => ({ find: () => model, nearest: () => [], all: [] }) },
    () => ({ maxAttempts: 1 }),
  )
  const client = testClient({
    onWrite: () => {
      model = modelOf({ price: { inputMicroUsd: 9, outputMicroUsd: 9 }, priceVersion: 'pv_2' })
      return undefined
    },
  })
  await gateway.complete(incomingOf(STREAM), client)
  assert.deepEqual([only(ports.records).costNanoUsd, only(ports.records).priceVersion], [16_000n, 'pv_1'])
})

test('R-C6: the provider is asked for usage even if the client did not ask', async () => {
  const { ask, network } = plane(() => ordinary())
  await ask(STREAM)
  assert.deepEqual(JSON.parse(network.exchanges[0]?.call.body ?? '').stream_options, { include_usage: true })
})

const REFUSED: readonly (readonly [body: object, code: ErrorCode, status: number, param: string])[] = [
  [{ messages: [] }, 'missing_field', 400, 'model'],
  [hello({ model: 'm2' }), 'model_not_found', 422, 'model'],
  [hello({ temperature: 3 }), 'out_of_range', 400, 'temperature'],
]
for (const [body, code, status, param] of REFUSED) {
  test(`INV-13: ${code} takes no concurrency, reaches no provider and costs nothing`, async () => {
    const { ask, network, records } = plane(() => ordinary(), { admit: () => assert.fail('admitted') })
    const { error } = await ask(body)
    assert.deepEqual([error?.code, error?.status, error?.param], [code, status, param])
    assert.deepEqual([network.exchanges.length, records.length], [0, 0])
  })
}

test('INV-13: models that the key, the price list or the configuration do not allow are rejected before any provider is called', async () => {
  const cases: readonly (readonly [PlaneInput, object, ErrorCode])[] = [
    [{ model: { price: undefined } }, hello(), 'model_not_priced'],
    [{ model: { deployments: [deployment('gone')] } }, hello(), 'provider_error'],
    [
      { model: { capabilities: { ...modelOf().capabilities, function_calling: false } } },
      TOOLS,
      'unsupported_parameter',
    ],
  ]
  for (const [input, body, code] of cases) {
    const { ask, network, records, admitted } = plane(() => ordinary(), input)
    assert.equal((await ask(body)).error?.code, code)
    assert.deepEqual([network.exchanges.length, records.length, admitted()], [0, 0, 0])
  }
})
const TOOLS = hello({ tools: [{ type: 'function', function: { name: 'f' } }] })

test('a key may use the models it lists, under their ID or an alias', async () => {
  const { gateway, records } = plane(() => ordinary(), { model: { id: 'alias', aliasOf: 'm1' } })
  const ask = (models: readonly string[]): Promise<unknown> =>
    gateway.complete(
      incomingOf({ ...STREAM, model: 'alias' }, { caller: callerOf({ models: new Set(models) }) }),
      testClient(),
    )
  await ask(['m1'])
  await ask(['alias'])
  await assert.rejects(ask(['m2']), { code: 'model_not_allowed' })
  await assert.rejects(ask([]), { code: 'model_not_allowed' })
  assert.equal(records.length, 2)
})

test('the error of an unknown model has its nearest names, shortened to a readable length', async () => {
  const { ask } = plane(() => ordinary())
  const { error } = await ask(hello({ model: 'x'.repeat(5000) }))
  assert.match(error?.message ?? '', /Did you mean 'm1'\?/)
  assert.ok((error?.message.length ?? 0) < 300)
})

test('the response head has provider, attempts, overhead and the rate limits', async () => {
  let now = 0
  const requests = { limit: 20, remaining: 7, resetMs: 1500 }
  const wait = (): void => {
    now = 400
  }
  const slow = { body: [wait, ...(ordinary().body ?? [])] }
  const { ask, overheads } = plane((position) => (position === 0 ? refusal(500) : slow), {
    admit: () => ({ requests, tokens: undefined, release: () => {}, settle: () => {} }),
    clock: () => now,
  })
  const { client } = await ask(STREAM)
  assert.deepEqual(client.headers, {
    'x-ratelimit-limit-requests': '20',
    'x-ratelimit-remaining-requests': '7',
    'x-ratelimit-reset-requests': '1.5s',
    'x-turnpike-provider': 'up',
    'x-turnpike-attempts': '2',
    'x-turnpike-overhead-ms': '0.000',
    'x-turnpike-route':
      'up;model="up-model";why=only;outcome=status_500, up;model="up-model";why=repeat;outcome=answered',
  })
  assert.deepEqual(overheads, [0], 'the provider’s 400 ms are not ours')
})

test('R-A16: the first byte is the first one written to the client', async () => {
  let now = 100
  const at = (ms: number) => () => {
    now = ms
  }
  const steps = [at(250), ...(ordinary().body ?? []), at(900)]
  const { ask, records } = plane(() => ({ body: steps }), { clock: () => now })
  await ask(STREAM)
  assert.equal(only(records).firstByteMs, 250)
})

test('the response head names what was dropped for the provider', async () => {
  const protocol = { ...openaiChat({ temperatureRange: [0, 1] }) }
  const network = playNetwork(() => ordinary())
  const { ask } = plane(() => ordinary(), { upstreams: [upstreamOf({ transport: network.transport, protocol })] })
  assert.equal((await ask({ ...STREAM, temperature: 2 })).client.headers?.['x-turnpike-warnings'], 'temperature')
})

test('contract rule 1: a failure before the first event is an error with a status, and costs nothing', async () => {
  for (const stream of [false, true]) {
    const { ask, records, overheads } = plane(() => refusal(500, { message: 'words '.repeat(100) }))
    const { client, error } = await ask(hello({ stream }))
    assert.deepEqual([error?.code, error?.status], ['provider_error', 503])
    assert.deepEqual([client.written, client.body], [[], undefined])
    const record = only(records)
    assert.deepEqual([record.status, record.costNanoUsd, record.attempts], ['failed', 0n, 3], 'R-A14')
    assert.deepEqual([record.promptTokens, record.completionTokens], [0, 0])
    assert.deepEqual([record.firstByteMs, overheads], [undefined, [undefined]])
  }
})

test('contract rule 2, R-C13: a later failure is reported in the stream, and the output is charged', async () => {
  const { ask, records } = plane(() => ({ body: [...begun(2), new Error('ECONNRESET')] }))
  const { client, error } = await ask(STREAM)
  assert.equal(error, undefined)
  const stream = streamOf(client)
  assertWireRules(stream, { model: 'm1' })
  assert.deepEqual([stream.error?.type, stream.error?.code], ['upstream_error', 'provider_error'])
  assert.match(stream.error?.message ?? '', /incomplete/)
  assert.equal(client.ended, true)
  const record = only(records)
  assert.deepEqual([record.status, record.usageSource, record.finishReason], ['incomplete', 'estimated', undefined])
  assert.deepEqual([record.promptTokens, record.completionTokens], [PROMPT_ESTIMATE, 2])
})

test('decisions 0008: the provider’s figures count as far as they arrived before a break', async () => {
  const billed = frame({ ...usageChunk(counts(1000, 1)), error: { message: 'boom' } })
  const { ask, records } = plane(() => ({ body: [...begun(8), billed] }))
  await ask(STREAM)
  const record = only(records)
  assert.deepEqual([record.promptTokens, record.usageSource], [1000, 'estimated'])
  assert.equal(record.completionTokens, 6, 'eight words of three characters, in quarters')
})

test('decisions 0008: of several attempts the one that answered is charged', async () => {
  const { ask, records } = plane((position) => (position < 2 ? refusal(500) : ordinary(3)))
  await ask(STREAM)
  const record = only(records)
  assert.deepEqual([record.attempts, record.promptTokens, record.completionTokens], [3, 10, 3])
})

test('n streams of one provider are one answer: choices by index, usage summed, one row', async () => {
  const { ask, records } = plane((position) => ordinary(position + 1), { severalChoices: false })
  const { client } = await ask({ ...STREAM, n: 3 })
  const stream = streamOf(client)
  assertWireRules(stream, { model: 'm1' })
  assert.deepEqual(
    new Set(stream.chunks.flatMap(({ choices }) => choices.map(({ index }) => index))),
    new Set([0, 1, 2]),
  )
  const record = only(records)
  assert.deepEqual([record.promptTokens, record.completionTokens, record.attempts], [30, 6, 1])
})

test('n whole answers of one provider are one answer', async () => {
  const { ask, records } = plane((position) => whole(answer({ content: `answer ${position}` })), {
    severalChoices: false,
  })
  const { client } = await ask(hello({ n: 2 }))
  const body = JSON.parse(client.body ?? '')
  assert.deepEqual(
    body.choices.map(({ index, message }: { index: number; message: { content: string } }) => [index, message.content]),
    [
      [0, 'answer 0'],
      [1, 'answer 1'],
    ],
  )
  assert.equal(body.usage.total_tokens, 30)
  assert.equal(only(records).completionTokens, 10)
})

test('when one of n streams breaks, the others are aborted, the error is sent once, and all output is charged', async () => {
  const fails = Promise.withResolvers<void>()
  const broken: Script = { body: [...begun(1), () => fails.promise, new Error('ECONNRESET')] }
  const { ask, records, network } = plane((position) => (position === 0 ? broken : { body: [...begun(4), HANGS] }), {
    severalChoices: false,
  })
  const client = testClient({
    onWrite: (count) => {
      if (count === 5) fails.resolve()
      return undefined
    },
  })
  await ask({ ...STREAM, n: 2 }, client)
  const text = client.written.join('')
  assert.equal(text.split('"error"').length - 1, 1)
  assert.match(text, /data: \[DONE\]\n\n$/)
  assert.equal(network.exchanges[1]?.aborted, true)
  assert.equal(only(records).promptTokens, 2 * PROMPT_ESTIMATE)
  assert.equal(only(records).completionTokens, 1 + 3)
})

test('R-A1, R-A13: a disconnect ends the call, and the output so far is charged', async () => {
  const { ask, records, network, admitted } = plane(() => ({ body: [...begun(8), HANGS] }))
  const client = testClient({
    onWrite: (count, own) => {
      if (count === 8) own.leave()
      return undefined
    },
  })
  const { error } = await ask(STREAM, client)
  assert.equal(error, undefined)
  assert.equal(network.exchanges[0]?.aborted, true)
  const record = only(records)
  assert.deepEqual([record.status, record.usageSource], ['client_left', 'estimated'])
  assert.deepEqual([record.promptTokens, record.completionTokens], [PROMPT_ESTIMATE, 6])
  assert.equal(admitted(), 0)
})

test('R-A13: a client that disconnects before any output pays for the prompt that the provider processed', async () => {
  for (const [stream, script] of [
    [true, { body: [HANGS] }],
    [true, { head: HANGS }],
    [false, { headers: { 'content-type': 'application/json' }, body: ['{"id":', HANGS] }],
  ] as const) {
    const { ask, records } = plane(() => script)
    const client = testClient()
    const asked = ask(hello({ stream }), client)
    await turn()
    client.leave()
    await asked
    const record = only(records)
    assert.deepEqual([record.status, record.promptTokens, record.completionTokens], ['client_left', PROMPT_ESTIMATE, 0])
  }
})

test('R-A13: a client that disconnects after usage alone arrived pays by the provider’s figures', async () => {
  const { ask, records } = plane(() => ({ body: [frame(usageChunk(counts(1000, 1))), HANGS] }))
  const client = testClient()
  const asked = ask(STREAM, client)
  for (let i = 0; i < 20; i++) await turn()
  client.leave()
  await asked
  const record = only(records)
  assert.deepEqual([record.status, record.promptTokens, record.completionTokens], ['client_left', 1000, 1])
})

test('INV-5: a client that disconnected before the first call pays nothing, and no provider is called', async () => {
  for (const stream of [false, true]) {
    const { ask, records, network, admitted } = plane(() => ordinary())
    const client = testClient()
    client.leave()
    await ask(hello({ stream }), client)
    assert.deepEqual([network.exchanges.length, records.length, admitted()], [0, 0, 0])
  }
})

test('R-A14: a client that disconnects between attempts pays nothing for the failed ones', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { ask, records, network } = plane(() => refusal(500), { random: () => 0.5 })
  const client = testClient()
  const asked = ask(STREAM, client)
  for (let i = 0; i < 20; i++) await turn()
  client.leave()
  await asked
  assert.deepEqual([only(records).status, only(records).costNanoUsd, network.exchanges.length], ['client_left', 0n, 1])
})

const afterLeaving = (client: TestClient, script: Script): Script => ({
  ...script,
  body: [() => client.leave(), ...(script.body ?? [])],
})

test('R-A17: with on_disconnect: drain the call is drained to obtain its exact usage', async () => {
  for (const stream of [false, true]) {
    const client = testClient()
    const script = stream ? ordinary(50) : whole(answer({ content: 'Hi' }, { usage: counts(10, 50) }))
    const { ask, records, network } = plane(() => afterLeaving(client, script), { upstream: { onDisconnect: 'drain' } })
    await ask(hello({ stream }), client)
    const record = only(records)
    assert.equal(network.exchanges[0]?.aborted, false)
    assert.deepEqual([record.status, record.usageSource], ['client_left', 'provider'])
    assert.deepEqual([record.promptTokens, record.completionTokens], [10, 50])
  }
})

test('R-A17: draining ends after 60 s [limit: drain]', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const client = testClient()
  const { ask, records, network } = plane(() => ({ body: [...begun(4), () => client.leave(), HANGS] }), {
    upstream: { onDisconnect: 'drain' },
  })
  const asked = ask(STREAM, client)
  for (let i = 0; i < 20; i++) await turn()
  t.mock.timers.tick(59_999)
  assert.equal(network.exchanges[0]?.aborted, false)
  t.mock.timers.tick(1)
  await asked
  assert.equal(network.exchanges[0]?.aborted, true)
  assert.equal(only(records).completionTokens, 3)
})

test('R-A14, R-C13: an error of the provider costs nothing, even if the client disconnected before it was read', async () => {
  for (const onDisconnect of ['drain', 'cancel'] as const) {
    for (const stream of [false, true]) {
      const client = testClient()
      const { ask, records } = plane(() => afterLeaving(client, refusal(500)), { upstream: { onDisconnect } })
      await ask(hello({ stream }), client)
      const record = only(records)
      assert.deepEqual([record.status, record.costNanoUsd, record.attempts], ['client_left', 0n, 1], onDisconnect)
    }
  }
})

test('R-A15: an interruption is reported in a stream, or as the status of a whole answer; both are metered', async () => {
  for (const stream of [false, true]) {
    const script: Script = stream ? { body: [...begun(4), HANGS] } : { headers: {}, body: ['{', HANGS] }
    const { gateway, ask, records } = plane(() => script)
    const client = testClient()
    const asked = ask(hello({ stream }), client)
    for (let i = 0; i < 20; i++) await turn()
    assert.equal(gateway.active, 1)
    gateway.interrupt(new GatewayError('shutting_down', 'Bye.'))
    const { error } = await asked
    assert.equal(gateway.active, 0)
    if (stream) {
      assert.equal(streamOf(client).error?.code, 'shutting_down')
      assert.deepEqual([only(records).status, only(records).completionTokens], ['incomplete', 3])
    } else {
      assert.equal(error?.code, 'shutting_down')
      assert.deepEqual([only(records).status, only(records).costNanoUsd], ['failed', 0n])
    }
  }
})

test('OVL-3: while the client does not read, the provider is not read either', async () => {
  const taken = Promise.withResolvers<void>()
  const { ask, network } = plane(() => ordinary(5))
  const client = testClient({ onWrite: (count) => (count === 2 ? taken.promise : undefined) })
  const asked = ask(STREAM, client)
  for (let i = 0; i < 20; i++) await turn()
  const reads = network.exchanges[0]?.reads
  for (let i = 0; i < 20; i++) await turn()
  assert.deepEqual([client.written.length, network.exchanges[0]?.reads], [2, reads])
  taken.resolve()
  await asked
  assertWireRules(streamOf(client), { model: 'm1' })
})

test('each network read leads to one write, whatever its number of events', async () => {
  const [first = '', ...rest] = textChunks(20).map(frame)
  const { ask } = plane(() => ({
    body: [first + rest.slice(0, 10).join(''), rest.slice(10).join(''), frame('[DONE]')],
  }))
  const { client } = await ask(STREAM)
  assert.equal(client.written.length, 3)
  assert.equal(assemble(streamOf(client)).content, Array.from({ length: 20 }, (_, i) => `t${i} `).join(''))
})

test('a failing token counter still leads to a usage row', async () => {
  const countTokens = (): Promise<number> => Promise.reject(new Error('no tokenizer'))
  const { ask, records, admitted } = plane(() => ({ body: [...begun(2), new Error('ECONNRESET')] }), { countTokens })
  const { client } = await ask(STREAM)
  assert.equal(client.ended, true)
  assert.deepEqual([only(records).status, only(records).usageSource, admitted()], ['incomplete', 'estimated', 0])
})

test('a stream without usage is a complete answer with the gateway’s own count', async () => {
  const { ask, records } = plane(() => streamed(textChunks(4).slice(0, -1)))
  const { client } = await ask(STREAM)
  assertWireRules(streamOf(client), { model: 'm1' })
  const record = only(records)
  assert.deepEqual([record.status, record.usageSource], ['completed', 'estimated'])
  assert.deepEqual([record.promptTokens, record.completionTokens], [PROMPT_ESTIMATE, 3])
  assert.deepEqual(streamOf(client).chunks.at(-1)?.usage?.completion_tokens, 3)
})

/** What a call of the property below does, in the order of its reads. */
const pieces = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('word', 'words', 'comment', 'wait') },
    { weight: 1, arbitrary: fc.constantFrom('usage', 'error', 'cut', 'nonsense') },
  ),
  { maxLength: 12 },
)
const endings = fc.constantFrom('well', 'well', 'well', 'early', 'cut', 'hang', 'no usage')
const heads = fc.constantFrom('ok', 'ok', 'ok', 'ok', '500', '429', '400', '401', 'refused', 'hang')
const fates = fc.array(fc.record({ head: heads, pieces, ending: endings }), { minLength: 12, maxLength: 12 })
type Fate = { readonly head: string; readonly pieces: readonly string[]; readonly ending: string }

const END: Readonly<Record<string, readonly Step[]>> = {
  well: [frame(chunk({}, 'stop')), frame(usageChunk(counts(10, 5))), frame('[DONE]')],
  'no usage': [frame(chunk({}, 'stop')), frame('[DONE]')],
  early: [],
  cut: [new Error('ECONNRESET')],
  hang: [HANGS],
}

function stepOf(piece: string): Step {
  switch (piece) {
    case 'word':
      return frame(chunk({ content: 'a word, ' }))
    case 'words':
      return frame(chunk({ content: 'some ' })) + frame(chunk({ content: 'more ' }))
    case 'comment':
      return ': hello\n\n'
    case 'wait':
      return async () => void (await turn())
    case 'usage':
      return frame(usageChunk(counts(10, 2)))
    case 'error':
      return frame({ error: { message: 'boom' } })
    case 'cut':
      return new Error('ECONNRESET')
    default:
      return 'data: {broken\n\n'
  }
}

function scriptOf({ head, pieces, ending }: Fate, stream: boolean): Script {
  if (/^\d/.test(head)) return refusal(Number(head))
  if (head !== 'ok') return { head: head === 'hang' ? HANGS : new Error('ECONNREFUSED') }
  if (stream) return { body: [...pieces.map(stepOf), ...(END[ending] ?? [])] }
  if (ending === 'well') return whole(answer({ content: 'a whole answer' }))
  if (ending === 'no usage') return whole(answer({ content: 'a whole answer' }, { usage: undefined }))
  return { body: ['{"choices":', ...(END[ending] ?? [])] }
}

test('INV-4, R-A9: whatever providers and clients do, concurrency is freed and each completion that reached a provider has one row', async () => {
  const shape = fc.record({
    stream: fc.boolean(),
    n: fc.constantFrom(1, 1, 2, 3),
    drains: fc.boolean(),
    severalChoices: fc.boolean(),
    /** Turns of the event loop until the client leaves. */
    leavesAfter: fc.option(fc.nat(12), { nil: undefined }),
    /** The write at which it leaves. */
    leavesAtWrite: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
    slow: fc.boolean(),
    /** Turns of the event loop until the hold is committed. */
    holdTurns: fc.constantFrom(0, 0, 3),
    refused: fc.constantFrom(false, false, false, false, true),
    /** Tokens; few make a stream ask for more. */
    maxTokens: fc.constantFrom(undefined, 2, 100),
    extended: fc.boolean(),
    key: fc.constantFrom(undefined, undefined, 'k'),
  })
  await fc.assert(
    fc.asyncProperty(fates, shape, async (planned, how) => {
      const credit = fakeCredit({
        ...(how.refused ? { nanoUsd: 0n } : {}),
        beforeHold: async () => {
          for (let i = 0; i < how.holdTurns; i++) await turn()
        },
        extend: async () => {
          await turn()
          return how.extended
        },
      })
      const limiter = createLimiter({
        limitsOf: () => ({ requestsPerMinute: undefined, tokensPerMinute: undefined, maxInFlight: 1 }),
        clock: () => 0,
      })
      const timers = runningTimers()
      let counted = 0
      const { gateway, network, records, ask, idempotency } = plane(
        (position) => scriptOf(planned[position % 12] ?? NONE, how.stream),
        {
          credit,
          admit: limiter.admit,
          severalChoices: how.severalChoices,
          upstream: { onDisconnect: how.drains ? 'drain' : 'cancel' },
          model: { deployments: [deployment('up'), deployment('other')] },
          countTokens: async (text) => {
            counted += 1
            await turn()
            return countQuarters(text)
          },
        },
      )
      const client = testClient({
        onWrite: (count, own) => {
          if (count === how.leavesAtWrite) own.leave()
          return how.slow ? turn() : undefined
        },
      })
      const body = hello({ stream: how.stream, n: how.n, max_tokens: how.maxTokens })
      const asked = ask(body, client, { idempotencyKey: how.key })
      for (let i = 0; i < (how.leavesAfter ?? 0); i++) await turn()
      if (how.leavesAfter !== undefined) client.leave()
      // What hangs is ended by the gateway: time-outs do not run in a test.
      for (let i = 0; i < 60; i++) await turn()
      gateway.interrupt(new GatewayError('shutting_down', 'Bye.'))
      const { error } = await asked

      assert.ok(runningTimers() <= timers, 'no time-out is left')
      assert.doesNotThrow(() => limiter.admit(callerOf(), () => 0).release(), 'R-A9: the place is free')
      assert.equal(gateway.active, 0)
      assert.equal(records.length, network.exchanges.length > 0 ? 1 : 0, 'INV-4')
      assert.deepEqual([credit.open(), credit.settled.length], [0, records.length], 'INV-6: nothing is held at rest')
      assert.ok(network.exchanges.length === 0 || credit.events.indexOf('dispatched') === 1, 'the hold comes first')
      if (how.refused) assert.deepEqual([network.exchanges.length, records.length], [0, 0], 'INV-13')
      if (how.key !== undefined && !how.stream) {
        const kept = records.some(({ costNanoUsd }) => costNanoUsd > 0n)
        const ended = idempotency.asks.length === 0 ? [0, 0] : kept ? [1, 0] : [0, 1]
        assert.deepEqual([idempotency.kept.size, idempotency.freed.length], ended, 'IDEM-5')
      }
      const record = records[0]
      if (record === undefined) return
      const wrote = client.written.join('').includes('"content":"') && /"content":"[^"]/.test(client.written.join(''))
      assert.equal(record.costNanoUsd, BigInt(record.promptTokens * 1000 + record.completionTokens * 2000), 'INV-10')
      if (wrote) assert.ok(record.completionTokens > 0, 'INV-7: a client that got something pays for it')
      if (record.status === 'failed') assert.deepEqual([record.costNanoUsd, wrote], [0n, false])
      if (record.status === 'completed') assert.ok((client.ended || client.left) && error === undefined)
      if (record.usageSource === 'estimated') assert.ok(counted > 0)
      const answered = [error !== undefined, client.ended].filter(Boolean).length
      if (!client.left) assert.equal(answered, 1, 'it is answered once')
      else assert.ok(answered <= 1)
      if (how.stream && client.ended && client.written.length > 0) {
        assert.equal(client.written.join('').split('[DONE]').length - 1, 1)
      }
      for (const exchange of network.exchanges) assert.ok(exchange.over, 'R-A12: no connection is left')
    }),
    { numRuns: 500 },
  )
})
const runningTimers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
const NONE: Fate = { head: 'ok', pieces: [], ending: 'well' }
