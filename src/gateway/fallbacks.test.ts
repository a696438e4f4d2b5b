import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  callerOf,
  deployment,
  HANGS,
  healthOf,
  incomingOf,
  modelOf,
  PATIENT,
  type PortsInput,
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
import { type FakeCredit, fakeCredit } from '../../test/support/ledger/fake-credit.ts'
import { only } from '../../test/support/ledger/plane.ts'
import { completion as answer, chunk, counts, textChunks, usageChunk } from '../../test/support/providers/answers.ts'
import type { CompletionRecord } from '../domain/completion.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import { messagesApi } from '../protocols/anthropic-messages/client/index.ts'
import type { ClientApi } from '../protocols/client-api.ts'
import { chatCompletionsApi } from '../protocols/openai-chat/client/index.ts'
import { responsesApi } from '../protocols/openai-responses/client/index.ts'
import type { Incoming } from './admit.ts'
import { createGateway } from './pipeline.ts'
import type { RoutingSettings } from './routing/health.ts'

/** The model `a` of the host `a`, at a price of its own; and so on. */
function modelAt(id: string, over: Partial<Model> = {}): Model {
  const micro = 1_000_000 * (id.charCodeAt(0) - 96)
  return modelOf({
    id,
    price: { inputMicroUsd: micro, outputMicroUsd: 2 * micro },
    priceVersion: `pv_${id}`,
    deployments: [deployment(id)],
    ...over,
  })
}

interface Sent {
  readonly client: TestClient
  readonly error: GatewayError | undefined
  readonly records: readonly CompletionRecord[]
  readonly hosts: string[]
  readonly bodies: readonly Record<string, unknown>[]
  readonly credit: FakeCredit
  /** What failed attempts cost the operator at the first provider. */
  readonly unbilledNanoUsd: bigint
}

interface SendInput extends PortsInput {
  readonly incoming?: Partial<Incoming>
  readonly settings?: RoutingSettings
  readonly maxAttempts?: number
}

async function send(body: object, scripts: Readonly<Record<string, Script>>, input: SendInput = {}): Promise<Sent> {
  const {
    incoming,
    settings = PATIENT,
    maxAttempts = 1,
    models = [modelAt('a'), modelAt('b'), modelAt('c')],
    ...over
  } = input
  const network = playNetwork(({ url }) => scripts[new URL(url).hostname.replace('.test', '')] ?? assert.fail(url))
  const names = ['a', 'b', 'c', 'd']
  const upstreams = names.map((name) =>
    upstreamOf({ transport: network.transport, name, ...(hangs(scripts[name]) && { timeouts: SHORT }) }),
  )
  const credit = input.credit ?? fakeCredit()
  const begunAt = performance.now()
  const clock = Object.values(scripts).some(hangs) ? () => performance.now() - begunAt : () => 0
  const health = healthOf({ clock }, settings)
  const { ports, records } = testPorts({ upstreams, health, clock, ...over, credit, models })
  const gateway = createGateway(ports, () => ({ maxAttempts }))
  const client = testClient()
  let error: GatewayError | undefined
  try {
    await gateway.complete(incomingOf(body, incoming), client)
  } catch (thrown) {
    assert.ok(thrown instanceof GatewayError, String(thrown))
    error = thrown
  }
  assert.equal(credit.open(), 0, 'every hold is resolved')
  const hosts = network.hosts().map((host) => host.replace('.test', ''))
  return {
    client,
    error,
    records,
    hosts,
    bodies: network.exchanges.map(({ call }) => JSON.parse(String(call.body))),
    credit,
    unbilledNanoUsd: health.providerOf(upstreams[0] ?? assert.fail()).unbilledNanoUsd,
  }
}

/** Of a provider that says nothing more: how soon that is noticed decides nothing. */
const SHORT = { connect: 60_000, firstByte: 20, wholeAnswer: 20, idle: 20, total: 60_000 }

function hangs(script: Script | undefined): boolean {
  return script?.head === HANGS || script?.body?.includes(HANGS) === true
}

const MESSAGES = [{ role: 'user', content: 'hello, hello' }]
const chat = (over: object = {}): object => ({ model: 'a', messages: MESSAGES, ...over })

const APIS: readonly (readonly [string, ClientApi, (over: object) => object])[] = [
  ['chat completions', chatCompletionsApi, chat],
  ['Messages', messagesApi, (over) => chat({ max_tokens: 100, ...over })],
  ['Responses', responsesApi, (over) => ({ model: 'a', input: 'hello, hello', ...over })],
]

const FAILURES: Readonly<Record<string, readonly [reason: string, Script]>> = {
  'a rate limit': ['overloaded', refusal(429)],
  overload: ['overloaded', refusal(503)],
  'a server error': ['server_error', refusal(500)],
  'a connection failure': ['connection', { head: new Error('ECONNREFUSED') }],
  'an empty answer': ['server_error', { body: [] }],
  'a prompt that is too long': ['context_length', refusal(400, { message: 'long', code: 'context_length_exceeded' })],
  'a content filter': ['content_filter', refusal(400, { message: 'bad', code: 'content_filter' })],
  'no head in time': ['timeout', { head: HANGS }],
  'a head and nothing after it': ['timeout', { body: [HANGS] }],
  'comments alone': ['timeout', { body: [': ping\n\n', ': ping\n\n', HANGS] }],
  'a connection that breaks after the head': ['connection', { body: [new Error('reset')] }],
  'an answer that breaks off within its first event': [
    'connection',
    { body: ['data: {"id":"1","cho', new Error('reset')] },
  ],
  'bytes that are no answer': [
    'server_error',
    { headers: { 'content-type': 'text/html' }, body: ['<html>Bad gateway'] },
  ],
  'a first event that is no JSON': ['server_error', { body: ['data: {nope\n\n'] }],
  'an account without money': ['unavailable', refusal(402)],
  'a refused credential': ['unavailable', refusal(401)],
  'an unknown model': ['unavailable', refusal(404)],
}

const good = (stream: boolean): Script =>
  stream ? streamed(textChunks(3)) : whole(answer({ content: 'Hi' }, { usage: counts(10, 3) }))

for (const [apiName, api, bodyFor] of APIS) {
  for (const stream of [false, true]) {
    for (const [name, [reason, script]] of Object.entries(FAILURES)) {
      test(`${apiName}${stream ? ', streamed' : ''}: after ${name} the fallback answers, and only it is charged`, async () => {
        const body = bodyFor({ stream, models: ['b'] })
        const { client, error, records, hosts, bodies } = await send(
          body,
          { a: script, b: good(stream) },
          { incoming: { api } },
        )
        assert.equal(error, undefined)
        assert.equal(hosts.join(' '), 'a b')
        const record = only(records)
        assert.deepEqual(
          [record.model, record.provider, record.priceVersion, record.status, record.attempts],
          ['b', 'b', 'pv_b', 'completed', 2],
        )
        assert.equal(record.costNanoUsd, BigInt(10 * 2000 + 3 * 4000))
        assert.deepEqual(
          record.attemptLog?.map((note) => [note.provider, note.reason]),
          [
            ['a', reason],
            ['b', undefined],
          ],
        )
        const text = client.body ?? client.written.join('')
        assert.match(text, /"model":\s*"b"/)
        assert.doesNotMatch(text, /"model":\s*"a"/)
        assert.match(
          client.headers?.['x-turnpike-route'] ?? '',
          /^a;model="a-model";why=only;outcome=\w+, b;model="b-model";why=fallback;outcome=answered$/,
        )
        for (const sent of bodies) assert.ok(!('models' in sent), 'the list stays here')
      })
    }
  }
}

test('a failure whose switch is off does not lead to another model', async () => {
  for (const [name, [reason, script]] of Object.entries(FAILURES)) {
    const on = { overloaded: true, server_error: true, timeout: true, connection: true } as const
    const fallbackOn = { ...on, context_length: true, content_filter: true, unavailable: true, [reason]: false }
    const { error, hosts, records } = await send(
      chat({ models: ['b'] }),
      { a: script, b: good(false) },
      { settings: { ...PATIENT, fallbackOn } },
    )
    assert.equal(hosts.join(' '), 'a', name)
    assert.ok(error !== undefined, name)
    assert.equal(only(records).costNanoUsd, 0n)
  }
})

test('a request that a provider rejects as invalid is not sent to another model', async () => {
  const { error, hosts } = await send(chat({ models: ['b'] }), { a: refusal(400), b: good(false) })
  assert.equal(error?.code, 'provider_rejected')
  assert.equal(hosts.join(' '), 'a')
})

for (const [apiName, api, bodyFor] of APIS) {
  const begun = (streamed(textChunks(3)).body ?? []).slice(0, 2)
  for (const [name, end] of Object.entries<Step>({
    'breaks off': new Error('reset'),
    'becomes unreadable': 'data: {nope\n\n',
    stalls: HANGS,
  })) {
    test(`${apiName}: a stream that ${name} after its first event is not continued by another model`, async () => {
      const { client, records, hosts } = await send(
        bodyFor({ stream: true, models: ['b'] }),
        { a: { body: [...begun, end] }, b: good(true) },
        { incoming: { api } },
      )
      assert.equal(hosts.join(' '), 'a')
      const record = only(records)
      assert.deepEqual([record.model, record.provider, record.status], ['a', 'a', 'incomplete'])
      assert.match(client.written.join(''), /error/)
    })
  }

  test(`${apiName}: a whole answer that breaks off reaches no client, and the fallback answers`, async () => {
    const half = JSON.stringify(answer({ content: 'Hello there' }, { usage: counts(10, 3) })).slice(0, 80)
    const cut: Script = { headers: { 'content-type': 'application/json' }, body: [half, new Error('reset')] }
    const { records, hosts } = await send(bodyFor({ models: ['b'] }), { a: cut, b: good(false) }, { incoming: { api } })
    assert.equal(hosts.join(' '), 'a b')
    assert.deepEqual([only(records).model, only(records).costNanoUsd], ['b', BigInt(10 * 2000 + 3 * 4000)])
  })
}

/** A prompt that is blocked with status 200, as Gemini does. */
const blocked = (stream: boolean, said = ''): Script =>
  stream
    ? streamed([
        ...(said === '' ? [] : [chunk({ content: said })]),
        chunk({}, 'content_filter'),
        usageChunk(counts(10, 0)),
      ])
    : whole({
        ...answer({ content: said }, { usage: counts(10, 0) }),
        choices: [{ index: 0, message: { role: 'assistant', content: said }, finish_reason: 'content_filter' }],
      })

for (const [apiName, api, bodyFor] of APIS) {
  for (const stream of [false, true]) {
    const name = `${apiName}${stream ? ', streamed' : ''}`
    test(`${name}: an answer that is blocked before any output is replaced, and costs the operator alone`, async () => {
      const scripts = { a: blocked(stream), b: good(stream) }
      const body = bodyFor({ stream, models: ['b'] })
      const { records, hosts, client, unbilledNanoUsd } = await send(body, scripts, { incoming: { api } })
      assert.ok(unbilledNanoUsd > 0n, String(unbilledNanoUsd))
      assert.equal(hosts.join(' '), 'a b')
      const { model, status, costNanoUsd, attemptLog } = only(records)
      assert.deepEqual([model, status, costNanoUsd], ['b', 'completed', BigInt(10 * 2000 + 3 * 4000)])
      assert.deepEqual(
        attemptLog?.map(({ provider, reason }) => [provider, reason]),
        [
          ['a', 'content_filter'],
          ['b', undefined],
        ],
      )
      assert.match(client.headers?.['x-turnpike-route'] ?? '', /^a;.*outcome=content_filter, b;.*outcome=answered$/)
    })

    test(`${name}: a blocked answer is delivered if its switch is off, no model is left, or it has output`, async () => {
      const on = { overloaded: true, server_error: true, timeout: true, connection: true } as const
      const fallbackOn = { ...on, context_length: true, content_filter: false, unavailable: true }
      const cases: readonly (readonly [said: string, over: object, input: SendInput])[] = [
        ['', { models: ['b'] }, { settings: { ...PATIENT, fallbackOn } }],
        ['', {}, {}],
        ['Well', { models: ['b'] }, {}],
      ]
      for (const [said, over, input] of cases) {
        const scripts = { a: blocked(stream, said), b: good(stream) }
        const { error, hosts, records } = await send(bodyFor({ stream, ...over }), scripts, {
          incoming: { api },
          ...input,
        })
        assert.deepEqual([error, hosts.join(' ')], [undefined, 'a'])
        const { model, status, costNanoUsd } = only(records)
        assert.deepEqual([model, status, costNanoUsd >= BigInt(10 * 1000)], ['a', 'completed', true])
      }
    })
  }
}

test('if the models after a blocked one fail, the client gets their error and pays nothing', async () => {
  const { error, records, hosts } = await send(chat({ models: ['b'] }), { a: blocked(false), b: refusal(500) })
  assert.deepEqual([hosts.join(' '), error?.status, only(records).costNanoUsd], ['a b', 503, 0n])
})

test('the operator’s fallbacks answer if the request names none', async () => {
  const models = [modelAt('a', { fallbacks: ['b'] }), modelAt('b'), modelAt('c')]
  const scripts = { a: refusal(500), b: refusal(500), c: good(false) }
  assert.equal((await send(chat(), scripts, { models })).hosts.join(' '), 'a b')
  assert.equal((await send(chat({ models: ['c'] }), scripts, { models })).hosts.join(' '), 'a c')
})

test('`models` without `model` also names the first model, as in OpenRouter’s API', async () => {
  const body = { models: ['b', 'a'], route: 'fallback', messages: MESSAGES }
  const { hosts, records } = await send(body, { b: refusal(503), a: good(false) })
  assert.equal(hosts.join(' '), 'b a')
  assert.equal(only(records).model, 'a')
})

test('a list with an unknown model, or an empty one, is rejected with its path', async () => {
  const unknown = await send(chat({ models: ['b', 'zz'] }), {})
  assert.deepEqual([unknown.error?.status, unknown.error?.param], [400, 'models[1]'])
  assert.match(unknown.error?.message ?? '', /'zz'/)
  const none = await send({ models: [], messages: MESSAGES }, {})
  assert.deepEqual([none.error?.status, none.error?.param], [400, 'models'])
})

test('a request names at most 10 models [limit: requested-models]', async () => {
  const { error } = await send(chat({ models: Array.from({ length: 11 }, () => 'b') }), {})
  assert.deepEqual([error?.code, error?.param], ['out_of_range', 'models'])
})

test('the models of a key apply to every candidate', async () => {
  const caller = callerOf({ models: new Set(['a', 'c']) })
  const listed = await send(chat({ models: ['b'] }), {}, { incoming: { caller } })
  assert.deepEqual([listed.error?.code, listed.error?.param], ['model_not_allowed', 'models[0]'])
  const models = [modelAt('a', { fallbacks: ['b', 'c'] }), modelAt('b'), modelAt('c')]
  const configured = await send(chat(), { a: refusal(500), c: good(false) }, { models, incoming: { caller } })
  assert.equal(configured.hosts.join(' '), 'a c')
})

test('models without a price, of another kind, or past their shutdown are not fallbacks', async () => {
  const models = [
    modelAt('a', { fallbacks: ['b', 'c', 'd', 'e'] }),
    modelAt('b', { price: undefined, priceVersion: undefined }),
    modelAt('c', { kind: 'embedding' }),
    modelAt('d', { deprecationDate: '2020-01-01' }),
    modelAt('e', { deployments: [deployment('b')] }),
  ]
  const { hosts, client } = await send(chat(), { a: refusal(500), b: good(false) }, { models })
  assert.equal(hosts.join(' '), 'a b')
  assert.match(client.headers?.['x-turnpike-route'] ?? '', /^b;model="b-model";skipped=model_not_priced, a;/)
})

test('a model without a required capability is skipped; if all lack it, the first one’s error is returned', async () => {
  const capabilities = { streaming: true, function_calling: false, vision: false, json_mode: false }
  const models = [modelAt('a', { capabilities }), modelAt('b'), modelAt('c', { capabilities })]
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const { hosts, records, client } = await send(chat({ tools, models: ['b'] }), { b: good(false) }, { models })
  assert.equal(hosts.join(' '), 'b')
  assert.equal(only(records).model, 'b')
  assert.match(client.headers?.['x-turnpike-route'] ?? '', /^a;model="a-model";skipped=unsupported_parameter, b;/)
  const none = await send(chat({ tools, models: ['c'] }), {}, { models })
  assert.equal(none.error?.code, 'unsupported_parameter')
  assert.match(none.error?.message ?? '', /'a'/)
})

test('a model that cannot read PDF files or follow a schema is skipped with the reason', async () => {
  const models = [modelAt('a', { pdf: false, jsonSchema: false }), modelAt('b')]
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } }
  const schema = { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } }
  for (const [over, code] of [
    [{ messages: [{ role: 'user', content: [file] }] }, 'unsupported_content'],
    [{ response_format: schema }, 'unsupported_parameter'],
  ] as const) {
    const { hosts, client } = await send(chat({ ...over, models: ['b'] }), { b: good(false) }, { models })
    assert.equal(hosts.join(' '), 'b')
    assert.match(client.headers?.['x-turnpike-route'] ?? '', new RegExp(`^a;model="a-model";skipped=${code}, b;`))
    assert.equal((await send(chat(over), {}, { models })).error?.code, code)
  }
})

test('the hold covers the most expensive candidate, and each candidate receives a limit within it', async () => {
  const models = [modelAt('a', { maxOutputTokens: 4000 }), modelAt('b', { maxOutputTokens: 100 }), modelAt('c')]
  const { credit, bodies } = await send(
    chat({ models: ['b', 'c'] }),
    { a: refusal(500), b: refusal(500), c: good(false) },
    { models },
  )
  const [hold] = credit.holds
  const outputs = [4000 * 2000, 100 * 4000, 1000 * 6000]
  assert.ok(hold !== undefined && hold.amountNanoUsd >= BigInt(Math.max(...outputs)))
  assert.ok(hold.amountNanoUsd < BigInt(Math.max(...outputs) + 2_000_000), 'not the sum of maxima')
  assert.deepEqual(
    bodies.map((body) => body['max_tokens']),
    [4000, 100, 1000],
  )
})

test('candidates that credit does not cover are excluded or receive a lower limit', async () => {
  const models = [modelAt('a', { maxOutputTokens: 300 }), modelAt('z', { deployments: [deployment('b')] })]
  const scripts = { a: refusal(500), b: good(false) }
  // 300 tokens of a cost 600,000; of z 26 times as much.
  const poor = await send(chat({ models: ['z'], max_tokens: 300 }), scripts, {
    models,
    credit: fakeCredit({ nanoUsd: 1_500_000n }),
  })
  assert.equal(poor.hosts.join(' '), 'a')
  const richer = await send(chat({ models: ['z'] }), scripts, { models, credit: fakeCredit({ nanoUsd: 30_000_000n }) })
  assert.equal(richer.hosts.join(' '), 'a b')
  const limits = richer.bodies.map((body) => Number(body['max_tokens']))
  assert.equal(limits[0], 300)
  assert.ok((limits[1] ?? 0) >= 256 && (limits[1] ?? 0) * 52_000 <= 30_000_000, String(limits))
})

test('rate limits are reserved once, for the candidate with the most tokens', async () => {
  const worst: number[] = []
  const models = [modelAt('a', { maxOutputTokens: 50 }), modelAt('b', { maxOutputTokens: 700 })]
  const admit: NonNullable<PortsInput['admit']> = (_, worstTokens) => {
    worst.push(worstTokens())
    return { requests: undefined, tokens: undefined, release() {}, settle() {} }
  }
  const scripts = { a: refusal(500), b: good(false) }
  await send(chat({ models: ['b'] }), scripts, { models, admit })
  await send(chat({ model: 'b' }), scripts, { models, admit })
  assert.equal(worst.length, 2)
  assert.equal(worst[0], worst[1])
})

test('each model has its attempts, and the client receives the last failure', async () => {
  const { error, hosts } = await send(chat({ models: ['b'] }), { a: refusal(500), b: refusal(502) }, { maxAttempts: 2 })
  assert.equal(hosts.join(' '), 'a b a b')
  assert.equal(error?.status, 503)
})

test('a prompt that is too long for the first model is answered by one with a larger window', async () => {
  const models = [modelAt('a', { contextWindow: 1000 }), modelAt('b')]
  const messages = [{ role: 'user', content: 'word '.repeat(5000) }]
  const { hosts, client } = await send(
    { model: 'a', models: ['b'], messages },
    { b: good(false) },
    {
      models,
      countWhole: async (text) => Math.ceil(text.length / 5),
    },
  )
  assert.equal(hosts.join(' '), 'b')
  assert.match(client.headers?.['x-turnpike-route'] ?? '', /^a;model="a-model";skipped=context_length_exceeded, b;/)
})
