import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AgentMessage } from '../ports.ts'
import { mended } from './conversation.ts'

const user = (content: string): AgentMessage => ({ role: 'user', content })
const calling = (...ids: string[]): AgentMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'shell', arguments: '{}' } })),
})
const result = (id: string): AgentMessage => ({ role: 'tool', tool_call_id: id, content: `result ${id}` })
/** Every call has its one result, right behind it, and no result is without its call. */
function assertWhole(messages: readonly AgentMessage[]): void {
  const rest = [...messages]
  for (let message = rest.shift(); message !== undefined; message = rest.shift()) {
    assert.notEqual(message.role, 'tool')
    if (message.role !== 'assistant') continue
    for (const { id } of message.tool_calls ?? []) {
      const next = rest.shift()
      assert.ok(next?.role === 'tool' && next.tool_call_id === id)
    }
  }
}

test('a conversation that was broken off anywhere, in any order, is whole again', () => {
  const parts = [user('one'), calling('a', 'b'), result('a'), result('b'), user('two'), calling('c'), result('c')]
  fc.assert(
    fc.property(fc.shuffledSubarray(parts), (broken) => {
      const messages = mended(broken)
      assertWhole(messages)
      const said = broken.filter(({ role }) => role !== 'tool')
      assert.deepEqual(
        messages.filter(({ role }) => role !== 'tool'),
        said,
      )
    }),
  )
})

test('a call without a result is said to have none', () => {
  const [, , missing] = mended([user('x'), calling('a')])
  assert.match(String(missing?.content), /interrupted before this call had a result/)
})

test('a follow-up that was written between a call and its result comes after the result', () => {
  const messages = [user('one'), calling('a'), user('two'), result('a')]
  assert.deepEqual(mended(messages), [user('one'), calling('a'), result('a'), user('two')])
})
