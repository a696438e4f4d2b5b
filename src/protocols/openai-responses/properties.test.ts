import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { reasoningItem, refusalOf } from '../../../test/support/providers/responses-fake.ts'
import type { ChatMessage, ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { ProviderError } from '../protocol.ts'
import { openaiResponses } from './index.ts'

const codec = openaiResponses()
const TARGET = { model: 'theirs', maxOutputTokens: undefined, outputTokens: 100 }

const words = fc.string({ unit: 'grapheme', maxLength: 12 })
const names = fc.constantFrom('look', 'now', 'a-b_c')
const ids = fc.oneof(fc.constantFrom('call_1', 'call_2', '', 'x'.repeat(80), `${'x'.repeat(80)}y`), words)
const call = fc.record(
  {
    id: ids,
    type: fc.constant('function' as const),
    function: fc.record({ name: names, arguments: fc.oneof(words, fc.json()) }),
    custom: fc.constant(true as const),
  },
  { requiredKeys: ['id', 'type', 'function'] },
)
const entry = fc.oneof(
  fc.constantFrom(reasoningItem('rs_1', 'Hm.'), reasoningItem('rs_2')),
  fc.record({ type: fc.constant('message'), id: fc.constantFrom('msg_1', ''), length: fc.nat(9).map(String) }),
  fc.record({ type: fc.constant('call'), id: words, call_id: ids }),
)
const context = fc.option(
  fc.oneof(
    fc.record({ 'openai-responses': fc.record({ items: fc.array(entry, { maxLength: 4 }) }) }),
    fc.record({ 'openai-responses': fc.record({ items: fc.array(fc.jsonValue(), { maxLength: 3 }) }) }),
    fc.dictionary(words, fc.jsonValue()),
  ),
  { nil: undefined },
)
const parts = fc.array(fc.record({ type: fc.constant('text' as const), text: words }), { minLength: 1, maxLength: 3 })
/** An assistant's message with all of its results, or a message of somebody else. */
const exchange = fc.oneof(
  fc
    .record({
      content: fc.oneof(words, fc.constant(null), parts),
      calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
      reasoning: words,
      context,
    })
    .map(({ content, calls, reasoning, context: value }): ChatMessage[] => [
      {
        role: 'assistant',
        content,
        tool_calls: calls,
        reasoning_content: reasoning,
        ...(value === undefined ? {} : { provider_context: value as Record<string, unknown> }),
      },
      ...calls.map(({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: `result of ${id}` })),
    ]),
  fc
    .record({
      role: fc.constantFrom('user' as const, 'system' as const, 'developer' as const),
      content: fc.oneof(words, parts),
    })
    .map((message): ChatMessage[] => [message]),
)
const conversation = fc.array(exchange, { minLength: 1, maxLength: 8 }).map((exchanges) => exchanges.flat())

function request(messages: readonly ChatMessage[]): ChatRequest {
  return { model: 'ours', messages, stream: false, includeUsage: false, n: 1, extra: {} }
}

// biome-ignore lint/suspicious/noExplicitAny: an item is any JSON
type Item = any

const contentOf = ({ content = '' }: Item): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }: Item) => text).join('')

interface Told {
  /** All that is said, in order. */
  readonly text: string
  /** Calls and results, in order. */
  readonly calls: readonly string[]
}

function toldOf(messages: readonly ChatMessage[]): Told {
  const said = messages.filter(({ role }) => role !== 'tool')
  const calls = messages.flatMap((message) => [
    ...(message.role === 'tool' ? [`result ${contentOf(message)}`] : []),
    ...(message.tool_calls ?? []).map(({ function: called }) => `call ${called.name} ${called.arguments}`),
  ])
  return { text: said.map(contentOf).join(''), calls }
}

function toldByWire({ instructions = '', input }: Item): Told {
  const said = input.filter(({ type }: Item) => type === 'message')
  const calls = input.flatMap(({ type, output, name, arguments: text, input: free }: Item) => {
    if (type === 'message' || type === 'reasoning') return []
    return output === undefined ? [`call ${name} ${text ?? free}`] : [`result ${output}`]
  })
  return { text: instructions + said.map(contentOf).join(''), calls }
}

test('any conversation whose calls and results are paired is one that the API takes', () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      const body = JSON.parse(codec.renderRequest(request(messages), TARGET).body)
      if (body.input.length > 0) assert.equal(refusalOf(body), undefined, JSON.stringify(body))
    }),
    { numRuns: 2_000 },
  )
})

test('a conversation means the same there, whatever a client made of its contexts', () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      const body = JSON.parse(codec.renderRequest(request(messages), TARGET).body)
      assert.deepEqual(toldByWire(body), toldOf(messages))
      // An escaped backslash before `ud8` is text.
      const escapes = JSON.stringify(body).replaceAll('\\\\', '')
      assert.ok(!/\\u[dD][89a-fA-F]/.test(escapes), 'no half of a character')
    }),
    { numRuns: 1_000 },
  )
})

test('no request makes the codec throw anything but its own error', () => {
  const extra = fc.dictionary(
    fc.constantFrom('reasoning', 'thinking', 'verbosity', 'input', 'background', 'web_search_options', 'x'),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(conversation, extra, fc.boolean(), (messages, fields, forwardUnknown) => {
      try {
        const { body } = codec.renderRequest({ ...request(messages), extra: fields }, { ...TARGET, forwardUnknown })
        assert.equal(JSON.parse(body).max_output_tokens, 100)
        assert.equal(JSON.parse(body).store, false)
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error))
      }
    }),
    { numRuns: 1_000 },
  )
})

test('no answer and no error makes the codec throw anything but its own error', () => {
  const item = fc.record(
    {
      type: fc.constantFrom('message', 'reasoning', 'function_call', 'custom_tool_call', 'web_search_call', 'other'),
      content: fc.oneof(
        fc.array(fc.record({ type: fc.constantFrom('output_text', 'refusal'), text: fc.jsonValue() })),
        words,
      ),
      summary: fc.jsonValue(),
      name: fc.oneof(names, fc.jsonValue()),
      arguments: fc.jsonValue(),
      call_id: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  )
  const body = fc.oneof(
    words,
    fc.json(),
    fc
      .record({ output: fc.array(item), usage: fc.jsonValue(), status: fc.oneof(fc.constant('completed'), words) })
      .map((response) => JSON.stringify(response)),
  )
  fc.assert(
    fc.property(body, fc.integer({ min: 100, max: 599 }), (text, status) => {
      const failure = codec.parseError({ status, headers: {}, body: text }, 0)
      assert.ok(failure.message.length > 0 && failure.message.length <= 500)
      try {
        codec.parseResponse(text)
      } catch (error) {
        assert.ok(error instanceof ProviderError, String(error))
      }
    }),
    { numRuns: 1_000 },
  )
})
