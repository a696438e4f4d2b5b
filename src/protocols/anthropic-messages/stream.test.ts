import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ChatEvent } from '../../domain/chat.ts'
import { createSseDecoder } from '../framing.ts'
import { type Frame, ProviderError } from '../protocol.ts'
import { streamParser } from './stream.ts'

function framesOf(file: string): Frame[] {
  const frames: Frame[] = []
  createSseDecoder().push(readFileSync(join(import.meta.dirname, 'fixtures', `${file}.sse`)), frames)
  return frames
}

function read(frames: readonly Frame[]): { events: ChatEvent[]; error: unknown } {
  const parser = streamParser()
  const events: ChatEvent[] = []
  try {
    for (const frame of frames) if (parser.push(frame, events)) break
    parser.end(events)
    return { events, error: undefined }
  } catch (error) {
    return { events, error }
  }
}

const frame = (data: unknown): Frame => ({ event: '', data: JSON.stringify(data) })
const start = frame({ type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } } })
const block = (index: number, contentBlock: unknown) =>
  frame({ type: 'content_block_start', index, content_block: contentBlock })
const delta = (index: number, value: unknown) => frame({ type: 'content_block_delta', index, delta: value })
const stopBlock = (index: number) => frame({ type: 'content_block_stop', index })
const finish = (reason: string | null) =>
  frame({ type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 9 } })
const stop = frame({ type: 'message_stop' })

const told = (events: readonly ChatEvent[]): string[] => events.map(({ type }) => type)

test('nothing is told before the first content, so that an error before it can still be answered', () => {
  const parser = streamParser()
  const events: ChatEvent[] = []
  for (const each of [start, frame({ type: 'ping' }), block(0, { type: 'text', text: '' })]) parser.push(each, events)
  assert.deepEqual(events, [])
  parser.push(delta(0, { type: 'text_delta', text: 'a' }), events)
  assert.deepEqual(events, [
    { type: 'usage', usage: { promptTokens: 5 } },
    { type: 'text', index: 0, text: 'a' },
  ])
})

test('the count that a stream begins with is no count of the answer', () => {
  const { events } = read([start, block(0, { type: 'text', text: 'a' })])
  assert.deepEqual(events[0], { type: 'usage', usage: { promptTokens: 5 } })
})

test('thinking that is not shown tells that the model is at work', () => {
  const { events } = read([start, block(0, { type: 'thinking', thinking: '', signature: '' })])
  assert.deepEqual(told(events), ['usage'])
})

test('counts are totals: each later one replaces an earlier one, field by field', () => {
  const usages = read(framesOf('usage-in-steps')).events.flatMap((event) =>
    event.type === 'usage' ? [event.usage] : [],
  )
  const cached = { cachedTokens: 1000, cacheWriteTokens: 100 }
  assert.deepEqual(usages, [
    { promptTokens: 1105, ...cached },
    { promptTokens: 1105, completionTokens: 8, ...cached },
    { promptTokens: 1107, completionTokens: 12, cachedTokens: 1001, cacheWriteTokens: 100 },
  ])
})

test('R-B8: an overloaded provider is one, before, at and amid the answer', () => {
  for (const file of ['overloaded-first', 'overloaded-before-content', 'overloaded-midway']) {
    const { events, error } = read(framesOf(file))
    assert.ok(error instanceof ProviderError)
    assert.equal(error.failure.kind, 'overloaded')
    assert.equal(
      events.some(({ type }) => type !== 'usage'),
      file === 'overloaded-midway',
    )
  }
})

test('R-B1: parallel calls keep apart, whatever order their fragments come in', () => {
  const { events } = read(framesOf('interleaved-tools'))
  const calls = events.filter((event) => event.type === 'tool-call')
  assert.deepEqual(
    calls.map(({ toolIndex, id, arguments: text }) => [toolIndex, id, text]),
    [
      [0, 'toolu_a', ''],
      [1, 'toolu_b', ''],
      [1, undefined, '{"at":'],
      [0, undefined, '{}'],
      [1, undefined, '1}'],
    ],
  )
})

test("the provider's own tools are not the client's", () => {
  const { events } = read(framesOf('server-tool'))
  assert.deepEqual(
    events.flatMap((event) => (event.type === 'tool-call' ? [event.name] : [])),
    ['look', undefined],
  )
})

test('a call without arguments has an empty object, unless the answer was cut off there', () => {
  const call = [start, block(0, { type: 'tool_use', id: 'a', name: 'now', input: {} }), stopBlock(0)]
  const texts = (reason: string): string[] =>
    read([...call, finish(reason), stop]).events.flatMap((event) =>
      event.type === 'tool-call' ? [event.arguments] : [],
    )
  assert.deepEqual(texts('tool_use'), ['', '{}'])
  assert.deepEqual(texts('max_tokens'), [''])
})

test('input that comes whole with the start of its block is told once', () => {
  const frames = [
    start,
    block(0, { type: 'tool_use', id: 'a', name: 'now', input: { b: 1 } }),
    stopBlock(0),
    finish('tool_use'),
    stop,
  ]
  const calls = read(frames).events.filter((event) => event.type === 'tool-call')
  assert.deepEqual(
    calls.map((event) => event.arguments),
    ['', '{"b":1}'],
  )
})

test('a call of the tool that stands for the answer is the answer', () => {
  const frames = [
    start,
    block(0, { type: 'tool_use', id: 'a', name: 'turnpike_json_answer', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '' }),
    delta(0, { type: 'input_json_delta', partial_json: '{"a":' }),
    delta(0, { type: 'input_json_delta', partial_json: '1}' }),
    stopBlock(0),
    finish('tool_use'),
    stop,
  ]
  const { events } = read(frames)
  assert.deepEqual(told(events), ['usage', 'text', 'text', 'usage', 'finish'])
  assert.deepEqual(events.at(-1), { type: 'finish', index: 0, reason: 'stop', raw: 'tool_use' })
  const silent = [
    start,
    block(0, { type: 'tool_use', id: 'a', name: 'turnpike_json_answer', input: {} }),
    finish('tool_use'),
    stop,
  ]
  assert.deepEqual(
    read(silent).events.find(({ type }) => type === 'text'),
    { type: 'text', index: 0, text: '{}' },
  )
})

test('a message that begins twice is one, as long as nothing was told', () => {
  const { events, error } = read(framesOf('start-twice'))
  assert.equal(error, undefined)
  assert.equal(events.filter(({ type }) => type === 'text').length, 1)
})

test('a message that begins again amid the answer breaks it', () => {
  assert.ok(read(framesOf('restarted')).error instanceof ProviderError)
})

test('R-B5: a stream without its last event is an error, even with a stop reason', () => {
  const { events, error } = read(framesOf('cut'))
  assert.ok(error instanceof ProviderError)
  assert.equal(
    events.some(({ type }) => type === 'finish'),
    false,
  )
  assert.ok(read([start, block(0, { type: 'text', text: 'a' }), stop]).error instanceof ProviderError)
})

test('nothing is read after the last event', () => {
  const parser = streamParser()
  const events: ChatEvent[] = []
  for (const each of [start, finish('end_turn'), stop]) parser.push(each, events)
  const count = events.length
  assert.equal(parser.push({ event: '', data: '[DONE]' }, events), true)
  assert.equal(parser.push(start, events), true)
  assert.equal(events.length, count)
})

test('a finish that is not known is a normal one, and calls are never just a stop', () => {
  const reason = (raw: string, ...blocks: Frame[]): unknown => {
    const last = read([start, ...blocks, finish(raw), stop]).events.at(-1)
    return last?.type === 'finish' ? last.reason : undefined
  }
  const call = block(0, { type: 'tool_use', id: 'a', name: 'now', input: {} })
  assert.equal(reason('a_new_reason'), 'stop')
  assert.equal(reason('constructor'), 'stop')
  assert.equal(reason('end_turn', call), 'tool_calls')
  assert.equal(reason('a_new_reason', call), 'tool_calls')
  assert.equal(reason('pause_turn'), 'stop')
  assert.equal(reason('tool_use'), 'stop')
  assert.equal(reason('max_tokens', call), 'length')
  assert.equal(reason('refusal', call), 'content_filter')
})

function contextOf(frames: readonly Frame[]): unknown {
  const found = read(frames).events.filter((event) => event.type === 'extension')
  assert.ok(found.length <= 1)
  assert.equal(found[0]?.field ?? 'provider_context', 'provider_context')
  return found[0]?.value
}

test('signed thinking goes to the client once, before the finish, with an index in every entry', () => {
  assert.deepEqual(contextOf(framesOf('thinking-tool')), {
    anthropic: { blocks: [{ type: 'thinking', thinking: 'First things first.', signature: 'c2lnLTE=', index: 0 }] },
  })
  assert.deepEqual(contextOf(framesOf('hidden-thinking')), {
    anthropic: {
      blocks: [
        { type: 'thinking', thinking: '', signature: 'c2lnLTE=', index: 0 },
        { type: 'redacted_thinking', data: 'b3BhcXVl', index: 1 },
      ],
    },
  })
})

test('thinking amid the answer remembers what it stood between', () => {
  assert.deepEqual(contextOf(framesOf('interleaved-thinking')), {
    anthropic: {
      blocks: [
        { type: 'thinking', thinking: 'Before.', signature: 'c2lnLTE=', index: 0 },
        { type: 'text', length: '5', index: 1 },
        { type: 'thinking', thinking: 'Between.', signature: 'c2lnLTI=', index: 2 },
        { type: 'text', length: '4', index: 3 },
        { type: 'tool_use', id: 'toolu_a', index: 4 },
      ],
    },
  })
})

test('thinking that could not go back is not given: without signature, or with nothing after it', () => {
  const thinking = block(0, { type: 'thinking', thinking: 'x' })
  const signed = block(0, { type: 'thinking', thinking: 'x', signature: 's' })
  assert.equal(contextOf([start, thinking, block(1, { type: 'text', text: 'a' }), finish('end_turn'), stop]), undefined)
  assert.equal(contextOf([start, signed, finish('max_tokens'), stop]), undefined)
})

test('what cannot be read is an error; what is not known is not', () => {
  assert.ok(read([start, { event: 'message_delta', data: '{"type":' }]).error instanceof ProviderError)
  assert.ok(read([{ event: 'error', data: 'overloaded' }]).error instanceof ProviderError)
  assert.ok(read([start, block(0, { type: 'tool_use', id: 'a', name: '' })]).error instanceof ProviderError)
  const { error } = read([start, { event: 'novelty', data: 'x' }, { event: '', data: ' ' }, finish('end_turn'), stop])
  assert.equal(error, undefined)
})

test('a call without an id gets one that is unique in the conversation', () => {
  const { events } = read([start, block(0, { type: 'tool_use', name: 'now' }), finish('tool_use'), stop])
  const [call] = events.filter((event) => event.type === 'tool-call')
  assert.equal(call?.id, 'toolu_msg_1_0')
})
