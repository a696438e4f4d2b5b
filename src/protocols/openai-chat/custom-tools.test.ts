import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { PROVIDERS } from '../../providers/index.ts'
import { createAnswer } from './client/answer.ts'
import { parseChatRequest } from './client/request.ts'
import { createStreamRenderer } from './client/stream.ts'
import { openaiChat } from './index.ts'
import { parseResponse } from './response.ts'
import { streamParser } from './stream.ts'

const TARGET = { model: 'theirs', maxOutputTokens: undefined }
const grammar = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } }
const tools = [
  { type: 'custom', custom: { name: 'run', description: 'Runs code.', format: grammar } },
  { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
]
const call = { id: 'call_1', type: 'custom', custom: { name: 'run', input: 'print("é")' } }
const messages = [
  { role: 'user', content: 'Run it' },
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: 'call_1', content: 'é' },
]
const base = { model: 'm', messages, tools }
const CHOICES = [
  { type: 'custom', custom: { name: 'run' } },
  { type: 'function', function: { name: 'look' } },
  { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [{ type: 'custom', custom: { name: 'run' } }] } },
  'required',
]

test('custom tools, their choice and their calls reach the host that has them as the client wrote them', () => {
  for (const choice of CHOICES) {
    const request = parseChatRequest({ ...base, tool_choice: choice })
    const { body, warnings } = PROVIDERS['openai']?.protocol.renderRequest(request, TARGET) ?? assert.fail()
    const sent = JSON.parse(body)
    assert.deepEqual(sent.tools, tools)
    assert.deepEqual(sent.tool_choice, choice)
    assert.deepEqual(sent.messages, messages)
    assert.deepEqual(warnings, [])
  }
})

test('custom tools are refused by name wherever the provider has none', () => {
  const bodies: readonly (readonly [object, string])[] = [
    [{ ...base, messages: messages.slice(0, 1) }, 'tools[0].type'],
    [{ model: 'm', messages }, 'messages[1].tool_calls[0].type'],
  ]
  for (const provider of Object.values(PROVIDERS)) {
    if (provider.id === 'openai' || provider.id === 'azure') continue
    for (const [body, param] of bodies) {
      assert.throws(
        () => provider.protocol.renderRequest(parseChatRequest(body), TARGET),
        (error) =>
          error instanceof GatewayError &&
          error.status === 422 &&
          (error.param === param || error.param === 'tools' || error.param === 'messages[2].role'),
        `${provider.id} ${param}`,
      )
    }
  }
})

const CALL_EVENT = { type: 'tool-call', index: 0, toolIndex: 0, id: 'call_1', name: 'run', custom: true } as const

test('the call of a custom tool comes back whole, its input untouched, even an empty one', () => {
  for (const input of ['print("é")', '']) {
    const custom = { ...call, custom: { ...call.custom, input } }
    const choice = { index: 0, message: { content: null, tool_calls: [custom] }, finish_reason: 'tool_calls' }
    const events = parseResponse(JSON.stringify({ choices: [choice] }))
    assert.deepEqual(events[0], { ...CALL_EVENT, arguments: input })
    const answer = createAnswer()
    for (const event of events) answer.push(event)
    const head = { id: 'a', created: 1, model: 'm', usage: { promptTokens: 1, completionTokens: 1 }, costUsd: 0 }
    const { message, finish_reason: reason } = JSON.parse(answer.render(head)).choices[0]
    assert.deepEqual([message.tool_calls, message.content, reason], [[custom], null, 'tool_calls'])
  }
})

test('the call of a custom tool is streamed fragment by fragment, its input untouched', () => {
  for (const inputs of [['print(', '"é")'], ['']]) {
    const deltas = [
      { index: 0, id: 'call_1', type: 'custom', custom: { name: 'run', input: '' } },
      ...inputs.map((input) => ({ index: 0, custom: { input } })),
    ]
    const parser = streamParser()
    const events: ChatEvent[] = []
    for (const delta of deltas) push({ choices: [{ index: 0, delta: { tool_calls: [delta] } }] })
    push({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] })
    parser.end(events)
    function push(chunk: object): void {
      parser.push({ event: '', data: JSON.stringify(chunk) }, events)
    }
    const renderer = createStreamRenderer({ id: 'a', created: 1, model: 'm', includeUsage: false })
    let text = events.map((event) => renderer.push(event)).join('')
    text += renderer.close({ usage: { promptTokens: 1, completionTokens: 1 }, costUsd: 0 })
    const chunks = text.split('\n\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    const calls = chunks.flatMap(({ choices: [{ delta }] }) => delta.tool_calls ?? [])
    assert.deepEqual(calls[0], deltas[0])
    assert.ok(calls.slice(1).every((each) => each.id === undefined && each.function === undefined))
    assert.equal(calls.map((each) => each.custom.input).join(''), inputs.join(''))
    assert.equal(chunks.at(-1).choices[0].finish_reason, 'tool_calls')
  }
})

test('detail "original" is sent where it is known, and as "high" with a warning elsewhere', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'original' } }
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: [image] }] })
  const kept = openaiChat({ originalDetail: true }).renderRequest(request, TARGET)
  assert.equal(JSON.parse(kept.body).messages[0].content[0].image_url.detail, 'original')
  assert.deepEqual(kept.warnings, [])
  const bent = openaiChat().renderRequest(request, TARGET)
  assert.equal(JSON.parse(bent.body).messages[0].content[0].image_url.detail, 'high')
  assert.deepEqual(bent.warnings, ['messages[].content[].image_url.detail'])
  for (const id of ['anthropic', 'google']) {
    assert.equal(PROVIDERS[id]?.protocol.renderRequest(request, TARGET).warnings.length, 1, id)
  }
})
