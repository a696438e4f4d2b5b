import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  functionItem,
  messageItem,
  REASONING_LOOP,
  reasoningItem,
  responseEvents,
  responseFrames,
  responseOf,
} from '../../../test/support/providers/responses-fake.ts'
import type { ChatEvent } from '../../domain/chat.ts'
import { createSseDecoder } from '../framing.ts'
import { type Frame, ProviderError } from '../protocol.ts'
import { parseResponse } from './response.ts'
import { streamParser } from './stream.ts'

// biome-ignore lint/suspicious/noExplicitAny: items are any JSON
type Anything = any

function readFrames(frames: readonly Frame[]): ChatEvent[] {
  const parser = streamParser()
  const events: ChatEvent[] = []
  for (const frame of frames) if (parser.push(frame, events)) break
  parser.end(events)
  return events
}

const framesOf = (events: readonly Anything[]): Frame[] =>
  events.map((event) => ({ event: event.type, data: JSON.stringify(event) }))
const streamed = (events: readonly Anything[]): ChatEvent[] => readFrames(framesOf(events))
const failsWith =
  (kind: string) =>
  (error: unknown): boolean =>
    error instanceof ProviderError && error.failure.kind === kind

/** Consecutive pieces joined, so that a stream compares with a whole answer. */
function joined(events: readonly ChatEvent[]): ChatEvent[] {
  const whole: Anything[] = []
  for (const event of events) {
    const last = whole.at(-1)
    const isSame = last !== undefined && last.type === event.type && last.toolIndex === (event as Anything).toolIndex
    if (isSame && 'text' in event) last.text += event.text
    else if (isSame && event.type === 'tool-call') last.arguments += event.arguments
    else whole.push({ ...event })
  }
  return whole
}

const byLetter = (text: string): readonly string[] => [...text]
const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_9', name: 'patch', input: '*** Begin\n' }
const OUTPUTS: readonly (readonly Anything[])[] = [
  ...REASONING_LOOP,
  [messageItem('msg_1', 'Grüße, 世界 👩‍👩‍👧!')],
  [custom, functionItem('fc_1', { id: 'c', name: 'now', arguments: '' })],
  [{ type: 'message', id: 'msg_1', content: [{ type: 'refusal', refusal: 'No.' }] }],
  [],
]

for (const [number, output] of OUTPUTS.entries()) {
  test(`a stream says what the whole answer says, in whatever pieces: ${number}`, () => {
    const whole = joined(parseResponse(JSON.stringify(responseOf(output))))
    for (const pieces of [undefined, byLetter]) {
      assert.deepEqual(joined(streamed(responseEvents(output, {}, pieces))), whole)
    }
  })

  test(`hosts that send no deltas, no items, or no output at the end are understood: ${number}`, () => {
    const whole = joined(parseResponse(JSON.stringify(responseOf(output))))
    const events = responseEvents(output)
    const withoutDeltas = events.filter(
      ({ type }: Anything) => !type.endsWith('.delta') && !type.endsWith('part.added'),
    )
    const withoutItems = events.filter(({ type }: Anything) => type.split('.').length === 2)
    const withoutOutput = events.map((event) =>
      event.type === 'response.completed' ? { ...event, response: { ...event.response, output: [] } } : event,
    )
    for (const each of [withoutDeltas, withoutItems, withoutOutput]) assert.deepEqual(joined(streamed(each)), whole)
  })

  test(`a stream that is cut anywhere before its terminal event is no answer: ${number}`, () => {
    const events = responseEvents(output)
    for (let length = 0; length < events.length; length++) {
      assert.throws(() => streamed(events.slice(0, length)), failsWith('failed'), `after ${length}`)
    }
  })
}

test('bytes, however they are split, say the same', () => {
  const bytes = Buffer.from(responseFrames(responseEvents(REASONING_LOOP[0] ?? [], {}, byLetter)).join(''))
  const whole = streamed(responseEvents(REASONING_LOOP[0] ?? [], {}, byLetter))
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
      const decoder = createSseDecoder()
      const frames: Frame[] = []
      let from = 0
      for (const to of [...cuts.sort((a, b) => a - b), bytes.length]) {
        decoder.push(Uint8Array.from(bytes.subarray(from, to)), frames)
        from = to
      }
      assert.deepEqual(readFrames(frames), whole)
    }),
    { numRuns: 100 },
  )
})

test('text comes as it is generated, and calls begin with their name', () => {
  const parser = streamParser()
  const seen: number[] = []
  const output = [messageItem('msg_1', 'Hi'), functionItem('fc_1', { id: 'c', name: 'now', arguments: '{}' })]
  for (const frame of framesOf(responseEvents(output, {}, byLetter))) {
    const events: ChatEvent[] = []
    parser.push(frame, events)
    seen.push(events.filter(({ type }) => type !== 'native').length)
  }
  // created, in_progress, item, part, H, i, part, item, call, {, }, item, completed with finish and usage
  assert.deepEqual(seen, [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 2])
})

test('parallel calls whose arguments alternate keep them apart', () => {
  const [one, two] = ['a', 'b'].map((id) => functionItem(`fc_${id}`, { id, name: 'look', arguments: '' }))
  const delta = (output_index: number, text: string) => ({
    ...{ type: 'response.function_call_arguments.delta', output_index, delta: text },
  })
  const events = streamed([
    { type: 'response.output_item.added', output_index: 0, item: one },
    { type: 'response.output_item.added', output_index: 1, item: two },
    ...[delta(0, '{"x'), delta(1, '{"y'), delta(0, '":1}'), delta(1, '":2}')],
    { type: 'response.completed', response: { ...responseOf([]), usage: null } },
  ])
  const text = (toolIndex: number) =>
    events.map((event) => (event.type === 'tool-call' && event.toolIndex === toolIndex ? event.arguments : '')).join('')
  assert.deepEqual([text(0), text(1)], ['{"x":1}', '{"y":2}'])
})

/** The events of a stream with its items interleaved: of each item in order, by draws. */
function interleaved(output: readonly Anything[], draws: readonly number[]): Anything[] {
  const events = responseEvents(output, {}, byLetter)
  const queues = output.map((_, at) => events.filter((event) => event.output_index === at))
  const mixed: Anything[] = []
  for (const draw of [...draws, ...output.keys()]) {
    const begun = queues.filter((queue) => queue.length > 0)
    const queue = begun[draw % begun.length]
    if (queue !== undefined) mixed.push(queue.shift())
  }
  return [...events.slice(0, 2), ...mixed, ...queues.flat(), events.at(-1)]
}

const CALLS = ['a', 'b', 'c'].map((id, at) =>
  functionItem(`fc_${id}`, { id: `call_${id}`, name: 'look', arguments: JSON.stringify({ at, in: '{}' }) }),
)
const isDone = ({ type }: Anything): boolean => type === 'response.output_item.done'

test('items that interleave in any way follow one another for the client, also without the ends of items', () => {
  const drawn = fc.record({
    draws: fc.array(fc.nat(5), { maxLength: 60 }),
    output: fc.shuffledSubarray([...CALLS, custom, messageItem('msg_1', 'Hello')], { minLength: 1 }),
    isBare: fc.boolean(),
    hasOutput: fc.boolean(),
  })
  fc.assert(
    fc.property(drawn, ({ draws, output, isBare, hasOutput }) => {
      const mixed = interleaved(output, draws)
      const left = isBare ? mixed.filter((event) => !isDone(event)) : mixed
      const events = streamed(
        hasOutput || isBare
          ? left
          : left.map((each) => (each.response ? { ...each, response: { ...each.response, output: [] } } : each)),
      )
      const calls: Anything[] = []
      for (const event of events) {
        if (event.type !== 'tool-call') continue
        if (event.toolIndex === calls.length) calls.push({ id: event.id, text: '' })
        assert.equal(event.toolIndex, calls.length - 1, 'a call is continued after the next one has begun')
        calls.at(-1).text += event.arguments
      }
      const expected = output.filter(({ type }) => type !== 'message')
      assert.deepEqual(
        new Map(calls.map(({ id, text }) => [id, text])),
        new Map(expected.map((item) => [item.call_id, item.arguments ?? item.input])),
      )
      const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
      assert.equal(text, expected.length === output.length ? '' : 'Hello')
    }),
    { numRuns: 1_000 },
  )
})

test('events that wait for a call have a limit [limit: waiting-items]', () => {
  const added = (output_index: number) => ({
    ...{ type: 'response.output_item.added', output_index, item: { ...CALLS[output_index], arguments: '' } },
  })
  const delta = { type: 'response.function_call_arguments.delta', output_index: 1, delta: '' }
  const sizeOf = (event: Anything): number => JSON.stringify(event).length
  const most = 1024 * 1024 - sizeOf(added(1)) - sizeOf(delta)
  const parser = streamParser()
  const pushed = (event: Anything): ChatEvent[] => {
    const events: ChatEvent[] = []
    for (const frame of framesOf([event])) parser.push(frame, events)
    return events
  }
  pushed(added(0))
  assert.deepEqual([pushed(added(1)), pushed({ ...delta, delta: 'x'.repeat(most) })], [[], []])
  assert.throws(() => pushed(delta), failsWith('failed'))
})

test('an incomplete stream ends as its reason says, with its usage', () => {
  const events = streamed(responseEvents([messageItem('msg_1', 'Hel')], { isCut: true }))
  assert.deepEqual(events.slice(2), [
    { type: 'finish', index: 0, reason: 'length', raw: 'max_output_tokens' },
    { type: 'usage', usage: { promptTokens: 10, completionTokens: 5, cachedTokens: 0, reasoningTokens: 0 } },
  ])
})

test('a response that fails midway throws after its usage was told', () => {
  const parser = streamParser()
  const events: ChatEvent[] = []
  const error = { code: 'server_error', message: 'Something broke.' }
  const failed = { type: 'response.failed', response: { ...responseOf([]), status: 'failed', error } }
  const [begun] = framesOf(responseEvents([reasoningItem('rs_1', 'Hm.')]))
  parser.push(begun ?? assert.fail(), events)
  assert.throws(() => framesOf([failed]).map((frame) => parser.push(frame, events)), failsWith('failed'))
  assert.deepEqual(
    events.map(({ type }) => type),
    ['usage'],
  )
})

test('an error event is a failure in either of its forms, and named as the data alone', () => {
  const error = { code: 'rate_limit_exceeded', message: 'Slow down.', param: null }
  for (const frame of [
    { event: 'error', data: JSON.stringify({ type: 'error', sequence_number: 3, ...error }) },
    { event: 'error', data: JSON.stringify({ type: 'error', sequence_number: 3, error }) },
    { event: '', data: JSON.stringify({ type: 'error', ...error }) },
    { event: '', data: JSON.stringify({ error }) },
  ]) {
    assert.throws(() => readFrames([frame]), failsWith('rate_limited'), frame.data)
  }
  assert.throws(() => readFrames([{ event: 'error', data: 'gone' }]), failsWith('failed'))
})

test('unknown events, blank data and foreign event types are skipped; what cannot be read is a failure', () => {
  const end = framesOf(responseEvents([])).at(-1) ?? assert.fail()
  const others = [
    { event: 'ping', data: 'x' },
    { event: '', data: ' ' },
    { event: 'response.new', data: '{"type":"response.new","output_index":0}' },
    { event: '', data: '{"type":"response.output_text.delta","output_index":"x","delta":5}' },
  ]
  assert.equal(readFrames([...others, end]).length, 2)
  assert.throws(() => readFrames([{ event: '', data: '{"type":' }]), failsWith('failed'))
  assert.throws(() => readFrames([{ event: '', data: '[DONE]' }]), failsWith('failed'))
})

test('whatever the events hold, the parser throws nothing but failures of the provider', () => {
  const types = responseEvents(REASONING_LOOP[0] ?? []).map(({ type }: Anything) => type)
  const event = fc.record(
    {
      type: fc.constantFrom(...types, 'response.failed', 'response.incomplete'),
      output_index: fc.oneof(fc.nat(3), fc.jsonValue()),
      item: fc.oneof(fc.constantFrom(...REASONING_LOOP.flat()), fc.jsonValue()),
      delta: fc.oneof(fc.string(), fc.jsonValue()),
      response: fc.oneof(fc.record({ output: fc.array(fc.jsonValue()), usage: fc.jsonValue() }), fc.jsonValue()),
    },
    { requiredKeys: ['type'] },
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 12 }), (events) => {
      try {
        streamed(events)
      } catch (error) {
        assert.ok(error instanceof ProviderError, String(error))
      }
    }),
    { numRuns: 1_000 },
  )
})
