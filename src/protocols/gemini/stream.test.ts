import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ChatEvent } from '../../domain/chat.ts'
import { createSseDecoder } from '../framing.ts'
import { type Frame, ProviderError, type StreamParser } from '../protocol.ts'
import { streamParser } from './stream.ts'

function fixture(name: string): ChatEvent[] {
  const frames: Frame[] = []
  createSseDecoder().push(readFileSync(join(import.meta.dirname, 'fixtures', `${name}.sse`)), frames)
  return read(frames.map(({ data }) => data))
}

function read(chunks: readonly (string | object)[], parser: StreamParser = streamParser()): ChatEvent[] {
  const events: ChatEvent[] = []
  for (const chunk of chunks) {
    parser.push({ event: '', data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk) }, events)
  }
  parser.end(events)
  return events
}

const chunk = (parts: readonly object[], finishReason?: string): object => ({
  responseId: 'r',
  candidates: [{ content: { parts }, ...(finishReason !== undefined && { finishReason }) }],
})
const piece = (jsonPath: string, value: object, willContinue = false): object => ({
  jsonPath,
  ...value,
  ...(willContinue && { willContinue }),
})
const part = (partialArgs: readonly object[], rest: object = { willContinue: true }): object => ({
  functionCall: { partialArgs, ...rest },
})

function argumentsOf(events: readonly ChatEvent[], toolIndex: number): string {
  return events
    .map((event) => (event.type === 'tool-call' && event.toolIndex === toolIndex ? event.arguments : ''))
    .join('')
}

test('the last count is the count', () => {
  const usages = fixture('usage-without-candidates-at-the-end').filter((event) => event.type === 'usage')
  assert.deepEqual(usages.at(-1), {
    type: 'usage',
    usage: { promptTokens: 87, completionTokens: 78, reasoningTokens: 78 },
  })
})

test('an early count without candidates says nothing of the completion', () => {
  const early = { ...chunk([{ text: 'Hi' }]), usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 } }
  const [usage] = read([early, chunk([], 'STOP')])
  assert.deepEqual(usage, { type: 'usage', usage: { promptTokens: 5 } })
})

test('signatures are told once, before the finish, with the range of their text', () => {
  const events = fixture('thoughts').slice(-2)
  assert.deepEqual(events, [
    {
      type: 'extension',
      index: 0,
      field: 'provider_context',
      value: { gemini: { signatures: [{ index: 0, text: '6:6', signature: 'c2lnLWVuZA==' }] } },
    },
    { type: 'finish', index: 0, reason: 'stop', raw: 'STOP' },
  ])
})

test('a signature after the finish is told too', () => {
  const events = read([chunk([{ text: 'a' }], 'STOP'), chunk([{ text: '', thoughtSignature: 's' }])])
  assert.equal(events.at(-1)?.type, 'extension')
})

test('arguments in pieces become one object, whatever they are', () => {
  const pieces = [
    piece('$.query', { stringValue: 'fjo' }, true),
    piece('$.query', { stringValue: 'rd' }),
    piece('$.limit', { numberValue: 10 }),
    piece('$.exact', { boolValue: false }),
    piece('$.none', { nullValue: 'NULL_VALUE' }),
    piece('$.at[0].name', { stringValue: 'Oslo' }),
    piece('$.at[1].name', { stringValue: 'Rome' }),
    piece("$['a b']['it\\'s']", { stringValue: 'x' }),
    piece('$.__proto__.x', { numberValue: 1 }),
  ]
  const events = read([
    chunk([part(pieces, { name: 'search', willContinue: true })]),
    chunk([part([], {})]),
    chunk([], 'STOP'),
  ])
  const expected =
    '{"query":"fjord","limit":10,"exact":false,"none":null,"at":[{"name":"Oslo"},{"name":"Rome"}],"a b":{"it\'s":"x"},"__proto__":{"x":1}}'
  assert.equal(argumentsOf(events, 0), expected)
  assert.equal(Reflect.get({}, 'x'), undefined)
})

test('pieces that fit nowhere are a failure of the provider', () => {
  for (const path of ['', '$', 'query', '$..a', '$.a[9999999]', '$[', `$${'.a'.repeat(100)}`, "$['a"]) {
    const chunks = [chunk([part([piece(path, { stringValue: 'x' })], { name: 'f' })], 'STOP')]
    assert.throws(() => read(chunks), /fits nowhere/, path)
  }
  const clash = [piece('$.a', { stringValue: 'x' }), piece('$.a.b', { stringValue: 'y' })]
  assert.throws(() => read([chunk([part(clash, { name: 'f' })], 'STOP')]), ProviderError)
})

test('a call that the limit cut off is not taken for a whole one', () => {
  const events = read([
    chunk([part([piece('$.a', { stringValue: 'x' }, true)], { name: 'f', willContinue: true })]),
    chunk([], 'MAX_TOKENS'),
  ])
  assert.equal(argumentsOf(events, 0), '')
  assert.deepEqual(events.at(-1), { type: 'finish', index: 0, reason: 'length', raw: 'MAX_TOKENS' })
})

const reasons = (events: readonly ChatEvent[]): unknown =>
  events.flatMap((event) => (event.type === 'finish' ? [event.reason] : []))

test('a later word replaces STOP, and STOP replaces none', () => {
  const finishes = fixture('finish-in-every-chunk').filter((event) => event.type === 'finish')
  assert.deepEqual(
    finishes.map(({ reason }) => reason),
    ['stop', 'content_filter'],
  )
  const calls = read([
    chunk([{ text: 'a' }], 'STOP'),
    chunk([{ functionCall: { name: 'f' } }], 'STOP'),
    chunk([], 'STOP'),
  ])
  assert.deepEqual(reasons(calls), ['stop', 'tool_calls'])
  assert.deepEqual(reasons(read([chunk([{ text: 'a' }], 'SAFETY'), chunk([], 'STOP')])), ['content_filter'])
})

test('an error in a chunk is that error, and what was counted comes first', () => {
  const events: ChatEvent[] = []
  const data = JSON.stringify({
    usageMetadata: { promptTokenCount: 3 },
    error: { code: 503, status: 'UNAVAILABLE', message: 'Busy.' },
  })
  assert.throws(
    () => streamParser().push({ event: '', data }, events),
    (error) => error instanceof ProviderError && error.failure.kind === 'overloaded' && error.failure.status === 503,
  )
  assert.deepEqual(events, [{ type: 'usage', usage: { promptTokens: 3 } }])
  const list = { event: '', data: '[{"error":{"code":429}}]' }
  assert.throws(
    () => streamParser().push(list, []),
    (error) => error instanceof ProviderError && error.failure.kind === 'rate_limited',
  )
})

test('a model that came to nothing is a failure; one that wrote before is not', () => {
  assert.throws(
    () => read([chunk([{ text: 'Hm.', thought: true }]), chunk([], 'MALFORMED_FUNCTION_CALL')]),
    ProviderError,
  )
  assert.deepEqual(fixture('malformed-call-after-text').at(-1), {
    type: 'finish',
    index: 0,
    reason: 'stop',
    raw: 'MALFORMED_FUNCTION_CALL',
  })
})

test('frames that say nothing are read over; what cannot be read is a failure', () => {
  const parser = streamParser()
  const events: ChatEvent[] = []
  for (const frame of [
    { event: '', data: ' ' },
    { event: 'ping', data: 'x' },
    { event: '', data: '{"new":1}' },
  ])
    parser.push(frame, events)
  assert.deepEqual(events, [])
  assert.throws(() => parser.push({ event: '', data: '{"candidates":' }, events), ProviderError)
  assert.throws(() => parser.push({ event: 'error', data: 'gone' }, events), ProviderError)
  assert.equal(parser.push({ event: '', data: '[DONE]' }, events), true)
})

test('a stream that ends before a choice has finished is cut, not complete', () => {
  assert.throws(() => read([]), ProviderError)
  const two = {
    candidates: [
      { index: 0, content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' },
      { index: 1, content: { parts: [] } },
    ],
  }
  assert.throws(() => read([two]), ProviderError)
})
