/**
 * Models that are called in OpenAI's Responses API, by the official SDK through the whole gateway: where each request goes,
 * and what it costs to the nano-dollar. Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { eventually, usageReport } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'
import { answerBytes, chunk, completion, frame, SSE_HEAD } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import {
  functionItem,
  messageItem,
  reasoningItem,
  refusalOf,
  responseEvents,
  responseFrames,
  responseOf,
} from '../support/providers/responses-fake.ts'

const provider = await startFakeProvider(answerBytes({}, '', 500))
const key = 'sk-openai'
const gateway = await startGateway({
  config: {
    providers: {
      openai: { api_key: key, base_url: `${provider.url}/v1`, on_disconnect: 'cancel' },
      plain: { kind: 'openai', protocol: 'openai', api_key: key, base_url: `${provider.url}/plain` },
    },
    models: [
      {
        id: 'ours',
        capabilities: { function_calling: true },
        pricing: { input_per_million: 1, output_per_million: 2 },
        deployments: [{ provider: 'openai', model: 'theirs', protocol: 'openai-responses' }],
      },
      {
        id: 'chat-alone',
        capabilities: { function_calling: true },
        pricing: { input_per_million: 1, output_per_million: 2 },
        deployments: [{ provider: 'plain', model: 'theirs', protocol: 'openai-responses' }],
      },
    ],
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
  },
})
after(async () => {
  await gateway.stop()
  await provider.close()
})

const ITEMS = [
  reasoningItem('rs_1', 'Hm.'),
  messageItem('msg_1', 'I look.'),
  functionItem('fc_1', { id: 'call_1', name: 'look', arguments: '{"at":"left"}' }),
]
const USAGE = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 400, cache_write_tokens: 100 },
  output_tokens: 200,
  output_tokens_details: { reasoning_tokens: 150 },
}

/** Answers in the API that it is called in, and refuses what that API refuses. */
const both: Script = async (call, reply) => {
  const body = JSON.parse(call.body)
  if (!call.path.endsWith('/responses')) {
    const usage = { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 }
    reply.head(200, body.stream ? SSE_HEAD : { 'content-type': 'application/json' })
    if (!body.stream) return reply.end(JSON.stringify(completion({ content: 'Hi' }, { usage })))
    for (const each of [chunk({ content: 'Hi' }), chunk({}, 'stop', { usage }), '[DONE]'])
      await reply.write(frame(each))
    return reply.end()
  }
  const refusal = refusalOf(body)
  reply.head(refusal === undefined ? 200 : 400, body.stream ? SSE_HEAD : { 'content-type': 'application/json' })
  if (refusal !== undefined) return reply.end(JSON.stringify({ error: { message: refusal } }))
  if (!body.stream) return reply.end(JSON.stringify({ ...responseOf(ITEMS), usage: USAGE }))
  const frames = responseEvents(ITEMS, {}, (text) => [...text]).map((event) =>
    event.type === 'response.completed' ? { ...event, response: { ...event.response, usage: USAGE } } : event,
  )
  for (const each of responseFrames(frames)) await reply.write(each)
  reply.end()
}
provider.answer(both)

const USER = { role: 'user', content: 'Go.' } as const
const TOOL: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } } } },
}
type Request = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>
const client = async (): Promise<OpenAI> =>
  new OpenAI({ apiKey: await gateway.keyOfNewAccount(), baseURL: `${gateway.url}/v1`, maxRetries: 0 })
const WAYS = {
  whole: (sdk: OpenAI, body: Request): Promise<OpenAI.ChatCompletion> => sdk.chat.completions.create(body),
  streamed: (sdk: OpenAI, body: Request): Promise<OpenAI.ChatCompletion> =>
    sdk.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion(),
} as const

for (const [way, ask] of Object.entries(WAYS)) {
  test(`a model of the catalogue is called in the Responses API and charged exactly, ${way}`, async () => {
    const sdk = await client()
    const answer = await ask(sdk, { model: 'gpt-6-astra', messages: [USER], tools: [TOOL] })
    const [choice] = answer.choices
    assert.equal(choice?.finish_reason, 'tool_calls')
    assert.equal(choice?.message.content, 'I look.')
    const [call] = choice?.message.tool_calls ?? []
    assert.deepEqual(call?.type === 'function' && call.function, { name: 'look', arguments: '{"at":"left"}' })
    const { path, headers, body } = provider.calls.at(-1) ?? assert.fail()
    assert.deepEqual([path, headers['authorization']], ['/v1/responses', `Bearer ${key}`])
    const sent = JSON.parse(body)
    assert.deepEqual([sent.model, sent.store, sent.include], ['gpt-6-astra', false, ['reasoning.encrypted_content']])
    assert.equal(answer.usage?.completion_tokens_details?.reasoning_tokens, 150)
    // 500 fresh at 10, 400 cached at 1, 100 written at 12.5, 200 of output at 50 dollars per million.
    const { cost } = answer.usage as unknown as { cost: number }
    assert.equal(cost, 0.016_65)
    const apiKey = String(sdk.apiKey)
    const report = await eventually(
      () => usageReport(gateway, apiKey),
      ({ total_tokens: tokens }) => tokens > 0,
    )
    assert.deepEqual([report.total_tokens, report.total_cost_usd], [1200, 0.016_65])
  })

  test(`a model that accepts tools only without reasoning is called where the request is supported, ${way}`, async () => {
    const sdk = await client()
    const pathOf = async (body: Partial<Request>): Promise<string | undefined> => {
      await ask(sdk, { model: 'gpt-5.4', messages: [USER], ...body })
      return provider.calls.at(-1)?.path
    }
    assert.equal(await pathOf({ tools: [TOOL] }), '/v1/responses')
    assert.equal(await pathOf({ tools: [TOOL], reasoning_effort: 'none' }), '/v1/chat/completions')
    assert.equal(await pathOf({}), '/v1/chat/completions')
    assert.equal(await pathOf({ tools: [TOOL], stop: ['END'] }), '/v1/chat/completions')
  })

  test(`a deployment of the operator’s own selects the protocol, ${way}`, async () => {
    await ask(await client(), { model: 'ours', messages: [USER] })
    assert.equal(provider.calls.at(-1)?.path, '/v1/responses')
  })

  test(`a provider with its own protocol uses it for every model, and the log reports it, ${way}`, async () => {
    await ask(await client(), { model: 'chat-alone', messages: [USER], tools: [TOOL] })
    assert.equal(provider.calls.at(-1)?.path, '/plain/chat/completions')
    // Lines of the log are written a moment later.
    const linesOf = async () =>
      gateway
        .output()
        .split('\n')
        .filter((line) => line.includes('protocol of a deployment ignored'))
    const warnings = await eventually(linesOf, ({ length }) => length > 0)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', /chat-alone/)
  })
}

test('searches at the provider are held for, limited, and charged one by one', async () => {
  const search = (type: string) => ({ type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type } })
  const cited = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 3 }
  const said = { ...messageItem('msg_1', ''), content: [{ type: 'output_text', text: 'Yes', annotations: [cited] }] }
  const items = [search('search'), search('open_page'), search('search'), said]
  provider.answer((_, reply) => {
    reply.head(200, { 'content-type': 'application/json' })
    reply.end(JSON.stringify({ ...responseOf(items), usage: USAGE }))
  })
  const tools = [{ type: 'web_search', max_uses: 4 }] as unknown as OpenAI.ChatCompletionTool[]
  const sdk = await client()
  const answer = await sdk.chat.completions.create({ model: 'gpt-6-luna', messages: [USER], tools })
  provider.answer(both)
  const sent = JSON.parse(provider.calls.at(-1)?.body ?? '')
  assert.deepEqual([sent.tools, sent.max_tool_calls], [[{ type: 'web_search' }], 4])
  assert.equal(answer.choices[0]?.message.annotations?.[0]?.url_citation.url, 'https://a.example')
  // 500 at 0.1, 400 cached at 0.01, 100 written at 0.125, 200 of output at 0.5 dollars per million, two searches at a cent.
  const { cost } = answer.usage as unknown as { cost: number }
  assert.equal(cost, 0.000_166_5 + 0.02)
})

test('a client that leaves amid a response ends the call, and is charged once', async () => {
  const ended = Promise.withResolvers<boolean>()
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    const events = responseFrames(responseEvents(ITEMS, {}, (text) => [...text]))
    for (const each of events.slice(0, -4)) await reply.write(each)
    ended.resolve(await reply.wait(60_000))
  })
  const sdk = await client()
  const stream = await sdk.chat.completions.create({ model: 'ours', messages: [USER], tools: [TOOL], stream: true })
  for await (const { choices } of stream) if (choices[0]?.delta.tool_calls) break
  assert.equal(await ended.promise, false, 'the caller has gone')
  provider.answer(both)
  const charged = await eventually(
    () => usageReport(gateway, String(sdk.apiKey)),
    ({ total_cost_usd: cost }) => cost > 0,
  )
  assert.equal(charged.breakdown_by_model.length, 1)
})
