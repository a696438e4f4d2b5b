import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awsStream } from '../../../test/support/providers/aws-events.ts'
import { answerTo, judgeBody } from '../../../test/support/providers/bedrock-fake.ts'
import type { ChatEvent, ChatMessage, ChatRequest, ToolCall } from '../../domain/chat.ts'
import { createDecoder } from '../framing.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import type { Frame } from '../protocol.ts'
import { bedrockConverse } from './index.ts'

const CLAUDE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const ADAPTIVE = 'anthropic.claude-opus-4-6-v1'
const codec = bedrockConverse()
const LOOK = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }

interface Turn {
  readonly message: ChatMessage
  readonly body: unknown
  readonly warnings: readonly string[]
}

/** One call to the fake, whose answer comes back as a stream; it throws for a body that the service would refuse. */
function ask(request: ChatRequest, calls: number): Turn {
  const wire = codec.renderRequest(request, { model: CLAUDE, maxOutputTokens: undefined })
  const body = JSON.parse(wire.body)
  return { message: assistantMessage(stream(awsStream(answerTo(body, calls)))), body, warnings: wire.warnings }
}

function stream(bytes: Buffer): ChatEvent[] {
  const decoder = createDecoder('aws-event-stream', { maxEventBytes: 100_000 })
  const parser = codec.streamParser()
  const frames: Frame[] = []
  const events: ChatEvent[] = []
  decoder.push(bytes, frames)
  for (const frame of frames) if (parser.push(frame, events)) break
  parser.end(events)
  return events
}

/** What a client makes of the deltas. */
function assistantMessage(events: readonly ChatEvent[]): ChatMessage {
  const calls: ToolCall[] = []
  let content = ''
  let reasoning = ''
  let context: unknown
  for (const event of events) {
    if (event.type === 'text') content += event.text
    if (event.type === 'reasoning') reasoning += event.text
    if (event.type === 'extension') context = event.value
    if (event.type !== 'tool-call') continue
    const { toolIndex, id = '', name = '', arguments: text } = event
    const known = calls[toolIndex] ?? { id, type: 'function', function: { name, arguments: '' } }
    calls[toolIndex] = { ...known, function: { ...known.function, arguments: known.function.arguments + text } }
  }
  return JSON.parse(
    JSON.stringify({
      role: 'assistant',
      content,
      reasoning_content: reasoning === '' ? undefined : reasoning,
      tool_calls: calls.length === 0 ? undefined : calls,
      provider_context: context,
    }),
  )
}

interface Loop {
  readonly turns: readonly Turn[]
  readonly messages: readonly ChatMessage[]
}

/** Three turns: two with a call, one with the answer. @param keep What the client keeps of an answer. */
function runLoop(keep: (message: ChatMessage) => ChatMessage, fields: Readonly<Record<string, unknown>>): Loop {
  const messages: ChatMessage[] = [{ role: 'user', content: 'Go.' }]
  const turns: Turn[] = []
  for (let round = 0; round < 3; round++) {
    const turn = ask(parseChatRequest({ model: 'm', messages, tools: [LOOK], stream: true, ...fields }), 2)
    turns.push(turn)
    messages.push(keep(turn.message))
    for (const call of turn.message.tool_calls ?? []) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: `result of ${call.id}` })
    }
  }
  return { turns, messages }
}

const isReasoning = (block: object): boolean => 'reasoningContent' in block
const reasoningIn = ({ body }: Turn): object[] => {
  const { messages } = body as { messages: { content: object[] }[] }
  return messages.flatMap(({ content }) => content.filter(isReasoning))
}

test('a loop of three turns with thinking goes through when the client sends back what it got', () => {
  const { turns } = runLoop((message) => message, { reasoning_effort: 'low' })
  assert.deepEqual(
    turns.map(({ message }) => message.content),
    ['', '', 'Done.'],
  )
  assert.deepEqual(
    turns.map(reasoningIn).map(({ length }) => length),
    [0, 1, 2],
  )
  assert.deepEqual(
    turns.flatMap(({ warnings }) => warnings),
    [],
  )
})

test('a client that drops the extension field gets its loop through without thinking, and is told', () => {
  const drop = ({ provider_context: _, ...message }: ChatMessage): ChatMessage => message
  const { turns } = runLoop(drop, { reasoning_effort: 'low' })
  assert.equal(turns[2]?.message.content, 'Done.')
  assert.deepEqual(
    turns.map(({ warnings }) => warnings),
    [[], ['reasoning_effort', 'messages[].reasoning_content'], ['reasoning_effort', 'messages[].reasoning_content']],
  )
  for (const turn of turns.slice(1)) assert.equal('additionalModelRequestFields' in (turn.body as object), false)
})

test('the next question after a loop without its thinking may think again', () => {
  const drop = ({ provider_context: _, reasoning_content: __, ...message }: ChatMessage): ChatMessage => message
  const { messages } = runLoop(drop, { reasoning_effort: 'low' })
  const next = [...messages, { role: 'user', content: 'And now?' }]
  const turn = ask(parseChatRequest({ model: 'm', messages: next, tools: [LOOK], reasoning_effort: 'low' }), 0)
  assert.deepEqual(turn.warnings, [])
  assert.match(turn.message.reasoning_content ?? '', /think/)
})

test('without a wish to think nothing of earlier thinking goes back', () => {
  const { messages } = runLoop((message) => message, { reasoning_effort: 'low' })
  const next = [...messages, { role: 'user', content: 'And now?' }]
  const turn = ask(parseChatRequest({ model: 'm', messages: next, tools: [LOOK] }), 0)
  assert.deepEqual(reasoningIn(turn), [])
})

test('a model that decides by itself how much it thinks gets its thinking back in any case', () => {
  const { messages } = runLoop((message) => message, { reasoning_effort: 'low' })
  const request = parseChatRequest({
    model: 'm',
    messages: [...messages, { role: 'user', content: 'More.' }],
    tools: [LOOK],
  })
  const wire = codec.renderRequest(request, { model: ADAPTIVE, maxOutputTokens: undefined })
  const body = JSON.parse(wire.body)
  judgeBody(body)
  assert.equal(body.messages.flatMap(({ content }: { content: object[] }) => content.filter(isReasoning)).length, 3)
})

test('thinking between text and calls goes back to where it was', () => {
  const thought = (text: string, signature: string) => ({ reasoningContent: { reasoningText: { text, signature } } })
  const content = [
    thought('a', 'sa'),
    { text: 'One. ' },
    thought('b', 'sb'),
    { text: 'Two.' },
    { toolUse: { toolUseId: 'x', name: 'look', input: {} } },
    { reasoningContent: { redactedContent: 'aGlkZGVu' } },
    { toolUse: { toolUseId: 'y', name: 'look', input: { n: 1 } } },
  ]
  const events = codec.parseResponse(JSON.stringify({ output: { message: { content } }, stopReason: 'tool_use' }))
  const message = assistantMessage(events)
  const results = ['x', 'y'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'ok' }))
  const messages = [{ role: 'user', content: 'Go.' }, message, ...results]
  const request = parseChatRequest({ model: 'm', messages, tools: [LOOK], reasoning_effort: 'low' })
  const body = JSON.parse(codec.renderRequest(request, { model: CLAUDE, maxOutputTokens: undefined }).body)
  assert.deepEqual(body.messages[1].content, content)
})

test('the context holds texts and integer indexes alone, as clients that join deltas want it', () => {
  const { turns } = runLoop((message) => message, { reasoning_effort: 'low' })
  const context = turns[0]?.message.provider_context as { bedrock: { blocks: Record<string, unknown>[] } }
  assert.deepEqual(Object.keys(context), ['bedrock'])
  context.bedrock.blocks.forEach((block, index) => {
    const { index: told, ...rest } = block
    assert.equal(told, index)
    for (const value of Object.values(rest)) assert.equal(typeof value, 'string')
  })
})

test('a context that was made up or is of another shape is the same as none', () => {
  const bad = [
    null,
    5,
    { blocks: [] },
    { blocks: [{ text: 1, signature: 'x' }] },
    { blocks: [{ redacted: 'x', text_before: -1 }] },
  ]
  for (const bedrock of bad) {
    const message = { role: 'assistant', content: 'Hi', provider_context: { bedrock } }
    const messages = [{ role: 'user', content: 'Go.' }, message, { role: 'user', content: 'On.' }]
    const request = parseChatRequest({ model: 'm', messages, reasoning_effort: 'low' })
    const body = JSON.parse(codec.renderRequest(request, { model: CLAUDE, maxOutputTokens: undefined }).body)
    assert.deepEqual(body.messages[1].content, [{ text: 'Hi' }])
  }
})
