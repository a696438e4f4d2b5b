/**
 * One client format, every wire format: the official SDK against fake providers that speak their own protocols.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { model, startGateway } from '../support/gateway.ts'
import { answerBytes, frame, SSE_HEAD } from '../support/providers/answers.ts'
import { type ProviderCall, startFakeProvider } from '../support/providers/fake-provider.ts'
import {
  answerNative,
  beginning,
  NATIVES,
  nativeProviders,
  refuseNative,
  type Said,
} from '../support/providers/native-answers.ts'
import { verifySignature } from '../support/providers/sigv4.ts'

const provider = await startFakeProvider(answerBytes({}, '', 500))
const natives = Object.entries(NATIVES)
const gateway = await startGateway({
  config: {
    providers: nativeProviders(provider.url),
    models: [
      ...natives.map(([name, native]) => model(name, name, native.model)),
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

type Request = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>
type Answer = OpenAI.ChatCompletion

const USER: OpenAI.ChatCompletionMessageParam = { role: 'user', content: 'Go on.' }
const WAYS = {
  whole: (body: Request): Promise<Answer> => client.chat.completions.create(body),
  streamed: (body: Request): Promise<Answer> =>
    client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion(),
} as const

const LOOK: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  },
}
const FULL: Said = {
  reasoning: 'First I think.',
  text: ['Hello ', 'wörld ', '👋'],
  promptTokens: 21,
  completionTokens: 9,
}
const CALLS: Said = {
  calls: [
    { id: 'call_one', name: 'look', input: { at: 'left' } },
    { id: 'call_two', name: 'look', input: { at: 'right', deep: { er: [1, 2] } } },
  ],
}

function lastCall(): ProviderCall {
  return provider.calls.at(-1) ?? assert.fail('no provider was called')
}

for (const [name, native] of natives) {
  for (const [way, ask] of Object.entries(WAYS)) {
    test(`${name}, ${way}: text, reasoning, usage and finish reason are the provider's`, async () => {
      provider.answer(answerNative(native, FULL))
      const answer = await ask({ model: name, messages: [USER] })
      const [choice] = answer.choices
      assert.equal(choice?.message.content, 'Hello wörld 👋')
      const { reasoning_content: reasoning } = (choice?.message ?? {}) as { reasoning_content?: string }
      assert.equal(reasoning, 'First I think.')
      assert.equal(choice?.finish_reason, 'stop')
      assert.deepEqual(
        [answer.usage?.prompt_tokens, answer.usage?.completion_tokens, answer.usage?.total_tokens],
        [21, 9, 30],
      )
      assert.match(answer.id, /^chatcmpl-[0-9A-Za-z]{20,}$/)
      assert.equal(answer.model, name)
      assert.equal(native.isStreamed(lastCall()), way === 'streamed')
    })

    test(`${name}, ${way}: parallel tool calls have their IDs and exact arguments`, async () => {
      provider.answer(answerNative(native, CALLS))
      const answer = await ask({ model: name, messages: [USER], tools: [LOOK] })
      assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
      const calls = answer.choices[0]?.message.tool_calls?.map((call) =>
        call.type === 'function' ? [call.id, call.function.name, call.function.arguments] : [],
      )
      assert.deepEqual(calls, [
        ['call_one', 'look', '{"at":"left"}'],
        ['call_two', 'look', '{"at":"right","deep":{"er":[1,2]}}'],
      ])
      assert.match(lastCall().body, /Looks\./)
    })

    test(`${name}, ${way}: an answer that was truncated reports it`, async () => {
      provider.answer(answerNative(native, { text: ['Hel'], isCut: true }))
      const answer = await ask({ model: name, messages: [USER], max_tokens: 5 })
      assert.equal(answer.choices[0]?.finish_reason, 'length')
      assert.equal(answer.choices[0]?.message.content, 'Hel')
    })
  }

  test(`${name}: an image as a data URL arrives`, async () => {
    provider.answer(answerNative(native, FULL))
    const data = Buffer.alloc(600, 7).toString('base64')
    const url = `data:image/png;base64,${data}`
    const content: OpenAI.ChatCompletionContentPart[] = [
      { type: 'text', text: 'What?' },
      { type: 'image_url', image_url: { url } },
    ]
    await client.chat.completions.create({ model: name, messages: [{ role: 'user', content }] })
    assert.ok(lastCall().body.includes(data))
  })

  test(`${name}: its rejection of the request reaches the client in its own words`, async () => {
    provider.answer(refuseNative(native, 400, 'The sky must be blue.'))
    for (const stream of [false, true]) {
      await assert.rejects(client.chat.completions.create({ model: name, messages: [USER], stream }), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError)
        assert.deepEqual([error.code, error.type], ['provider_rejected', 'invalid_request'])
        return /The sky must be blue\./.test(error.message)
      })
    }
  })

  for (const [status, code] of [
    [401, 'provider_credentials'],
    [429, 'provider_rate_limited'],
    [500, 'provider_error'],
  ] as const) {
    test(`${name}: its ${status} is our 503 with a wait, and reveals nothing of our account`, async () => {
      provider.answer(refuseNative(native, status, 'secret words'))
      const asked = client.chat.completions.create({ model: name, messages: [USER], stream: true })
      await assert.rejects(asked, (error) => {
        assert.ok(error instanceof OpenAI.InternalServerError)
        assert.deepEqual([error.status, error.code, error.type], [503, code, 'service_unavailable'])
        assert.match(error.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
        return !error.message.includes('secret')
      })
    })
  }

  test(`${name}: an error during a stream is thrown from the loop, after the output before it`, async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    provider.answer(async (_, reply) => {
      reply.head(200, { 'content-type': native.streamType })
      for (const piece of beginning(native, FULL)) await reply.write(piece)
      await promise
      reply.end(native.errorFrame('secret words'))
    })
    const seen: string[] = []
    const read = async (): Promise<void> => {
      const stream = await client.chat.completions.create({ model: name, messages: [USER], stream: true })
      for await (const { choices } of stream) {
        if (choices[0]?.delta.content) seen.push(choices[0].delta.content)
        assert.equal(choices[0]?.finish_reason, null)
        if (seen.length > 0) resolve()
      }
    }
    await assert.rejects(
      read(),
      (error) =>
        error instanceof OpenAI.APIError && /incomplete/.test(error.message) && !error.message.includes('secret'),
    )
    assert.ok('Hello wörld 👋'.startsWith(seen.join('')) && seen.length > 0)
  })
}

const ADDRESSES: Readonly<Record<string, readonly [whole: string, streamed: string]>> = {
  anthropic: ['/anthropic/v1/messages', '/anthropic/v1/messages'],
  google: [
    '/google/v1beta/models/gemini-2.5-flash:generateContent',
    '/google/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
  ],
  vertex: [
    '/vertex/v1/projects/project-1/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent',
    '/vertex/v1/projects/project-1/locations/europe-west4/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
  ],
  bedrock: [
    '/bedrock/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse',
    '/bedrock/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream',
  ],
  azure: [
    '/azure/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21',
    '/azure/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21',
  ],
  deepseek: ['/deepseek/chat/completions', '/deepseek/chat/completions'],
  responses: ['/responses/responses', '/responses/responses'],
}
const CREDENTIALS: Readonly<Record<string, readonly [header: string, value: string | RegExp]>> = {
  anthropic: ['x-api-key', 'sk-anthropic'],
  google: ['x-goog-api-key', 'google-key'],
  vertex: ['authorization', 'Bearer access-token'],
  bedrock: ['authorization', /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\//],
  azure: ['api-key', 'azure-key'],
  deepseek: ['authorization', 'Bearer sk-deepseek'],
  responses: ['authorization', 'Bearer sk-responses'],
}

for (const [name, native] of natives) {
  test(`${name}: is called at its address, with our credential, and receives nothing of the client's key`, async () => {
    provider.answer(answerNative(native, FULL))
    for (const [position, stream] of [false, true].entries()) {
      const asked = await client.chat.completions.create({ model: name, messages: [USER], stream })
      if (Symbol.asyncIterator in asked) for await (const _ of asked);
      const call = lastCall()
      assert.equal(call.path, ADDRESSES[name]?.[position])
      const [header, value] = CREDENTIALS[name] ?? assert.fail()
      const sent = String(call.headers[header])
      if (typeof value === 'string') assert.equal(sent, value)
      else assert.match(sent, value)
      assert.ok(!JSON.stringify(call.rawHeaders).includes(key) && !call.body.includes(key))
    }
  })
}

test('bedrock: the bytes that are sent are the ones that are signed', async () => {
  provider.answer(answerNative(NATIVES['bedrock'] ?? assert.fail(), FULL))
  await client.chat.completions.create({ model: 'bedrock', messages: [{ role: 'user', content: 'Grüße 👋' }] })
  const { path, body, headers } = lastCall()
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  verifySignature(
    { method: 'POST', path, headers: sent, body: Buffer.from(body) },
    { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret-key', region: 'eu-west-1', service: 'bedrock' },
  )
})

for (const [way, ask] of Object.entries(WAYS)) {
  test(`one model at two providers of different protocols: the second answers if the first is overloaded, ${way}`, async () => {
    const { anthropic, google } = NATIVES
    if (anthropic === undefined || google === undefined) return assert.fail()
    provider.answer((call, reply) =>
      call.path.startsWith('/anthropic')
        ? refuseNative(anthropic, 529)(call, reply)
        : answerNative(google, FULL)(call, reply),
    )
    const answer = await ask({ model: 'either', messages: [USER] })
    assert.equal(answer.choices[0]?.message.content, 'Hello wörld 👋')
    assert.equal(answer.model, 'either')
    assert.equal(answer.usage?.total_tokens, 30)
  })
}

test('anthropic: an overload in the first event of a stream has its status, and another provider is called', async () => {
  const { anthropic, google } = NATIVES
  if (anthropic === undefined || google === undefined) return assert.fail()
  provider.answer((call, reply) => {
    if (call.path.startsWith('/google')) return answerNative(google, FULL)(call, reply)
    reply.head(200, SSE_HEAD)
    reply.end(anthropic.errorFrame('Overloaded'))
  })
  await assert.rejects(
    client.chat.completions.create({ model: 'anthropic', messages: [USER], stream: true }),
    (error) => error instanceof OpenAI.InternalServerError && error.code === 'provider_error',
  )
  const answer = await WAYS.streamed({ model: 'either', messages: [USER] })
  assert.equal(answer.choices[0]?.message.content, 'Hello wörld 👋')
})

test('google: a prompt that was blocked is an answer without text, for its content', async () => {
  const blocked = {
    promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
    usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
  }
  provider.answer((call, reply) => {
    const isStreamed = call.path.includes('alt=sse')
    reply.head(200, isStreamed ? SSE_HEAD : { 'content-type': 'application/json' })
    reply.end(isStreamed ? frame(blocked) : JSON.stringify(blocked))
  })
  const answer = await client.chat.completions.create({ model: 'google', messages: [USER] })
  assert.equal(answer.choices[0]?.finish_reason, 'content_filter')
  assert.equal(answer.choices[0]?.message.content, '')
  const finishes: unknown[] = []
  for await (const { choices } of await client.chat.completions.create({
    model: 'google',
    messages: [USER],
    stream: true,
  })) {
    if (choices[0]?.finish_reason) finishes.push(choices[0].finish_reason)
  }
  assert.deepEqual(finishes, ['content_filter'])
})

/** Parameters that change no answer's meaning, and the names of those that each provider does not take. */
const HINTS = { user: 'someone', seed: 7, store: true, metadata: { a: 'b' }, service_tier: 'default' } as const
const DROPPED: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['metadata', 'seed', 'service_tier', 'store'],
  google: ['metadata', 'service_tier', 'store', 'user'],
  vertex: ['metadata', 'service_tier', 'store', 'user'],
  bedrock: ['metadata', 'seed', 'service_tier', 'store', 'user'],
  responses: ['seed', 'service_tier', 'store'],
}

for (const [name, dropped] of Object.entries(DROPPED)) {
  test(`${name}: every hint that was dropped is named in x-turnpike-warnings, and no other`, async () => {
    provider.answer(answerNative(NATIVES[name] ?? assert.fail(), FULL))
    for (const stream of [false, true]) {
      const { response } = await client.chat.completions
        .create({ model: name, messages: [USER], ...HINTS, stream })
        .withResponse()
      const warnings = (response.headers.get('x-turnpike-warnings') ?? '').split(', ')
      assert.deepEqual(warnings.toSorted(), dropped)
      await response.body?.cancel().catch(() => {})
    }
    const { response } = await client.chat.completions.create({ model: name, messages: [USER] }).withResponse()
    assert.equal(response.headers.get('x-turnpike-warnings'), null)
  })

  test(`${name}: a parameter that would change the answer and cannot be expressed is rejected before the provider is called`, async () => {
    const before = provider.calls.length
    const asked = client.chat.completions.create({ model: name, messages: [USER], logit_bias: { '5': 100 } })
    await assert.rejects(
      asked,
      (error) =>
        error instanceof OpenAI.UnprocessableEntityError &&
        error.param === 'logit_bias' &&
        error.code === 'unsupported_parameter',
    )
    assert.equal(provider.calls.length, before)
  })
}
