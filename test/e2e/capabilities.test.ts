/**
 * What a model cannot do is refused before any provider hears of it; what was bent for one is told.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { CHAT, send, usageReport } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { answerBytes } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import {
  answerNative,
  NATIVES,
  type Native,
  nativeProviders,
  refuseNative,
  type Said,
} from '../support/providers/native-answers.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'

const SAID: Said = {
  reasoning: 'Let me see.',
  text: ['All ', 'at once.'],
  promptTokens: 12,
  completionTokens: 7,
}
const provider = await startFakeProvider(answerBytes({}, '', 500))
const natives = Object.entries(NATIVES)

interface Capabilities {
  readonly streaming?: boolean
  readonly function_calling?: boolean
  readonly vision?: boolean
  readonly json_mode?: boolean
}

/** With every capability but those that are said. */
function variant(id: string, [name, native]: readonly [string, Native], lacks: Capabilities): object {
  const full = model(id, name, native.model)
  return { ...full, capabilities: { ...(full['capabilities'] as object), ...lacks } }
}

const TEXT_ONLY = { function_calling: false, vision: false, json_mode: false }
const gateway = await startGateway({
  config: {
    providers: nativeProviders(provider.url),
    models: [
      ...natives.flatMap((native) => [
        variant(`${native[0]}-text`, native, TEXT_ONLY),
        variant(`${native[0]}-whole`, native, { streaming: false }),
        variant(native[0], native, {}),
      ]),
      {
        ...model('either', 'anthropic', 'claude-sonnet-4-5'),
        deployments: [
          { provider: 'anthropic', model: 'claude-sonnet-4-5', priority: 0 },
          { provider: 'google', model: 'gemini-2.5-flash', priority: 1 },
        ],
      },
    ],
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 2, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
after(async () => {
  await gateway.stop()
  await provider.close()
})

type Message = OpenAI.ChatCompletionMessageParam
type Fields = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>

const USER: Message = { role: 'user', content: 'Go on.' }
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } } as const
const LOOK: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'look', parameters: { type: 'object', properties: {} } },
}
const SCHEMA = { name: 'thing', schema: { type: 'object', properties: {}, additionalProperties: false }, strict: true }
const THIRD: readonly Message[] = [USER, { role: 'assistant', content: 'Yes?' }]

const REFUSED: readonly (readonly [what: string, fields: Fields, param: string, code: string])[] = [
  [
    'an image',
    { messages: [...THIRD, { role: 'user', content: [{ type: 'text', text: 'This:' }, IMAGE] }] },
    'messages[2].content[1]',
    'unsupported_content',
  ],
  [
    'the first of several images',
    { messages: [{ role: 'user', content: [IMAGE, IMAGE] }, ...THIRD, { role: 'user', content: [IMAGE] }] },
    'messages[0].content[0]',
    'unsupported_content',
  ],
  ['tools', { tools: [LOOK] }, 'tools', 'unsupported_parameter'],
  ['tools that may not be called', { tools: [LOOK], tool_choice: 'none' }, 'tools', 'unsupported_parameter'],
  ['JSON mode', { response_format: { type: 'json_object' } }, 'response_format', 'unsupported_parameter'],
  [
    'a JSON schema',
    { response_format: { type: 'json_schema', json_schema: SCHEMA } },
    'response_format',
    'unsupported_parameter',
  ],
]

for (const [name] of natives) {
  for (const [what, fields, param, code] of REFUSED) {
    test(`${name}: ${what} for a model that does not support it is 422, and no provider is called`, async () => {
      const before = provider.calls.length
      for (const stream of [false, true]) {
        const asked = client.chat.completions.create({ model: `${name}-text`, messages: [USER], ...fields, stream })
        await assert.rejects(asked, (error) => {
          assert.ok(error instanceof OpenAI.UnprocessableEntityError)
          assert.deepEqual([error.type, error.param, error.code], ['unprocessable_entity', param, code])
          assert.equal(error.headers.get('x-should-retry'), 'false')
          assert.match(error.headers.get('content-type') ?? '', /^application\/json/)
          return error.message.includes(`${name}-text`)
        })
      }
      assert.equal(provider.calls.length, before)
    })
  }
}

/** The most stop sequences of one request, for each provider. */
const STOPS: Readonly<Record<string, number>> = {
  anthropic: 64,
  google: 5,
  vertex: 5,
  bedrock: 64,
  azure: 4,
  deepseek: 16,
  responses: 0,
}

for (const [name, native] of natives) {
  test(`${name}: the maximum of stop sequences is sent, one more is 422 or 400`, async () => {
    const limit = STOPS[name] ?? assert.fail(name)
    const stop = Array.from({ length: limit + 1 }, (_, index) => `END${index}`)
    provider.answer(answerNative(native, SAID))
    for (const stream of [false, true]) {
      const fields = { model: name, messages: [USER], stream }
      const sent = await send(gateway, CHAT, { key, body: { ...fields, stop: stop.slice(0, limit) } })
      assert.equal(sent.status, 200, sent.text)
      const { body } = provider.calls.at(-1) ?? assert.fail()
      assert.ok(limit === 0 || body.includes(JSON.stringify(stop.slice(0, limit))), body)
      const before = provider.calls.length
      await assert.rejects(
        client.chat.completions.create({ ...fields, stop }),
        (error) =>
          error instanceof OpenAI.APIError && error.param === 'stop' && error.status === (limit < 64 ? 422 : 400),
      )
      assert.equal(provider.calls.length, before)
    }
  })
}

test('rejected requests are not charged', async () => {
  const own = await gateway.keyOfNewAccount()
  const body = { model: 'anthropic-text', messages: [USER], tools: [LOOK] }
  assert.equal((await send(gateway, CHAT, { key: own, body })).status, 422)
  assert.equal((await usageReport(gateway, own)).total_tokens, 0)
})

test('a model without these capabilities accepts every request that needs none of them', async () => {
  provider.answer(answerNative(NATIVES['anthropic'] ?? assert.fail(), SAID))
  const content = [{ type: 'text' as const, text: 'In parts.' }]
  for (const fields of [
    { response_format: { type: 'text' as const } },
    { messages: [{ role: 'user' as const, content }] },
  ]) {
    const answer: OpenAI.ChatCompletion = await client.chat.completions.create({
      model: 'anthropic-text',
      messages: [USER],
      ...fields,
    })
    assert.equal(answer.choices[0]?.message.content, 'All at once.')
  }
})

for (const [name, native] of natives) {
  const id = `${name}-whole`

  test(`${name}: a model that cannot stream answers a streaming client with a correct stream`, async () => {
    provider.answer(answerNative(native, SAID))
    for (const includeUsage of [false, true]) {
      const options = includeUsage ? { stream_options: { include_usage: true } } : {}
      const body = { model: id, messages: [USER], stream: true, ...options }
      const answer = await send(gateway, CHAT, { key, body })
      assert.match(answer.headers['content-type'] ?? '', /^text\/event-stream/)
      const stream = readStream(answer.text)
      assertWireRules(stream, { model: id, includeUsage })
      const { content, reasoning, finishReason } = assemble(stream)
      assert.deepEqual([content, reasoning, finishReason], ['All at once.', 'Let me see.', 'stop'])
      assert.deepEqual(stream.chunks.at(-1)?.usage?.total_tokens, 19)
      const call = provider.calls.at(-1) ?? assert.fail()
      assert.equal(native.isStreamed(call), false, 'the provider was not asked for a stream')
    }
  })

  test(`${name}: the SDK's stream helper reads its tool calls`, async () => {
    const calls = ['a', 'b'].map((each) => ({ id: `call_${each}`, name: 'look', input: { at: each } }))
    provider.answer(answerNative(native, { calls }))
    const asked = { model: id, messages: [USER], tools: [LOOK] }
    const final = await client.chat.completions.stream(asked).finalChatCompletion()
    assert.equal(final.choices[0]?.finish_reason, 'tool_calls')
    assert.deepEqual(
      final.choices[0]?.message.tool_calls?.map(
        (call) => call.type === 'function' && [call.id, call.function.arguments],
      ),
      [
        ['call_a', '{"at":"a"}'],
        ['call_b', '{"at":"b"}'],
      ],
    )
  })

  test(`${name}: its failure is a status, not a stream`, async () => {
    provider.answer(refuseNative(native, 400, 'No.'))
    const body = { model: id, messages: [USER], stream: true }
    const answer = await send(gateway, CHAT, { key, body })
    assert.equal(answer.status, 400)
    assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
  })
}

test('a model that cannot stream delivers several choices as a stream, each complete and in order', async () => {
  provider.answer(answerNative(NATIVES['google'] ?? assert.fail(), SAID))
  const final = await client.chat.completions
    .stream({ model: 'google-whole', messages: [USER], n: 3 })
    .finalChatCompletion()
  assert.deepEqual(
    final.choices.map(({ index, message }) => [index, message.content]),
    [0, 1, 2].map((index) => [index, 'All at once.']),
  )
  assert.equal(final.usage?.total_tokens, 57)
})

const BENT: readonly (readonly [name: string, fields: Fields, warnings: readonly string[]])[] = [
  ['anthropic', { temperature: 1.7 }, ['temperature']],
  ['anthropic', { reasoning_effort: 'high', max_tokens: 1000 }, ['reasoning_effort']],
  ['bedrock', { temperature: 1.7, seed: 1 }, ['seed', 'temperature']],
  ['google', { seed: 2 ** 40, parallel_tool_calls: false, tools: [LOOK] }, ['parallel_tool_calls', 'seed']],
  ['deepseek', { user: 'someone', metadata: { a: 'b' }, seed: 3 }, ['metadata', 'seed', 'user']],
  ['anthropic', { temperature: 0.5, max_tokens: 900, stop: 'END' }, []],
]

for (const [name, fields, warnings] of BENT) {
  const what = Object.keys(fields).join(', ')
  test(`${name}: ${what}: x-turnpike-warnings names ${warnings.join(', ') || 'nothing'}, whole and streamed`, async () => {
    provider.answer(answerNative(NATIVES[name] ?? assert.fail(), SAID))
    for (const stream of [false, true]) {
      const body = { model: name, messages: [USER], ...fields, stream }
      const { headers, status, text } = await send(gateway, CHAT, { key, body })
      assert.equal(status, 200, text)
      const told = headers['x-turnpike-warnings']?.split(', ').toSorted() ?? []
      assert.deepEqual(told, warnings)
    }
  })
}

test('the warnings are those of the provider that answered', async () => {
  const { anthropic, google } = NATIVES
  if (anthropic === undefined || google === undefined) return assert.fail()
  const body = { model: 'either', messages: [USER], seed: 5, user: 'someone' }
  provider.answer(answerNative(anthropic, SAID))
  const first = await send(gateway, CHAT, { key, body })
  assert.deepEqual([first.headers['x-turnpike-provider'], first.headers['x-turnpike-warnings']], ['anthropic', 'seed'])
  provider.answer((call, reply) =>
    call.path.startsWith('/anthropic')
      ? refuseNative(anthropic, 529)(call, reply)
      : answerNative(google, SAID)(call, reply),
  )
  const second = await send(gateway, CHAT, { key, body })
  assert.deepEqual([second.headers['x-turnpike-provider'], second.headers['x-turnpike-warnings']], ['google', 'user'])
})
