import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../../domain/chat.ts'
import { ProviderError, type StreamParser } from '../protocol.ts'
import { bedrockConverse } from './index.ts'

function begin(): { parser: StreamParser; events: ChatEvent[]; push: (event: string, payload: unknown) => boolean } {
  const parser = bedrockConverse().streamParser()
  const events: ChatEvent[] = []
  return { parser, events, push: (event, payload) => parser.push({ event, data: JSON.stringify(payload) }, events) }
}

const USAGE = { usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } }
const STOP = { stopReason: 'end_turn' }

test('nothing more will come once stop reason and usage are there, in either order', () => {
  const usual = begin()
  assert.deepEqual([usual.push('messageStop', STOP), usual.push('metadata', USAGE)], [false, true])
  const early = begin()
  assert.deepEqual([early.push('metadata', USAGE), early.push('messageStop', STOP)], [false, true])
})

test('metadata without usage is no end', () => {
  const { push, parser } = begin()
  assert.deepEqual([push('messageStop', STOP), push('metadata', { metrics: {} })], [false, false])
  parser.end([])
})

test('text after the stop reason is not of the answer', () => {
  const { push, events } = begin()
  push('messageStop', STOP)
  push('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'late' } })
  assert.deepEqual(
    events.map(({ type }) => type),
    ['finish'],
  )
})

test('a call that was cut off by the limit keeps its arguments as they are', () => {
  const { push, events } = begin()
  push('contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'a', name: 'look' } } })
  push('contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '{"pla' } } })
  push('messageStop', { stopReason: 'max_tokens' })
  assert.deepEqual(events.slice(1), [
    { type: 'tool-call', index: 0, toolIndex: 0, arguments: '{"pla' },
    { type: 'finish', index: 0, reason: 'length', raw: 'max_tokens' },
  ])
})

test('a model that wrote what cannot be read is no answer', () => {
  for (const stopReason of ['malformed_model_output', 'malformed_tool_use', '']) {
    assert.throws(() => begin().push('messageStop', { stopReason }), ProviderError)
  }
})

test('arguments of a call that did not begin, and a call without a name, are errors', () => {
  const delta = { contentBlockIndex: 0, delta: { toolUse: { input: '{}' } } }
  assert.throws(() => begin().push('contentBlockDelta', delta), ProviderError)
  const start = { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'a', name: '' } } }
  assert.throws(() => begin().push('contentBlockStart', start), ProviderError)
})
