/** Tools that run at the provider: what each host is sent of them, and what comes back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLAIN_PRICE, RICH_PRICE } from '../../test/support/providers/prices.ts'
import type { ChatEvent } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Price } from '../domain/price/tariff.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { gemini } from './gemini/index.ts'
import { parseChatRequest } from './openai-chat/client/request.ts'
import { openaiChat } from './openai-chat/index.ts'
import type { UpstreamProtocol, WireRequest } from './protocol.ts'

const SEARCH = { type: 'web_search_20250305', name: 'web_search' }
const FUNCTION = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const BASE = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }

interface Asked {
  readonly model?: string
  readonly price?: Price
  readonly forwardUnknown?: boolean
}

function render(
  protocol: UpstreamProtocol,
  over: object,
  { model = 'm', price = RICH_PRICE, ...more }: Asked = {},
): WireRequest {
  return protocol.renderRequest(parseChatRequest({ ...BASE, ...over }), {
    model,
    maxOutputTokens: 1000,
    price,
    ...more,
  })
}

function toolsOf({ body }: WireRequest): unknown {
  return (JSON.parse(body) as { readonly tools?: unknown }).tools
}

function refusal(send: () => unknown): readonly unknown[] {
  try {
    send()
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    return [error.code, error.param]
  }
  assert.fail('was not refused')
}

test('Anthropic: a search is always sent with its limit, the client’s or the gateway’s', () => {
  const claude = anthropicMessages()
  const model = 'claude-sonnet-4-5'
  const sent = (over: object) => toolsOf(render(claude, over, { model }))
  assert.deepEqual(sent({ tools: [{ ...SEARCH, max_uses: 2, allowed_domains: ['a.example'] }] }), [
    { ...SEARCH, max_uses: 2, allowed_domains: ['a.example'] },
  ])
  const [first, second] = sent({ tools: [FUNCTION, SEARCH] }) as readonly Record<string, unknown>[]
  assert.deepEqual([first?.['name'], second], ['look', { ...SEARCH, max_uses: 5 }])
  const location = { city: 'Oslo', country: 'NO' }
  const options = { search_context_size: 'high', user_location: { type: 'approximate', approximate: location } }
  assert.deepEqual(sent({ web_search_options: options }), [
    { ...SEARCH, max_uses: 10, user_location: { ...location, type: 'approximate' } },
  ])
  assert.equal(sent({ tools: [SEARCH], tool_choice: 'none' }), undefined)
})

test('Anthropic: its uses are bounded by what was sent', () => {
  const uses = (over: object) => anthropicMessages().toolUses?.(parseChatRequest({ ...BASE, ...over }), 'm')
  assert.deepEqual(uses({ tools: [{ ...SEARCH, max_uses: 2 }] }), { web_search: { limit: 2 } })
  assert.deepEqual(uses({ tools: [SEARCH, { ...SEARCH, max_uses: 1 }] }), { web_search: { limit: 6 } })
  assert.deepEqual(uses({ web_search_options: { search_context_size: 'low' } }), { web_search: { limit: 2 } })
  assert.deepEqual(uses({}), {})
})

test('Gemini: grounding is charged by the prompt before Gemini 3, and by the query since', () => {
  const tools = [{ google_search: {} }]
  assert.deepEqual(toolsOf(render(gemini(), { tools })), [{ googleSearch: {} }])
  assert.deepEqual(toolsOf(render(gemini(), { web_search_options: {} })), [{ googleSearch: {} }])
  const uses = (model: string) => gemini().toolUses?.(parseChatRequest({ ...BASE, tools }), model)
  assert.deepEqual(uses('gemini-2.5-flash'), { web_search: { limit: 1, counted: 'calls' } })
  assert.deepEqual(uses('gemini-3.5-flash'), { web_search: { limit: 20 } })
})

test('Gemini: code execution, which has no fee, needs a price that says so', () => {
  const price = { ...PLAIN_PRICE, serverToolNanoUsd: { code_execution: 0 } }
  assert.deepEqual(toolsOf(render(gemini(), { tools: [{ code_execution: {} }] }, { price })), [{ codeExecution: {} }])
  assert.deepEqual(
    refusal(() => render(gemini(), { tools: [{ code_execution: {} }] })),
    ['unsupported_parameter', 'tools[0]'],
  )
})

test('tools without a price, and tools that a host has not, are refused by name', () => {
  const cases: readonly (readonly [UpstreamProtocol, unknown, Asked, string])[] = [
    [anthropicMessages(), SEARCH, { price: PLAIN_PRICE }, 'tools[0].type'],
    [gemini(), { google_search: {} }, { price: PLAIN_PRICE }, 'tools[0]'],
    [anthropicMessages(), { type: 'web_search' }, {}, 'tools[0].type'],
    [openaiChat(), SEARCH, {}, 'tools[0].type'],
    [openaiChat(), SEARCH, { forwardUnknown: true }, 'tools[0].type'],
    [openaiChat({ toolUses: () => ({}) }), { ...SEARCH, max_uses: 1 }, { forwardUnknown: true }, 'tools[0].type'],
  ]
  for (const [protocol, tool, asked, param] of cases) {
    assert.deepEqual(
      refusal(() => render(protocol, { tools: [tool] }, asked)),
      ['unsupported_parameter', param],
    )
  }
  const limited = { ...SEARCH, max_uses: 1 }
  assert.deepEqual(toolsOf(render(openaiChat(), { tools: [limited] }, { forwardUnknown: true })), [limited])
  for (const max_uses of [0, 1.5, 'x', 1001]) {
    const [code, param] = refusal(() => parseChatRequest({ ...BASE, tools: [{ ...SEARCH, max_uses }] }))
    assert.ok(code === 'out_of_range' || code === 'invalid_type')
    assert.equal(param, 'tools[0].max_uses')
  }
})

const cited = (from: number, to: number) => ({
  type: 'url_citation',
  url_citation: { start_index: from, end_index: to, url: 'https://a.example', title: 'A' },
})
const annotations = (events: readonly ChatEvent[]) =>
  events.flatMap((event) => (event.type === 'extension' && event.field === 'annotations' ? [event.value] : []))
const uses = (events: readonly ChatEvent[]) =>
  events.flatMap((event) => (event.type === 'usage' && event.usage.serverToolUses ? [event.usage.serverToolUses] : []))

test('Anthropic: cited pages are annotations, and searches are counted as they come', () => {
  const citation = { type: 'web_search_result_location', url: 'https://a.example', title: 'A', cited_text: 'x' }
  const content = [
    { type: 'text', text: 'So: ' },
    { type: 'text', text: 'found.', citations: [citation, citation] },
  ]
  const whole = { type: 'message', content, stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 2 } }
  assert.deepEqual(annotations(anthropicMessages().parseResponse(JSON.stringify(whole))), [[cited(4, 10)]])

  const events: ChatEvent[] = []
  const parser = anthropicMessages().streamParser()
  const result = (index: number, found: unknown) => ({
    type: 'content_block_start',
    index,
    content_block: { type: 'web_search_tool_result', tool_use_id: 's', content: found },
  })
  const frames = [
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
    result(0, []),
    result(1, { type: 'web_search_tool_result_error', error_code: 'unavailable' }),
    { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'citations_delta', citation } },
    { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'found.' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ]
  for (const frame of frames) parser.push({ event: frame.type, data: JSON.stringify(frame) }, events)
  assert.deepEqual(annotations(events), [[cited(0, 6)]])
  assert.deepEqual(uses(events).at(-1), { web_search: 1 })
})

test('Gemini: queries are counted once each, empty ones never, and pages are annotations of the whole text', () => {
  const parser = gemini().streamParser()
  const events: ChatEvent[] = []
  const chunk = (text: string, queries: readonly string[], more: object = {}) => {
    const groundingMetadata = {
      webSearchQueries: queries,
      groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }, { maps: {} }],
    }
    return { candidates: [{ index: 0, content: { parts: [{ text }] }, groundingMetadata, ...more }] }
  }
  for (const each of [chunk('So ', ['a', '']), chunk('it is.', ['a', 'b'], { finishReason: 'STOP' })]) {
    parser.push({ event: '', data: JSON.stringify(each) }, events)
  }
  assert.deepEqual(uses(events).at(-1), { web_search: 2 })
  assert.deepEqual(annotations(events).at(-1), [cited(0, 9)])
})
