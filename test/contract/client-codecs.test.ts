/**
 * Every recorded answer of a provider, rendered for the clients of every API, whole and streamed: text, reasoning, tool
 * calls, finish reason and usage are those of the recording, read by readers that share nothing with the gateway.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TSchema } from 'typebox'
import { Check, Errors } from 'typebox/value'
import type { ChatEvent, Usage } from '../../src/domain/chat.ts'
import { toGatewayError } from '../../src/gateway/upstream/failure.ts'
import { ChatCompletion } from '../../src/http/chat-route.ts'
import { Message } from '../../src/http/messages-route.ts'
import { messagesApi } from '../../src/protocols/anthropic-messages/client/index.ts'
import type { ClientApi } from '../../src/protocols/client-api.ts'
import { createDecoder } from '../../src/protocols/framing.ts'
import { chatCompletionsApi } from '../../src/protocols/openai-chat/client/index.ts'
import { responsesApi } from '../../src/protocols/openai-responses/client/index.ts'
import { openaiResponses } from '../../src/protocols/openai-responses/index.ts'
import { type Frame, ProviderError } from '../../src/protocols/protocol.ts'
import { openai } from '../../src/providers/openai.ts'
import { checkEvent, checkResponse } from '../support/open-responses.ts'
import { chunk, counts, eventStream, usageChunk } from '../support/providers/answers.ts'
import { answerEvents, codecOf } from '../support/providers/gateway-price.ts'
import { expectedError } from '../support/providers/recorded-errors.ts'
import { loadOwnRecordings, loadRecordings, type Recording } from '../support/providers/recordings.ts'
import { functionItem, messageItem, responseEvents } from '../support/providers/responses-fake.ts'
import { readStream, readWhole, type Whole } from '../support/readers.ts'

const HELLO = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
const HEAD = { id: 'chatcmpl-00000000000000000000', created: 1, model: 'm' } as const

// biome-ignore lint/suspicious/noExplicitAny: events are any JSON
type WireEvent = any

/** The deltas that a block may have, by type; those of other types are the provider's own. */
const BLOCK_DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  redacted_thinking: [],
}

/** Anthropic's order: blocks one after another, numbered without gaps, and deltas of the type of their block. */
function checkMessageEvents(events: readonly WireEvent[]): void {
  const [first, ...rest] = events.filter(({ type }) => type !== 'ping')
  assert.equal(first.type, 'message_start')
  assert.ok(first.message.usage.input_tokens > 0, 'the prompt was counted')
  assert.deepEqual(
    rest.slice(-2).map(({ type }) => type),
    ['message_delta', 'message_stop'],
  )
  let next = 0
  let open: string | undefined
  for (const { type, index, content_block: block, delta } of rest.slice(0, -2)) {
    assert.equal(index, next, type)
    assert.equal(type === 'content_block_start', open === undefined, type)
    if (type === 'content_block_start') open = block.type
    else if (type === 'content_block_delta')
      assert.ok(BLOCK_DELTAS[open ?? '']?.includes(delta.type) ?? true, `${open}: ${delta.type}`)
    else {
      assert.equal(type, 'content_block_stop')
      open = undefined
      next += 1
    }
  }
  assert.equal(open, undefined, 'a block has no end')
}

function checkResponseEvents(events: readonly WireEvent[]): void {
  for (const [number, event] of events.entries()) {
    checkEvent(event)
    assert.equal(event.sequence_number, number)
  }
}

interface ClientCodec {
  readonly api: ClientApi
  /** Whose readers read what it renders. */
  readonly protocol: string
  readonly body: object
  /** Throws for an answer that is not as the contract describes it. */
  readonly check: (answer: unknown) => void
  /** The same for the events of a stream, where the contract has them. */
  readonly checkEvents?: (events: readonly WireEvent[]) => void
}

const matches =
  (schema: TSchema) =>
  (answer: unknown): void =>
    assert.ok(Check(schema, answer), JSON.stringify([...Errors(schema, answer)].slice(0, 3)))

const CODECS: readonly ClientCodec[] = [
  { api: chatCompletionsApi, protocol: 'openai-chat', body: HELLO, check: matches(ChatCompletion) },
  {
    api: messagesApi,
    protocol: 'anthropic-messages',
    body: { ...HELLO, max_tokens: 100 },
    check: matches(Message),
    checkEvents: checkMessageEvents,
  },
  {
    api: responsesApi,
    protocol: 'openai-responses',
    body: { model: 'm', input: 'Hi' },
    check: (answer) => checkResponse(answer),
    checkEvents: checkResponseEvents,
  },
]

/** What a client makes of an answer, in whatever API. */
interface Made {
  /** Text and refusal: not every API tells them apart. */
  readonly said: string
  readonly reasoning: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[]
  readonly finish: string | undefined
  readonly usage: readonly (number | undefined)[]
}

function madeOf({ choices, usage = {} }: Whole): Made {
  const { text, refusal, reasoning, toolCalls, finish } = choices[0] ?? assert.fail('no choice')
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0 } = usage
  return {
    said: text + refusal,
    reasoning,
    calls: toolCalls.map(({ id, name, arguments: written }) => ({ id, name, input: inputOf(written) })),
    finish,
    usage: [promptTokens, completionTokens, cachedTokens, cacheWriteTokens],
  }
}

/** Messages have objects in place of text: other arguments are within one. */
function inputOf(written: string): unknown {
  try {
    const input: unknown = JSON.parse(written)
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input
  } catch {}
  return { arguments: written }
}

type Counted = Usage & Required<Pick<Usage, 'promptTokens' | 'completionTokens'>>

/** Usage as the gateway bills it: counts of its own where there are none, and no part above its total. */
function usageOf(events: readonly ChatEvent[]): Counted {
  let usage: Usage = {}
  for (const event of events) if (event.type === 'usage') usage = { ...usage, ...event.usage }
  const { promptTokens = 7, completionTokens = 5, cachedTokens, cacheWriteTokens } = usage
  const cached = Math.min(cachedTokens ?? 0, promptTokens)
  const written = Math.min(cacheWriteTokens ?? 0, promptTokens - cached)
  return {
    ...usage,
    promptTokens,
    completionTokens,
    ...(cachedTokens === undefined ? {} : { cachedTokens: cached }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens: written }),
  }
}

function renderedWhole({ api, protocol, body, check }: ClientCodec, events: readonly ChatEvent[]): Whole {
  const answer = api.createAnswer(api.parse(body))
  for (const event of events) answer.push(event)
  const text = answer.render({ ...HEAD, usage: usageOf(events), costUsd: 0.5 })
  check(JSON.parse(text))
  return readWhole(asRecording(protocol, text))
}

function renderedStream({ api, protocol, body, checkEvents }: ClientCodec, events: readonly ChatEvent[]): Whole {
  const request = api.parse({ ...body, stream: true })
  const stream = api.createStream({ ...HEAD, request, promptTokens: 7 })
  const pieces = events.map((event) => stream.push(event))
  const text = pieces.join('') + stream.close({ usage: usageOf(events), costUsd: 0.5 })
  checkEvents?.([...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data)))
  const read = readStream(asRecording(protocol, text))
  assert.notEqual(read.terminalOffset, undefined, 'the stream ends')
  return read
}

function asRecording(protocol: string, text: string): Recording {
  return { protocol, bytes: Buffer.from(text) } as Recording
}

/** Why there is nothing to render; undefined: there is an answer. */
function reasonLeftOut(recording: Recording): string | undefined {
  if (recording.status >= 300) return 'an error'
  const read = recording.stream ? readStream(recording) : readWhole(recording)
  if (read.isError) return 'an answer that ends in an error, or is none'
  if (recording.stream && readStream(recording).terminalOffset === undefined) return 'a stream that breaks off'
  return undefined
}

const recorded = loadRecordings() ?? []
const left = new Map<string, number>()
let rendered = 0

for (const recording of [...recorded, ...loadOwnRecordings()]) {
  const reason = reasonLeftOut(recording)
  if (reason !== undefined) {
    left.set(reason, (left.get(reason) ?? 0) + 1)
    continue
  }
  test(`${recording.file}: the same for the clients of every API, whole and streamed`, () => {
    const events = answerEvents(recording).filter((event) => event.type === 'usage' || event.index === 0)
    const source = madeOf(recording.stream ? readStream(recording) : readWhole(recording))
    const [first, ...others] = CODECS
    const made = madeOf(renderedWhole(first ?? assert.fail(), events))
    assert.deepEqual(withoutIds(made), { ...withoutIds(source), usage: made.usage })
    const counts = usageOf(events)
    const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0 } = counts
    assert.deepEqual(made.usage, [promptTokens, completionTokens, cachedTokens, cacheWriteTokens])
    for (const codec of others) assert.deepEqual(madeOf(renderedWhole(codec, events)), made, codec.api.endpoint)
    for (const codec of CODECS)
      assert.deepEqual(madeOf(renderedStream(codec, events)), made, `${codec.api.endpoint}, streamed`)
    rendered++
  })
}

/** The statuses of Anthropic's API where they differ. */
const MESSAGES_STATUS: Readonly<Record<number, number>> = { 503: 529 }
const MESSAGES_TYPE: Readonly<Record<number, string>> = { 400: 'invalid_request_error', 529: 'overloaded_error' }

for (const recording of [...recorded, ...loadOwnRecordings()].filter(({ status }) => status >= 300)) {
  test(`${recording.file}: the same error for the clients of every API`, () => {
    const { status, headers, bytes } = recording
    const failure = codecOf(recording).parseError({ status, headers, body: bytes.toString('utf8') }, 0)
    const error = toGatewayError(new ProviderError(failure), 'host')
    const expected = expectedError(recording)
    for (const { api, protocol } of CODECS) {
      const isMessages = protocol === 'anthropic-messages'
      const body = JSON.parse(api.renderError(error, 'req_1'))
      if (isMessages) assert.deepEqual([body.type, body.request_id], ['error', 'req_1'])
      const { type, code, message } = body.error
      const shown = isMessages ? (MESSAGES_STATUS[expected.status] ?? expected.status) : expected.status
      const named = isMessages ? MESSAGES_TYPE[shown] : expected.type
      assert.deepEqual([api.statusOf(error), type, code], [shown, named, expected.code], protocol)
      assert.ok(message.startsWith(error.message), message)
      if (expected.isShown) assert.ok(message.replace(/\s+/g, ' ').includes(expected.said), message)
    }
  })
}

const BARE_ERROR = /^[{[]/m

/** Text and reasoning of a stream that broke off. */
function saidBefore({ choices }: Whole): string {
  const { text = '', refusal = '', reasoning = '' } = choices[0] ?? {}
  return JSON.stringify([text + refusal, reasoning])
}

/** The same of the Responses API, whose last event has the items that were complete. */
function saidByDeltas(stream: string): string {
  const events: WireEvent[] = [...stream.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
  assert.equal(events.at(-1).type, 'response.failed')
  const joined = (...types: readonly string[]): string =>
    events.flatMap(({ type, delta }) => (types.includes(type) ? [delta] : [])).join('')
  return JSON.stringify([
    joined('response.output_text.delta', 'response.refusal.delta'),
    joined('response.reasoning_summary_text.delta'),
  ])
}

for (const recording of [...recorded, ...loadOwnRecordings()]) {
  if (reasonLeftOut(recording) === undefined || recording.status >= 300) continue
  test(`${recording.file}: what came before the failure, and the failure, are the same for the clients of every API`, () => {
    const events: ChatEvent[] = []
    // An error outside of the events is found by the call, not by the codec.
    if (recording.stream && BARE_ERROR.test(recording.bytes.toString('utf8'))) answerEvents(recording, events)
    else assert.throws(() => answerEvents(recording, events), ProviderError)
    if (!recording.stream) return
    const said = new Set<string>()
    for (const { api, protocol, body } of CODECS) {
      const stream = api.createStream({ ...HEAD, request: api.parse({ ...body, stream: true }), promptTokens: 7 })
      const begun = events.map((event) => stream.push(event)).join('')
      const end = { code: 'provider_error', message: 'Broken.', requestId: 'req_1' }
      const text = begun + (stream.fail?.(end) ?? api.renderBroken(end))
      assert.match(text, protocol === 'openai-chat' ? /^data: \{"error":/m : /^event: error$/m)
      assert.match(text, /"request_id":"req_1"/)
      assert.doesNotMatch(text, /"type":"(message_stop|response\.completed|response\.incomplete)"/)
      said.add(
        protocol === 'openai-responses' ? saidByDeltas(text) : saidBefore(readStream(asRecording(protocol, text))),
      )
    }
    assert.equal(said.size, 1, [...said].join(', '))
  })
}

/** Calls without an ID get one. */
function withoutIds(made: Made): object {
  return { ...made, calls: made.calls.map(({ name, input }) => ({ name, input })) }
}

test('how many recordings were rendered is printed', () => {
  if (recorded.length === 0) console.log('client codecs: recordings not found')
  console.log(`client codecs: ${rendered} answers for ${CODECS.length} APIs, whole and streamed`)
  for (const [reason, count] of left) console.log(`client codecs: ${count} not rendered: ${reason}`)
  assert.ok(rendered > 0)
})

test('calls whose pieces alternate in any way are the same for the clients of every API, whole and streamed', () => {
  const piece = fc.record({ call: fc.nat(2), cut: fc.nat(12), between: fc.constantFrom('usage', 'extension', 'none') })
  const written = fc.array(fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 }), { minLength: 1, maxLength: 3 })
  const drawn = fc.record({ inputs: written, pieces: fc.array(piece, { maxLength: 30 }), said: fc.string() })
  fc.assert(
    fc.property(drawn, ({ inputs, pieces, said }) => {
      const events = [...(said === '' ? [] : [{ type: 'text', index: 0, text: said } as const])]
      const all: ChatEvent[] = [
        ...events,
        ...alternating(
          inputs.map((input) => JSON.stringify(input)),
          pieces,
        ),
      ]
      const [made, ...others] = CODECS.flatMap((codec) => [renderedWhole(codec, all), renderedStream(codec, all)])
      assert.deepEqual(
        madeOf(made ?? assert.fail()).calls.map(({ input }) => input),
        JSON.parse(JSON.stringify(inputs)),
      )
      for (const other of others) assert.deepEqual(madeOf(other), madeOf(made ?? assert.fail()))
    }),
    { numRuns: 500 },
  )
})

test('a stream whose calls alternate is the same for every API, wherever its bytes are split', () => {
  const piece = (index: number, part: object) => chunk({ tool_calls: [{ index, ...part }] })
  const begun = (index: number) => piece(index, { id: `call_${index}`, function: { name: 'f', arguments: '' } })
  const more = (index: number, written: string) => piece(index, { function: { arguments: written } })
  const pieces = [begun(0), more(0, '{"a":'), begun(1), more(1, '{"b":'), more(0, '"é"}'), more(1, '2}')]
  const bytes = Buffer.from(eventStream([...pieces, chunk({}, 'tool_calls'), usageChunk(counts(20, 12))]))
  const { protocol } = openai
  for (let at = 0; at < bytes.length; at++) {
    const frames: Frame[] = []
    const decoder = createDecoder(protocol.framing, { maxEventBytes: 1024 })
    for (const part of [bytes.subarray(0, at), bytes.subarray(at)]) decoder.push(part, frames)
    const parser = protocol.streamParser()
    const events: ChatEvent[] = []
    for (const frame of frames) if (parser.push(frame, events)) break
    parser.end(events)
    for (const codec of CODECS) {
      const { calls, usage } = madeOf(renderedStream(codec, events))
      assert.deepEqual(
        calls.map(({ id, input }) => [id, input]),
        [
          ['call_0', { a: 'é' }],
          ['call_1', { b: 2 }],
        ],
        `${codec.api.endpoint}, split at ${at}`,
      )
      assert.deepEqual(usage.slice(0, 2), [20, 12])
    }
  }
})

test('items that a Responses provider interleaves are the same for the clients of every API', () => {
  const items = ['one', 'two'].map((name) =>
    functionItem(`fc_${name}`, { id: `call_${name}`, name, arguments: '{"at":1}' }),
  )
  const output = [...items, messageItem('msg_1', 'Hello')]
  const all = responseEvents(output, {}, (text) => [...text])
  const turns = output.map((_, at) => all.filter(({ output_index }) => output_index === at))
  const mixed = Array.from({ length: 40 }, (_, at) => turns.flatMap((queue) => queue.slice(at, at + 1))).flat()
  const parser = openaiResponses().streamParser()
  const events: ChatEvent[] = []
  for (const event of [...mixed, all.at(-1)]) parser.push({ event: event.type, data: JSON.stringify(event) }, events)
  parser.end(events)
  for (const codec of CODECS) {
    const { calls, said } = madeOf(renderedStream(codec, events))
    assert.deepEqual(
      calls.map(({ id, name, input }) => [id, name, input]),
      [
        ['call_one', 'one', { at: 1 }],
        ['call_two', 'two', { at: 1 }],
      ],
      codec.api.endpoint,
    )
    assert.equal(said, 'Hello', codec.api.endpoint)
  }
})

interface Piece {
  readonly call: number
  readonly cut: number
  readonly between: string
}

/** The texts cut into pieces of the drawn calls and lengths, then what is left of each, and the end. */
function alternating(texts: readonly string[], pieces: readonly Piece[]): ChatEvent[] {
  const events: ChatEvent[] = []
  const rest = new Map<number, string>()
  const write = (toolIndex: number, length: number): void => {
    const left = rest.get(toolIndex) ?? texts[toolIndex] ?? assert.fail()
    const begins = rest.has(toolIndex) ? {} : { id: `call_${toolIndex}`, name: `f${toolIndex}` }
    events.push({ type: 'tool-call', index: 0, toolIndex, ...begins, arguments: left.slice(0, length) })
    rest.set(toolIndex, left.slice(length))
  }
  for (const { call, cut, between } of pieces) {
    // A call begins after those before it.
    write(Math.min(call, rest.size, texts.length - 1), cut)
    if (between === 'usage') events.push({ type: 'usage', usage: { promptTokens: 7 } })
    if (between === 'extension') events.push({ type: 'extension', index: 0, field: 'other', value: 1 })
  }
  for (const at of texts.keys()) write(at, Number.POSITIVE_INFINITY)
  return [...events, { type: 'finish', index: 0, reason: 'tool_calls', raw: 'tool_calls' }]
}
