import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { RICH_PRICE } from '../../../test/support/providers/prices.ts'
import { refusalOf } from '../../../test/support/providers/responses-fake.ts'
import type { ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { openai } from '../../providers/openai.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import { droppedNativeFields } from '../parameters.ts'
import type { RenderTarget } from '../protocol.ts'
import { responsesApi } from './client/index.ts'
import { openaiResponses } from './index.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies are any JSON
type Anything = any

const TARGET: RenderTarget = { model: 'theirs', maxOutputTokens: undefined }
const HELLO = { model: 'ours', messages: [{ role: 'user', content: 'Hi' }] }
const codec = openaiResponses()
const OPENAI = openai.protocols?.['openai-responses'] ?? assert.fail()

function sent(body: object, target: Partial<RenderTarget> = {}, protocol = codec): Anything {
  const { body: text, warnings } = protocol.renderRequest(parseChatRequest({ ...HELLO, ...body }), {
    ...TARGET,
    ...target,
  })
  return { ...JSON.parse(text), warnings }
}

test('members of `reasoning` and `text` that the translation does not read are named', () => {
  const asked = responsesApi.parse({
    model: 'm',
    input: 'Hi',
    reasoning: { effort: 'low', summary: 'auto', context: 'x', mode: null },
    text: { verbosity: 'low', made_up: 1, format: { type: 'json_schema', name: 'n', schema: {}, examples: [1] } },
  })
  const names = ['reasoning.context', 'text.made_up', 'text.format.examples']
  assert.deepEqual(droppedNativeFields(asked, 'openai'), names)
  assert.deepEqual(droppedNativeFields(asked, 'openai-responses'), [])
})

function refused(body: object, target: Partial<RenderTarget> = {}, protocol = codec): string | undefined {
  try {
    sent(body, target, protocol)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    assert.equal(error.status, 422)
    return error.param
  }
  return assert.fail('it was sent')
}

function read(...path: readonly string[]): Readonly<Record<string, Anything>> {
  return JSON.parse(readFileSync(join(import.meta.dirname, ...path), 'utf8'))
}

const requests = read('../../../test/contract/golden/fixtures/requests.json')
const golden = read('fixtures/golden.json')

function outcomeOf(request: unknown): unknown {
  try {
    const { path, body, warnings } = codec.renderRequest(parseChatRequest(request), TARGET)
    assert.equal(path, '/responses')
    return warnings.length === 0 ? { body: JSON.parse(body) } : { body: JSON.parse(body), warnings }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { refused: error.param, code: error.code }
  }
}

for (const [name, request] of Object.entries(requests)) {
  test(`golden: ${name}`, () => assert.deepEqual(outcomeOf(request), golden[name]))
}

test('every golden request that is sent is one that the API takes', () => {
  for (const [name, { body }] of Object.entries(golden)) {
    if (body === undefined) continue
    assert.equal(refusalOf({ max_output_tokens: 100, ...body }), undefined, name)
  }
})

test('the limit of the answer is the client’s, and never more than is held', () => {
  const limitOf = (body: object, outputTokens?: number) => sent(body, { outputTokens }).max_output_tokens
  assert.deepEqual([limitOf({ max_tokens: 50 }, 40), limitOf({ max_tokens: 30 }, 40), limitOf({}, 40)], [40, 30, 40])
})

test('custom tools keep their grammar, which is flat here, and are chosen by their own type', () => {
  const grammar = { syntax: 'lark', definition: 'start: "a"' }
  const tools = [
    { type: 'custom', custom: { name: 'patch', description: 'Patches.', format: { type: 'grammar', grammar } } },
    { type: 'custom', custom: { name: 'say', format: { type: 'text' } } },
    { type: 'function', function: { name: 'look', strict: true, parameters: { type: 'object' } } },
  ]
  const body = sent({ tools, tool_choice: { type: 'custom', custom: { name: 'patch' } } })
  assert.deepEqual(body.tools, [
    { type: 'custom', name: 'patch', description: 'Patches.', format: { type: 'grammar', ...grammar } },
    { type: 'custom', name: 'say', format: { type: 'text' } },
    { type: 'function', name: 'look', parameters: { type: 'object' }, strict: true },
  ])
  assert.deepEqual(body.tool_choice, { type: 'custom', name: 'patch' })
})

test('calls of custom tools and their results have types of their own', () => {
  const call = { id: 'call_1', type: 'custom', custom: { name: 'patch', input: '*** Begin' } }
  const messages = [
    { role: 'user', content: 'Go' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'done' },
  ]
  assert.deepEqual(sent({ messages, tools: [{ type: 'custom', custom: { name: 'patch' } }] }).input.slice(1), [
    { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: '*** Begin' },
    { type: 'custom_tool_call_output', call_id: 'call_1', output: 'done' },
  ])
})

test('results of tools may have images and files', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'original' } }
  const file = { type: 'file', file: { file_id: 'file-1' } }
  const messages = [
    { role: 'user', content: 'Go' },
    { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'See' }, image, file] },
  ]
  assert.deepEqual(sent({ messages }).input.at(-1).output, [
    { type: 'input_text', text: 'See' },
    { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'original' },
    { type: 'input_file', file_id: 'file-1' },
  ])
})

test('IDs of calls that are too long or come twice are replaced, each with its result', () => {
  const long = 'x'.repeat(100)
  const exchange = (id: string) => [
    { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: id, content: id.slice(0, 1) },
  ]
  const messages = [{ role: 'user', content: 'Go' }, ...[long, `${long}y`, 'a', 'a', ''].flatMap(exchange)]
  const body = sent({ messages, max_tokens: 100 })
  delete body.warnings
  assert.equal(refusalOf(body), undefined)
  assert.deepEqual(
    body.input.filter(({ type }: Anything) => type === 'function_call_output').map(({ output }: Anything) => output),
    ['x', 'x', 'a', 'a', ''],
  )
})

test('effort and summary are taken in whatever form they are requested', () => {
  const reasoningOf = (body: object) => sent(body).reasoning
  assert.deepEqual(reasoningOf({ reasoning_effort: 'high', reasoning: { summary: 'auto' } }), {
    effort: 'high',
    summary: 'auto',
  })
  assert.deepEqual(reasoningOf({ reasoning: { effort: 'low', generate_summary: 'concise' } }), {
    effort: 'low',
    summary: 'concise',
  })
  const thinking = { type: 'enabled', budget_tokens: 5000, display: 'summarized' }
  assert.deepEqual(reasoningOf({ thinking }), { effort: 'medium', summary: 'auto' })
  assert.equal(reasoningOf({ thinking: { type: 'disabled' } }), undefined)
  assert.deepEqual(sent({ thinking: { type: 'disabled' } }).warnings, ['thinking'])
  assert.deepEqual(sent({ reasoning: { effort: 'low', mode: 'pro' } }).warnings, ['reasoning'])
  assert.equal(reasoningOf({}), undefined)
})

test('fields of the format itself are sent; verbosity belongs to the text', () => {
  const fields = { prompt_cache_key: 'k', safety_identifier: 's', truncation: 'auto' }
  const body = sent({ ...fields, verbosity: 'low', response_format: { type: 'json_object' } })
  for (const [name, value] of Object.entries(fields)) assert.equal(body[name], value)
  assert.deepEqual(body.text, { format: { type: 'json_object' }, verbosity: 'low' })
})

test('encrypted reasoning is requested of models that reason', () => {
  const includeOf = (model: string) => sent({}, { model }, OPENAI).include
  for (const model of ['gpt-6-astra', 'o3', 'gpt-5.4-2026-03-05']) {
    assert.deepEqual(includeOf(model), ['reasoning.encrypted_content'])
  }
  for (const model of ['gpt-4.1', 'gpt-4o-2024-08-06', 'chatgpt-4o-latest', 'gpt-5.1-chat-latest', 'ft:gpt-4o:a']) {
    assert.equal(includeOf(model), undefined, model)
  }
})

test('nothing that the host stores, and nothing in the background, can be referred to', () => {
  for (const forwardUnknown of [false, true]) {
    for (const name of ['previous_response_id', 'conversation', 'prompt']) {
      assert.equal(refused({ [name]: 'a' }, { forwardUnknown }), name)
    }
    assert.equal(refused({ background: true }, { forwardUnknown }), 'background')
    assert.equal(sent({ background: false }, { forwardUnknown }).store, false)
  }
})

test('a host of the operator’s own gets unknown fields, but none that the codec renders itself', () => {
  const { warnings, ...body } = sent(
    { made_up: 1, input: 'x', include: ['y'], text: {}, instructions: 'z' },
    { forwardUnknown: true },
  )
  assert.equal(body.made_up, 1)
  assert.deepEqual(body.input, [{ type: 'message', role: 'user', content: 'Hi' }])
  assert.deepEqual(
    [body.include, body.text, body.instructions],
    [['reasoning.encrypted_content'], undefined, undefined],
  )
  assert.deepEqual(warnings.toSorted(), ['include', 'input', 'instructions', 'text'])
})

test('a breakpoint of the cache is sent at the lifetime that the price covers', () => {
  const part = { type: 'text', text: 'Hi', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }
  const claude = { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }
  const messages = [{ role: 'user', content: [part, claude] }]
  const rich = sent({ messages }, { price: RICH_PRICE })
  assert.deepEqual(rich.input[0].content[0].prompt_cache_breakpoint, { mode: 'explicit', ttl: '12h' })
  assert.deepEqual(rich.warnings, ['messages[].content[].cache_control'])
  const plain = sent({ messages })
  assert.deepEqual(plain.input[0].content[0].prompt_cache_breakpoint, { mode: 'explicit' })
  assert.ok(plain.warnings.includes('messages[].content[].cache_control.ttl'))
})

test('a web search is sent where it has a price, with a limit that the hold knows', () => {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 3, allowed_domains: ['a.example'] }
  const body = sent({ tools: [search] }, { price: RICH_PRICE }, OPENAI)
  assert.deepEqual(body.tools, [{ type: 'web_search', filters: { allowed_domains: ['a.example'] } }])
  assert.equal(body.max_tool_calls, 3)
  const request = parseChatRequest({ ...HELLO, tools: [{ type: 'web_search', search_context_size: 'low' }] })
  const own = JSON.parse(OPENAI.renderRequest(request, { ...TARGET, price: RICH_PRICE }).body)
  assert.deepEqual(own.tools, [{ search_context_size: 'low', type: 'web_search' }])
  assert.equal(own.max_tool_calls, OPENAI.toolUses?.(request, 'm')['web_search']?.limit)
  assert.equal(refused({ tools: [search] }, {}, OPENAI), 'tools[0].type')
  assert.equal(refused({ tools: [search] }, { price: RICH_PRICE }), 'tools[0].type')
  assert.equal(refused({ tools: [{ type: 'mcp', server_url: 'x' }] }, { price: RICH_PRICE }, OPENAI), 'tools[0].type')
})

test('web_search_options becomes the tool, limited by max_tool_calls', () => {
  const options = { user_location: { type: 'approximate', approximate: { country: 'CH' } } }
  const body = sent({ web_search_options: options, max_tool_calls: 2 }, { price: RICH_PRICE }, OPENAI)
  assert.deepEqual(body.tools, [{ type: 'web_search', user_location: { country: 'CH', type: 'approximate' } }])
  assert.equal(body.max_tool_calls, 2)
  assert.equal(refused({ web_search_options: {} }, { price: RICH_PRICE }), 'web_search_options')
})

const LOOK = { type: 'function', function: { name: 'look' } }
const PRICED: RenderTarget = { ...TARGET, price: RICH_PRICE }

test('openai-auto: Responses where tools and reasoning meet, chat completions for what only they have', () => {
  const auto = openai.protocols?.['openai-auto'] ?? assert.fail()
  const pathOf = (body: object): string => {
    const request: ChatRequest = parseChatRequest({ ...HELLO, ...body })
    assert.equal(
      auto.forRequest?.(request).renderRequest(request, PRICED).path,
      auto.renderRequest(request, PRICED).path,
    )
    return auto.renderRequest(request, PRICED).path
  }
  const tools = [LOOK]
  const search = [{ type: 'web_search' }]
  const byResponses = [{ tools }, { tools, reasoning_effort: 'high' }, { tools, modalities: ['text'] }]
  for (const body of [...byResponses, { tools: search }, { tools: search, reasoning_effort: 'none' }]) {
    assert.equal(pathOf(body), '/responses', JSON.stringify(body))
  }
  for (const body of [
    {},
    { reasoning_effort: 'high' },
    { tools, reasoning_effort: 'none' },
    { tools, n: 2 },
    { tools, stop: 'END' },
    { tools, logit_bias: { '5': 1 } },
    { tools, frequency_penalty: 1 },
    { tools, presence_penalty: 1 },
    { tools, prediction: { type: 'content', content: 'a' } },
  ]) {
    assert.equal(pathOf(body), '/chat/completions', JSON.stringify(body))
  }
})
