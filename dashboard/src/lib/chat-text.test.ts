import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answersOf, replayOf, textOfExchange, textOfMessage } from './chat-text.ts'

const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'text', text: 'What is this?' }, { type: 'image_url' }] },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ type: 'function', function: { name: 'look', arguments: '{"n":1}' } }],
  },
  { role: 'tool', tool_call_id: 'c', content: 'a cat' },
]
const response = { choices: [{ message: { role: 'assistant', content: 'A cat.', refusal: null } }] }

test('messages become text, whatever they have', () => {
  assert.deepEqual(messages.map(textOfMessage), ['Be brief.', 'What is this?\n[image_url]', 'look({"n":1})', 'a cat'])
  assert.equal(textOfMessage({ role: 'user', content: [null, 3] }), '[undefined]\n[undefined]')
  assert.match(textOfExchange({ messages, response }), /^System:\nBe brief\.\n\nUser:[\s\S]*Assistant:\nA cat\.$/)
  assert.deepEqual(answersOf({ response: null }), [])
})

test('a replay has the system prompt, and what people and models said', () => {
  assert.deepEqual(replayOf(messages), {
    system: 'Be brief.',
    messages: [{ role: 'user', text: 'What is this?\n[image_url]' }],
  })
})
