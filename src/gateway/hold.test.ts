import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import {
  countQuarters,
  deployment,
  HANGS,
  modelOf,
  playNetwork,
  refusal,
  type Script,
  type Step,
  testClient,
  upstreamOf,
  whole,
} from '../../test/support/ledger/data-plane.ts'
import { type FakeCredit, type FakeCreditInput, fakeCredit } from '../../test/support/ledger/fake-credit.ts'
import {
  begun,
  hello,
  only,
  ordinary,
  type Plane,
  type PlaneInput,
  plane,
  STREAM,
} from '../../test/support/ledger/plane.ts'
import {
  completion as answer,
  ordinary as answersOrdinarily,
  bodyOf,
  chunk,
  counts,
  frame,
  usageChunk,
} from '../../test/support/providers/answers.ts'
import { type FakeProvider, startFakeProvider } from '../../test/support/providers/fake-provider.ts'
import { assertWireRules, readStream } from '../../test/support/providers/sse.ts'
import type { HoldRequest } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import { type CrashPoint, onReach } from '../lib/crash-point.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { anthropic } from '../providers/anthropic.ts'
import { createHttpTransport } from './upstream/transport.ts'

/** A provider on a real socket, and a data plane before it. */
async function onSocket(t: TestContext, credit: FakeCredit): Promise<{ provider: FakeProvider; plane: Plane }> {
  const provider = await startFakeProvider(answersOrdinarily)
  const { transport, close } = createHttpTransport(provider.url, 60_000)
  t.after(async () => {
    await close()
    await provider.close()
  })
  return { provider, plane: plane(() => assert.fail(), { credit, upstream: { transport, baseUrl: provider.url } }) }
}

test('LED-3, INV-4: the hold is committed before the first byte is sent, and the charge before the last byte of the answer', async (t) => {
  const events: string[] = []
  const { provider, plane } = await onSocket(t, fakeCredit({ events, beforeHold: async () => void (await turn()) }))
  provider.answer(async (call, reply) => {
    events.push('arrived')
    await answersOrdinarily(call, reply)
  })
  for (const stream of [true, false]) {
    events.length = 0
    const client = testClient({ onEnd: () => events.push('last byte') })
    const { error } = await plane.ask(hello({ stream }), client)
    assert.equal(error, undefined)
    assert.deepEqual(
      events.filter((event) => event !== 'committed'),
      ['hold', 'dispatched', 'arrived', 'settle', 'last byte'],
    )
  }
  assert.deepEqual(
    plane.records.map(({ status }) => status),
    ['completed', 'completed'],
  )
})

test('an answer is sent while its charge is being committed', async () => {
  const commit = Promise.withResolvers<void>()
  const credit = fakeCredit({ beforeCommit: () => commit.promise })
  const { ask } = plane(() => whole(answer({ content: 'Hi' })), { credit })
  assert.equal((await ask(hello())).client.ended, true)
  assert.ok(!credit.events.includes('committed'))
  commit.resolve()
})

test('INV-13, R-D7: a request above the credit reaches no provider, costs nothing, and frees its concurrency', async () => {
  for (const stream of [true, false]) {
    const credit = fakeCredit({ nanoUsd: 10n })
    const requests = { limit: 20, remaining: 7, resetMs: 1500 }
    const tokens: number[] = []
    let released = 0
    const { ask, network, records } = plane(() => ordinary(), {
      credit,
      admit: () => ({
        requests,
        tokens: undefined,
        release: () => {
          released += 1
        },
        settle: (used) => tokens.push(used),
      }),
    })
    const { client, error } = await ask(hello({ stream, max_tokens: 100 }))
    assert.deepEqual(
      [error?.code, error?.status, client.ended, client.streaming()],
      ['insufficient_credit', 402, false, false],
    )
    assert.deepEqual(error?.details, { available_usd: 0 })
    assert.equal(error?.headers?.['x-ratelimit-remaining-requests'], '7')
    assert.deepEqual([network.exchanges.length, records.length, credit.events], [0, 0, ['refused']])
    assert.ok(released > 0)
    assert.deepEqual(tokens.slice(0, 1), [0], 'what was reserved of the limit is given back')
  }
})

test('RL-3: a 429 precedes the lookup of the idempotency key and the hold', async () => {
  const credit = fakeCredit()
  const { ask, idempotency } = plane(() => ordinary(), {
    credit,
    admit: () => {
      throw new GatewayError('rate_limit_exceeded', 'Slow down.')
    },
  })
  const { error } = await ask(hello(), testClient(), { idempotencyKey: 'k' })
  assert.equal(error?.code, 'rate_limit_exceeded')
  assert.deepEqual([credit.asks.length, idempotency.asks.length], [0, 0])
})

test('LED-10: without a database no request is admitted', async () => {
  const credit = fakeCredit({
    beforeHold: () => Promise.reject(new GatewayError('database_unavailable', 'Away.')),
  })
  const { ask, network, admitted } = plane(() => ordinary(), { credit })
  const { error } = await ask(STREAM)
  assert.deepEqual(
    [error?.code, error?.status, network.exchanges.length, admitted()],
    ['database_unavailable', 503, 0, 0],
  )
})

test('R-D7, F11: a client that disconnects while the hold is committed releases it, and nothing is sent', async () => {
  for (const stream of [true, false]) {
    const committing = Promise.withResolvers<void>()
    const credit = fakeCredit({ beforeHold: () => committing.promise })
    const { ask, network, records, admitted } = plane(() => ordinary(), { credit })
    const client = testClient()
    const asked = ask(hello({ stream }), client)
    await turn()
    client.leave()
    committing.resolve()
    await asked
    assert.deepEqual(credit.events, ['hold', 'release'])
    assert.deepEqual([network.exchanges.length, records.length, admitted()], [0, 0, 0])
  }
})

test('R-A15, R-D7: a request that is interrupted while its hold is committed releases it and receives the reason', async () => {
  const committing = Promise.withResolvers<void>()
  const credit = fakeCredit({ beforeHold: () => committing.promise })
  const { ask, gateway, network } = plane(() => ordinary(), { credit })
  const asked = ask(STREAM)
  await turn()
  gateway.interrupt(new GatewayError('shutting_down', 'Bye.'))
  committing.resolve()
  assert.equal((await asked).error?.code, 'shutting_down')
  assert.deepEqual([credit.events, network.exchanges.length], [['hold', 'release'], 0])
})

test('a request that no provider’s protocol can express releases its hold', async () => {
  const credit = fakeCredit()
  const network = playNetwork(() => assert.fail('called'))
  const upstream = upstreamOf({ transport: network.transport, protocol: openaiChat({ refused: ['logprobs'] }) })
  const { ask, records } = plane(() => ordinary(), { credit, upstreams: [upstream] })
  const { error } = await ask(hello({ logprobs: true }))
  assert.deepEqual([error?.code, error?.param], ['unsupported_parameter', 'logprobs'])
  assert.deepEqual([credit.events, records.length], [['hold', 'release'], 0])
})

const FAILURES: readonly (readonly [name: string, script: Script, status: string, charges: boolean])[] = [
  ['an error of the provider', refusal(500), 'failed', false],
  ['a refusal of the provider', refusal(400), 'failed', false],
  ['a rate limit of the provider', refusal(429), 'failed', false],
  ['a wrong credential', refusal(401), 'failed', false],
  ['a connection that breaks', { head: new Error('ECONNRESET') }, 'failed', false],
  ['a body without an answer', { body: [] }, 'failed', false],
  ['a stream that breaks', { body: [...begun(2), new Error('ECONNRESET')] }, 'incomplete', true],
  ['a stream that cannot be read', { body: [...begun(2), 'data: {broken\n\n'] }, 'incomplete', true],
]
for (const [name, script, status, charges] of FAILURES) {
  test(`R-D7, INV-4: ${name} settles the hold once, and the ledger is notified of the first byte once`, async () => {
    const credit = fakeCredit()
    const { ask, records, admitted } = plane(() => script, { credit })
    await ask(STREAM)
    assert.deepEqual(
      credit.events.filter((event) => event !== 'committed'),
      ['hold', 'dispatched', 'settle'],
    )
    const record = only(records)
    assert.deepEqual([record.status, record.costNanoUsd > 0n], [status, charges])
    assert.deepEqual([credit.open(), admitted()], [0, 0])
  })
}

test('F16: several calls of one completion notify the ledger once', async () => {
  const credit = fakeCredit()
  const { ask, network } = plane((position) => (position < 3 ? refusal(500) : ordinary()), {
    credit,
    severalChoices: false,
  })
  await ask({ ...STREAM, n: 3 })
  assert.equal(network.exchanges.length, 6)
  assert.equal(credit.events.filter((event) => event === 'dispatched').length, 1)
})

test('INV-5: a client that disconnects before a byte was sent is not charged', async () => {
  const credit = fakeCredit()
  const silent = playNetwork(() => ({ head: HANGS }))
  const { ask, records } = plane(() => ordinary(), {
    credit,
    upstream: { transport: (call) => silent.transport(call) }, // it never says that it sends
  })
  const client = testClient()
  const asked = ask(STREAM, client)
  await turn()
  client.leave()
  await asked
  assert.deepEqual([only(records).status, only(records).costNanoUsd], ['client_left', 0n])
  assert.deepEqual(
    credit.events.filter((event) => event !== 'committed'),
    ['hold', 'settle'],
  )
})

interface AskCase {
  readonly body?: object
  readonly model?: Parameters<typeof modelOf>[0]
  readonly severalChoices?: boolean
  readonly asks: Partial<HoldRequest>
}
/** What the prompt of `hello()` is estimated at: twelve bytes in thirds, and eight for the message. */
const INPUT = 10
/** At most, for a model of which nothing is known. */
const BOUND = 532
const ASKS: Readonly<Record<string, AskCase>> = {
  'the model’s maximum, which may be lowered': { asks: { outputTokens: 1000, flexible: true, choices: 1 } },
  'max_tokens, which stands': { body: { max_tokens: 7 }, asks: { outputTokens: 7, flexible: false } },
  'its newer name too': { body: { max_completion_tokens: 7 }, asks: { outputTokens: 7, flexible: false } },
  'never more than the model gives': { body: { max_tokens: 70_000 }, asks: { outputTokens: 1000, flexible: false } },
  'what the prompt leaves of the window, where no maximum is known': {
    model: { maxOutputTokens: undefined, contextWindow: 50_000 },
    asks: { outputTokens: 50_000 - BOUND },
  },
  'every choice': { body: { n: 3, max_tokens: 7 }, asks: { outputTokens: 7, choices: 3, promptTokens: INPUT } },
  'the prompt of every call, where a choice is a call': {
    body: { n: 3 },
    severalChoices: false,
    asks: { choices: 3, promptTokens: 3 * INPUT },
  },
  'the model behind an alias': { model: { id: 'm1', aliasOf: 'm0' }, asks: { model: 'm0' } },
}
for (const [name, { body, model, severalChoices, asks }] of Object.entries(ASKS)) {
  test(`LED-4: the hold is for ${name}`, async () => {
    const credit = fakeCredit()
    const { ask } = plane(() => ordinary(), {
      credit,
      ...(model === undefined ? {} : { model }),
      ...(severalChoices === undefined ? {} : { severalChoices }),
    })
    await ask({ ...STREAM, ...body })
    const [asked] = credit.asks
    const shown = Object.fromEntries(Object.keys(asks).map((key) => [key, asked?.[key as keyof HoldRequest]]))
    assert.deepEqual(shown, asks)
  })
}

test('LED-9: rates, version and caller of the hold are those of the charge', async () => {
  const credit = fakeCredit()
  const { ask, records } = plane(() => ordinary(), { credit, model: { deployments: [deployment('other')] } })
  await ask(STREAM)
  const [asked] = credit.asks
  const { price } = modelOf()
  const rates = {
    inputMicroUsd: price?.inputMicroUsd,
    outputMicroUsd: price?.outputMicroUsd,
    fixedNanoUsd: (BOUND - INPUT) * 1000,
  }
  assert.deepEqual([asked?.rates, asked?.priceVersion, asked?.provider, asked?.stream], [rates, 'pv_1', 'other', true])
  assert.deepEqual([asked?.id, asked?.clientRequestId, asked?.createdAt], [only(records).id, 'mine', 1_760_000_000_000])
  assert.equal(asked?.caller.keyId, only(records).keyId)
})

test('a request without a limit is sent with the affordable one, and a header says so', async () => {
  // the bound of the prompt and 300 tokens of the answer
  const credit = fakeCredit({ nanoUsd: 532_000n + 300n * 2_000n })
  for (const stream of [true, false]) {
    const script = stream ? ordinary() : whole(answer({ content: 'Hi' }))
    const { ask, network } = plane(() => script, { credit: stream ? credit : fakeCredit({ nanoUsd: 1_132_000n }) })
    const { client } = await ask(hello({ stream }))
    assert.equal(JSON.parse(network.exchanges[0]?.call.body ?? '').max_tokens, 300)
    assert.equal(client.headers?.['x-turnpike-warnings'], 'max_tokens')
  }
})

test('lowered limits are named with dropped parameters, and only if they were lowered', async () => {
  const protocol = openaiChat({ temperatureRange: [0, 1] })
  const network = playNetwork(() => ordinary())
  const upstreams = [upstreamOf({ transport: network.transport, protocol })]
  const lowered = plane(() => ordinary(), { upstreams, credit: fakeCredit({ nanoUsd: 1_132_000n }) })
  const { client } = await lowered.ask({ ...STREAM, temperature: 2 })
  assert.equal(client.headers?.['x-turnpike-warnings'], 'max_tokens, temperature')
  const plain = plane(() => ordinary())
  assert.equal((await plain.ask(STREAM)).client.headers?.['x-turnpike-warnings'], undefined)
  const padded = hello({ stream: true, stream_options: { include_obfuscation: true } })
  const told = (await plain.ask(padded)).client.headers?.['x-turnpike-warnings']
  assert.equal(told, 'stream_options.include_obfuscation')
  const sent = bodyOf({ body: plain.network.exchanges[0]?.call.body ?? '' } as Parameters<typeof bodyOf>[0])
  assert.equal(sent.max_tokens, 1000, 'the limit is always sent, and no warning says so')
})

test('an error after admission has the rate limit headers, whatever its source', async () => {
  const requests = { limit: 20, remaining: 7, resetMs: 1500 }
  const admit = () => ({ requests, tokens: undefined, release: () => {}, settle: () => {} })
  const { ask, gateway } = plane(() => ({ head: HANGS }), { admit })
  const asked = ask(hello())
  await turn()
  gateway.interrupt(new GatewayError('shutting_down', 'Bye.'))
  const { error } = await asked
  assert.deepEqual([error?.code, error?.headers?.['x-ratelimit-limit-requests']], ['shutting_down', '20'])
})

test('F16: every step at which a process may die has a name', async (t) => {
  const points: CrashPoint[] = []
  onReach((point) => points.push(point))
  t.after(() => onReach(undefined))
  const running = plane(() => whole(answer({ content: 'Hi' })))
  await running.ask(hello())
  assert.deepEqual(points.splice(0), ['after_hold', 'before_send', 'after_send', 'after_last_byte'])
  await running.ask(hello(), testClient(), { idempotencyKey: 'k' })
  assert.deepEqual(points.splice(0), [
    'after_hold',
    'before_send',
    'after_send',
    'before_idem_store',
    'after_last_byte',
  ])
  await plane(() => ordinary(1)).ask(STREAM)
  assert.deepEqual(points.slice(0, 4), ['after_hold', 'before_send', 'after_send', 'mid_stream'])
  assert.equal(points.at(-1), 'after_last_byte')
})

/** Ten dollars a thousand searches; a dollar a million prompt tokens of a window of 128,000. */
const SEARCHING = modelOf({
  price: { inputMicroUsd: 1_000_000, outputMicroUsd: 2_000_000, serverToolNanoUsd: { web_search: 10_000_000 } },
})

test('INV-3: tools that run at the provider are held for at their limit, with a prompt that their results may fill', async () => {
  const heldFor = async (over: object): Promise<number> => {
    const credit = fakeCredit()
    const upstream = { provider: anthropic }
    const { ask } = plane(() => whole({}), { credit, upstream, models: [SEARCHING] })
    await ask(hello(over))
    const { rates, promptTokens } = credit.asks[0] ?? assert.fail('nothing was held')
    return rates.fixedNanoUsd + promptTokens * 1000
  }
  const window = SEARCHING.contextWindow * 1000
  const search = { type: 'web_search_20250305', name: 'web_search' }
  assert.equal(await heldFor({ tools: [{ ...search, max_uses: 2 }] }), window + 2 * 10_000_000)
  assert.equal(await heldFor({ tools: [search] }), window + 5 * 10_000_000)
  assert.equal(await heldFor({ web_search_options: { search_context_size: 'high' } }), window + 10 * 10_000_000)
  assert.equal(await heldFor({ tools: [search], n: 3 }), 3 * (window + 5 * 10_000_000))
  assert.ok((await heldFor({})) < 1_000_000)
})

test('a provider’s tool without a limit or without a price is rejected before anything is held', async () => {
  const refused = async (tool: object, model = SEARCHING): Promise<unknown[]> => {
    const credit = fakeCredit()
    const { ask } = plane(() => assert.fail('was sent'), {
      credit,
      models: [model],
      upstream: { forwardUnknown: true },
    })
    const { error } = await ask(hello({ tools: [tool] }))
    assert.ok(error instanceof GatewayError)
    return [error.status, error.param, credit.asks.length]
  }
  assert.deepEqual(await refused({ type: 'web_search' }), [422, 'tools[0].type', 0])
  assert.deepEqual(await refused({ type: 'web_search', max_uses: 2 }, modelOf()), [422, 'tools[0].type', 0])
})

test('TM15: searches beyond the limit are not charged, and the usage row is marked', async () => {
  const usage = { input_tokens: 9, output_tokens: 1, server_tool_use: { web_search_requests: 1e6 } }
  const answered = { type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn', usage }
  const { ask, records } = plane(() => whole(answered), {
    upstream: { provider: anthropic },
    models: [SEARCHING],
  })
  await ask(hello({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] }))
  const { costNanoUsd, usageSource, usageDetail } = only(records)
  assert.deepEqual([costNanoUsd, usageSource], [9n * 1000n + 2000n + 30_000_000n, 'bounded'])
  assert.deepEqual(usageDetail?.serverTools, { web_search: 3 })
})

test('answers of a model past its shutdown have its headers, whole, streamed and rejected', async () => {
  const model = { deprecationDate: '2025-01-31' }
  const seen = async (body: object, script: Script) => {
    const { client, error } = await plane(() => script, { model, maxAttempts: 1 }).ask(body)
    const headers = client.headers ?? error?.headers ?? {}
    return [headers['deprecation'], headers['sunset']]
  }
  const said = ['@1738281600', 'Fri, 31 Jan 2025 00:00:00 GMT']
  assert.deepEqual(await seen(hello(), whole(answer({ content: 'Hi' }))), said)
  assert.deepEqual(await seen(STREAM, ordinary()), said)
  assert.deepEqual(await seen(hello(), refusal(404)), said)
})

/** Ten tokens by our count. */
const TEN = frame(chunk({ content: 'abcd'.repeat(10) }))
const END: readonly Step[] = [frame(chunk({}, 'stop')), frame(usageChunk(counts(12, 500))), frame('[DONE]')]
/** The event loop turns between two reads, so that what was asked meanwhile is answered. */
const spaced = (steps: readonly Step[]): Step[] => steps.flatMap((step) => [step, idle])
async function idle(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn()
}
const tens = (count: number): Step[] => spaced(Array.from({ length: count }, () => TEN))

/** A stream of so many tens of tokens, though 100 were asked for: a provider that does not keep to that. */
function run(count: number, money: FakeCreditInput = {}, input: PlaneInput & { readonly end?: readonly Step[] } = {}) {
  const { end = END, ...over } = input
  const credit = fakeCredit(money)
  const asked: string[] = []
  const countTokens = (text: string): Promise<number> => {
    asked.push(text)
    return countQuarters(text)
  }
  const running = plane(() => ({ body: [...tens(count), ...end] }), { credit, countTokens, ...over })
  return { ...running, credit, asked }
}

const BODY = { ...STREAM, max_tokens: 100 }

test('LED-5: at 90 % of the hold it is raised, once, before it is exhausted', async () => {
  const { ask, credit, network } = run(12)
  const { client } = await ask(BODY)
  assert.equal(JSON.parse(network.exchanges[0]?.call.body ?? '').max_tokens, 100)
  assert.deepEqual(credit.extensions, [256n * 2_000n], 'half of 100 tokens, but at least 256')
  assert.deepEqual(
    credit.events.filter((event) => event !== 'committed'),
    ['hold', 'dispatched', 'extend', 'settle'],
  )
  assertWireRules(readStream(client.written.join('')), { model: 'm1' })
})

test('LED-5: each top-up raises the hold by half, for every choice', async () => {
  const { ask, credit } = run(400)
  await ask({ ...STREAM, max_tokens: 1000, n: 2 })
  assert.deepEqual(credit.extensions, [1000n * 2_000n, 1500n * 2_000n], '2 000, then 3 000 of which 90 % came')
})

test('a stream within its hold requests no top-up', async () => {
  const { ask, credit, asked } = run(8)
  await ask(BODY)
  assert.deepEqual([credit.extensions.length, asked.length], [0, 0])
})

test('no tokenizer is needed if the hold can be raised', async () => {
  const { ask, credit, asked } = run(100)
  await ask(BODY)
  assert.ok(credit.extensions.length > 1)
  assert.equal(asked.length, 0)
})

test('dense scripts are noticed in time, too', async () => {
  const content = '漢字'.repeat(15) // 90 bytes
  const { ask, credit } = run(0, {}, { end: [...spaced(Array(6).fill(frame(chunk({ content })))), ...END] })
  await ask(BODY)
  assert.equal(credit.extensions.length, 1)
})

test('no top-up is requested for a free model', async () => {
  const price = { inputMicroUsd: 1, outputMicroUsd: 0 }
  const { ask, credit } = run(40, {}, { model: { price } })
  await ask(BODY)
  assert.deepEqual(credit.extensions, [])
})

test('LED-5, INV-3, TM1: after a refused top-up the stream continues to 110 %, then ends with its error; the output is charged', async () => {
  const { ask, credit, records, network } = run(40, { extend: () => false }, { end: [HANGS] })
  const { client, error } = await ask(BODY)
  assert.equal(error, undefined)
  const stream = readStream(client.written.join(''))
  assertWireRules(stream, { model: 'm1' })
  assert.equal(stream.error?.code, 'insufficient_credit')
  assert.match(client.written.join(''), /\[DONE\]\n\n$/)
  assert.deepEqual([client.ended, network.exchanges[0]?.aborted], [true, true])
  const record = only(records)
  assert.deepEqual([record.status, record.usageSource], ['incomplete', 'estimated'])
  assert.ok(record.completionTokens > 110 && record.completionTokens <= 130, String(record.completionTokens))
  assert.ok(credit.extensions.length >= 1)
  assert.equal(credit.open(), 0)
})

test('LED-5: after a refused top-up an answer that ends before 110 % is complete', async () => {
  const { ask, records } = run(11, { extend: () => false })
  const { client } = await ask(BODY)
  assertWireRules(readStream(client.written.join('')), { model: 'm1' })
  assert.equal(only(records).status, 'completed')
})

test('credit that arrives later is used', async () => {
  let asked = 0
  const { ask, records } = run(13, { extend: () => ++asked > 1 })
  await ask(BODY)
  assert.deepEqual([asked, only(records).status], [2, 'completed'])
})

test('there is never more than one top-up at a time, however long the ledger takes', async () => {
  const decided = Promise.withResolvers<boolean>()
  const { ask, credit } = run(30, { extend: () => decided.promise }, { end: [() => decided.resolve(true), ...END] })
  await ask(BODY)
  assert.equal(credit.extensions.length, 1)
})

test('an answer that completes during a top-up is settled once', async () => {
  const decided = Promise.withResolvers<boolean>()
  const { ask, credit, records } = run(12, { extend: () => decided.promise })
  await ask(BODY)
  decided.resolve(false)
  await idle()
  assert.deepEqual([only(records).status, credit.open()], ['completed', 0])
})

test('intermediate figures of the provider take precedence over our own', async () => {
  const reported = frame(usageChunk(counts(12, 95)))
  const { ask, credit } = run(1, {}, { end: [...spaced([reported]), ...END] })
  await ask(BODY)
  assert.equal(credit.extensions.length, 1)
})

test('figures at the end of an answer request no top-up', async () => {
  const { ask, credit } = run(
    1,
    {},
    { end: [frame(chunk({}, 'length')) + frame(usageChunk(counts(12, 100))), frame('[DONE]')] },
  )
  await ask(BODY)
  assert.deepEqual(credit.extensions, [])
})

test('a burst is covered by one top-up', async () => {
  const burst = Array.from({ length: 100 }, () => TEN).join('')
  const { ask, credit } = run(0, {}, { end: [...spaced([burst]), ...END] })
  await ask(BODY)
  assert.deepEqual(credit.extensions, [900n * 2_000n])
})

test('text is not counted again before another tenth was generated', async () => {
  const { ask, asked } = run(40, { extend: () => false }, { end: [HANGS] })
  await ask({ ...STREAM, max_tokens: 300 })
  const looks = asked.slice(0, -2).map(({ length }) => length / 4) // the last two are for the bill
  assert.ok(looks.length >= 2, String(looks))
  for (const [position, tokens] of looks.entries()) assert.ok(tokens - (looks[position - 1] ?? 0) >= 30, String(looks))
})

test('a failing counter does not end the stream', async () => {
  const countTokens = (): Promise<number> => Promise.reject(new Error('no tokenizer'))
  const { ask, records } = run(20, { extend: () => false }, { countTokens })
  await ask(BODY)
  assert.equal(only(records).status, 'completed')
})

test('a disconnected client’s stream is not covered beyond its usage', async () => {
  const client = testClient({
    onWrite: (count, own) => {
      if (count === 2) own.leave()
      return undefined
    },
  })
  const { ask, records } = run(60, { extend: () => false }, { end: [HANGS], upstream: { onDisconnect: 'drain' } })
  await ask(BODY, client)
  const record = only(records)
  assert.equal(record.status, 'client_left')
  assert.ok(record.completionTokens <= 130, String(record.completionTokens))
})
