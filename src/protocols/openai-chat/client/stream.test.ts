import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent, FinishReason } from '../../../domain/chat.ts'
import { brokenEnd } from '../../../domain/kept-events.ts'
import { createStreamRenderer } from './stream.ts'

const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'm"1', includeUsage: false }
const bill = { usage: { promptTokens: 10, completionTokens: 5, reasoningTokens: 2 }, costUsd: 0.5 }
const usage = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  completion_tokens_details: { reasoning_tokens: 2 },
  cost: 0.5,
}

const text = (value: string, index = 0): ChatEvent => ({ type: 'text', index, text: value })
const finish = (reason: FinishReason = 'stop', index = 0): ChatEvent => ({ type: 'finish', index, reason, raw: reason })
const call = (toolIndex: number, args: string, more: object = {}): ChatEvent => ({
  type: 'tool-call',
  index: 0,
  toolIndex,
  arguments: args,
  ...more,
})

/** What the tests look at in a chunk. */
interface Chunk {
  readonly id: string
  readonly object: string
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly index: number
    readonly delta: Readonly<Record<string, unknown>>
    readonly logprobs?: unknown
    readonly finish_reason: string | null
  }[]
  readonly usage?: unknown
}

function rendered(events: readonly ChatEvent[], includeUsage = false): string {
  const stream = createStreamRenderer({ ...head, includeUsage })
  return events.map((event) => stream.push(event)).join('') + stream.close(bill)
}

/** The data of every event but the last, which must be `[DONE]`. */
function dataOf(stream: string): Chunk[] {
  const parts = stream.split('\n\n')
  assert.equal(parts.pop(), '')
  assert.equal(parts.pop(), 'data: [DONE]')
  return parts.map((part) => {
    assert.ok(part.startsWith('data: ') && !part.includes('\n'), part)
    return JSON.parse(part.slice(6))
  })
}

const chunksOf = (events: readonly ChatEvent[], includeUsage = false): Chunk[] => dataOf(rendered(events, includeUsage))
const deltasOf = (chunks: readonly Chunk[]): unknown[] => chunks.flatMap(({ choices }) => choices.map((c) => c.delta))

const mixed = [
  { type: 'reasoning', index: 0, text: 'hm' },
  text('a'),
  call(0, '{}', { id: 'c', name: 'f' }),
  text('b', 1),
  finish('tool_calls'),
  finish('length', 1),
] satisfies ChatEvent[]

test('W1, W4, W5: every chunk has object, id, created, model and choices with an integer index', () => {
  for (const chunk of chunksOf(mixed, true)) {
    const { id, object, created, model, choices } = chunk
    assert.deepEqual([id, object, created, model], ['chatcmpl-1', 'chat.completion.chunk', 1_700_000_000, 'm"1'])
    assert.ok(Array.isArray(choices) && choices.every(({ index }) => Number.isInteger(index)))
  }
})

test('W2: unasked usage rides on the last finish chunk, and no chunk is without a choice', () => {
  const chunks = chunksOf(mixed)
  assert.ok(chunks.every(({ choices }) => choices.length === 1))
  assert.deepEqual(chunks.at(-1)?.usage, usage)
  assert.deepEqual(chunks.at(-1)?.choices, [{ index: 1, delta: {}, finish_reason: 'length' }])
  assert.equal(chunks.filter((chunk) => 'usage' in chunk).length, 1)
})

test('W2, W3: asked-for usage is one chunk without choices, with nothing after it but [DONE]', () => {
  const chunks = chunksOf(mixed, true)
  assert.deepEqual(chunks.at(-1)?.choices, [])
  assert.deepEqual(chunks.at(-1)?.usage, usage)
  assert.equal(chunks.filter((chunk) => 'usage' in chunk).length, 1)
  assert.equal(chunks.filter(({ choices }) => choices.length === 0).length, 1)
})

test('W6: the role comes once, in the first delta of each choice', () => {
  for (const index of [0, 1]) {
    const deltas = deltasOf(chunksOf(mixed).filter(({ choices }) => choices[0]?.index === index))
    assert.deepEqual(deltas[0], { role: 'assistant', content: '' })
    assert.ok(deltas.slice(1).every((delta) => !('role' in (delta as object))))
  }
})

test('W6: a choice that only finishes has its role nevertheless', () => {
  assert.deepEqual(deltasOf(chunksOf([finish()])), [{ role: 'assistant', content: '' }, {}])
})

test('W7: text comes as it was, whatever is in it', () => {
  const pieces = ['', 'a"b\\', '\n\ndata: x\r\n', '\u2028\u0000', '🙂', '\ud83d']
  const deltas = deltasOf(chunksOf([...pieces.map((piece) => text(piece)), finish()]))
  assert.deepEqual(
    deltas.slice(1, -1),
    pieces.map((content) => ({ content })),
  )
})

test('W8: a tool call says id, type and name once, in its first fragment', () => {
  const chunks = chunksOf([
    call(0, '', { id: 'c0', name: 'f' }),
    call(0, '{"a"', { id: 'c0', name: 'f' }),
    call(1, '{}', { id: 'c1', name: 'g' }),
    call(0, ':1}'),
    finish('tool_calls'),
  ])
  assert.deepEqual(deltasOf(chunks), [
    { role: 'assistant', content: null },
    { tool_calls: [{ index: 0, id: 'c0', type: 'function', function: { name: 'f', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
    { tool_calls: [{ index: 1, id: 'c1', type: 'function', function: { name: 'g', arguments: '{}' } }] },
    { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
    {},
  ])
})

test('W8: a call without arguments gets {} at its end, unless the answer was cut off', () => {
  const events = [call(0, '', { id: 'c', name: 'f' })]
  assert.deepEqual(deltasOf(chunksOf([...events, finish('tool_calls')])).at(-2), {
    tool_calls: [{ index: 0, function: { arguments: '{}' } }],
  })
  assert.equal(deltasOf(chunksOf([...events, finish('length')])).length, 3)
})

test('W9: one finish reason per choice, held back until the end, and tool_calls wins over stop', () => {
  const stream = createStreamRenderer(head)
  const sent = [call(0, '{}', { id: 'c', name: 'f' }), finish('stop'), text('late')].map((event) => stream.push(event))
  assert.equal(sent[1], '')
  const reasons = dataOf(sent.join('') + stream.close(bill)).map(({ choices }) => choices[0]?.finish_reason)
  assert.deepEqual(reasons, [null, null, null, 'tool_calls'])
})

test('W9: finish chunks come in order of their choices', () => {
  const chunks = chunksOf([text('b', 1), finish('length', 1), text('a'), finish('stop')])
  const last = chunks.slice(-2).map(({ choices }) => [choices[0]?.index, choices[0]?.finish_reason])
  assert.deepEqual(last, [
    [0, 'stop'],
    [1, 'length'],
  ])
})

test('W9: no finish reason is ever invented', () => {
  const chunks = chunksOf([text('a'), text('b', 1), finish('stop', 1)])
  assert.deepEqual(chunks.map(({ choices }) => choices[0]?.finish_reason).filter(Boolean), ['stop'])
})

test('W12: a failure is a bare error without choices, then [DONE]', () => {
  const stream = createStreamRenderer(head)
  const told = { message: 'Cut; the answer may be incomplete.', code: 'provider_error' }
  const end = brokenEnd({ ...told, requestId: 'req_1' })
  const error = { type: 'upstream_error', ...told, request_id: 'req_1' }
  assert.deepEqual(dataOf(end), [{ error }])
  assert.deepEqual(dataOf(stream.push(text('a')) + stream.push(finish()) + end).at(-1), { error })
})

test('W14: extensions are sent once, at the end, in shapes that accumulating clients can take', () => {
  const extension = (field: string, value: unknown): ChatEvent => ({ type: 'extension', index: 0, field, value })
  const chunks = chunksOf([
    extension('annotations', [{ type: 'old' }]),
    text('a'),
    extension('annotations', [{ type: 'x' }, { type: 'y', index: 7 }]),
    extension('audio', { id: 'audio_1' }),
    extension('note', 'text'),
    extension('score', 5),
    extension('citations', ['https://a.example']),
    extension('content', 'mine'),
    finish(),
  ])
  assert.deepEqual(deltasOf(chunks), [
    { role: 'assistant', content: '' },
    { content: 'a' },
    {
      annotations: [
        { type: 'x', index: 0 },
        { type: 'y', index: 7 },
      ],
    },
    { audio: { id: 'audio_1' } },
    { note: 'text' },
    {},
  ])
})

test('W15: reasoning and refusals have deltas of their own', () => {
  const chunks = chunksOf([
    { type: 'reasoning', index: 0, text: 'hm' },
    { type: 'refusal', index: 0, text: 'no' },
    finish(),
  ])
  assert.deepEqual(deltasOf(chunks).slice(1, 3), [{ reasoning_content: 'hm' }, { refusal: 'no' }])
})

test('logprobs stand on the choice, beside the text they belong to', () => {
  const entry = { token: 'a', logprob: -1, bytes: [97] }
  const chunks = chunksOf([{ type: 'text', index: 0, text: 'a', logprobs: { content: [entry] } }, finish()])
  assert.deepEqual(chunks[1]?.choices[0], {
    index: 0,
    delta: { content: 'a' },
    logprobs: { content: [{ ...entry, top_logprobs: [] }], refusal: null },
    finish_reason: null,
  })
})

test('usage events add nothing to the stream', () => {
  assert.equal(createStreamRenderer(head).push({ type: 'usage', usage: { promptTokens: 1 } }), '')
})
