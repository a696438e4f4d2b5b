/**
 * Messages to Anthropic: what the gateway does not understand passes unaltered in both directions, and what costs still
 * needs a price. Other protocols refuse what they cannot express, and name what they leave out. Runs on one database: it
 * is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { answerBytes, SSE_HEAD } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { answerNative, messageFrames, NATIVES, nativeProviders } from '../support/providers/native-answers.ts'

const NAMES = ['anthropic', 'azure'] as const
const provider = await startFakeProvider(answerBytes({}, '', 500))
const pricing = { input_per_million: 1, output_per_million: 2, server_tools: { tool_search_tool_regex: 0 } }
const gateway = await startGateway({
  config: {
    providers: nativeProviders(provider.url, NAMES),
    models: NAMES.map((name) => ({
      ...model(name, name, NATIVES[name]?.model ?? ''),
      max_output_tokens: 4000,
      ...(name === 'anthropic' && { pricing }),
    })),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1 },
  },
})
const key = await gateway.key()
const client = new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0 })
after(async () => {
  await gateway.stop()
  await provider.close()
})

type Body = Readonly<Record<string, unknown>>
const SAY: Record<string, Script> = Object.fromEntries(
  NAMES.map((name) => [name, answerNative(NATIVES[name] ?? assert.fail(), { text: ['Yes.'] })]),
)
const ask = (name: string, over: Body = {}): Body => ({
  model: name,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Go on.' }],
  ...over,
})

async function post(body: Body, headers: Readonly<Record<string, string>> = {}) {
  const answer = await send(gateway, '/v1/messages', { key, body, headers })
  return { ...answer, json: JSON.parse(answer.text) }
}

const lastCall = () => provider.calls.at(-1) ?? assert.fail('no provider was called')
const sent = () => JSON.parse(lastCall().body)

/** As clients of later versions of the API may send it. */
const CONVERSATION = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'container_upload', file_id: 'file_1' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I search.', citations: null },
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result', url: 'u' }] },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 }, caller: { type: 'direct' } },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Before.' },
      {
        type: 'tool_result',
        tool_use_id: 'toolu_1',
        is_error: true,
        cache_control: { type: 'ephemeral' },
        content: [{ type: 'tool_reference', tool_name: 'look' }],
      },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' }, citations: { enabled: true } },
    ],
  },
]
const TOOLS = [
  { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
  { name: 'look', input_schema: { type: 'object' }, defer_loading: true, cache_control: { type: 'ephemeral' } },
  { type: 'bash_20250124', name: 'bash' },
  { type: 'custom', name: 'write', input_schema: { type: 'object', x: 1 }, input_examples: [{ a: 1 }] },
]

test('blocks, tools, fields and beta headers reach Anthropic as the client wrote them', async () => {
  provider.answer(SAY['anthropic'] ?? assert.fail())
  const context = { edits: [{ type: 'clear_tool_uses_20250919', keep: { type: 'tool_uses', value: 3 } }] }
  const others = { context_management: context, some_new_field: { a: [1] } }
  const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }]
  const body = ask('anthropic', { messages: CONVERSATION, tools: TOOLS, system, ...others })
  const betas = 'context-management-2025-06-27,some-new-beta-2027-01-01'
  const { status, headers, text } = await post(body, { 'anthropic-beta': betas })
  assert.equal(status, 200, text)
  const received = sent()
  assert.deepEqual(received.messages, CONVERSATION)
  assert.deepEqual(received.tools, TOOLS)
  assert.deepEqual(received.system, system)
  assert.deepEqual([received.context_management, received.some_new_field], [context, { a: [1] }])
  assert.equal(lastCall().headers['anthropic-beta'], betas)
  assert.equal(headers['x-turnpike-warnings'], undefined)
})

test('a model of another protocol does not receive what it cannot express, and the answer names the omissions', async () => {
  provider.answer(SAY['azure'] ?? assert.fail())
  const before = provider.calls.length
  for (const [over, param] of [
    [{ messages: CONVERSATION }, 'messages[0].content[1].type'],
    [{ tools: [TOOLS[2]] }, 'tools[0].type'],
  ] as const) {
    const { status, json } = await post(ask('azure', over))
    assert.deepEqual([status, json.error.type, json.error.param], [400, 'invalid_request_error', param])
  }
  assert.equal(provider.calls.length, before)
  const { status, headers } = await post(
    ask('azure', {
      tools: [TOOLS[1]],
      context_management: { edits: [] },
      messages: [
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content: CONVERSATION[1]?.content.slice(0, 3) },
      ],
    }),
    { 'anthropic-beta': 'some-new-beta-2027-01-01' },
  )
  assert.equal(status, 200)
  const warnings = String(headers['x-turnpike-warnings']).split(', ')
  const left = ['context_management', 'tools[].defer_loading', 'tools[].cache_control']
  for (const name of [...left, 'messages[].content[].server_tool_use'])
    assert.ok(warnings.includes(name), String(warnings))
  assert.doesNotMatch(lastCall().body, /defer_loading|srvtoolu_1|context_management/)
  assert.equal(lastCall().headers['anthropic-beta'], undefined)
})

test('nothing that costs passes without a price', async () => {
  provider.answer(SAY['anthropic'] ?? assert.fail())
  const before = provider.calls.length
  for (const [over, param] of [
    [{ tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'some_new_tool_20270101', name: 'some_new_tool' }] }, 'tools[0].type'],
    [{ speed: 'fast' }, 'speed'],
    [{ inference_geo: 'us' }, 'inference_geo'],
    [{ mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'x' }] }, 'mcp_servers'],
    [{ some_new_field: { service_tier: 'priority' } }, 'some_new_field.service_tier'],
  ] as const) {
    const { status, json } = await post(ask('anthropic', over))
    assert.deepEqual([status, json.error.param], [400, param])
  }
  assert.equal(provider.calls.length, before)
  const long = { type: 'ephemeral', ttl: '1h' }
  const marked = { type: 'text', text: 'Go on.', cache_control: long }
  const nested = { type: 'document', source: { type: 'content', content: [marked] } }
  const content = [marked, nested, { type: 'some_new_block', content: [marked] }]
  const edits = [{ type: 'compact_20260112' }, { type: 'clear_thinking_20251015' }]
  const { status, headers } = await post(
    ask('anthropic', { messages: [{ role: 'user', content }], context_management: { edits } }),
  )
  assert.equal(status, 200)
  const plain = { ...marked, cache_control: { type: 'ephemeral' } }
  assert.deepEqual(sent().messages[0].content, [
    plain,
    { type: 'document', source: { type: 'content', content: [plain] } },
    { type: 'some_new_block', content: [plain] },
  ])
  assert.deepEqual(sent().context_management, { edits: edits.slice(1) })
  assert.match(String(headers['x-turnpike-warnings']), /cache_control\.ttl/)
  assert.match(String(headers['x-turnpike-warnings']), /context_management\.edits/)
})

const RESULT = {
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [{ type: 'web_search_result', url: 'https://example.com', title: 'T', encrypted_content: 'abc' }],
}
const CITATION = { type: 'web_search_result_location', url: 'https://example.com', title: 'T', cited_text: 'c' }
const USAGE = { input_tokens: 10, output_tokens: 5, server_tool_use: { web_search_requests: 1 } }
const CONTEXT = { applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 2 }] }
const BLOCKS = [
  { type: 'text', text: 'I search.', citations: null },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
  RESULT,
  { type: 'text', text: 'Found ', citations: null },
  { type: 'text', text: 'it.', citations: [CITATION] },
]

/** The deltas of these blocks, as the API streams them. */
function streamed(): string {
  const [start = '', ...rest] = messageFrames(
    BLOCKS.map(({ citations: _, ...block }: Body) =>
      block['type'] === 'server_tool_use' ? { ...block, input: {} } : block,
    ),
    { stopReason: 'end_turn', promptTokens: 10, completionTokens: 5 },
  )
  const delta = (index: number, value: object) =>
    `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index, delta: value })}\n\n`
  const frames = rest.flatMap((frame) => {
    if (/"type":"content_block_stop","index":1/.test(frame)) {
      return [delta(1, { type: 'input_json_delta', partial_json: '{"query":"x"}' }), frame]
    }
    if (/"type":"content_block_stop","index":4/.test(frame)) {
      return [delta(4, { type: 'citations_delta', citation: CITATION }), frame]
    }
    if (!frame.includes('"message_delta"')) return [frame]
    const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: USAGE, context_management: CONTEXT }
    return [`event: message_delta\ndata: ${JSON.stringify(end)}\n\n`]
  })
  return [start, ...frames].join('')
}

test('blocks of an answer that the gateway does not understand are carried to the client', async () => {
  const whole = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: BLOCKS,
    stop_reason: 'end_turn',
  }
  const body = JSON.stringify({ ...whole, usage: USAGE, context_management: CONTEXT })
  const request = ask('anthropic') as unknown as Anthropic.MessageCreateParamsNonStreaming
  provider.answer(answerBytes({ 'content-type': 'application/json' }, body))
  const plain = await client.messages.create(request)
  provider.answer(answerBytes(SSE_HEAD, streamed()))
  const stream = await client.messages.stream(request).finalMessage()
  for (const message of [plain, stream]) {
    assert.deepEqual(message.content, BLOCKS)
    assert.equal(message.stop_reason, 'end_turn')
    assert.deepEqual(message.usage.server_tool_use, USAGE.server_tool_use)
  }
  assert.deepEqual((plain as unknown as Body)['context_management'], CONTEXT)
  const { text } = await send(gateway, '/v1/messages', { key, body: { ...ask('anthropic'), stream: true } })
  assert.match(text, /"type":"message_delta".*"context_management":\{"applied_edits"/)
  const chat = await send(gateway, '/v1/chat/completions', { key, body: { ...ask('anthropic'), stream: true } })
  assert.match(chat.text, /"content":"I search\."/)
  assert.doesNotMatch(chat.text, /srvtoolu_1|encrypted_content/)
})

test('the hold covers parts without translation', async () => {
  const { json: few } = await countTokens([{ type: 'text', text: 'Look.' }])
  const blob = 'word '.repeat(2000)
  const { json: many } = await countTokens([
    { type: 'text', text: 'Look.' },
    { type: 'some_new_block', content: blob },
  ])
  assert.ok(many.input_tokens > few.input_tokens + 1500, `${few.input_tokens}, ${many.input_tokens}`)
})

async function countTokens(content: readonly object[]) {
  const body = { model: 'anthropic', messages: [{ role: 'user', content }] }
  const { text } = await send(gateway, '/v1/messages/count_tokens', { key, body })
  return { json: JSON.parse(text) }
}
