import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallableModel } from './callable.ts'
import { chatRequest, withoutImages } from './chat-request.ts'
import type { AnswerItem, Item, MessageItem } from './conversation.ts'
import { beginRun, type Run } from './run.ts'
import { DEFAULT_SETTINGS, EXAMPLE_TOOLS, type Settings } from './settings.ts'

const able: CallableModel = {
  id: 'able',
  deprecation_date: null,
  owned_by: 'test',
  capabilities: { streaming: true, function_calling: true, vision: true, json_mode: true },
  supported_parameters: ['temperature', 'top_p', 'max_tokens', 'stop', 'seed', 'reasoning_effort'],
  context_window: 8000,
  max_output_tokens: 1000,
  pricing: null,
}
const plain: CallableModel = {
  ...able,
  id: 'plain',
  capabilities: { streaming: true, function_calling: false, vision: false, json_mode: false },
  supported_parameters: ['max_tokens'],
}
const message = (text: string, more: Partial<MessageItem> = {}): Item => ({
  ...{ kind: 'message', id: 1, role: 'user', text, images: [] },
  ...more,
})
const answer = (run: Partial<Run>, toolAnswers: AnswerItem['toolAnswers'] = []): Item => ({
  kind: 'answer',
  id: 2,
  run: { ...beginRun({ id: 2, model: 'able', request: {}, leftOut: [], startedAt: 0 }), status: 'finished', ...run },
  toolAnswers,
})
const asked = (items: readonly Item[], settings: Partial<Settings> = {}, { model = able, system = '' } = {}) =>
  chatRequest({ model, system, items, settings: { ...DEFAULT_SETTINGS, ...settings } })
const everything: Partial<Settings> = {
  ...{ temperature: 0, topP: 0.5, maxTokens: 10, seed: 1, stop: 'END\n\n###', effort: 'low' },
  ...{ tools: EXAMPLE_TOOLS, toolChoice: 'required', format: 'json_object' },
}

test('without anything set, the request has nothing but what it must have', () => {
  assert.deepEqual(asked([message('Hi')]), {
    body: {
      model: 'able',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
      stream_options: { include_usage: true },
    },
    leftOut: [],
  })
})

test('what is set goes to the model that supports it, and is named where it does not', () => {
  const { body, leftOut } = asked([message('Hi')], everything)
  const { temperature, top_p, max_tokens, seed, stop, reasoning_effort, response_format, tools, tool_choice } = body
  assert.deepEqual(
    [temperature, top_p, max_tokens, seed, stop, reasoning_effort, response_format, tool_choice, leftOut],
    [0, 0.5, 10, 1, ['END', '###'], 'low', { type: 'json_object' }, 'required', []],
  )
  assert.deepEqual(tools, JSON.parse(EXAMPLE_TOOLS))
  const less = asked([message('Hi')], everything, { model: plain })
  assert.deepEqual(Object.keys(less.body), ['model', 'messages', 'max_tokens', 'stream', 'stream_options'])
  assert.deepEqual(less.leftOut, [
    'temperature',
    'top P',
    'seed',
    'stop sequences',
    'reasoning effort',
    'response format',
    'tools',
  ])
})

test('a schema is sent under a name', () => {
  const { body } = asked([message('Hi')], { format: 'json_schema', schema: '{"type":"object"}', isStrict: false })
  assert.deepEqual(body['response_format'], {
    type: 'json_schema',
    json_schema: { name: 'answer', strict: false, schema: { type: 'object' } },
  })
})

test('a follow-up has what the model itself said before', () => {
  const { body } = asked(
    [message('Hi'), answer({ text: 'Hello.', reasoning: 'Greet.' }), message('And?')],
    {},
    { system: 'Be brief.' },
  )
  assert.deepEqual(body['messages'], [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello.', reasoning_content: 'Greet.' },
    { role: 'user', content: 'And?' },
  ])
})

test('a call is sent with its answer, and without one not at all; an answer that never came is none', () => {
  const calls = [
    { id: 'c0', name: 'f', arguments: '{}' },
    { id: 'c1', name: 'g', arguments: '{' },
  ]
  const { body } = asked([message('Hi'), answer({ calls }, [{ callId: 'c0', text: '21 °C' }])])
  assert.deepEqual(body['messages'], [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c0', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c0', content: '21 °C' },
  ])
  const silent = asked([message('Hi'), answer({ calls }), answer({ status: 'failed' }), message('Again')])
  assert.deepEqual(silent.body['messages'], [
    { role: 'user', content: 'Hi' },
    { role: 'user', content: 'Again' },
  ])
})

test('images are parts of their message, and are cut short for reading', () => {
  const dataUrl = `data:image/png;base64,${'A'.repeat(500)}`
  const { body } = asked([message('What is it?', { images: [{ id: 'i', name: 'a.png', dataUrl, bytes: 375 }] })])
  assert.deepEqual(body['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: dataUrl } },
      ],
    },
  ])
  const shown = JSON.stringify(withoutImages(body['messages'] ?? null))
  assert.ok(shown.length < 250 && shown.includes('data:image/png;base64,AAAA'), shown)
})
