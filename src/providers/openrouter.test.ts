import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../domain/chat.ts'
import { createAnswer } from '../protocols/openai-chat/client/answer.ts'
import { parseChatRequest } from '../protocols/openai-chat/client/request.ts'
import { createStreamRenderer } from '../protocols/openai-chat/client/stream.ts'
import { openrouter } from './openrouter.ts'

const { protocol } = openrouter
const HEAD = { id: 'chatcmpl-1', created: 1, model: 'ours' }
const BILL = { usage: { promptTokens: 1, completionTokens: 1 }, costUsd: undefined }
const TOOLS = [{ type: 'function', function: { name: 'roll' } }]

// biome-ignore lint/suspicious/noExplicitAny: bodies are any JSON
type Anything = any

/** Plays the host behind the router, which signs its thinking and takes nothing back without the signature. */
function host(body: Anything): Anything {
  const calls = body.messages.filter((message: Anything) => message.role === 'assistant')
  calls.forEach((message: Anything, turn: number) => {
    const [detail] = message.reasoning_details ?? []
    assert.deepEqual(detail, detailOf(turn), `the thinking of turn ${turn} came back as it was`)
    assert.equal(message.reasoning, undefined, 'and was not told twice')
    assert.equal('provider_context' in message, false)
  })
  const turn = calls.length
  const isLast = turn === 2
  const call = { index: 0, id: `call_${turn}`, type: 'function', function: { name: 'roll', arguments: '{}' } }
  return {
    reasoning: `Turn ${turn}.`,
    reasoning_details: [detailOf(turn)],
    ...(isLast ? { content: 'Done.' } : { content: null, tool_calls: [call] }),
  }
}

const detailOf = (turn: number) => ({
  type: 'reasoning.text',
  text: `Turn ${turn}.`,
  format: 'some-host-v1',
  index: 0,
  signature: `signature-${turn}`,
})

function whole(message: Anything): Anything {
  const finish_reason = message.tool_calls === undefined ? 'stop' : 'tool_calls'
  const answer = createAnswer()
  const body = JSON.stringify({ id: 'gen-1', choices: [{ index: 0, message, finish_reason }] })
  for (const event of protocol.parseResponse(body)) answer.push(event)
  return JSON.parse(answer.render({ ...HEAD, ...BILL })).choices[0].message
}

/** In pieces: the thinking letter by letter, its signature last of all. */
function streamed(message: Anything): Anything {
  const [detail] = message.reasoning_details
  const { signature, text, ...rest } = detail
  const deltas: Anything[] = [...text].map((letter) => ({
    reasoning: letter,
    reasoning_details: [{ ...rest, text: letter }],
  }))
  deltas.push({ content: message.content, tool_calls: message.tool_calls })
  const finish = message.tool_calls === undefined ? 'stop' : 'tool_calls'
  const renderer = createStreamRenderer({ ...HEAD, includeUsage: false })
  const parser = protocol.streamParser()
  const events: ChatEvent[] = []
  const push = (delta: Anything, finish_reason: string | null) => {
    parser.push(
      { event: '', data: JSON.stringify({ id: 'gen-1', choices: [{ index: 0, delta, finish_reason }] }) },
      events,
    )
  }
  for (const delta of deltas) push(delta, null)
  push({ reasoning_details: [{ ...rest, signature }] }, finish)
  parser.end(events)
  return gathered(events.map(renderer.push).join('') + renderer.close(BILL))
}

/** What a client puts together that knows lists by `index` and text by name. */
function gathered(sse: string): Anything {
  const message: Anything = { role: 'assistant', content: null }
  for (const [, data] of sse.matchAll(/^data: (\{.*\})$/gm)) {
    const {
      content,
      reasoning_content: reasoning,
      tool_calls: calls,
      provider_context: context,
    } = JSON.parse(data ?? '').choices[0].delta
    if (content) message.content = (message.content ?? '') + content
    if (reasoning) message.reasoning_content = (message.reasoning_content ?? '') + reasoning
    if (context) message.provider_context = context
    for (const { index, ...call } of calls ?? []) {
      message.tool_calls ??= []
      const known = message.tool_calls[index]
      if (known === undefined) message.tool_calls[index] = call
      else known.function.arguments += call.function.arguments
    }
  }
  return message
}

for (const [how, answerOf] of Object.entries({ whole, streamed })) {
  test(`a loop of tool calls goes on with the thinking that the host signed, ${how}`, () => {
    const messages: Anything[] = [{ role: 'user', content: 'Roll twice.' }]
    for (let turn = 0; turn < 3; turn++) {
      const request = parseChatRequest({ model: 'ours', messages, tools: TOOLS, reasoning_effort: 'low' })
      const { body, warnings } = protocol.renderRequest(request, { model: 'a/b', maxOutputTokens: undefined })
      assert.deepEqual(warnings, [])
      assert.deepEqual(JSON.parse(body).reasoning, { effort: 'low' })
      const message = answerOf(host(JSON.parse(body)))
      assert.equal(message.reasoning_content, `Turn ${turn}.`)
      messages.push(message)
      for (const { id } of message.tool_calls ?? []) messages.push({ role: 'tool', tool_call_id: id, content: '6' })
    }
    assert.equal(messages.at(-1).content, 'Done.')
  })
}

test('a client that drops the context is answered nevertheless: its reasoning goes back as text', () => {
  const { provider_context: _, ...message } = whole(host({ messages: [] }))
  const messages = [{ role: 'user', content: 'Roll.' }, message, { role: 'tool', tool_call_id: 'call_0', content: '6' }]
  const request = parseChatRequest({ model: 'ours', messages, tools: TOOLS })
  const { body } = protocol.renderRequest(request, { model: 'a/b', maxOutputTokens: undefined })
  const [, assistant] = JSON.parse(body).messages
  assert.deepEqual([assistant.reasoning, assistant.reasoning_details], ['Turn 0.', undefined])
})
