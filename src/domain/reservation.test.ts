import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatRequest } from './chat.ts'
import type { Model } from './model.ts'
import { estimateInputTokens, worstOutputTokens } from './reservation.ts'

const BASE: ChatRequest = { model: 'm', messages: [], stream: false, includeUsage: false, n: 1, extra: {} }
const MODEL = { contextWindow: 1000, maxOutputTokens: 200 } as Model

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

test('LED-4: output of a choice at worst: what was asked for, within the model’s maximum', () => {
  assert.equal(worstOutputTokens(BASE, MODEL, 10), 200)
  assert.equal(worstOutputTokens({ ...BASE, maxTokens: 50, n: 3 }, MODEL, 10), 50)
  assert.equal(worstOutputTokens({ ...BASE, maxTokens: 5000 }, MODEL, 10), 200)
  assert.equal(worstOutputTokens(BASE, { ...MODEL, maxOutputTokens: undefined }, 10), 990)
  assert.equal(worstOutputTokens(BASE, { ...MODEL, maxOutputTokens: undefined }, 1001), 0)
})
