import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type FakeModel, refusalOf } from '../../../test/support/providers/anthropic-fake.ts'
import type { ChatEvent, ChatMessage, ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { ProviderError } from '../protocol.ts'
import { anthropicMessages } from './index.ts'

const codec = anthropicMessages()
const MODELS = [
  'claude-3-5-haiku-latest',
  'claude-sonnet-4-0',
  'claude-sonnet-4-5',
  'claude-opus-4-6',
  'claude-opus-5',
  'claude-opus-5-5',
  'claude-sonnet-5-5',
  'claude-x',
  'other',
]

const words = fc.string({ unit: 'grapheme', maxLength: 12 })
const names = fc.constantFrom('look', 'now', 'a-b_c')
const call = fc.record({
  id: fc.oneof(fc.constantFrom('call_1', 'call_2', ''), words),
  type: fc.constant('function' as const),
  function: fc.record({ name: names, arguments: fc.oneof(words, fc.json()) }),
})
const entry = fc.oneof(
  fc.record({ type: fc.constant('thinking'), thinking: words, signature: words }),
  fc.record({ type: fc.constant('redacted_thinking'), data: words }),
  fc.record({ type: fc.constant('text'), length: fc.nat(9).map(String) }),
  fc.record({ type: fc.constant('tool_use'), id: words }),
  fc.jsonValue(),
)
const context = fc.option(
  fc.oneof(
    fc.record({ anthropic: fc.record({ blocks: fc.array(entry, { maxLength: 4 }) }) }),
    fc.dictionary(words, fc.jsonValue()),
  ),
  { nil: undefined },
)
const contentParts = fc.array(fc.record({ type: fc.constant('text' as const), text: words }), {
  minLength: 1,
  maxLength: 3,
})
const assistant = fc
  .record({
    content: fc.oneof(words, fc.constant(null), contentParts),
    calls: fc.array(call, { maxLength: 3 }),
    reasoning: words,
    context,
  })
  .map(({ content, calls, reasoning, context: value }) => ({
    role: 'assistant' as const,
    content,
    tool_calls: calls,
    reasoning_content: reasoning,
    ...(value === undefined ? {} : { provider_context: value as Record<string, unknown> }),
  }))
/** An assistant's message and all of its results, or a message of somebody else. */
const exchange = fc.oneof(
  assistant.map((message): ChatMessage[] => {
    const unique = [...new Map(message.tool_calls.map((each) => [each.id, each])).values()]
    const results = unique.map(
      ({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: `result of ${id}` }),
    )
    return [{ ...message, tool_calls: unique }, ...results]
  }),
  fc
    .record({
      role: fc.constantFrom('user' as const, 'system' as const, 'developer' as const),
      content: fc.oneof(words, contentParts),
    })
    .map((message): ChatMessage[] => [message]),
)
const conversation = fc.array(exchange, { minLength: 1, maxLength: 8 }).map((exchanges) => exchanges.flat())
const request: fc.Arbitrary<ChatRequest> = fc
  .record({
    messages: conversation,
    effort: fc.option(fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'), { nil: undefined }),
    tools: fc.option(fc.uniqueArray(names, { minLength: 1 }), { nil: undefined }),
    maxTokens: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
    toolChoice: fc.option(fc.constantFrom('none', 'auto', 'required'), { nil: undefined }),
    temperature: fc.option(fc.double({ min: 0, max: 2, noNaN: true }), { nil: undefined }),
    format: fc.option(fc.dictionary(words, fc.jsonValue()), { nil: undefined }),
  })
  .map(({ messages, effort, tools, maxTokens, toolChoice, temperature, format }) => ({
    model: 'ours',
    messages,
    stream: false,
    includeUsage: false,
    n: 1,
    extra: {},
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
    ...(tools === undefined ? {} : { tools: tools.map((name) => ({ type: 'function', function: { name } }) as const) }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(tools === undefined || toolChoice === undefined ? {} : { toolChoice }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(format === undefined
      ? {}
      : { responseFormat: { type: 'json_schema', json_schema: { name: 'a', schema: format } } as const }),
  }))

/** What the model is told of calls: names and results, in order. */
function toldOf(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap(({ role, content, tool_calls: calls }) => [
    ...(calls ?? []).map((each) => `call ${each.function.name}`),
    ...(role === 'tool' ? [String(content)] : []),
  ])
}

// biome-ignore lint/suspicious/noExplicitAny: a body is any JSON
function toldByWire(messages: readonly any[]): string[] {
  return messages.flatMap(({ content }) =>
    // biome-ignore lint/suspicious/noExplicitAny: a block is any JSON
    content.flatMap((block: any) => {
      if (block.type === 'tool_use') return [`call ${block.name}`]
      return block.type === 'tool_result' ? [block.content ?? ''] : []
    }),
  )
}

const nonBlank = (text: string): boolean => text.trim() !== ''

test('any conversation whose calls and results are paired is one that the API takes, and means the same there', () => {
  const fake: FakeModel = { wantsLeadingThinking: true }
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), ({ responseFormat: _, ...asked }, model) => {
      const body = JSON.parse(codec.renderRequest(asked, { model, maxOutputTokens: undefined }).body)
      const refusal = refusalOf(withoutSeals(body), fake)
      assert.equal(refusal, undefined)
      assert.deepEqual(toldByWire(body.messages).sort(), toldOf(asked.messages).sort())
      for (const message of asked.messages) {
        if (message.role !== 'user' || typeof message.content !== 'string' || !nonBlank(message.content)) continue
        assert.ok(JSON.stringify(body.messages).includes(JSON.stringify(message.content)))
      }
    }),
    { numRuns: 500 },
  )
})

/** Made-up signatures are nobody's; their place is what is looked at. */
// biome-ignore lint/suspicious/noExplicitAny: a body is any JSON
function withoutSeals(body: any): unknown {
  // biome-ignore lint/suspicious/noExplicitAny: a message is any JSON
  const messages = body.messages.map(({ role, content }: any) => ({
    role,
    // biome-ignore lint/suspicious/noExplicitAny: a block is any JSON
    content: content.map((block: any) =>
      block.type === 'thinking'
        ? { type: 'redacted_thinking', data: 'redacted.x' }
        : block.type === 'redacted_thinking'
          ? { ...block, data: 'redacted.x' }
          : block,
    ),
  }))
  return { ...body, messages }
}

test('no request makes the codec throw anything but its own error', () => {
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (asked, model) => {
      try {
        codec.renderRequest(asked, { model, maxOutputTokens: undefined })
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error))
      }
    }),
    { numRuns: 500 },
  )
})

const shapes = fc.oneof(
  fc.constantFrom(
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
    'ping',
    'error',
    'novelty',
  ),
  words,
)
const wireEvent = fc.record({
  type: shapes,
  index: fc.oneof(fc.nat(3), fc.jsonValue()),
  message: fc.oneof(fc.record({ id: words, usage: fc.jsonValue() }), fc.jsonValue()),
  content_block: fc.oneof(
    fc.record({
      type: fc.constantFrom('text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'turnpike'),
      text: fc.jsonValue(),
      name: fc.oneof(names, fc.jsonValue()),
      input: fc.jsonValue(),
      data: fc.jsonValue(),
    }),
    fc.jsonValue(),
  ),
  delta: fc.oneof(
    fc.record({
      type: fc.constantFrom('text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta'),
      text: fc.jsonValue(),
      thinking: fc.jsonValue(),
      partial_json: fc.jsonValue(),
      signature: fc.jsonValue(),
    }),
    fc.record({ stop_reason: fc.oneof(fc.constantFrom('end_turn', 'tool_use', 'max_tokens'), fc.jsonValue()) }),
  ),
  usage: fc.oneof(fc.record({ input_tokens: fc.jsonValue(), output_tokens: fc.jsonValue() }), fc.jsonValue()),
  error: fc.jsonValue(),
})

test('no stream makes the codec throw anything but its own error, and usage is never less than nothing', () => {
  const frames = fc.array(
    fc.record({
      event: words,
      data: fc.oneof(
        wireEvent.map((event) => JSON.stringify(event)),
        words,
      ),
    }),
    { maxLength: 30 },
  )
  fc.assert(
    fc.property(frames, (sent) => {
      const parser = codec.streamParser()
      const events: ChatEvent[] = []
      try {
        for (const frame of sent) if (parser.push(frame, events)) break
        parser.end(events)
      } catch (error) {
        assert.ok(error instanceof ProviderError, String(error))
      }
      for (const event of events) {
        if (event.type === 'usage')
          for (const count of Object.values(event.usage)) assert.ok(Number.isSafeInteger(count) && count >= 0)
      }
    }),
    { numRuns: 1000 },
  )
})

test('no answer and no error makes the codec throw anything but its own error', () => {
  const body = fc.oneof(
    words,
    fc.json(),
    wireEvent.map(({ content_block: block, delta, usage }) =>
      JSON.stringify({ id: 'm', content: [block, delta], stop_reason: 'end_turn', usage }),
    ),
  )
  fc.assert(
    fc.property(body, fc.integer({ min: 100, max: 599 }), fc.dictionary(words, words), (text, status, headers) => {
      const failure = codec.parseError({ status, headers, body: text }, 0)
      assert.ok(failure.message.length > 0 && failure.message.length <= 500)
      try {
        codec.parseResponse(text)
      } catch (error) {
        assert.ok(error instanceof ProviderError, String(error))
      }
    }),
    { numRuns: 500 },
  )
})

test('text, reasoning and calls come out of a stream as they went in, however it is cut into pieces', () => {
  const pieces = fc.array(words, { maxLength: 5 })
  fc.assert(
    fc.property(pieces, pieces, pieces, (thinking, text, json) => {
      const kinds = [
        {
          start: { type: 'thinking', thinking: '' },
          deltas: thinking.map((each) => ({ type: 'thinking_delta', thinking: each })),
        },
        { start: { type: 'text', text: '' }, deltas: text.map((each) => ({ type: 'text_delta', text: each })) },
        {
          start: { type: 'tool_use', id: 'a', name: 'look', input: {} },
          deltas: json.map((each) => ({ type: 'input_json_delta', partial_json: each })),
        },
      ]
      const blocks = kinds.flatMap(({ start, deltas }, index) => [
        { type: 'content_block_start', index, content_block: start },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ])
      const end = [{ type: 'message_delta', delta: { stop_reason: 'tool_use' } }, { type: 'message_stop' }]
      const parser = codec.streamParser()
      const events: ChatEvent[] = []
      for (const event of [{ type: 'message_start', message: {} }, ...blocks, ...end])
        parser.push({ event: '', data: JSON.stringify(event) }, events)
      parser.end(events)
      const joined = (type: 'text' | 'reasoning'): string =>
        events.flatMap((event) => (event.type === type ? [event.text] : [])).join('')
      const args = events.flatMap((event) => (event.type === 'tool-call' ? [event.arguments] : [])).join('')
      assert.deepEqual(
        [joined('reasoning'), joined('text'), args],
        [thinking.join(''), text.join(''), json.join('') || '{}'],
      )
    }),
  )
})
