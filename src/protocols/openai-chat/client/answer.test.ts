import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../../../domain/chat.ts'
import { createAnswer } from './answer.ts'

const head = {
  id: 'chatcmpl-1',
  created: 1_700_000_000,
  model: 'm1',
  usage: { promptTokens: 10, completionTokens: 5 },
  costUsd: 0.000015,
}
const stop: ChatEvent = { type: 'finish', index: 0, reason: 'stop', raw: 'stop' }

function answerOf(events: readonly ChatEvent[]) {
  const answer = createAnswer()
  for (const event of events) answer.push(event)
  return answer
}

function renderedChoice(...events: ChatEvent[]) {
  return JSON.parse(answerOf(events).render(head)).choices[0]
}

const text = (value: string, index = 0): ChatEvent => ({ type: 'text', index, text: value })

test('a plain answer has exactly the contract’s shape', () => {
  assert.deepEqual(JSON.parse(answerOf([text('Hel'), text('lo'), stop]).render(head)), {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'm1',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.000015 },
    system_fingerprint: null,
  })
})

test('W16: usage details appear under their names, only when they were reported', () => {
  const usage = (details: object) =>
    JSON.parse(answerOf([stop]).render({ ...head, usage: { ...head.usage, ...details }, costUsd: undefined })).usage
  const totals = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  assert.deepEqual(usage({}), totals)
  assert.deepEqual(usage({ cachedTokens: 0 }), { ...totals, prompt_tokens_details: { cached_tokens: 0 } })
  assert.deepEqual(usage({ cachedTokens: 4, cacheWriteTokens: 3, reasoningTokens: 2 }), {
    ...totals,
    prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 2 },
  })
})

test('content is text even when empty, and null only beside tool calls', () => {
  const call: ChatEvent = { type: 'tool-call', index: 0, toolIndex: 0, id: 'c', name: 'f', arguments: '{}' }
  assert.equal(renderedChoice(stop).message.content, '')
  assert.equal(renderedChoice(call, stop).message.content, null)
  assert.equal(renderedChoice(text('a'), call, stop).message.content, 'a')
})

test('fragments of parallel tool calls are joined, in order, and win over stop', () => {
  const choice = renderedChoice(
    { type: 'tool-call', index: 0, toolIndex: 1, id: 'c1', name: 'g', arguments: '' },
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'c0', name: 'f', arguments: '{"a"' },
    { type: 'tool-call', index: 0, toolIndex: 0, arguments: ':1}' },
    stop,
  )
  assert.deepEqual(choice.message.tool_calls, [
    { id: 'c0', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
    { id: 'c1', type: 'function', function: { name: 'g', arguments: '{}' } },
  ])
  assert.equal(choice.finish_reason, 'tool_calls')
})

test('a call whose arguments were cut off is not passed off as one without arguments', () => {
  const choice = renderedChoice(
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'c', name: 'f', arguments: '' },
    { type: 'finish', index: 0, reason: 'length', raw: 'length' },
  )
  assert.equal(choice.finish_reason, 'length')
  assert.equal(choice.message.tool_calls[0].function.arguments, '')
})

test('reasoning, refusal and extensions are fields of the message, and extensions cannot replace ours', () => {
  const { message } = renderedChoice(
    { type: 'reasoning', index: 0, text: 'h' },
    { type: 'reasoning', index: 0, text: 'm' },
    { type: 'refusal', index: 0, text: 'no' },
    { type: 'extension', index: 0, field: 'annotations', value: [] },
    { type: 'extension', index: 0, field: 'annotations', value: [{ type: 'url_citation' }] },
    { type: 'extension', index: 0, field: 'role', value: 'king' },
    { type: 'extension', index: 0, field: '__proto__', value: { x: 1 } },
    stop,
  )
  assert.deepEqual(message, {
    role: 'assistant',
    content: '',
    refusal: 'no',
    reasoning_content: 'hm',
    annotations: [{ type: 'url_citation' }],
  })
})

test('logprobs of all pieces are merged, and every entry has top_logprobs', () => {
  const entry = { token: 'a', logprob: -1, bytes: [97] }
  const choice = renderedChoice(
    { type: 'text', index: 0, text: 'a', logprobs: { content: [entry], refusal: null } },
    { type: 'text', index: 0, text: 'b', logprobs: { content: [{ ...entry, top_logprobs: [entry] }] } },
    { type: 'refusal', index: 0, text: 'c', logprobs: { refusal: [entry] } },
    { type: 'text', index: 0, text: 'd', logprobs: 'nonsense' },
    stop,
  )
  assert.deepEqual(choice.logprobs, {
    content: [
      { ...entry, top_logprobs: [] },
      { ...entry, top_logprobs: [entry] },
    ],
    refusal: [{ ...entry, top_logprobs: [] }],
  })
})

test('choices are sorted by index, however their events came', () => {
  const finish = (index: number): ChatEvent => ({ type: 'finish', index, reason: 'stop', raw: 'stop' })
  const answer = answerOf([text('b', 1), finish(1), text('a', 0), finish(0)])
  const { choices } = JSON.parse(answer.render(head))
  assert.deepEqual(
    choices.map((choice: { index: number; message: { content: string } }) => [choice.index, choice.message.content]),
    [
      [0, 'a'],
      [1, 'b'],
    ],
  )
})

test('no finish reason is ever invented', () => {
  assert.equal(renderedChoice(text('a')).finish_reason, null)
})
