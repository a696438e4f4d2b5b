import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GatewayError } from '../../../domain/errors.ts'
import { readMessages } from './messages.ts'

const user = { role: 'user', content: 'hi' }
const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }

function assertRefused(messages: unknown[], code: string, param: string): void {
  assert.throws(
    () => readMessages(messages),
    (error: GatewayError) => {
      assert.deepEqual([error.code, error.param], [code, param], JSON.stringify(messages))
      return true
    },
  )
}

function assertAccepted(message: object): void {
  const messages = [message]
  assert.equal(readMessages(messages), messages)
}

test('a message needs a role that exists', () => {
  assertRefused([{ content: 'x' }], 'missing_field', 'messages[0].role')
  assertRefused([user, { role: 'king', content: 'x' }], 'invalid_value', 'messages[1].role')
  assertRefused([{ role: 5, content: 'x' }], 'invalid_type', 'messages[0].role')
  assertRefused([user, 'hi'], 'invalid_type', 'messages[1]')
  assertRefused([[[[]]]], 'invalid_type', 'messages[0]')
})

test('content is demanded of everyone but an assistant that did something else', () => {
  for (const role of ['system', 'developer', 'user']) {
    assertRefused([{ role }], 'missing_field', 'messages[0].content')
    assertRefused([{ role, content: null }], 'invalid_type', 'messages[0].content')
    assertRefused([{ role, content: [] }], 'invalid_value', 'messages[0].content')
  }
  assertRefused([{ role: 'user', content: 5 }], 'invalid_type', 'messages[0].content')
  for (const content of [undefined, null, []]) {
    assertRefused([{ role: 'assistant', content }], 'missing_field', 'messages[0].content')
    assertRefused([{ role: 'assistant', content, tool_calls: [] }], 'missing_field', 'messages[0].content')
    assertAccepted({ role: 'assistant', content, tool_calls: [call] })
    assertAccepted({ role: 'assistant', content, refusal: 'no' })
    assertAccepted({ role: 'assistant', content, reasoning_content: 'hm' })
    assertAccepted({ role: 'assistant', content, audio: { id: 'audio_1' } })
  }
  assertRefused([{ role: 'assistant', content: 5 }], 'invalid_type', 'messages[0].content')
  assertAccepted({ role: 'assistant', content: '' })
})

test('a tool result names the call it answers', () => {
  assertRefused([{ role: 'tool', content: 'x' }], 'missing_field', 'messages[0].tool_call_id')
  assertRefused([{ role: 'tool', content: 'x', tool_call_id: 5 }], 'invalid_type', 'messages[0].tool_call_id')
  assertRefused([{ role: 'tool', tool_call_id: 'a' }], 'missing_field', 'messages[0].content')
  assertAccepted({ role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'x' }] })
})

test('tool calls of an assistant are whole', () => {
  const refused = (entry: unknown, code: string, path: string) =>
    assertRefused([{ role: 'assistant', tool_calls: [call, entry] }], code, `messages[0].tool_calls[1]${path}`)
  refused(5, 'invalid_type', '')
  refused({ ...call, id: undefined }, 'missing_field', '.id')
  refused({ ...call, type: undefined }, 'missing_field', '.type')
  refused({ ...call, type: 'custom' }, 'missing_field', '.custom')
  refused({ ...call, type: 'custom', custom: { name: 'a' } }, 'missing_field', '.custom.input')
  refused({ ...call, function: undefined }, 'missing_field', '.function')
  refused({ ...call, function: { arguments: '' } }, 'missing_field', '.function.name')
  refused({ ...call, function: { name: 'a' } }, 'missing_field', '.function.arguments')
  refused({ ...call, function: { name: 'a', arguments: {} } }, 'invalid_type', '.function.arguments')
  assertRefused([{ role: 'assistant', tool_calls: {} }], 'invalid_type', 'messages[0].tool_calls')
})

test('content parts are checked by type and role', () => {
  const refused = (part: unknown, code: string, path: string, role = 'user') =>
    assertRefused([{ role, content: [{ type: 'text', text: '' }, part] }], code, `messages[0].content[1]${path}`)
  refused(5, 'invalid_type', '')
  refused({ type: 'banana' }, 'invalid_value', '.type')
  refused({ text: 'x' }, 'missing_field', '.type')
  refused({ type: 'text' }, 'missing_field', '.text')
  refused({ type: 'image_url' }, 'missing_field', '.image_url')
  refused({ type: 'image_url', image_url: 'https://a.example/x.png' }, 'invalid_type', '.image_url')
  refused({ type: 'image_url', image_url: {} }, 'missing_field', '.image_url.url')
  for (const url of ['http://a.example/x.png', 'file:///etc/passwd', 'javascript:1', '', 'data:', 'https://', 'x']) {
    refused({ type: 'image_url', image_url: { url } }, 'invalid_value', '.image_url.url')
  }
  const url = 'https://a.example/x.png'
  refused({ type: 'image_url', image_url: { url, detail: 'huge' } }, 'invalid_value', '.image_url.detail')
  refused({ type: 'input_audio', input_audio: { data: 'x' } }, 'missing_field', '.input_audio.format')
  refused({ type: 'file', file: {} }, 'missing_field', '.file.file_data')
  refused({ type: 'file', file: { file_data: 'AAAA' } }, 'invalid_value', '.file.file_data')
  refused({ type: 'refusal', refusal: 'no' }, 'invalid_value', '.type')
  refused({ type: 'image_url', image_url: { url } }, 'invalid_value', '.type', 'system')
  refused({ type: 'image_url', image_url: { url } }, 'invalid_value', '.type', 'assistant')
})

test('every kind of part is accepted where it belongs', () => {
  assertAccepted({
    role: 'user',
    content: [
      { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } },
      { type: 'image_url', image_url: { url: 'https://a.example/x.png', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
      { type: 'file', file: { file_id: 'file-1' } },
    ],
  })
  assertAccepted({ role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] })
})

test('unknown fields of a message are kept, and the message is not copied', () => {
  const message = { ...user, name: 'ann', prefix: true, vendor: null }
  assert.equal(readMessages([message])[0], message)
})

test('the nulls and empty lists that SDKs send back with an answer are taken for absent', () => {
  const answer = { role: 'assistant', content: 'x', refusal: null, tool_calls: null, function_call: null, audio: null }
  assert.deepEqual(readMessages([user, answer]), [user, { role: 'assistant', content: 'x', refusal: null }])
  assert.deepEqual(readMessages([{ ...user, tool_calls: [], name: null }]), [user])
})

test('messages from before tool calls had ids become tool calls and their results', () => {
  const messages = [
    user,
    { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{"a":1}' } },
    { role: 'function', name: 'look', content: 'seen' },
  ]
  assert.deepEqual(readMessages(messages), [
    user,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }],
    },
    { role: 'tool', content: 'seen', tool_call_id: 'call_1' },
  ])
})

test('a function result that answers nothing is refused', () => {
  assertRefused([user, { role: 'function', name: 'look', content: 'x' }], 'invalid_value', 'messages[1].name')
  assertRefused([user, { role: 'function', content: 'x' }], 'missing_field', 'messages[1].name')
  assertRefused([{ role: 'assistant', function_call: {} }], 'missing_field', 'messages[0].function_call.name')
  assertRefused([{ role: 'assistant', function_call: 'x' }], 'invalid_type', 'messages[0].function_call')
  const both = { role: 'assistant', function_call: { name: 'a', arguments: '' }, tool_calls: [call] }
  assertRefused([both], 'invalid_value', 'messages[0].function_call')
})

test('images of all messages together are counted [limit: images]', () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const messages = (images: number) => [
    { role: 'user', content: Array.from({ length: images - 1 }, () => image) },
    { role: 'assistant', content: 'x' },
    { role: 'user', content: [{ type: 'text', text: 'x' }, image] },
  ]
  assert.equal(readMessages(messages(500)).length, 3)
  assertRefused(messages(501), 'out_of_range', 'messages')
})
