/** Conversations with tools and thinking, against the rules of the real API, with clients of both kinds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FakeModel, refusalOf, THINKING_LOOP } from '../../../test/support/providers/anthropic-fake.ts'
import { messageEvents } from '../../../test/support/providers/native-answers.ts'
import type { ChatEvent, ChatMessage, ChatRequest, Tool } from '../../domain/chat.ts'
import { createAnswer } from '../openai-chat/client/answer.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import { createStreamRenderer } from '../openai-chat/client/stream.ts'
import type { Frame } from '../protocol.ts'
import { anthropicMessages } from './index.ts'

const codec = anthropicMessages()
const TOOLS: readonly Tool[] = [
  { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
]
const BILL = { usage: { promptTokens: 1, completionTokens: 1 }, costUsd: undefined }

// biome-ignore lint/suspicious/noExplicitAny: blocks of an answer are any JSON
type Block = any

const text = (said: string): Block => ({ type: 'text', text: said })

interface Run {
  readonly model: string
  readonly fake: FakeModel
  readonly streamed: boolean
  /** What the client keeps of a message that it was given. */
  readonly keep: (message: ChatMessage) => ChatMessage
  /** What comes after the results, at the second turn. */
  readonly aside?: string
}

/** @returns The body of every request. */
function converse({ model, fake, streamed, keep, aside }: Run): { bodies: Block[]; warnings: string[] } {
  const messages: ChatMessage[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What is around?' },
  ]
  const bodies: Block[] = []
  const warnings = new Set<string>()
  for (const [turn, blocks] of THINKING_LOOP.entries()) {
    const sent = { model, messages, tools: TOOLS, stream: streamed, reasoning_effort: 'medium', max_tokens: 20_000 }
    const request: ChatRequest = parseChatRequest(JSON.parse(JSON.stringify(sent)))
    const wire = codec.renderRequest(request, { model, maxOutputTokens: undefined })
    const body = JSON.parse(wire.body)
    for (const warning of wire.warnings) warnings.add(warning)
    assert.equal(refusalOf(body, fake), undefined, wire.body)
    bodies.push(body)
    const message = keep(streamed ? streamedMessage(blocks) : wholeMessage(blocks))
    messages.push(message)
    for (const call of message.tool_calls ?? []) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: 'empty' })
    }
    if (turn === 1 && aside !== undefined) messages.push({ role: 'user', content: aside })
  }
  return { bodies, warnings: [...warnings] }
}

function wholeMessage(content: readonly Block[]): ChatMessage {
  const stopReason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
  const body = JSON.stringify({ id: 'msg_1', type: 'message', content, stop_reason: stopReason, usage: {} })
  const answer = createAnswer()
  for (const event of codec.parseResponse(body)) answer.push(event)
  const rendered = JSON.parse(answer.render({ id: 'chatcmpl-1', created: 1, model: 'm', ...BILL }))
  return rendered.choices[0].message
}

/** As a client joins it from the chunks that the gateway sends. */
function streamedMessage(content: readonly Block[]): ChatMessage {
  const renderer = createStreamRenderer({ id: 'chatcmpl-1', created: 1, model: 'm', includeUsage: false })
  const events = eventsOf(framesOf(content))
  const sent = events.map((event) => renderer.push(event)).join('') + renderer.close(BILL)
  const message: Block = { role: 'assistant', content: '', tool_calls: [] }
  for (const line of sent.split('\n\n').filter((part) => part.startsWith('data: {'))) {
    const { delta } = JSON.parse(line.slice(6)).choices[0]
    message.content += delta.content ?? ''
    message.provider_context ??= delta.provider_context
    for (const { index, id, function: called } of delta.tool_calls ?? []) {
      message.tool_calls[index] ??= { id, type: 'function', function: { name: called.name, arguments: '' } }
      message.tool_calls[index].function.arguments += called.arguments
    }
  }
  return message.tool_calls.length === 0 ? { role: 'assistant', content: message.content } : message
}

function framesOf(content: readonly Block[]): Frame[] {
  const stopReason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
  const events = messageEvents(content, { stopReason, promptTokens: 1, completionTokens: 1 })
  return events.map((event) => ({ event: '', data: JSON.stringify(event) }))
}

function eventsOf(frames: readonly Frame[]): ChatEvent[] {
  const parser = codec.streamParser()
  const events: ChatEvent[] = []
  for (const frame of frames) parser.push(frame, events)
  parser.end(events)
  return events
}

const faithful = (message: ChatMessage): ChatMessage => message
/** As a client that knows the fields of the OpenAI format and no others. */
const forgetful = ({ role, content, tool_calls: calls }: ChatMessage): ChatMessage => ({
  role,
  content: content ?? null,
  ...(calls === undefined ? {} : { tool_calls: calls }),
})
const BUDGET = { model: 'claude-sonnet-4-5', fake: { wantsLeadingThinking: true } }
const ADAPTIVE = { model: 'claude-opus-4-8', fake: { wantsLeadingThinking: false } }
const BOUND = { model: 'claude-opus-5-5', fake: { wantsLeadingThinking: false } }

for (const streamed of [false, true]) {
  const how = streamed ? 'streamed' : 'whole'
  for (const target of [BUDGET, ADAPTIVE, BOUND]) {
    test(`three turns with tools, ${how}, ${target.model}: each block goes back as it came, in its place`, () => {
      const { bodies, warnings } = converse({ ...target, streamed, keep: faithful })
      const said = bodies
        .at(-1)
        .messages.filter(({ role }: Block) => role === 'assistant')
        .map(({ content }: Block) => content)
      assert.deepEqual(said, THINKING_LOOP.slice(0, 3))
      assert.deepEqual(warnings, [])
      for (const body of bodies) assert.ok(body.thinking)
    })
  }

  test(`a client that forgets the context can go on, ${how}: without thinking where the API demands it back`, () => {
    const { bodies, warnings } = converse({ ...BUDGET, streamed, keep: forgetful })
    assert.deepEqual(
      bodies.map(({ thinking }) => thinking?.type),
      ['enabled', undefined, undefined, undefined],
    )
    assert.deepEqual(warnings, ['reasoning_effort'])
  })

  test(`a client that forgets the context can go on, ${how}: with thinking where the model may`, () => {
    const { bodies, warnings } = converse({ ...ADAPTIVE, streamed, keep: forgetful })
    for (const body of bodies) assert.equal(body.thinking.type, 'adaptive')
    assert.deepEqual(warnings, [])
  })
}

test('a user who says something amid the results does not break the turn', () => {
  const { bodies } = converse({ ...BUDGET, streamed: false, keep: faithful, aside: 'Hurry.' })
  assert.equal(bodies[2].messages.at(-1).content.at(-1).text, 'Hurry.')
  converse({ ...BUDGET, streamed: false, keep: forgetful, aside: 'Hurry.' })
})

test('after a turn that is over, thinking begins again and goes on, although the client forgot the old one', () => {
  const results: ChatMessage[] = ['toolu_1', 'toolu_2'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'ok' }))
  const asked = wholeMessage(THINKING_LOOP[0] ?? [])
  const before: ChatMessage[] = [{ role: 'user', content: 'Go.' }, forgetful(asked), ...results]
  const begun: ChatMessage[] = [...before, { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'Again.' }]
  for (const messages of [begun, [...begun, asked, ...results]]) {
    const request = parseChatRequest({ model: 'm', messages, tools: TOOLS, reasoning_effort: 'low' })
    const { body, warnings } = codec.renderRequest(request, { model: BUDGET.model, maxOutputTokens: 64_000 })
    assert.equal(JSON.parse(body).thinking?.type, 'enabled')
    assert.deepEqual(warnings, [])
    // The fake knows ids once in a conversation, and so does the API: the later ones got others.
    assert.equal(refusalOf(JSON.parse(body), BUDGET.fake), undefined)
  }
})

test('the fake refuses what the real one refuses', () => {
  const { bodies } = converse({ ...BUDGET, streamed: false, keep: faithful })
  const last = bodies.at(-1)
  const refused = (change: (copy: Block) => void): string => {
    const copy = structuredClone(last)
    change(copy)
    return refusalOf(copy, BUDGET.fake) ?? 'taken'
  }
  const [, first, results] = [0, 1, 2]
  assert.match(
    refused((body) => body.messages[first].content.shift()),
    /Expected `thinking`/,
  )
  assert.match(
    refused((body) => {
      body.messages[first].content[0].thinking += '!'
    }),
    /Invalid `signature`/,
  )
  assert.match(
    refused((body) => delete body.messages[first].content[0].signature),
    /signature/,
  )
  assert.match(
    refused((body) => body.messages[results].content.pop()),
    /tool_result/,
  )
  assert.match(
    refused((body) => body.messages[results].content.unshift(text('hm'))),
    /come first/,
  )
  assert.match(
    refused((body) => body.messages.splice(results, 0, body.messages[results])),
    /alternate/,
  )
  assert.match(
    refused((body) => {
      body.messages[first].content[0].index = 0
    }),
    /Extra inputs/,
  )
  assert.match(
    refused((body) => {
      body.thinking.budget_tokens = body.max_tokens
    }),
    /greater than/,
  )
  assert.match(
    refused((body) => {
      body.tools = []
    }),
    /define tools/,
  )
})
