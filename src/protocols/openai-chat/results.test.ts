import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messagesApi } from '../anthropic-messages/client/index.ts'
import { openaiChat } from './index.ts'

const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
const SHOWN = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} })
const result = (id: string, content: unknown) => ({ type: 'tool_result', tool_use_id: id, content })
const text = (said: string) => ({ type: 'text', text: said })

/** As Claude Code returns screenshots: results of one turn and a reminder in one message. */
const request = messagesApi.parse({
  model: 'm',
  max_tokens: 100,
  tools: [{ name: 'look', input_schema: { type: 'object' } }],
  messages: [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: [use('aaaaaaaa1'), use('aaaaaaaa2'), use('aaaaaaaa3')] },
    {
      role: 'user',
      content: [
        result('aaaaaaaa1', [text('One.'), IMAGE]),
        result('aaaaaaaa2', [IMAGE]),
        result('aaaaaaaa3', 'Three.'),
        text('Go on.'),
      ],
    },
  ],
})

function sent(protocol = openaiChat()) {
  const { body, warnings } = protocol.renderRequest(request, { model: 'x', maxOutputTokens: undefined })
  const { messages } = JSON.parse(body)
  return { messages: messages.slice(2).map(({ role, content }: Record<string, unknown>) => [role, content]), warnings }
}

test('media in results of tools follow all results of the turn as what the user shows', () => {
  assert.deepEqual(sent(), {
    messages: [
      ['tool', [text('One.')]],
      ['tool', 'The result follows in the next message.'],
      ['tool', 'Three.'],
      ['user', [text('The tools returned:'), SHOWN, SHOWN]],
      ['user', [text('Go on.')]],
    ],
    warnings: ['messages[].content[].type'],
  })
})

test('a host that reads media there gets them there, and the assistant between results and the user', () => {
  assert.deepEqual(sent(openaiChat({ toolMedia: true, assistantAfterResults: true })), {
    messages: [
      ['tool', [text('One.'), SHOWN]],
      ['tool', [SHOWN]],
      ['tool', 'Three.'],
      ['assistant', 'I have the results.'],
      ['user', [text('Go on.')]],
    ],
    warnings: ['messages'],
  })
})
