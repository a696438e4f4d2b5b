import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AgentMessage } from '../ports.ts'
import {
  compactedMessages,
  fitMessages,
  selectCut,
  summaryOf,
  summaryRequestOf,
  tokensOf,
  windowBudget,
  withoutOldOutputs,
} from './compaction.ts'

const TEXT = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.integer({ min: 0, max: 60_000 }).map((length) => 'output '.repeat(length / 7)),
)

/** A user's message, then steps with up to three calls each, and follow-ups in between. */
const CONVERSATION = fc
  .tuple(
    TEXT,
    fc.array(fc.record({ text: TEXT, results: fc.array(TEXT, { maxLength: 3 }), followUp: fc.option(TEXT) }), {
      maxLength: 12,
    }),
  )
  .map(([first, steps]) => {
    const messages: AgentMessage[] = [{ role: 'user', content: `The task. ${first}` }]
    for (const [step, { text, results, followUp }] of steps.entries()) {
      const calls = results.map((argument, at) => ({
        id: `call_${step}_${at}`,
        type: 'function' as const,
        function: { name: 'shell', arguments: JSON.stringify({ command: argument }) },
      }))
      messages.push({ role: 'assistant', content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) })
      for (const [at, content] of results.entries())
        messages.push({ role: 'tool', tool_call_id: `call_${step}_${at}`, content })
      if (followUp !== null) messages.push({ role: 'user', content: followUp })
    }
    return messages
  })

function assertWhole(messages: readonly AgentMessage[]): void {
  const open = new Set<string>()
  for (const message of messages) {
    if (message.role === 'tool') assert.ok(open.delete(message.tool_call_id), 'a result without its call')
    else assert.equal(open.size, 0, 'a call without its result')
    for (const call of (message.role === 'assistant' && message.tool_calls) || []) {
      open.add(call.id)
      JSON.parse(call.function.arguments)
    }
  }
  assert.equal(open.size, 0)
}

for (const contextWindow of [8_192, 32_000, 200_000]) {
  test(`a conversation made shorter fits a window of ${contextWindow} tokens, its calls keep their results`, () => {
    const window = windowBudget(contextWindow, Math.min(16_384, contextWindow / 4), 1_500)
    fc.assert(
      fc.property(CONVERSATION, TEXT, (messages, notes) => {
        const cut = selectCut(messages, window)
        assert.deepEqual([...cut.replaced, ...cut.tail], messages)
        const request = summaryRequestOf(cut, window)
        const asked = request.messages.filter((message) => message.role !== 'system')
        assert.ok(tokensOf(asked) <= window.full)
        assert.ok(asked.every((message) => message.role !== 'tool' && !('tool_calls' in message)))
        const count = (list: readonly { role: string }[]) => list.filter(({ role }) => role === 'assistant').length
        assert.equal(count(asked), count(cut.replaced))
        assert.equal(count(cut.tail), cut.kept)
        const next = compactedMessages(summaryOf(cut, notes, window), cut, window)
        assert.ok(tokensOf(next) <= window.full)
        assertWhole(next)
        assert.equal(next.length, cut.tail.length + 1)
      }),
      { numRuns: 40 },
    )
  })
}

test('what the users wrote is kept word for word through one summary after the other', () => {
  const window = windowBudget(32_000, 8_000, 1_500)
  const big = 'x'.repeat(20_000)
  let messages: AgentMessage[] = [{ role: 'user', content: 'Fix the parser.' }]
  for (let round = 0; round < 5; round++) {
    for (let step = 0; step < 4; step++) messages.push({ role: 'assistant', content: `${round} ${step} ${big}` })
    messages.push({ role: 'user', content: `And then do ${round}.` }, { role: 'assistant', content: big })
    const cut = selectCut(messages, window)
    messages = compactedMessages(summaryOf(cut, `Notes of round ${round}.`, window), cut, window)
  }
  const text = JSON.stringify(messages)
  assert.equal(text.match(/Fix the parser\./g)?.length, 1)
  for (let round = 0; round < 5; round++) assert.ok(text.includes(`And then do ${round}.`))
  assert.ok(text.includes('Notes of round 4.') && !text.includes('Notes of round 3.'))
})

test('the last message of the user stays as it is, as long as it is not the window that it fills', () => {
  fc.assert(
    fc.property(CONVERSATION, (messages) => {
      const asked: AgentMessage = { role: 'user', content: 'What I really want is this. '.repeat(20) }
      const next = fitMessages([...messages, asked], 3_000)
      assert.deepEqual(next.at(-1), asked)
      assertWhole(next)
    }),
    { numRuns: 50 },
  )
})

test('without notes the summary tells what was called', () => {
  const messages: AgentMessage[] = [
    { role: 'user', content: 'Go.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'shell', arguments: '{"command":"make"}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'made' },
  ]
  const { content } = summaryOf({ replaced: messages, tail: [] }, ' \n', windowBudget(32_000, 8_000, 1_500))
  assert.match(content, /<user-messages>\nGo\.\n<\/user-messages>[\s\S]*- shell \{"command":"make"\}/)
})

test('what the user wrote while the first answer that stays was asked for is in the summary too', () => {
  const window = windowBudget(32_000, 8_000, 1_500)
  const step = (text: string): AgentMessage => ({ role: 'assistant', content: text })
  const user = (content: string): AgentMessage => ({ role: 'user', content })
  const messages = [user('One.'), step('a'), step('b'), user('Two.'), step('c'), user('Three.'), step('d')]
  const { content } = summaryOf(selectCut(messages, window), 'Notes.', window)
  assert.match(content, /<user-messages>\nOne\.\n\nTwo\.\n<\/user-messages>/)
})

test('old outputs are shortened, those of the last two steps are not', () => {
  const big = 'y'.repeat(9_000)
  const messages = [1, 2, 3, 4].flatMap((step): AgentMessage[] => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `${step}`, type: 'function', function: { name: 'view', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: `${step}`, content: big },
  ])
  const sizes = withoutOldOutputs(messages).flatMap((message) =>
    message.role === 'tool' ? [message.content.length > 500] : [],
  )
  assert.deepEqual(sizes, [false, false, true, true])
})
