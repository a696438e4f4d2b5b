/**
 * Anthropic's Messages API: the official SDK against fake providers that each speak their own protocol. Runs on one
 * database: it is about the wire, but for the ledger's rows, which are the same as those of chat completions.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { eventually, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { everyRow, type UsageRow } from '../support/ledger/money.ts'
import { answerBytes } from '../support/providers/answers.ts'
import { type ProviderCall, startFakeProvider } from '../support/providers/fake-provider.ts'
import {
  answerNative,
  beginning,
  messageFrames,
  NATIVES,
  nativeProviders,
  refuseNative,
  type Said,
} from '../support/providers/native-answers.ts'

const provider = await startFakeProvider(answerBytes({}, '', 500))
const natives = Object.entries(NATIVES)
const gateway = await startGateway({
  config: {
    providers: nativeProviders(provider.url),
    models: natives.map(([name, native]) => ({
      ...model(name, name, native.model),
      max_output_tokens: 4000,
      aliases: [`claude-${name}`],
    })),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
const client = new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0 })
after(async () => {
  await gateway.stop()
  await provider.close()
})

type Request = Anthropic.MessageCreateParamsNonStreaming

const USER: Anthropic.MessageParam = { role: 'user', content: 'Go on.' }
const WAYS = {
  whole: (body: Request): Promise<Anthropic.Message> => client.messages.create(body),
  streamed: (body: Request): Promise<Anthropic.Message> => client.messages.stream(body).finalMessage(),
} as const
const LOOK: Anthropic.Tool = {
  name: 'look',
  description: 'Looks.',
  input_schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
}
const FULL: Said = { reasoning: 'First I think.', text: ['Hello ', 'wörld'], promptTokens: 21, completionTokens: 9 }
const CALLS: Said = {
  text: ['I look.'],
  calls: [
    { id: 'call_one', name: 'look', input: { at: 'left' } },
    { id: 'call_two', name: 'look', input: { at: 'right', deep: [1, 2] } },
  ],
}

function ask(name: string, over: Partial<Request> = {}): Request {
  return { model: name, max_tokens: 2000, messages: [USER], ...over }
}

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

function lastCall(): ProviderCall {
  return provider.calls.at(-1) ?? assert.fail('no provider was called')
}

for (const [name, native] of natives) {
  for (const [way, create] of Object.entries(WAYS)) {
    test(`${name}, ${way}: text, thinking, usage and stop reason are the provider's`, async () => {
      provider.answer(answerNative(native, FULL))
      // The Responses API has no stop sequences.
      const stops = name === 'responses' ? {} : { stop_sequences: ['END'] }
      const message = await create(ask(name, { system: 'Be brief.', ...stops }))
      assert.equal(textOf(message), 'Hello wörld')
      assert.deepEqual(
        [message.type, message.role, message.model, message.stop_reason],
        ['message', 'assistant', name, 'end_turn'],
      )
      assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [21, 9])
      assert.match(message.id, /^msg_\w+$/)
      const [first] = message.content
      if (first?.type === 'thinking') assert.equal(first.thinking, 'First I think.')
    })

    test(`${name}, ${way}: tool calls arrive as blocks, and their results reach the provider`, async () => {
      provider.answer(answerNative(native, CALLS))
      const request = ask(name, { tools: [LOOK], tool_choice: { type: 'auto' } })
      const message = await create(request)
      assert.equal(message.stop_reason, 'tool_use')
      const calls = message.content.filter((block) => block.type === 'tool_use')
      assert.deepEqual(
        calls.map((call) => [call.name, call.input]),
        [
          ['look', { at: 'left' }],
          ['look', { at: 'right', deep: [1, 2] }],
        ],
      )
      provider.answer(answerNative(native, FULL))
      const results = calls.map(({ id }, at) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: [{ type: 'text' as const, text: `result ${at}` }],
        is_error: at === 1,
      }))
      const { content } = message
      const next = await create({
        ...request,
        messages: [
          USER,
          { role: 'assistant', content },
          { role: 'user', content: [...results, { type: 'text', text: 'Well?' }] },
        ],
      })
      assert.equal(textOf(next), 'Hello wörld')
      const sent = lastCall().body
      const failed = name === 'anthropic' ? '"is_error":true' : 'Error: result 1'
      for (const piece of ['result 0', failed, 'Well?']) assert.ok(sent.includes(piece), piece)
    })

    test(`${name}, ${way}: an answer that is cut off ends with max_tokens`, async () => {
      provider.answer(answerNative(native, { ...FULL, isCut: true }))
      assert.equal((await create(ask(name))).stop_reason, 'max_tokens')
    })

    test(`${name}, ${way}: an error of the provider raises the SDK's own`, async () => {
      provider.answer(refuseNative(native, 429, 'Slow down.'))
      const fault = await create(ask(name)).then(
        () => assert.fail('answered'),
        (error: unknown) => error,
      )
      assert.ok(fault instanceof Anthropic.APIError, String(fault))
      assert.ok([429, 529].includes(fault.status ?? 0), String(fault.status))
    })
  }

  test(`${name}: a stream that breaks off raises an error, and no message_stop follows`, async () => {
    provider.answer(async (_, reply) => {
      reply.head(200, { 'content-type': native.streamType })
      for (const piece of beginning(native, FULL)) await reply.write(piece)
      reply.end(native.errorFrame('Broken.'))
    })
    const { text } = await send(gateway, '/v1/messages', { key, body: { ...ask(name), stream: true } })
    assert.match(text, /event: message_start\n/)
    assert.match(text, /event: error\ndata: \{"type":"error"/)
    assert.doesNotMatch(text, /message_stop/)
  })
}

test('thinking of Anthropic keeps its signature and is returned to it', async () => {
  const native = NATIVES['anthropic'] ?? assert.fail()
  for (const create of Object.values(WAYS)) {
    provider.answer(answerNative(native, { ...CALLS, reasoning: 'First I think.' }))
    const request = ask('anthropic', { tools: [LOOK], thinking: { type: 'enabled', budget_tokens: 1024 } })
    const { content } = await create(request)
    assert.deepEqual(content[0], { type: 'thinking', thinking: 'First I think.', signature: 'c2lnbmVk' })
    const results = content.flatMap((block) =>
      block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'seen' }] : [],
    )
    await create({ ...request, messages: [USER, { role: 'assistant', content }, { role: 'user', content: results }] })
    const { messages, thinking } = JSON.parse(lastCall().body)
    assert.deepEqual(messages[1].content[0], content[0])
    assert.deepEqual(thinking, { type: 'enabled', budget_tokens: 1024 })
  }
})

test('the prompt cache: marks reach Anthropic, and cached tokens are reported apart', async () => {
  provider.answer(
    answerBytes(
      { 'content-type': 'application/json' },
      JSON.stringify({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [{ type: 'text', text: 'Yes.' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 3 },
      }),
    ),
  )
  const system = [{ type: 'text' as const, text: 'Long.', cache_control: { type: 'ephemeral' as const } }]
  const { usage } = await client.messages.create(ask('anthropic', { system }))
  assert.deepEqual(
    [usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens],
    [5, 100, 20, 3],
  )
  assert.deepEqual(JSON.parse(lastCall().body).system, system)
})

test('errors have the shape of the API, and raise its exceptions', async () => {
  const before = provider.calls.length
  const faults: readonly [() => Promise<unknown>, unknown, string][] = [
    [
      () => new Anthropic({ apiKey: 'tp_wrong', baseURL: gateway.url, maxRetries: 0 }).messages.create(ask('azure')),
      Anthropic.AuthenticationError,
      'authentication_error',
    ],
    [() => client.messages.create(ask('no-such-model')), Anthropic.NotFoundError, 'not_found_error'],
    [() => client.messages.create(ask('azure', { messages: [] })), Anthropic.BadRequestError, 'invalid_request_error'],
    [
      () => client.messages.create({ ...ask('azure'), max_tokens: 0 }),
      Anthropic.BadRequestError,
      'invalid_request_error',
    ],
  ]
  for (const [act, Kind, type] of faults) {
    const fault = await act().then(
      () => assert.fail('answered'),
      (error: unknown) => error,
    )
    assert.ok(fault instanceof (Kind as typeof Anthropic.APIError), String(fault))
    const body = fault.error as {
      readonly type: string
      readonly error: { readonly type: string }
      readonly request_id: string
    }
    assert.deepEqual([body.type, body.error.type], ['error', type])
    assert.match(body.request_id, /^req_/)
    assert.equal(fault.requestID, body.request_id)
  }
  assert.equal(provider.calls.length, before)
})

test('tokens are counted without a provider, and models are listed in the form of the API', async () => {
  const before = provider.calls.length
  const { input_tokens: few } = await client.messages.countTokens({ model: 'azure', messages: [USER] })
  const long = { role: 'user' as const, content: 'word '.repeat(1000) }
  const { input_tokens: many } = await client.messages.countTokens({ model: 'azure', messages: [long] })
  assert.ok(few > 0 && few < 30 && many > 900 && many < 1500, `${few}, ${many}`)
  assert.equal(provider.calls.length, before)
  const listed = await client.models.list()
  assert.deepEqual(
    listed.data.filter(({ id }) => id === 'azure').map(({ type }) => type),
    ['model'],
  )
  const { text } = await send(gateway, '/v1/models', { key, headers: { 'anthropic-version': '2023-06-01' } })
  const page = JSON.parse(text)
  assert.deepEqual(Object.keys(page).sort(), ['data', 'first_id', 'has_more', 'last_id'])
  assert.deepEqual(
    [page.has_more, page.first_id, page.last_id, typeof page.data[0].display_name],
    [false, page.data[0].id, page.data.at(-1).id, 'string'],
  )
})

test('a request with an Idempotency-Key is answered once', async () => {
  const native = NATIVES['anthropic'] ?? assert.fail()
  provider.answer(answerNative(native, FULL))
  for (const stream of [false, true]) {
    const call = { key, body: { ...ask('anthropic'), stream }, headers: { 'idempotency-key': `once-${stream}` } }
    const before = provider.calls.length
    const first = await send(gateway, '/v1/messages', call)
    const second = await send(gateway, '/v1/messages', call)
    assert.equal(first.status, 200)
    assert.equal(second.text, first.text)
    assert.equal(second.headers['idempotent-replayed'], 'true')
    assert.equal(provider.calls.length - before, 1)
    const other = await send(gateway, '/v1/messages', { ...call, body: { ...ask('anthropic'), stream, max_tokens: 7 } })
    assert.equal(other.status, 409, other.text)
    assert.equal(JSON.parse(other.text).type, 'error')
  }
})

test('usage and charge are the same as for a chat completion', async () => {
  const native = NATIVES['anthropic'] ?? assert.fail()
  provider.answer(answerNative(native, FULL))
  const own = await gateway.key()
  const paid = await send(gateway, '/v1/messages', { key: own, body: ask('anthropic') })
  const chat = { model: 'anthropic', max_tokens: 2000, messages: [USER] }
  const reference = await send(gateway, '/v1/chat/completions', { key: own, body: chat })
  for (const name of ['x-turnpike-cost-usd', 'x-turnpike-route'])
    assert.equal(paid.headers[name], reference.headers[name], name)
  assert.match(paid.headers['request-id'] ?? '', /^req_/)
  assert.equal(paid.headers['x-request-id'], paid.headers['request-id'])
  assert.equal(JSON.parse(paid.text).usage.cost, JSON.parse(reference.text).usage.cost)
  const rows = await eventually(
    () => everyRow<UsageRow>(gateway, own, '/v1/usage/completions'),
    (found) => [paid, reference].every(({ text }) => found.some(({ id }) => isRowOf(id, text))),
  )
  const [one, other] = [paid, reference].map(
    ({ text }) => rows.find(({ id }) => isRowOf(id, text)) ?? assert.fail(text),
  )
  const figures = ({ status, prompt_tokens, completion_tokens, cost_usd }: UsageRow = assert.fail()) => [
    status,
    prompt_tokens,
    completion_tokens,
    cost_usd,
  ]
  assert.deepEqual(figures(one), figures(other))
})

/** Whether an answer of either API is that of the row: their ids differ in the prefix. */
function isRowOf(rowId: string, answer: string): boolean {
  return JSON.parse(answer).id.slice(-22) === rowId.slice(-22)
}

test('a cache mark on the result of a tool reaches Anthropic on that result', async () => {
  provider.answer(answerNative(NATIVES['anthropic'] ?? assert.fail(), FULL))
  const control = { type: 'ephemeral' as const }
  const results = [{ type: 'tool_result' as const, tool_use_id: 'toolu_1', content: 'seen', cache_control: control }]
  const call = { type: 'tool_use' as const, id: 'toolu_1', name: 'look', input: { at: 'left' } }
  const messages = [USER, { role: 'assistant' as const, content: [call] }, { role: 'user' as const, content: results }]
  await client.messages.create(ask('anthropic', { tools: [LOOK], messages }))
  const [sent] = JSON.parse(lastCall().body).messages.at(-1).content
  assert.deepEqual([sent.type, sent.cache_control], ['tool_result', control])
  assert.ok(!JSON.stringify(sent.content).includes('cache_control'))
})

test('an alias that begins with claude- is listed, and reaches the model of any provider', async () => {
  const listed = (await client.models.list({ limit: 1000 })).data.map(({ id }) => id)
  for (const [name, native] of natives) {
    provider.answer(answerNative(native, FULL))
    const { model: named, content } = await client.messages.create(ask(`claude-${name}`))
    assert.deepEqual([named, content.some(({ type }) => type === 'text')], [`claude-${name}`, true])
    assert.match(lastCall().path, new RegExp(`^/${name}/`))
    assert.ok(listed.includes(`claude-${name}`), listed.join(', '))
  }
})

test('HEAD / answers 200, by which clients check that the gateway runs', async () => {
  const answer = await fetch(gateway.url, { method: 'HEAD', redirect: 'manual' })
  assert.deepEqual([answer.status, await answer.text()], [200, ''])
  const page = await fetch(gateway.url, { redirect: 'manual' })
  assert.deepEqual([page.status, page.headers.get('location')], [302, '/app/'])
})

test('a stream begins with the provider\u2019s count of the prompt, or else with an estimate', async () => {
  for (const [name, native] of natives) {
    provider.answer(answerNative(native, FULL))
    const { text } = await send(gateway, '/v1/messages', { key, body: { ...ask(name), stream: true } })
    const { message } = JSON.parse(/event: message_start\ndata: (.*)/.exec(text)?.[1] ?? assert.fail(text))
    assert.ok(message.usage.input_tokens > 0, JSON.stringify(message.usage))
    if (name === 'anthropic') assert.equal(message.usage.input_tokens, 21)
  }
})

const CUT_BY: readonly [name: string, choice: object, expected: readonly (string | null)[]][] = [
  ['azure', { finish_reason: 'stop', stop_reason: 'END' }, ['stop_sequence', 'END']],
  ['azure', { finish_reason: 'stop', text: 'Yes STOP' }, ['stop_sequence', 'STOP']],
  ['azure', { finish_reason: 'stop' }, ['end_turn', null]],
]

test('the stop sequence is named where the provider or the text names it', async () => {
  const request = (name: string) => ask(name, { stop_sequences: ['END', 'STOP'] })
  for (const [name, { text = 'Yes', ...choice }, expected] of CUT_BY as readonly [
    string,
    { text?: string },
    unknown,
  ][]) {
    provider.answer(
      answerBytes(
        { 'content-type': 'application/json' },
        JSON.stringify({
          id: 'c',
          choices: [{ index: 0, message: { role: 'assistant', content: text }, ...choice }],
          usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
        }),
      ),
    )
    const { stop_reason: reason, stop_sequence: sequence } = await client.messages.create(request(name))
    assert.deepEqual([reason, sequence], expected)
  }
  const end = { stopReason: 'stop_sequence', promptTokens: 3, completionTokens: 2 }
  const [first = '', ...frames] = messageFrames([{ type: 'text', text: 'Yes' }], end)
  const named = frames.map((frame) => frame.replace('"stop_reason":"stop_sequence"', '$&,"stop_sequence":"END"'))
  provider.answer(answerBytes({ 'content-type': 'text/event-stream' }, [first, ...named].join('')))
  const streamed = await client.messages.stream(request('anthropic')).finalMessage()
  assert.deepEqual([streamed.stop_reason, streamed.stop_sequence], ['stop_sequence', 'END'])
})
