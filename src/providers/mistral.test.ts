import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatRequest } from '../domain/chat.ts'
import { mistral } from './mistral.ts'

const REQUEST: ChatRequest = {
  model: 'ours',
  messages: [
    { role: 'user', content: 'Why?' },
    { role: 'assistant', content: 'So.', reasoning_content: 'Hm.' },
    { role: 'user', content: 'Why?' },
  ],
  stream: false,
  includeUsage: false,
  n: 1,
  extra: {},
}

function sentTo(model: string) {
  const { body, warnings } = mistral.protocol.renderRequest(REQUEST, { model, maxOutputTokens: undefined })
  return { content: JSON.parse(body).messages[1].content, warnings }
}

test('models that think get their earlier thinking back, as a part of the content', () => {
  const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }
  for (const model of ['magistral-medium-2509', 'mistral-small-latest', 'mistral-small-2603', 'mistral-medium-3.5']) {
    assert.deepEqual(sentTo(model), { content: [thought, { type: 'text', text: 'So.' }], warnings: [] }, model)
  }
})

test('models that do not think are spared it, and that is named', () => {
  for (const model of ['mistral-large-latest', 'devstral-small-2507', 'mistral-small-2506', 'mistral-medium-2505']) {
    assert.deepEqual(sentTo(model), { content: 'So.', warnings: ['messages[].reasoning_content'] }, model)
  }
})

test('between results of tools and the user the assistant says something, which the API requires', () => {
  const call = { id: 'aaaaaaaa1', type: 'function', function: { name: 'look', arguments: '{}' } } as const
  const messages: ChatRequest['messages'] = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: 'Seen.' },
    { role: 'user', content: 'Go on.' },
  ]
  const target = { model: 'mistral-large-latest', maxOutputTokens: undefined }
  const { body, warnings } = mistral.protocol.renderRequest({ ...REQUEST, messages }, target)
  assert.deepEqual(
    JSON.parse(body).messages.map(({ role }: { readonly role: string }) => role),
    ['user', 'assistant', 'tool', 'assistant', 'user'],
  )
  assert.deepEqual(warnings, ['messages'])
})
