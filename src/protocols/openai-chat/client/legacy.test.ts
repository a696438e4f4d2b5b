import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import type { ChatEvent } from '../../../domain/chat.ts'
import { createAnswer } from './answer.ts'
import { parseChatRequest } from './request.ts'
import { createStreamRenderer } from './stream.ts'

const head = { id: 'a', created: 1, model: 'm' }
const bill = { usage: { promptTokens: 1, completionTokens: 1 }, costUsd: 0 }
const messages = [{ role: 'user', content: 'hi' }]
const finish: ChatEvent = { type: 'finish', index: 0, reason: 'tool_calls', raw: 'tool_calls' }
const called = (toolIndex: number, text: string): ChatEvent => ({
  type: 'tool-call',
  index: 0,
  toolIndex,
  id: `call_${toolIndex}`,
  name: `look${toolIndex}`,
  arguments: text,
})

function wholeOf(events: readonly ChatEvent[]): { message: Record<string, unknown>; finish_reason: string } {
  const answer = createAnswer({ legacyFunctions: true })
  for (const event of events) answer.push(event)
  return JSON.parse(answer.render({ ...head, ...bill })).choices[0]
}

function streamOf(events: readonly ChatEvent[]): string {
  const renderer = createStreamRenderer({ ...head, includeUsage: false, legacyFunctions: true })
  return events.map((event) => renderer.push(event)).join('') + renderer.close(bill)
}

async function accumulated(events: readonly ChatEvent[]) {
  const lines = streamOf(events)
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
  const text = lines.map((line) => `${line.slice(6)}\n`).join('')
  const stream = ChatCompletionStream.fromReadableStream(new Response(text).body ?? assert.fail())
  return (await stream.finalChatCompletion()).choices[0] ?? assert.fail()
}

test('only a request with `functions` is one of the older form', () => {
  assert.equal(parseChatRequest({ model: 'm', messages, functions: [{ name: 'look' }] }).legacyFunctions, true)
  const tools = [{ type: 'function', function: { name: 'look' } }]
  assert.equal(parseChatRequest({ model: 'm', messages, tools }).legacyFunctions, undefined)
  assert.equal(parseChatRequest({ model: 'm', messages, functions: [] }).legacyFunctions, undefined)
})

test('a request with `functions` is answered with `function_call`, whole and streamed', async () => {
  for (const [events, text] of [
    [[called(0, '{"a":'), { type: 'tool-call', index: 0, toolIndex: 0, arguments: '1}' }, finish], '{"a":1}'],
    [[called(0, ''), finish], '{}'],
    [[called(0, '{}'), called(1, '{"b":2}'), finish], '{}'],
  ] satisfies (readonly [ChatEvent[], string])[]) {
    const expected = { name: 'look0', arguments: text }
    const { message, finish_reason: reason } = wholeOf(events)
    assert.deepEqual([message['function_call'], message['content'], message['tool_calls']], [expected, null, undefined])
    assert.equal(reason, 'tool_calls')
    const streamed = await accumulated(events)
    assert.deepEqual({ ...streamed.message.function_call }, expected)
    assert.equal(streamed.message.tool_calls, undefined)
    assert.equal(streamed.finish_reason, 'tool_calls')
  }
})

test('an answer in text is the same with `functions`', () => {
  const events: ChatEvent[] = [
    { type: 'text', index: 0, text: 'Hi' },
    { ...finish, reason: 'stop', raw: 'stop' },
  ]
  assert.deepEqual(wholeOf(events).message, { role: 'assistant', content: 'Hi', refusal: null })
  assert.ok(!streamOf(events).includes('function_call'))
})

test('`content` is null where the provider said null, and text where it said none', () => {
  const stop: ChatEvent = { type: 'finish', index: 0, reason: 'stop', raw: 'stop' }
  const refusal: ChatEvent = { type: 'refusal', index: 0, text: 'No.' }
  const answer = (...events: ChatEvent[]) => wholeOf(events).message['content']
  assert.equal(answer(refusal, { ...stop, contentIsNull: true }), null)
  assert.equal(answer(refusal, stop), '')
  assert.match(streamOf([refusal, stop]), /"role":"assistant","content":null/)
  assert.match(streamOf([{ type: 'text', index: 0, text: 'Hi' }, stop]), /"role":"assistant","content":""/)
})
