import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ProviderError } from '../protocol.ts'
import { parseResponse } from './response.ts'

const fixture = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'fixtures', `${name}.answer.json`), 'utf8')

const answer = (message: object, finish: unknown, extra: object = {}): string =>
  JSON.stringify({ id: 'a.1', choices: [{ index: 0, message, finish_reason: finish, ...extra }] })

const failsWith =
  (kind: string) =>
  (error: unknown): boolean =>
    error instanceof ProviderError && error.failure.kind === kind

test('text, finish and usage come in this order, white space before the JSON notwithstanding', () => {
  assert.deepEqual(parseResponse(fixture('text')), [
    { type: 'text', index: 0, text: 'Grüße, 世界' },
    { type: 'finish', index: 0, reason: 'stop', raw: 'stop' },
    { type: 'usage', usage: { promptTokens: 9, completionTokens: 4 } },
  ])
})

test('a tool call is one event with all its arguments, `{}` where there are none', () => {
  assert.deepEqual(parseResponse(fixture('tool')).slice(0, 3), [
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'call_a', name: 'find', arguments: '{"word": "é"}' },
    { type: 'tool-call', index: 0, toolIndex: 1, id: 'call_b', name: 'now', arguments: '{}' },
    { type: 'finish', index: 0, reason: 'tool_calls', raw: 'tool_calls' },
  ])
})

test('arguments sent as an object become JSON text, and null becomes `{}`', () => {
  const call = (value: unknown): object => ({ id: 'c', function: { name: 'f', arguments: value } })
  const events = parseResponse(answer({ tool_calls: [call({ a: [1] }), call(null)] }, 'tool_calls'))
  assert.deepEqual(
    events.flatMap((event) => (event.type === 'tool-call' ? [event.arguments] : [])),
    ['{"a":[1]}', '{}'],
  )
})

test('an answer with tool calls never just stopped', () => {
  const finish = parseResponse(fixture('tool-but-stop')).find(({ type }) => type === 'finish')
  assert.deepEqual(finish, { type: 'finish', index: 0, reason: 'tool_calls', raw: 'stop' })
})

test('a legacy function call is a tool call with an id of our own', () => {
  assert.deepEqual(parseResponse(fixture('legacy-function-call')).slice(0, 2), [
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'call_chatcmpl-own2_0_0', name: 'find', arguments: '{"word":1}' },
    { type: 'finish', index: 0, reason: 'tool_calls', raw: 'function_call' },
  ])
})

test('logprobs stay with the text they are of', () => {
  const [text] = parseResponse(fixture('logprobs'))
  assert.ok(text?.type === 'text' && text.text === 'Hi')
  assert.deepEqual(text.logprobs, JSON.parse(fixture('logprobs')).choices[0].logprobs)
})

test('annotations, audio and images are carried as they are, empty ones are not, details of reasoning are context', () => {
  const message = {
    content: 'x',
    annotations: [{ type: 'url_citation' }],
    audio: { id: 'a' },
    images: [],
    reasoning_details: [1, { type: 'reasoning.encrypted', data: 'x' }],
  }
  assert.deepEqual(
    parseResponse(answer(message, 'stop')).filter(({ type }) => type === 'extension'),
    [
      { type: 'extension', index: 0, field: 'annotations', value: [{ type: 'url_citation' }] },
      { type: 'extension', index: 0, field: 'audio', value: { id: 'a' } },
      {
        type: 'extension',
        index: 0,
        field: 'provider_context',
        value: { 'openai-chat': { reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', index: 0 }] } },
      },
    ],
  )
})

test('reasoning under both names at once is told once', () => {
  const events = parseResponse(answer({ content: 'x', reasoning: 'r', reasoning_content: 'r' }, 'stop'))
  assert.deepEqual(events[0], { type: 'reasoning', index: 0, text: 'r' })
  assert.equal(events.length, 3)
})

test('finish reasons of all hosts become ours, unknown ones `stop`, and the host’s word is kept', () => {
  const words = {
    eos: 'stop',
    eos_token: 'stop',
    end_turn: 'stop',
    toString: 'stop',
    model_length: 'length',
    sensitive: 'content_filter',
  }
  for (const [raw, reason] of Object.entries(words)) {
    assert.deepEqual(parseResponse(answer({ content: 'x' }, raw)).at(-1), { type: 'finish', index: 0, reason, raw })
  }
})

test('a whole answer without finish reason gets none invented', () => {
  for (const finish of [null, undefined, '']) {
    const expected = [{ type: 'text', index: 0, text: 'x' }]
    assert.deepEqual(parseResponse(answer({ content: 'x' }, finish)), expected)
  }
})

test('a choice that was filtered away may have no message', () => {
  assert.deepEqual(parseResponse(fixture('content-filter'))[0], {
    type: 'finish',
    index: 0,
    reason: 'content_filter',
    raw: 'content_filter',
  })
})

test('what is no whole answer is an error', () => {
  const failed = failsWith('failed')
  for (const body of [
    '',
    '<html></html>',
    '[]',
    '7',
    '{',
    '{}',
    '{"choices":[]}',
    '{"choices":null}',
    '{"choices":[7]}',
  ]) {
    assert.throws(() => parseResponse(body), failed, body)
  }
  assert.throws(() => parseResponse(answer({ content: '' }, null)), failed)
  assert.throws(() => parseResponse(answer({ tool_calls: [{ id: 'c', function: {} }] }, 'stop')), failed)
  assert.throws(() => parseResponse(answer({ content: 'x' }, 'error')), failed)
  assert.throws(() => parseResponse(fixture('breakdown')), failsWith('overloaded'))
})

test('an error with status 200 is an error of the kind it says', () => {
  const error = { message: 'Slow down.', code: 429 }
  assert.throws(() => parseResponse(JSON.stringify({ error })), failsWith('rate_limited'))
  assert.throws(() => parseResponse(JSON.stringify({ object: 'error', ...error })), failsWith('rate_limited'))
  assert.throws(() => parseResponse(JSON.stringify({ error: 'broken', choices: [] })), failsWith('failed'))
  assert.throws(
    () => parseResponse(answer({}, 'error', { error: { message: 'Busy', code: 503 } })),
    failsWith('overloaded'),
  )
})
