import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { RICH_PRICE } from '../../../test/support/providers/prices.ts'
import { GatewayError } from '../../domain/errors.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import { bedrockConverse } from './index.ts'

const FOLDER = join(import.meta.dirname, 'fixtures')
const codec = bedrockConverse()

interface Golden {
  readonly model: string
  readonly maxOutputTokens?: number
  /** As a client of the OpenAI API sends it. */
  readonly request: Readonly<Record<string, unknown>>
  readonly path?: string
  readonly body: unknown
  readonly warnings?: readonly string[]
}

for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.request.json'))) {
  test(`golden: ${file}`, () => {
    const golden: Golden = JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))
    const wire = codec.renderRequest(parseChatRequest(golden.request), {
      model: golden.model,
      maxOutputTokens: golden.maxOutputTokens,
      price: RICH_PRICE,
    })
    assert.deepEqual(JSON.parse(wire.body), golden.body)
    assert.deepEqual(wire.warnings, golden.warnings ?? [])
    if (golden.path !== undefined) assert.equal(wire.path, golden.path)
    const isStream = golden.request['stream'] === true
    assert.equal(wire.headers?.['accept'], isStream ? 'application/vnd.amazon.eventstream' : undefined)
  })
}

const HI = [{ role: 'user', content: 'Hi' }]
const TOOL = { type: 'function', function: { name: 'look' } }
const CALL = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }
const FORMAT = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } }
const NOVA = 'amazon.nova-lite-v1:0'

interface Refusal {
  readonly model?: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly code: string
  readonly param: string
}
const part = (content: unknown) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'See:' }, content] }],
})

const REFUSALS: readonly Refusal[] = [
  { fields: { logprobs: true }, code: 'unsupported_parameter', param: 'logprobs' },
  { fields: { logprobs: true, top_logprobs: 2 }, code: 'unsupported_parameter', param: 'logprobs' },
  { fields: { frequency_penalty: 1 }, code: 'unsupported_parameter', param: 'frequency_penalty' },
  { fields: { presence_penalty: -1 }, code: 'unsupported_parameter', param: 'presence_penalty' },
  { fields: { logit_bias: { 5: 1 } }, code: 'unsupported_parameter', param: 'logit_bias' },
  { fields: { modalities: ['text', 'audio'] }, code: 'unsupported_parameter', param: 'modalities' },
  { fields: { reasoning_effort: 'low' }, code: 'unsupported_parameter', param: 'reasoning_effort' },
  {
    fields: { tools: [TOOL], parallel_tool_calls: false },
    code: 'unsupported_parameter',
    param: 'parallel_tool_calls',
  },
  {
    model: 'anthropic.claude-opus-5-5',
    fields: { tools: [TOOL], tool_choice: 'required' },
    code: 'unsupported_parameter',
    param: 'tool_choice',
  },
  {
    fields: part({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
    code: 'unsupported_content',
    param: 'messages[0].content[1]',
  },
  {
    fields: part({ type: 'image_url', image_url: { url: 'data:image/tiff;base64,AAAA' } }),
    code: 'unsupported_content',
    param: 'messages[0].content[1]',
  },
  {
    fields: part({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    code: 'unsupported_content',
    param: 'messages[0].content[1]',
  },
  {
    fields: part({ type: 'file', file: { file_id: 'file-1' } }),
    code: 'unsupported_content',
    param: 'messages[0].content[1]',
  },
  {
    fields: part({ type: 'file', file: { file_data: 'data:video/mp4;base64,AAAA' } }),
    code: 'unsupported_content',
    param: 'messages[0].content[1]',
  },
  {
    fields: { messages: [...HI, { role: 'assistant', content: null, tool_calls: [CALL] }, ...HI], tools: [TOOL] },
    code: 'invalid_value',
    param: 'messages[1].tool_calls',
  },
  {
    fields: { messages: [...HI, { role: 'tool', tool_call_id: 'a', content: 'x' }], tools: [TOOL] },
    code: 'invalid_value',
    param: 'messages[1].tool_call_id',
  },
  {
    fields: { tools: [{ type: 'function', function: { name: 'turnpike_json_answer' } }], response_format: FORMAT },
    code: 'invalid_value',
    param: 'tools',
  },
]

for (const { model = NOVA, fields, code, param } of REFUSALS) {
  test(`refused with ${code} at ${param}: ${JSON.stringify(fields).slice(0, 90)}`, () => {
    const request = parseChatRequest({ model: 'm', messages: HI, ...fields })
    assert.throws(
      () => codec.renderRequest(request, { model, maxOutputTokens: undefined }),
      (error) => error instanceof GatewayError && error.code === code && error.param === param,
    )
  })
}

test('of more cache points than models take, the last four are kept', () => {
  const text = { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }
  const request = parseChatRequest({
    model: 'm',
    messages: [{ role: 'user', content: [text, text, text, text, text] }],
  })
  const wire = codec.renderRequest(request, { model: NOVA, maxOutputTokens: undefined })
  const kinds = JSON.parse(wire.body).messages[0].content.map((block: object) => Object.keys(block)[0])
  assert.equal(kinds.join(' '), 'text text cachePoint text cachePoint text cachePoint text cachePoint')
  assert.deepEqual(wire.warnings, ['prompt_cache_breakpoint'])
})

test('a model that rejects cache points gets none, and the marks are named', () => {
  const content = [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }]
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content }] })
  for (const [model, caches] of [
    ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
    ['anthropic.claude-3-haiku-20240307-v1:0', false],
    ['amazon.nova-pro-v1:0', true],
    ['us.meta.llama4-scout-17b-instruct-v1:0', false],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/x', true],
    ['arn:aws:bedrock:us-east-1::foundation-model/openai.gpt-oss-120b-1:0', false],
  ] as const) {
    const { body, warnings } = codec.renderRequest(request, { model, maxOutputTokens: undefined })
    assert.deepEqual(
      [body.includes('cachePoint'), warnings.includes('messages[].content[].cache_control')],
      [caches, !caches],
      model,
    )
  }
})

test('an id that comes again in a later turn is told apart, in call and result', () => {
  const round = [
    { role: 'assistant', content: null, tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'a', content: 'x' },
  ]
  const request = parseChatRequest({ model: 'm', messages: [...HI, ...round, ...round], tools: [TOOL] })
  const { messages } = JSON.parse(codec.renderRequest(request, { model: NOVA, maxOutputTokens: undefined }).body)
  const ids = messages.slice(1).map(({ content }: { content: Record<string, { toolUseId: string }>[] }) => {
    return Object.values(content[0] ?? {})[0]?.toolUseId
  })
  assert.deepEqual(ids, ['a', 'a', 'a_2', 'a_2'])
})

test('the answer tool is text to the client, whole and streamed', () => {
  const block = { toolUse: { toolUseId: 't', name: 'turnpike_json_answer', input: { n: 1 } } }
  const body = JSON.stringify({ output: { message: { content: [block] } }, stopReason: 'tool_use' })
  assert.deepEqual(codec.parseResponse(body), [
    { type: 'text', index: 0, text: '{"n":1}' },
    { type: 'finish', index: 0, reason: 'stop', raw: 'tool_use' },
  ])
  const parser = codec.streamParser()
  const events: unknown[] = []
  for (const [event, payload] of [
    [
      'contentBlockStart',
      { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'turnpike_json_answer' } } },
    ],
    ['contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '{"n":' } } }],
    ['contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '1}' } } }],
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: 'tool_use' }],
  ] as const) {
    parser.push({ event, data: JSON.stringify(payload) }, events as never[])
  }
  assert.deepEqual(events, [
    { type: 'text', index: 0, text: '{"n":' },
    { type: 'text', index: 0, text: '1}' },
    { type: 'finish', index: 0, reason: 'stop', raw: 'tool_use' },
  ])
})
