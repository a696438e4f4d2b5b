import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ORDER, openAgentApi } from '../../../test/support/agents/agents.ts'
import { MAX_ARGUMENT_BYTES, MAX_CALLS, MAX_TEXT_BYTES } from '../../runner/loop/limits.ts'
import type { StoredMessage, TranscriptPage } from '../../runner/loop/transcript-page.ts'
import { renderMessages } from './transcript.ts'

/** An answer as large as one may be, in characters that double when they are rendered as JSON. */
const ANSWER = JSON.stringify({
  role: 'assistant',
  content: '"\n'.repeat(MAX_TEXT_BYTES / 2),
  tool_calls: Array.from({ length: MAX_CALLS }, (_, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name: 'edit', arguments: JSON.stringify({ new: '"'.repeat(MAX_ARGUMENT_BYTES / 2) }) },
  })),
})

function message(number: number, content: string): StoredMessage {
  const created_at = '2026-11-24T00:00:00.000Z'
  return { id: `msg_${number}`, number, run_id: 'run_1', kind: 'assistant', content, author: null, created_at }
}

const page = (messages: readonly StoredMessage[]): TranscriptPage => ({
  data: messages,
  has_more: true,
  next_cursor: 'next',
})

test('the event loop goes on while a page of the largest answers is rendered', async () => {
  const order: string[] = []
  const large = page(Array.from({ length: 4 }, (_, index) => message(index + 1, ANSWER)))
  const rendered = renderMessages(large).then((bytes) => {
    order.push('page')
    return bytes
  })
  setImmediate(() => order.push('others'))
  const bytes = await rendered
  assert.deepEqual(order, ['others', 'page'])
  assert.ok(Buffer.isBuffer(bytes) && bytes.length > 4 * ANSWER.length)
  const { data, ...rest } = JSON.parse(bytes.toString('utf8'))
  assert.deepEqual(rest, { has_more: true, next_cursor: 'next' })
  const { content, tool_calls: toolCalls } = JSON.parse(ANSWER)
  const { author, created_at } = message(4, '')
  const row = { id: 'msg_4', object: 'agent.message', number: 4, run_id: 'run_1', kind: 'assistant' }
  assert.deepEqual(data[3], { ...row, content, tool_calls: toolCalls, author, tool_call_id: null, created_at })
})

test('small and large pages are the same JSON', async () => {
  const messages = [
    message(1, JSON.stringify({ role: 'user', content: 'ä \u2028 \u0000' })),
    message(2, JSON.stringify({ role: 'assistant', content: null })),
    message(3, JSON.stringify({ role: 'tool', tool_call_id: 'call_1', content: '{}' })),
    message(4, JSON.stringify({ role: 'user', content: 'A summary.', covers: 2 })),
  ]
  const small = await renderMessages(page(messages))
  const filler = message(5, JSON.stringify({ role: 'user', content: 'x'.repeat(300_000) }))
  const large = await renderMessages(page([...messages, filler]))
  assert.ok(!Buffer.isBuffer(small) && Buffer.isBuffer(large))
  const shown = JSON.parse(large.toString('utf8'))
  assert.equal(JSON.stringify({ ...shown, data: shown.data.slice(0, -1) }), JSON.stringify(small))
})

test('[limit: large-pages] eight large pages are rendered at once, the next one is refused', async () => {
  const large = page([message(1, JSON.stringify({ role: 'user', content: 'x'.repeat(300_000) }))])
  const pages = Array.from({ length: 8 }, () => renderMessages(large))
  await assert.rejects(renderMessages(large), { code: 'overloaded', status: 503 })
  assert.ok((await Promise.all(pages)).every(Buffer.isBuffer))
  assert.ok(Buffer.isBuffer(await renderMessages(large)), 'there is room again')
})

test('GET /agents/{id}/messages shows a large message as any other', async (t) => {
  const { ask, app, create } = await openAgentApi(t)
  const { id } = await create({})
  const content = JSON.stringify({ role: 'user', content: '"ä'.repeat(200_000) })
  await app.database.db.updateTable('agent_message').set({ content }).where('number', '=', 1).execute()
  const { status, body } = await ask('GET', `/${id}/messages`)
  assert.equal(status, 200)
  assert.deepEqual([body.data.length, body.has_more, body.data[0].content], [1, false, '"ä'.repeat(200_000)])
  assert.notEqual(body.data[0].content, ORDER.prompt)
})
