/**
 * What a provider answers is read, counted and rendered in time linear in its size, whole and streamed, in every protocol:
 * tiny pieces, many calls, many ends, many keys, long ids. Runs on one database.
 * Runs in a process of its own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent, ChatRequest } from '../../src/domain/chat.ts'
import { createCallUsage, estimateTokens, meter } from '../../src/gateway/usage/meter.ts'
import { messagesApi } from '../../src/protocols/anthropic-messages/client/index.ts'
import { anthropicMessages } from '../../src/protocols/anthropic-messages/index.ts'
import { bedrockConverse } from '../../src/protocols/bedrock-converse/index.ts'
import { createDecoder } from '../../src/protocols/framing.ts'
import { gemini } from '../../src/protocols/gemini/index.ts'
import { chatCompletionsApi } from '../../src/protocols/openai-chat/client/index.ts'
import { openaiChat } from '../../src/protocols/openai-chat/index.ts'
import { responsesApi } from '../../src/protocols/openai-responses/client/index.ts'
import { openaiResponses } from '../../src/protocols/openai-responses/index.ts'
import { type Frame, ProviderError, type UpstreamProtocol } from '../../src/protocols/protocol.ts'
import { items, linearityFault, type Run } from '../support/linearity.ts'
import { awsMessage } from '../support/providers/aws-events.ts'

/** As long as some events may be: what is quadratic in their number shows only there. */
const SIZE = 128 * 1024
const HEAD = { id: 'chatcmpl-1', created: 0, model: 'm' }
const USAGE = { usage: { promptTokens: 1, completionTokens: 1 }, costUsd: 0 }

/** The payloads of a stream of about so many characters. */
type Payloads = (size: number) => readonly object[]
/** By name. */
type Cases = Readonly<Record<string, Payloads>>

const repeat = <T>(size: number, value: T): T[] => items(size, () => value)
const keys = (size: number, value: unknown = 1) =>
  Object.fromEntries(items(size, (at) => `k${at}`).map((name) => [name, value]))
const halves =
  (first: Payloads, second: Payloads): Payloads =>
  (size) => [...first(size / 2), ...second(size / 2)]

const delta = (fields: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
})
const calls = (list: readonly object[]) => delta({ tool_calls: list })
const called = (fields: object, text = '') => ({ ...fields, function: { name: 'f', arguments: text } })
const detail = { type: 'reasoning.text', index: 0, text: 'a' }

const OPENAI: Cases = {
  text: (size) => repeat(size, delta({ content: 'a' })),
  'pieces of the arguments of one call': halves(
    () => [calls([called({ index: 0, id: 'a' })])],
    (size) => repeat(size, calls([{ index: 0, function: { arguments: 'a' } }])),
  ),
  'arguments before the name': (size) => [
    ...repeat(size, calls([{ index: 0, function: { arguments: 'a' } }])),
    calls([called({ index: 0, id: 'a' })]),
  ],
  'calls by index': (size) => items(size, (index) => calls([called({ index, id: `c${index}` })])),
  'calls by index in one chunk': (size) => [calls(items(size, (index) => called({ index })))],
  'calls by id': (size) => [calls(items(size, (at) => called({ id: `c${at}` })))],
  'calls of one index': (size) => [calls(items(size, (at) => called({ index: 0, id: `c${at}` })))],
  'calls without a name': (size) => [calls(items(size, (index) => ({ index })))],
  'calls without anything': (size) => [calls(repeat(size, {}))],
  'pieces of many calls': halves(
    (size) => [calls(items(size, (index) => called({ index, id: `c${index}` })))],
    (size) => [calls(items(size, (index) => ({ index, function: { arguments: 'a' } })))],
  ),
  'calls, and finish reasons': halves(
    (size) => [calls(items(size, (index) => called({ index })))],
    (size) => [{ choices: repeat(size, { finish_reason: 'tool_calls' }) }],
  ),
  'a long id, and calls': halves(
    (size) => [{ id: 'a.'.repeat(size / 2), choices: [] }],
    (size) => [calls(items(size, (index) => called({ index })))],
  ),
  'finish reasons': (size) => [{ choices: repeat(size, { finish_reason: 'stop' }) }],
  'choices of many indices': (size) => [
    { choices: items(size, (at) => ({ index: at % 128, delta: { content: 'a' } })) },
  ],
  'reasoning details': (size) => [delta({ reasoning_details: items(size, (index) => ({ ...detail, index })) })],
  'reasoning details in pieces': (size) => repeat(size, delta({ reasoning_details: [detail] })),
  'encrypted reasoning': (size) => [
    delta({ reasoning_details: repeat(size, { type: 'reasoning.encrypted', data: 'a' }) }),
  ],
  'a detail with many fields, in pieces': halves(
    (size) => [delta({ reasoning_details: [{ ...detail, ...keys(size) }] })],
    (size) => [delta({ reasoning_details: repeat(size, detail) })],
  ),
  'reasoning details after the end': halves(
    () => [delta({}, 'stop')],
    (size) => items(size, (index) => delta({ reasoning_details: [{ ...detail, index }] })),
  ),
  'tools in usage': (size) => [{ choices: [], usage: { prompt_tokens: 1, server_tool_use: keys(size) } }],
  'many usages': (size) => repeat(size, { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }),
  'other tools in each usage': (size) =>
    items(size, (at) => ({ choices: [], usage: { prompt_tokens: 1, server_tool_use: { [`t${at}`]: 1 } } })),
  annotations: (size) => repeat(size, delta({ annotations: [{ type: 'url_citation' }] })),
  'log probabilities': (size) => repeat(size, { choices: [{ delta: { content: 'a' }, logprobs: { content: [{}] } }] }),
  'many log probabilities': (size) => [
    { choices: [{ delta: { content: 'a' }, logprobs: { content: repeat(size, {}) } }] },
  ],
  'parts of content': (size) => [delta({ content: repeat(size, { type: 'text', text: 'a' }) })],
  'unknown fields': (size) => [delta(keys(size))],
  error: (size) => [{ error: { message: 'a'.repeat(size), code: 'b'.repeat(size), details: repeat(size, {}) } }],
}

const start = { type: 'message_start', message: { id: 'a', usage: { input_tokens: 1 } } }
const block = (index: number, fields: object) => ({ type: 'content_block_start', index, content_block: fields })
const piece = (fields: object) => ({ type: 'content_block_delta', index: 0, delta: fields })
const begun = (fields: object, next: Payloads): Payloads => halves(() => [start, block(0, fields)], next)
const tool = { type: 'tool_use', id: 'a', name: 'f', input: {} }

const ANTHROPIC: Cases = {
  text: begun({ type: 'text', text: '' }, (size) => repeat(size, piece({ type: 'text_delta', text: 'a' }))),
  'pieces of arguments': begun(tool, (size) => repeat(size, piece({ type: 'input_json_delta', partial_json: 'a' }))),
  thinking: begun({ type: 'thinking', thinking: '' }, (size) =>
    repeat(size, piece({ type: 'thinking_delta', thinking: 'a' })),
  ),
  signature: begun({ type: 'thinking', thinking: 'a' }, (size) =>
    repeat(size, piece({ type: 'signature_delta', signature: 'a' })),
  ),
  citations: begun({ type: 'text', text: 'a' }, (size) =>
    items(size, (at) => piece({ type: 'citations_delta', citation: { url: `${at}` } })),
  ),
  calls: (size) => [start, ...items(size, (index) => block(index, tool))],
  'calls of one index': (size) => [start, ...repeat(size, block(0, tool))],
  'a long id, and calls': halves(
    (size) => [{ type: 'message_start', message: { id: 'a.'.repeat(size / 2) } }],
    (size) => items(size, (index) => block(index, { ...tool, id: '' })),
  ),
  'blocks of citations': (size) =>
    items(size, (index) => [
      block(index, { type: 'text', text: 'a' }),
      { ...piece({ type: 'citations_delta', citation: { url: `${index}` } }), index },
    ]).flat(),
  'many beginnings': (size) => repeat(size, start),
  'tools in usage, and searches': halves(
    (size) => [{ type: 'message_start', message: { usage: { input_tokens: 1, server_tool_use: keys(size) } } }],
    (size) => items(size, (index) => block(index, { type: 'web_search_tool_result', content: [] })),
  ),
  'many usages': (size) => repeat(size, { type: 'message_delta', usage: { output_tokens: 1 } }),
  'pings and others': (size) => repeat(size, { type: 'ping' }),
}

const parts = (list: readonly object[], finish?: string) => ({
  candidates: [{ content: { parts: list }, ...(finish === undefined ? {} : { finishReason: finish }) }],
})
const partial = (jsonPath: string) => ({
  functionCall: { partialArgs: [{ jsonPath, stringValue: 'a', willContinue: true }], willContinue: true },
})
const image = { inlineData: { mimeType: 'image/a', data: 'a' } }
const open = { functionCall: { name: 'f', willContinue: true } }

const GEMINI: Cases = {
  text: (size) => repeat(size, parts([{ text: 'a' }])),
  'parts of text': (size) => [parts(repeat(size, { text: 'a' }))],
  'calls without an id in one chunk': (size) => [parts(repeat(size, { functionCall: { name: 'f' } }))],
  'calls without an id': (size) => repeat(size, parts([{ functionCall: { name: 'f' } }])),
  'calls with ids': (size) => [parts(items(size, (at) => ({ functionCall: { name: 'f', id: `${at}` } })))],
  'a long id, and calls': halves(
    (size) => [{ responseId: 'a'.repeat(size), candidates: [] }],
    (size) => repeat(size, parts([{ functionCall: { name: 'f' } }])),
  ),
  images: (size) => [parts(repeat(size, image))],
  'images in chunks': (size) => repeat(size, parts([image])),
  'signatures after the end': (size) => repeat(size, parts([{ text: 'a', thoughtSignature: 's' }], 'STOP')),
  'signatures of calls after the end': (size) =>
    items(size, (at) => parts([{ functionCall: { name: 'f', id: `${at}` }, thoughtSignature: 's' }], 'STOP')),
  'pieces of one argument': halves(
    () => [parts([open])],
    (size) => repeat(size, parts([partial('$.a')])),
  ),
  'pieces of many arguments': halves(
    () => [parts([open])],
    (size) => [parts(items(size, (at) => partial(`$.a${at}`)))],
  ),
  'pieces of a list': halves(
    () => [parts([open])],
    (size) => [parts(items(size, (at) => partial(`$.a[${at}]`)))],
  ),
  grounding: (size) => [
    { candidates: [{ groundingMetadata: { groundingChunks: items(size, (at) => ({ web: { uri: `${at}` } })) } }] },
  ],
  'queries of searches': (size) =>
    items(size, (at) => ({ candidates: [{ groundingMetadata: { webSearchQueries: [`${at}`] } }] })),
  'log probabilities': (size) => [
    {
      candidates: [
        { content: { parts: [{ text: 'a' }] }, logprobsResult: { chosenCandidates: repeat(size, { token: 'a' }) } },
      ],
    },
  ],
  'details of usage': (size) => [
    { usageMetadata: { promptTokenCount: 1, promptTokensDetails: repeat(size, { modality: 'AUDIO', tokenCount: 1 }) } },
  ],
}

const toolUse = { toolUseId: 'a', name: 'f' }
const bedrockDelta = (fields: object) => ({ contentBlockDelta: { contentBlockIndex: 0, delta: fields } })

const BEDROCK: Cases = {
  text: (size) => repeat(size, bedrockDelta({ text: 'a' })),
  'pieces of arguments': halves(
    () => [{ contentBlockStart: { contentBlockIndex: 0, start: { toolUse } } }],
    (size) => repeat(size, bedrockDelta({ toolUse: { input: 'a' } })),
  ),
  calls: (size) => [
    ...items(size, (contentBlockIndex) => ({ contentBlockStart: { contentBlockIndex, start: { toolUse } } })),
    { messageStop: { stopReason: 'tool_use' } },
  ],
  'stops of calls': halves(
    (size) => items(size, (contentBlockIndex) => ({ contentBlockStart: { contentBlockIndex, start: { toolUse } } })),
    (size) => repeat(size, { messageStop: { stopReason: 'tool_use' } }),
  ),
  reasoning: (size) => repeat(size, bedrockDelta({ reasoningContent: { text: 'a', signature: 'b' } })),
  'redacted reasoning': (size) => repeat(size, bedrockDelta({ reasoningContent: { redactedContent: 'YQ==' } })),
  'blocks of reasoning': (size) => [
    ...items(size, (contentBlockIndex) => ({
      contentBlockDelta: { contentBlockIndex, delta: { reasoningContent: { text: 'a', signature: 'b' } } },
    })),
    { messageStop: { stopReason: 'end_turn' } },
  ],
  'cache in usage': (size) => [
    { metadata: { usage: { inputTokens: 1, cacheDetails: repeat(size, { ttl: '1h', inputTokens: 1 }) } } },
  ],
  'many usages': (size) => repeat(size, { metadata: { usage: { inputTokens: 1 } } }),
}

const at = (type: string, output_index: number, fields: object) => ({
  type: `response.${type}`,
  output_index,
  ...fields,
})
const functionCall = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }
const encrypted = { type: 'reasoning', id: 'a', summary: [], encrypted_content: 'a' }
const cited = { type: 'url_citation', url: 'a', start_index: 0, end_index: 1 }
const saying = (content: readonly object[]) => ({ type: 'message', id: 'a', content })
const completed = (output: readonly object[]) => ({ type: 'response.completed', response: { id: 'a', output } })

const RESPONSES: Cases = {
  text: (size) => repeat(size, at('output_text.delta', 0, { delta: 'a' })),
  'pieces of arguments': halves(
    () => [at('output_item.added', 0, { item: functionCall })],
    (size) => repeat(size, at('function_call_arguments.delta', 0, { delta: 'a' })),
  ),
  reasoning: (size) => repeat(size, at('reasoning_summary_text.delta', 0, { delta: 'a' })),
  'parts of a summary': (size) => repeat(size, at('reasoning_summary_part.added', 0, {})),
  calls: (size) => items(size, (index) => at('output_item.added', index, { item: functionCall })),
  'calls of one index': (size) => repeat(size, at('output_item.added', 0, { item: functionCall })),
  'items at the end': (size) => [completed(repeat(size, functionCall))],
  'reasoning and calls': (size) => [completed(items(size / 2, () => [encrypted, functionCall]).flat())],
  'reasoning alone': (size) => [completed(repeat(size, encrypted))],
  'a long id, and calls': halves(
    (size) => [{ type: 'response.created', response: { id: 'a.'.repeat(size / 2) } }],
    (size) => [completed(repeat(size, { ...functionCall, call_id: '' }))],
  ),
  'parts of text': (size) => [completed([saying(repeat(size, { type: 'output_text', text: 'a' }))])],
  sources: (size) => [completed([saying([{ type: 'output_text', text: 'a', annotations: repeat(size, cited) }])])],
  searches: (size) => [completed(repeat(size, { type: 'web_search_call' }))],
  'states of the response': (size) => repeat(size, { type: 'response.in_progress', response: { id: 'a' } }),
  error: (size) => [{ type: 'error', code: 'a'.repeat(size), message: 'b'.repeat(size) }],
}

const PROTOCOLS: readonly (readonly [protocol: UpstreamProtocol, cases: Cases])[] = [
  [openaiChat(), OPENAI],
  [anthropicMessages(), ANTHROPIC],
  [gemini(), GEMINI],
  [bedrockConverse(), BEDROCK],
  [openaiResponses(), RESPONSES],
]

function frameOf({ framing }: UpstreamProtocol, payload: object): Frame {
  if (framing === 'sse') return { event: '', data: JSON.stringify(payload) }
  const [[event, data] = ['', {}]] = Object.entries(payload)
  return { event, data: JSON.stringify(data) }
}

const CLIENT_APIS = [chatCompletionsApi, messagesApi, responsesApi]
const REQUEST = { model: 'm', messages: [], stream: true, includeUsage: true, n: 1, extra: {} } satisfies ChatRequest

/** Reads and delivers a stream as the gateway does: counted, gathered, and rendered for clients of all APIs. */
function deliver(protocol: UpstreamProtocol, frames: readonly Frame[]): void {
  const parser = protocol.streamParser()
  const usage = createCallUsage(protocol)
  const answers = CLIENT_APIS.map((api) => api.createAnswer(REQUEST, HEAD.id))
  const streams = CLIENT_APIS.map((api) => api.createStream({ ...HEAD, request: REQUEST, promptTokens: 1 }))
  const events: ChatEvent[] = []
  const pass = (): void => {
    for (const event of events) {
      meter(usage, event)
      for (const answer of answers) answer.push(event)
      for (const stream of streams) unlessBroken(() => stream.push(event))
    }
    estimateTokens(usage)
    events.length = 0
  }
  unlessBroken(() => {
    for (const frame of frames) {
      const isLast = parser.push(frame, events)
      pass()
      if (isLast) break
    }
    parser.end(events)
  })
  pass()
  for (const answer of answers) answer.render({ ...HEAD, ...USAGE })
  for (const stream of streams) stream.close(USAGE)
}

/** What cannot be delivered is an outcome, too. */
function unlessBroken(step: () => void): void {
  try {
    step()
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
  }
}

for (const [protocol, cases] of PROTOCOLS) {
  test(`time is linear in a provider’s stream: ${protocol.id}`, async () => {
    const faults: string[] = []
    for (const [name, payloads] of Object.entries(cases)) {
      const fault = await linearityFault((size) => {
        const frames = payloads(size).map((payload) => frameOf(protocol, payload))
        return () => deliver(protocol, frames)
      }, SIZE)
      if (fault !== undefined) faults.push(`${name}: ${fault}`)
    }
    assert.deepEqual(faults, [])
  })
}

const message = (fields: object) => ({ choices: [{ index: 0, message: fields, finish_reason: 'stop' }], usage: {} })
const converse = (content: readonly object[]) => ({ output: { message: { content } }, stopReason: 'end_turn' })

/** Whole answers. */
const WHOLE: Readonly<Record<string, (size: number) => readonly [UpstreamProtocol, object]>> = {
  'calls without an id': (size) => [openaiChat(), message({ tool_calls: repeat(size, called({})) })],
  'a long id, and calls': (size) => [
    openaiChat(),
    { id: 'a.'.repeat(size / 2), ...message({ tool_calls: repeat(size / 2, called({})) }) },
  ],
  choices: (size) => [openaiChat(), { choices: repeat(size, { message: { content: 'a' }, finish_reason: 'stop' }) }],
  'tools in usage': (size) => [
    openaiChat(),
    { ...message({ content: 'a' }), usage: { prompt_tokens: 1, server_side_tool_usage_details: keys(size) } },
  ],
  'reasoning details': (size) => [openaiChat(), message({ reasoning_details: repeat(size, detail) })],
  'blocks of text': (size) => [anthropicMessages(), { content: repeat(size, { type: 'text', text: 'a' }) }],
  'blocks of calls': (size) => [
    anthropicMessages(),
    { id: 'a.'.repeat(size / 4), content: repeat(size / 2, { ...tool, id: '' }) },
  ],
  'blocks of citations': (size) => [
    anthropicMessages(),
    { content: items(size, (at) => ({ type: 'text', text: 'a', citations: [{ url: `${at}` }] })) },
  ],
  'searches beside tools in usage': (size) => [
    anthropicMessages(),
    {
      content: repeat(size / 2, { type: 'web_search_tool_result', content: [] }),
      usage: { input_tokens: 1, server_tool_use: keys(size / 2) },
    },
  ],
  'calls of Gemini without an id': (size) => [gemini(), parts(repeat(size, { functionCall: { name: 'f' } }), 'STOP')],
  'a list of answers of Gemini': (size) => [gemini(), repeat(size, parts([{ functionCall: { name: 'f' } }], 'STOP'))],
  'images of Gemini': (size) => [gemini(), parts(repeat(size, image), 'STOP')],
  'calls of Responses': (size) => [openaiResponses(), { output: repeat(size, functionCall) }],
  'reasoning of Responses': (size) => [
    openaiResponses(),
    { output: items(size / 2, () => [encrypted, functionCall]).flat() },
  ],
  'blocks of Bedrock': (size) => [bedrockConverse(), converse(repeat(size, { text: 'a' }))],
  'calls of Bedrock': (size) => [bedrockConverse(), converse(repeat(size, { toolUse }))],
  'reasoning of Bedrock': (size) => [
    bedrockConverse(),
    converse(repeat(size, { reasoningContent: { reasoningText: { text: 'a', signature: 'b' } } })),
  ],
}

test('time is linear in a provider’s answer', async () => {
  const faults: string[] = []
  for (const [name, make] of Object.entries(WHOLE)) {
    const fault = await linearityFault((size): Run => {
      const [protocol, answer] = make(size)
      const body = JSON.stringify(answer)
      return () => protocol.parseResponse(body)
    }, SIZE)
    if (fault !== undefined) faults.push(`${name}: ${fault}`)
  }
  assert.deepEqual(faults, [])
})

/** Bytes of streams. */
const BYTES: Readonly<Record<string, (size: number) => readonly ['sse' | 'aws-event-stream', Buffer]>> = {
  'an event of many lines': (size) => ['sse', Buffer.from(`${'data: a\n'.repeat(size / 8)}\n`)],
  'many events': (size) => ['sse', Buffer.from('data: {}\n\n'.repeat(size / 10))],
  'many comments': (size) => ['sse', Buffer.from(':\n\n'.repeat(size / 3))],
  'an event without an end': (size) => ['sse', Buffer.from(`data: ${'a'.repeat(size)}`)],
  'carriage returns': (size) => ['sse', Buffer.from(`data: ${'\r'.repeat(size)}`)],
  'many messages': (size) => ['aws-event-stream', Buffer.concat(repeat(size / 4, awsMessage('contentBlockDelta', {})))],
  'a long message': (size) => ['aws-event-stream', awsMessage('contentBlockDelta', { text: 'a'.repeat(size) })],
  'a message without an end': (size) => [
    'aws-event-stream',
    awsMessage('contentBlockDelta', { text: 'a'.repeat(size) }).subarray(0, size),
  ],
}

for (const pieceBytes of [1, 7, 4096]) {
  test(`time is linear in the bytes of a stream, ${pieceBytes} at a time`, async () => {
    const faults: string[] = []
    for (const [name, make] of Object.entries(BYTES)) {
      const fault = await linearityFault((size): Run => {
        const [framing, bytes] = make(size)
        return () => {
          const decoder = createDecoder(framing, { maxEventBytes: 2 ** 30 })
          const frames: Frame[] = []
          for (let at = 0; at < bytes.length; at += pieceBytes)
            decoder.push(bytes.subarray(at, at + pieceBytes), frames)
          decoder.end()
        }
      }, SIZE)
      if (fault !== undefined) faults.push(`${name}: ${fault}`)
    }
    assert.deepEqual(faults, [])
  })
}
