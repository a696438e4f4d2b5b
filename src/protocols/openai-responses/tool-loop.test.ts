/** Conversations with tools and encrypted reasoning by clients of other APIs, against the rules of the real API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  REASONING_LOOP,
  refusalOf,
  responseEvents,
  responseOf,
} from '../../../test/support/providers/responses-fake.ts'
import type { ChatEvent } from '../../domain/chat.ts'
import { messagesApi } from '../anthropic-messages/client/index.ts'
import { openaiResponses } from './index.ts'

// biome-ignore lint/suspicious/noExplicitAny: messages and items are any JSON
type Anything = any

const codec = openaiResponses()
const HEAD = { id: 'chatcmpl-1', created: 1, model: 'm' }
const BILL = { usage: { promptTokens: 1, completionTokens: 1 }, costUsd: undefined }
const TOOLS = [{ name: 'look', input_schema: { type: 'object', properties: {} } }]

function eventsOf(output: readonly Anything[], streamed: boolean): ChatEvent[] {
  if (!streamed) return codec.parseResponse(JSON.stringify(responseOf(output)))
  const parser = codec.streamParser()
  const events: ChatEvent[] = []
  for (const event of responseEvents(output)) parser.push({ event: event.type, data: JSON.stringify(event) }, events)
  parser.end(events)
  return events
}

/** The blocks of the answer, as a client of the Messages API has them. */
function blocksOf(request: object, events: readonly ChatEvent[]): Anything[] {
  const answer = messagesApi.createAnswer(messagesApi.parse(request))
  for (const event of events) answer.push(event)
  return JSON.parse(answer.render({ ...HEAD, ...BILL })).content
}

for (const streamed of [false, true]) {
  test(`a client of the Messages API replays every item of a loop, ${streamed ? 'streamed' : 'whole'}`, () => {
    const messages: Anything[] = [{ role: 'user', content: 'What is around?' }]
    let body: Anything
    for (const output of REASONING_LOOP) {
      const request = { model: 'm', max_tokens: 1000, messages, tools: TOOLS }
      const wire = codec.renderRequest(messagesApi.parse(structuredClone(request)), {
        ...{ model: 'theirs', maxOutputTokens: undefined },
      })
      body = JSON.parse(wire.body)
      assert.equal(refusalOf(body), undefined)
      assert.deepEqual(wire.warnings, [])
      const content = blocksOf(request, eventsOf(output, streamed))
      messages.push({ role: 'assistant', content })
      const calls = content.filter(({ type }) => type === 'tool_use')
      const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'empty' }))
      if (results.length > 0) messages.push({ role: 'user', content: results })
    }
    const withoutStatus = ({ status: _, ...item }: Anything): Anything => item
    const items = body.input.filter(({ type, role }: Anything) => !type.endsWith('_output') && role !== 'user')
    assert.deepEqual(items.map(withoutStatus), REASONING_LOOP.slice(0, 3).flat().map(withoutStatus))
  })
}
