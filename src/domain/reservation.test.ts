import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateInputTokens } from './reservation.ts'

test('a third of the UTF-8 bytes, 8 a message, 1100 an image', () => {
  assert.equal(estimateInputTokens({ messages: [{ role: 'user', content: 'abcd' }] }), 2 + 8)
  assert.equal(estimateInputTokens({ messages: [{ role: 'user', content: '€€' }] }), 2 + 8)
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const
  const parts = [{ type: 'text', text: 'abc' } as const, image, image]
  assert.equal(estimateInputTokens({ messages: [{ role: 'user', content: parts }] }), 1 + 8 + 2200)
})

test('earlier calls, their reasoning and the tools count as text', () => {
  const call = { id: 'c', type: 'function', function: { name: 'abc', arguments: '{"a":1}' } } as const
  const messages = [{ role: 'assistant', content: null, tool_calls: [call], reasoning_content: 'hm' } as const]
  assert.equal(estimateInputTokens({ messages }), Math.ceil((3 + 7 + 2) / 3) + 8)
  const tools = [{ type: 'function', function: { name: 'f' } } as const]
  const bytes = JSON.stringify(tools).length
  assert.equal(estimateInputTokens({ messages: [], tools }), Math.ceil(bytes / 3))
})
