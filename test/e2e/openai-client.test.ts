/** Runs on one database: it is about the wire. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { model, oneModel, startGateway } from '../support/gateway.ts'
import {
  answerJson,
  answerStream,
  bodyOf,
  chunk,
  completion,
  counts,
  ordinary,
  textChunks,
  usageChunk,
} from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const provider = await startFakeProvider(ordinary)
const blind = { ...model('blind', 'up', 'up-blind'), capabilities: { streaming: true, function_calling: true } }
const config = oneModel(provider.url, {}, { models: [model('m1', 'up', 'up-model'), blind] })
const gateway = await startGateway({ config })
const key = await gateway.key()
const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
const messages = [{ role: 'user', content: 'hi' }] as const satisfies OpenAI.ChatCompletionMessageParam[]
after(async () => {
  await gateway.stop()
  await provider.close()
})

const weather: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}
const fragment = (index: number, part: object): object => ({ index, ...part })
const call = (id: string, city: string): object => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify({ city }) },
})

test('a plain completion has the contract’s form, under the requested ID', async () => {
  provider.answer(ordinary)
  const answer = await client.chat.completions.create({ model: 'm1', messages: [...messages] })
  assert.match(answer.id, /^chatcmpl-[0-9A-Za-z]{20,}$/)
  assert.equal(answer.object, 'chat.completion')
  assert.equal(answer.model, 'm1')
  assert.ok(Math.abs(answer.created - Date.now() / 1000) < 60)
  assert.equal(answer.choices.length, 1)
  assert.deepEqual(
    { ...answer.choices[0]?.message },
    { role: 'assistant', content: 'Hello from upstream', refusal: null },
  )
  assert.equal(answer.choices[0]?.finish_reason, 'stop')
  assert.deepEqual(
    [answer.usage?.prompt_tokens, answer.usage?.completion_tokens, answer.usage?.total_tokens],
    [10, 5, 15],
  )
  assert.ok(answer._request_id)
})

test('the provider is called under its own name and key, and receives nothing of the client', async () => {
  provider.answer(ordinary)
  await client.chat.completions.create({ model: 'm1', messages: [...messages] })
  const received = provider.calls.at(-1)
  assert.ok(received)
  assert.equal(received.path, '/v1/chat/completions')
  assert.equal(bodyOf(received).model, 'up-model')
  assert.equal(received.headers.authorization, 'Bearer sk-up')
  const names = Object.keys(received.headers)
  assert.deepEqual(
    names.filter((name) => name.startsWith('x-') || name === 'cookie'),
    [],
  )
  assert.ok(!JSON.stringify(received.rawHeaders).includes(key))
})

test('a stream arrives piece by piece and carries its usage on the finishing chunk', async () => {
  provider.answer(answerStream(textChunks(5)))
  const pieces: string[] = []
  const usages: unknown[] = []
  for await (const part of await client.chat.completions.create({
    model: 'm1',
    messages: [...messages],
    stream: true,
  })) {
    assert.equal(part.choices.length, 1)
    pieces.push(part.choices[0]?.delta.content ?? '')
    if (part.usage) usages.push([part.usage.total_tokens, part.choices[0]?.finish_reason])
  }
  assert.equal(pieces.join(''), 't0 t1 t2 t3 t4 ')
  assert.deepEqual(usages, [[15, 'stop']])
})

test('include_usage brings one last chunk without choices', async () => {
  provider.answer(answerStream(textChunks(3)))
  const stream = await client.chat.completions.create({
    model: 'm1',
    messages: [...messages],
    stream: true,
    stream_options: { include_usage: true },
  })
  const parts: OpenAI.ChatCompletionChunk[] = []
  for await (const part of stream) parts.push(part)
  assert.deepEqual(parts.at(-1)?.choices, [])
  assert.equal(parts.at(-1)?.usage?.completion_tokens, 3)
  assert.equal(parts.filter((part) => part.usage).length, 1)
})

test('the stream helper puts the same completion together as a plain call', async () => {
  provider.answer(answerStream(textChunks(5)))
  const final = await client.chat.completions.stream({ model: 'm1', messages: [...messages] }).finalChatCompletion()
  assert.equal(final.choices[0]?.message.content, 't0 t1 t2 t3 t4 ')
  assert.equal(final.choices[0]?.message.role, 'assistant')
  assert.equal(final.choices[0]?.finish_reason, 'stop')
  assert.equal(final.usage?.total_tokens, 15)
})

test('tools are sent to the provider unchanged, and calls come with null content', async () => {
  provider.answer(answerJson(completion({ content: null, tool_calls: [call('call_1', 'Oslo')] })))
  const answer = await client.chat.completions.create({
    model: 'm1',
    messages: [...messages],
    tools: [weather],
    tool_choice: 'required',
    parallel_tool_calls: false,
  })
  const received = bodyOf(provider.calls.at(-1) ?? assert.fail())
  assert.deepEqual(received.tools, [weather])
  assert.equal(received['tool_choice'], 'required')
  assert.equal(received['parallel_tool_calls'], false)
  assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
  assert.equal(answer.choices[0]?.message.content, null)
  assert.deepEqual(answer.choices[0]?.message.tool_calls, [call('call_1', 'Oslo')])
})

test('a conversation with tool calls and results goes back to the provider unchanged', async () => {
  provider.answer(ordinary)
  const conversation: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Weather in Oslo?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [call('call_1', 'Oslo') as OpenAI.ChatCompletionMessageFunctionToolCall],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'Rain' },
  ]
  await client.chat.completions.create({ model: 'm1', messages: conversation, tools: [weather] })
  assert.deepEqual(bodyOf(provider.calls.at(-1) ?? assert.fail()).messages, conversation)
})

test('parallel tool calls whose fragments interleave are reassembled by the SDKs of three APIs', async () => {
  const open = (index: number, id: string): object =>
    fragment(index, { id, type: 'function', function: { name: 'weather', arguments: '' } })
  const more = (index: number, text: string): object => fragment(index, { function: { arguments: text } })
  provider.answer(
    answerStream([
      chunk({ role: 'assistant', content: null }),
      chunk({ tool_calls: [open(0, 'call_a')] }),
      chunk({ tool_calls: [more(0, '{"city":')] }),
      chunk({ tool_calls: [open(1, 'call_b')] }),
      chunk({ tool_calls: [more(0, '"Oslo"}'), more(1, '{"city":"Rome"}')] }),
      chunk({}, 'tool_calls'),
      usageChunk(counts(20, 12)),
    ]),
  )
  const final = await client.chat.completions
    .stream({ model: 'm1', messages: [...messages], tools: [weather] })
    .finalChatCompletion()
  const calls = final.choices[0]?.message.tool_calls?.map((one) =>
    one.type === 'function' ? [one.id, one.function.arguments] : [],
  )
  assert.deepEqual(calls, [
    ['call_a', '{"city":"Oslo"}'],
    ['call_b', '{"city":"Rome"}'],
  ])
  assert.equal(final.choices[0]?.finish_reason, 'tool_calls')
  const { name, parameters } = weather.function
  const { output } = await client.responses
    .stream({
      model: 'm1',
      input: 'hi',
      tools: [{ type: 'function', name, parameters: parameters ?? null, strict: false }],
    })
    .finalResponse()
  assert.deepEqual(
    output.map((item) => (item.type === 'function_call' ? [item.call_id, item.arguments] : [])),
    calls,
  )
  const anthropic = new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0 })
  const input_schema = { type: 'object', ...parameters } as const
  const message = await anthropic.messages
    .stream({ model: 'm1', max_tokens: 100, messages: [...messages], tools: [{ name, input_schema }] })
    .finalMessage()
  assert.deepEqual(
    message.content.map((block) => (block.type === 'tool_use' ? [block.id, JSON.stringify(block.input)] : [])),
    calls,
  )
})

test('structured output is parsed by the SDK’s helper, whole and streamed', async () => {
  const shape = z.object({ city: z.string(), degrees: z.number() })
  const response_format = zodResponseFormat(shape, 'weather')
  const text = '{"city":"Oslo","degrees":-3}'
  provider.answer(answerJson(completion({ content: text })))
  const parsed = await client.chat.completions.parse({ model: 'm1', messages: [...messages], response_format })
  assert.deepEqual(parsed.choices[0]?.message.parsed, { city: 'Oslo', degrees: -3 })
  assert.deepEqual(
    bodyOf(provider.calls.at(-1) ?? assert.fail())['response_format'],
    JSON.parse(JSON.stringify(response_format)),
  )

  provider.answer(
    answerStream([chunk({ role: 'assistant' }), chunk({ content: text }), chunk({}, 'stop'), usageChunk(counts(1, 1))]),
  )
  const streamed = await client.chat.completions
    .stream({ model: 'm1', messages: [...messages], response_format })
    .finalChatCompletion()
  assert.deepEqual(streamed.choices[0]?.message.parsed, { city: 'Oslo', degrees: -3 })
})

test('an image as a data URL reaches the provider untouched', async () => {
  provider.answer(ordinary)
  const url = `data:image/png;base64,${Buffer.alloc(3000, 7).toString('base64')}`
  const content: OpenAI.ChatCompletionContentPart[] = [
    { type: 'text', text: 'What is it?' },
    { type: 'image_url', image_url: { url, detail: 'low' } },
  ]
  await client.chat.completions.create({ model: 'm1', messages: [{ role: 'user', content }] })
  assert.deepEqual(bodyOf(provider.calls.at(-1) ?? assert.fail()).messages, [{ role: 'user', content }])
})

for (const [name, script] of [
  [
    'whole',
    answerJson(
      completion(
        {},
        {
          choices: [0, 1].map((index) => ({
            index,
            message: { role: 'assistant', content: `c${index}` },
            finish_reason: 'stop',
          })),
        },
      ),
    ),
  ],
  [
    'streamed',
    answerStream([
      ...[0, 1].map((index) =>
        chunk({}, null, {
          choices: [{ index, delta: { role: 'assistant', content: `c${index}` }, finish_reason: null }],
        }),
      ),
      ...[1, 0].map((index) => chunk({}, null, { choices: [{ index, delta: {}, finish_reason: 'stop' }] })),
      usageChunk(counts(10, 4)),
    ]),
  ],
] as const) {
  test(`n: 2 returns two choices, ${name}`, async () => {
    provider.answer(script)
    const request = { model: 'm1', messages: [...messages], n: 2 }
    const answer =
      name === 'whole'
        ? await client.chat.completions.create(request)
        : await client.chat.completions.stream(request).finalChatCompletion()
    assert.deepEqual(
      answer.choices.map(({ index, message }) => [index, message.content]),
      [
        [0, 'c0'],
        [1, 'c1'],
      ],
    )
  })
}

test('a newcomer’s mistakes raise the SDK’s own exceptions, with code and param', async () => {
  provider.answer(ordinary)
  const before = provider.calls.length
  const chat = (body: object, by = client): Promise<unknown> =>
    by.chat.completions.create({
      model: 'm1',
      messages: [...messages],
      ...body,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming)
  const other = (apiKey: string): OpenAI => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  await assert.rejects(
    chat({ messages: [] }),
    (error) => error instanceof OpenAI.BadRequestError && error.param === 'messages',
  )
  await assert.rejects(
    chat({ messages: [{ content: 'x' }] }),
    (error) =>
      error instanceof OpenAI.BadRequestError && error.code === 'missing_field' && error.param === 'messages[0].role',
  )
  await assert.rejects(chat({}, other(`tp_${'a'.repeat(46)}`)), OpenAI.AuthenticationError)
  await assert.rejects(chat({}, other(await gateway.key('--scopes', 'models:read'))), OpenAI.PermissionDeniedError)
  await assert.rejects(client.models.retrieve('no-such-model'), OpenAI.NotFoundError)
  await assert.rejects(
    chat({ model: 'm2' }),
    (error) =>
      error instanceof OpenAI.UnprocessableEntityError && error.code === 'model_not_found' && /m1/.test(error.message),
  )
  const image = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }]
  await assert.rejects(
    chat({ model: 'blind', messages: [{ role: 'user', content: image }] }),
    (error) => error instanceof OpenAI.UnprocessableEntityError && error.param === 'messages[0].content[0]',
  )
  assert.equal(provider.calls.length, before, 'no provider was called')
})

test('INV-13: a limited key raises RateLimitError with a wait, which the SDK uses', async () => {
  provider.answer(ordinary)
  const limited = new OpenAI({
    apiKey: await gateway.key('--requests-per-minute', '2'),
    baseURL: `${gateway.url}/v1`,
    maxRetries: 0,
  })
  const ask = (): Promise<unknown> => limited.chat.completions.create({ model: 'm1', messages: [...messages] })
  await ask()
  await ask()
  const before = provider.calls.length
  await assert.rejects(ask(), (error) => {
    assert.ok(error instanceof OpenAI.RateLimitError)
    assert.equal(error.type, 'rate_limit_exceeded')
    assert.match(error.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
    assert.match(error.headers.get('retry-after-ms') ?? '', /^\d+$/)
    assert.equal(error.headers.get('x-ratelimit-limit-requests'), '2')
    assert.equal(error.headers.get('x-ratelimit-remaining-requests'), '0')
    assert.match(error.message, /try again in \d+ s/i)
    return true
  })
  assert.equal(provider.calls.length, before)
})

test('an error inside a stream is thrown as APIError out of the loop', async () => {
  provider.answer(async (_, reply) => {
    reply.head(200, { 'content-type': 'text/event-stream' })
    await reply.write(`data: ${JSON.stringify(chunk({ role: 'assistant', content: 'a' }))}\n\n`)
    reply.end('data: {broken\n\n')
  })
  const stream = await client.chat.completions.create({ model: 'm1', messages: [...messages], stream: true })
  const read = async (): Promise<void> => {
    for await (const part of stream) assert.equal(part.choices[0]?.finish_reason ?? null, null)
  }
  await assert.rejects(read(), (error) => error instanceof OpenAI.APIError && /incomplete/i.test(error.message))
})

test('models are listed and retrieved', async () => {
  const listed: string[] = []
  for await (const one of client.models.list()) listed.push(one.id)
  assert.ok(listed.includes('m1'))
  const one = await client.models.retrieve('m1')
  assert.deepEqual([one.id, one.object, one.owned_by], ['m1', 'model', 'up'])
  assert.ok(Number.isInteger(one.created))
})

for (const suffix of ['/v1', '/v1/', '', '/']) {
  test(`the base URL may end in "${suffix}"`, async () => {
    provider.answer(ordinary)
    const own = new OpenAI({ apiKey: key, baseURL: `${gateway.url}${suffix}`, maxRetries: 0 })
    const answer = await own.chat.completions.create({ model: 'm1', messages: [...messages] })
    assert.equal(answer.choices[0]?.message.content, 'Hello from upstream')
    assert.equal((await own.models.retrieve('m1')).id, 'm1')
    assert.ok((await own.models.list()).data.length > 0)
  })
}

test('the simulator serves the first request with no provider configured', async () => {
  const empty = await startGateway()
  try {
    const own = new OpenAI({ apiKey: await empty.key(), baseURL: `${empty.url}/v1`, maxRetries: 0 })
    const answer = await own.chat.completions.create({ model: 'turnpike-simulator', messages: [...messages] })
    assert.ok((answer.choices[0]?.message.content ?? '').length > 0)
    const streamed = await own.chat.completions
      .stream({ model: 'turnpike-simulator', messages: [...messages] })
      .finalChatCompletion()
    assert.equal(streamed.choices[0]?.message.content, answer.choices[0]?.message.content)
  } finally {
    assert.equal(await empty.stop(), 0)
  }
})
