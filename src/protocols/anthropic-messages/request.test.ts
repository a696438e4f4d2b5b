import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { RICH_PRICE } from '../../../test/support/providers/prices.ts'
import type { ChatMessage, ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import { anthropicMessages } from './index.ts'

const codec = anthropicMessages()
const FIXTURES = join(import.meta.dirname, 'fixtures')

interface Golden {
  readonly warnings: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly maxOutputTokens?: number
  readonly body: unknown
}

function readJson<Shape>(file: string): Shape {
  return JSON.parse(readFileSync(join(FIXTURES, file), 'utf8')) as Shape
}

for (const file of readdirSync(FIXTURES).filter((name) => name.endsWith('.request.json'))) {
  test(`golden: ${file} is rendered as ${file.replace('.request.', '.wire.')}`, () => {
    const request = parseChatRequest(readJson(file))
    const golden = readJson<Golden>(file.replace('.request.', '.wire.'))
    const { body, path, ...rest } = codec.renderRequest(request, {
      model: request.model,
      maxOutputTokens: golden.maxOutputTokens,
      price: RICH_PRICE,
    })
    assert.deepEqual(JSON.parse(body), golden.body)
    assert.deepEqual(
      { ...rest, warnings: rest.warnings.toSorted() },
      { headers: golden.headers, warnings: golden.warnings.toSorted() },
    )
    assert.equal(path, '/v1/messages')
  })
}

const BASE: ChatRequest = {
  model: 'claude-sonnet-4-5',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: false,
  includeUsage: false,
  n: 1,
  extra: {},
}

function render(request: Partial<ChatRequest>, model = BASE.model) {
  const { body, warnings } = codec.renderRequest({ ...BASE, ...request }, { model, maxOutputTokens: undefined })
  return { warnings, body: JSON.parse(body) as Record<string, unknown> }
}

function refuses(request: Partial<ChatRequest>, param: string, code = 'unsupported_parameter'): void {
  assert.throws(
    () => render(request),
    (error) => error instanceof GatewayError && error.param === param && error.code === code,
    `${param} must be refused`,
  )
}

test('parameters that change the answer and have no counterpart are refused by name', () => {
  refuses({ logprobs: true, topLogprobs: 2 }, 'logprobs')
  refuses({ logitBias: { '1': 2 } }, 'logit_bias')
  refuses({ frequencyPenalty: 0.1 }, 'frequency_penalty')
  refuses({ presencePenalty: -0.1 }, 'presence_penalty')
  refuses({ modalities: ['text', 'audio'] }, 'modalities')
  refuses({ stop: ['a', '\n\n'] }, 'stop')
})

test('content that the API cannot read is refused by its place', () => {
  const withPart = (part: unknown): Partial<ChatRequest> => {
    const content = [{ type: 'text', text: 'a' }, part] as ChatMessage['content']
    return {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: content ?? null },
      ],
    }
  }
  const unreadable = [
    { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
    { type: 'image_url', image_url: { url: 'data:image/svg+xml;base64,AA==' } },
    { type: 'image_url', image_url: { url: 'http://example.com/a.png' } },
    { type: 'file', file: { file_data: 'data:application/zip;base64,AA==' } },
    { type: 'file', file: { file_id: 'file-of-another' } },
  ]
  for (const part of unreadable) refuses(withPart(part), 'messages[1].content[1]', 'unsupported_content')
})

test('a data URL that is not base64 becomes what the API takes', () => {
  const url = 'data:text/plain;charset=utf-8,Gr%C3%BC%C3%9Fe'
  const { body } = render({ messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: url } }] }] })
  const source = { type: 'text', media_type: 'text/plain', data: 'Grüße' }
  assert.deepEqual(body['messages'], [{ role: 'user', content: [{ type: 'document', source }] }])
})

const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } }) as const
const asks: ChatMessage = { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] }
const answers = (id: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content: 'ok' })
const user: ChatMessage = { role: 'user', content: 'Hi' }

test('calls and results that do not belong together are refused here, with their place', () => {
  const unpaired = (messages: ChatMessage[], param: string): void => refuses({ messages }, param, 'invalid_value')
  unpaired([user, asks, answers('a')], 'messages[1].tool_calls')
  unpaired([user, asks, user], 'messages[1].tool_calls')
  unpaired([user, asks], 'messages[1].tool_calls')
  unpaired([user, answers('a')], 'messages[1].tool_call_id')
  unpaired([user, asks, answers('a'), answers('b'), answers('c')], 'messages[4].tool_call_id')
  unpaired([user, asks, answers('a'), answers('a'), answers('b')], 'messages[3].tool_call_id')
  unpaired([user, { ...asks, tool_calls: [call('a'), call('a')] }], 'messages[1].tool_calls')
})

test('results are gathered from around a text of the user', () => {
  const { body } = render({ messages: [user, asks, answers('a'), user, answers('b')] })
  const [, , turn] = body['messages'] as { content: { type: string }[] }[]
  assert.deepEqual(
    turn?.content.map(({ type }) => type),
    ['tool_result', 'tool_result', 'text'],
  )
})

test("the name of the tool that stands for an answer is not the client's to use", () => {
  const tools = [{ type: 'function', function: { name: 'turnpike_json_answer' } }] as const
  refuses({ tools }, 'tools[0].function.name')
})

test('a schema that nothing can hold the model to is refused', () => {
  const recursive = { type: 'object', properties: { next: { $ref: '#' } }, additionalProperties: false }
  const responseFormat = { type: 'json_schema', json_schema: { name: 'a', schema: recursive } } as const
  assert.throws(() => render({ responseFormat }, 'claude-opus-5-5'), {
    code: 'unsupported_parameter',
    param: 'response_format',
  })
  assert.equal((render({ responseFormat }).body['tool_choice'] as { type: string }).type, 'tool')
  const list = {
    type: 'json_schema',
    json_schema: { name: 'a', schema: { type: 'array', items: { type: 'string' } } },
  } as const
  assert.throws(() => render({ responseFormat: list }, 'claude-sonnet-4-0'), { param: 'response_format' })
})

test("a client's own demand for a tool wins over the tool that stands for an answer", () => {
  const tools = [{ type: 'function', function: { name: 'look' } }] as const
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const responseFormat = { type: 'json_schema', json_schema: { name: 'a', schema } } as const
  const { body } = render({ tools, responseFormat, toolChoice: 'required' }, 'claude-3-5-haiku-latest')
  assert.deepEqual(body['tool_choice'], { type: 'any' })
  assert.equal((body['tools'] as unknown[]).length, 1)
})

test('forced tools and thinking by budget exclude each other: the tool wins, with a warning', () => {
  const tools = [{ type: 'function', function: { name: 'look' } }] as const
  const { body, warnings } = render({ tools, toolChoice: 'required', reasoningEffort: 'high' })
  assert.equal('thinking' in body, false)
  assert.deepEqual(warnings, ['reasoning_effort'])
  const adaptive = render({ tools, toolChoice: 'required', reasoningEffort: 'high' }, 'claude-opus-4-8')
  assert.deepEqual(adaptive.body['thinking'], { type: 'adaptive', display: 'summarized' })
})

test('`thinking` is said as the model has it: a budget, an effort, or neither', () => {
  const said = (thinking: unknown, model?: string, over: Partial<ChatRequest> = {}) => {
    const { body, warnings } = render({ ...over, extra: { thinking } }, model)
    return [body['thinking'], (body['output_config'] as { effort?: string } | undefined)?.effort, warnings]
  }
  const budget = (tokens: number) => ({ type: 'enabled', budget_tokens: tokens })
  assert.deepEqual(said(budget(4000)), [budget(4000), undefined, []])
  assert.deepEqual(said(budget(10)), [budget(1024), undefined, ['thinking']])
  assert.deepEqual(said(budget(9000), undefined, { maxTokens: 5000 }), [budget(4999), undefined, ['thinking']])
  assert.deepEqual(said({ type: 'disabled' }), [{ type: 'disabled' }, undefined, []])
  assert.deepEqual(said('much'), [undefined, undefined, ['thinking']])
  assert.deepEqual(said(budget(4000), 'claude-3-5-haiku-latest'), [undefined, undefined, ['thinking']])
  assert.deepEqual(said(budget(12_000), 'claude-opus-4-6'), [{ type: 'adaptive' }, 'high', ['thinking']])
  assert.deepEqual(said({ type: 'adaptive' }, 'claude-opus-4-6'), [{ type: 'adaptive' }, undefined, []])
  const hidden = { type: 'adaptive', display: 'omitted' }
  assert.deepEqual(said(hidden, 'claude-opus-4-8'), [hidden, undefined, []])
})

test('a context that was tampered with is no context', () => {
  const asked = (blocks: unknown): string => {
    const context = { anthropic: { blocks } } as Record<string, unknown>
    const messages: ChatMessage[] = [user, { ...asks, provider_context: context }, answers('a'), answers('b')]
    return JSON.stringify(render({ messages, reasoningEffort: 'low' }).body)
  }
  const thinking = { type: 'thinking', thinking: 'x', signature: 's', index: 0 }
  assert.match(asked([thinking]), /"thinking":"x"/)
  const broken = [
    null,
    'text',
    [],
    [{ type: 'thinking', thinking: 'x' }],
    [thinking, { type: 'tool_result', tool_use_id: 'a' }],
    [thinking, { type: 'text', length: 'NaN' }],
    [{ type: 'text', length: '7' }, thinking],
    [{ type: 'tool_use', id: 'b' }, thinking, { type: 'tool_use', id: 'a' }],
  ]
  for (const blocks of broken) assert.doesNotMatch(asked(blocks), /"thinking":"x"/, JSON.stringify(blocks))
})

test('only what the API knows of a thinking block goes back', () => {
  const block = { type: 'thinking', thinking: 'x', signature: 's', index: 0, cache_control: { type: 'ephemeral' } }
  const message: ChatMessage = { ...asks, provider_context: { anthropic: { blocks: [block] } } }
  const { body } = render({ messages: [user, message, answers('a'), answers('b')], reasoningEffort: 'low' })
  const [, turn] = body['messages'] as { content: unknown[] }[]
  assert.deepEqual(turn?.content[0], { type: 'thinking', thinking: 'x', signature: 's' })
})
