import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ProviderError } from '../protocol.ts'
import { parseResponse } from './response.ts'

const fixture = (file: string): string =>
  readFileSync(join(import.meta.dirname, 'fixtures', `${file}.answer.json`), 'utf8')
const answer = (fields: unknown): string => JSON.stringify({ id: 'msg_1', type: 'message', ...(fields as object) })

test('a whole answer is the same events as a stream', () => {
  assert.deepEqual(parseResponse(fixture('thinking-tool')), [
    { type: 'reasoning', index: 0, text: 'First.' },
    { type: 'reasoning', index: 0, text: '', signature: 'c2lnLTE=' },
    { type: 'reasoning', index: 0, text: '', redacted: 'b3BhcXVl' },
    { type: 'text', index: 0, text: 'I look.' },
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'toolu_a', name: 'look', arguments: '{"at":"all"}' },
    { type: 'tool-call', index: 0, toolIndex: 1, id: 'toolu_b', name: 'now', arguments: '{}' },
    {
      type: 'extension',
      index: 0,
      field: 'provider_context',
      value: {
        anthropic: {
          blocks: [
            { type: 'thinking', thinking: 'First.', signature: 'c2lnLTE=', index: 0 },
            { type: 'redacted_thinking', data: 'b3BhcXVl', index: 1 },
          ],
        },
      },
    },
    { type: 'finish', index: 0, reason: 'tool_calls', raw: 'tool_use' },
    { type: 'usage', usage: { promptTokens: 11, completionTokens: 20, reasoningTokens: 9 } },
  ])
})

test('an answer without content is an answer', () => {
  const usage = { promptTokens: 16, completionTokens: 20, cachedTokens: 3, cacheWriteTokens: 2 }
  assert.deepEqual(parseResponse(fixture('nothing')), [
    { type: 'finish', index: 0, reason: 'stop', raw: 'end_turn' },
    { type: 'usage', usage },
  ])
  const [details, refused] = parseResponse(fixture('refusal'))
  assert.equal(details?.type, 'native')
  assert.deepEqual(refused, {
    type: 'finish',
    index: 0,
    reason: 'content_filter',
    raw: 'refusal',
  })
})

test('the tool that stands for the answer is the answer', () => {
  const content = [{ type: 'tool_use', id: 'a', name: 'turnpike_json_answer', input: { a: [1, 'b'] } }]
  assert.deepEqual(parseResponse(answer({ content, stop_reason: 'tool_use' })), [
    { type: 'text', index: 0, text: '{"a":[1,"b"]}' },
    { type: 'finish', index: 0, reason: 'stop', raw: 'tool_use' },
  ])
})

test('counts that are absent stay absent', () => {
  const events = parseResponse(
    answer({ content: [], stop_reason: 'end_turn', usage: { output_tokens: null, input_tokens: -1 } }),
  )
  assert.equal(
    events.some(({ type }) => type === 'usage'),
    false,
  )
})

test('what is no whole answer is an error', () => {
  const broken = [
    '',
    '<html>',
    '[]',
    'null',
    answer({ content: 'text', stop_reason: 'end_turn' }),
    answer({ content: [{ type: 'tool_use', id: 'a' }], stop_reason: 'tool_use' }),
  ]
  for (const body of broken) assert.throws(() => parseResponse(body), ProviderError, body)
})

test('an error in place of an answer keeps its kind', () => {
  const body = JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
  assert.throws(
    () => parseResponse(body),
    (error) => error instanceof ProviderError && error.failure.kind === 'overloaded',
  )
})
