import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ChatMessage } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { renderMessages } from './messages.ts'
import type { OpenAiChatOptions } from './options.ts'

const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }) as const
const USER = { role: 'user', content: 'Hi' } as const

function render(messages: readonly ChatMessage[], options: OpenAiChatOptions = {}) {
  const warnings = new Set<string>()
  const rendered = renderMessages(messages, { options, warnings, price: undefined })
  return { messages: JSON.parse(JSON.stringify(rendered)), warnings: [...warnings] }
}

const refuses =
  (param: string, code = 'unsupported_parameter') =>
  (error: unknown): boolean =>
    error instanceof GatewayError && error.code === code && error.status === 422 && error.param === param

test('a message that need not change is the client’s own object', () => {
  const messages = [USER, { role: 'assistant', content: 'x', mood: 'calm' }] as const
  const rendered = renderMessages(messages, { options: {}, warnings: new Set(), price: undefined })
  assert.equal(rendered[0], messages[0])
  assert.equal(rendered[1], messages[1])
})

test('a developer speaks as system where the host does not know the role', () => {
  const messages = [{ role: 'developer', content: 'Be brief.' }, USER] as const
  assert.deepEqual(render(messages).messages, [{ role: 'system', content: 'Be brief.' }, USER])
  assert.deepEqual(render(messages, { developerRole: true }).messages, messages)
})

test('marks to cache the prompt reach hosts that know them; others get the parts without, and the marks are named', () => {
  const text = { type: 'text', text: 'a' } as const
  const marked = [
    { ...text, cache_control: { type: 'ephemeral' } },
    { ...text, prompt_cache_breakpoint: { mode: 'auto' } },
    { ...text, cache_control: null },
  ]
  const messages: readonly ChatMessage[] = [{ role: 'user', content: marked }]
  assert.deepEqual(render(messages), {
    messages: [{ role: 'user', content: [text, text, text] }],
    warnings: ['messages[].content[].cache_control', 'messages[].content[].prompt_cache_breakpoint'],
  })
  assert.deepEqual(render(messages, { cacheMarks: ['cache_control'] }), {
    messages: [{ role: 'user', content: [marked[0], text, marked[2]] }],
    warnings: ['messages[].content[].prompt_cache_breakpoint'],
  })
  assert.deepEqual(render(messages, { joinedText: true }).warnings, render(messages).warnings)
  const both = { cacheMarks: ['cache_control', 'prompt_cache_breakpoint'] } as const
  assert.deepEqual(render(messages, both), { messages, warnings: [] })
})

test('earlier reasoning goes back under the host’s name for it, or is left out and named', () => {
  const reasoned = { role: 'assistant', content: 'x', reasoning_content: 'r' } as const
  assert.deepEqual(render([reasoned]), { messages: [reasoned], warnings: [] })
  assert.deepEqual(render([reasoned], { reasoningField: 'reasoning' }), {
    messages: [{ role: 'assistant', content: 'x', reasoning: 'r' }],
    warnings: [],
  })
  assert.deepEqual(render([reasoned], { reasoningField: 'none' }), {
    messages: [{ role: 'assistant', content: 'x' }],
    warnings: ['messages[].reasoning_content'],
  })
})

test('reasoning is taken under both of its names, and sent once', () => {
  const alias = { role: 'assistant', content: 'x', reasoning: 'r' } as const
  const both = { ...alias, reasoning_content: 'r' } as const
  const messages: readonly ChatMessage[] = [alias, both]
  for (const message of messages) {
    assert.deepEqual(render([message]).messages, [{ role: 'assistant', content: 'x', reasoning_content: 'r' }])
    assert.deepEqual(render([message], { reasoningField: 'reasoning' }).messages, [alias])
  }
  const empty = { ...alias, reasoning: '', reasoning_content: null }
  assert.deepEqual(render([empty]).messages, [{ role: 'assistant', content: 'x' }])
})

test('reasoning that the client did not keep is made up for, but only where tools were called', () => {
  const options = { missingReasoning: ' ' }
  const called = { role: 'assistant', content: null, tool_calls: [call('a')] } as const
  const result = { role: 'tool', tool_call_id: 'a', content: '1' } as const
  const { messages } = render([USER, called, result, { ...called, reasoning_content: 'r' }], options)
  assert.deepEqual(messages, [
    USER,
    { ...called, reasoning_content: ' ' },
    result,
    { ...called, reasoning_content: 'r' },
  ])
  const plain = [USER, { role: 'assistant', content: 'x' }] as const
  assert.deepEqual(render(plain, options).messages, plain)
})

test('the context is never sent', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (context) => {
      const message = { role: 'assistant', content: 'x', reasoning_content: 'r' } as const
      const withContext = { ...message, provider_context: context } as unknown as ChatMessage
      assert.deepEqual(render([withContext]), { messages: [message], warnings: [] })
    }),
  )
})

test('an earlier refusal is sent as text', () => {
  const refused = { role: 'assistant', content: null, refusal: 'No.' } as const
  const inParts = { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] } as const
  assert.deepEqual(render([refused]).messages, [{ role: 'assistant', content: 'No.' }])
  assert.deepEqual(render([{ ...refused, content: '' }]).messages, [{ role: 'assistant', content: 'No.' }])
  assert.deepEqual(render([inParts]).messages, [{ role: 'assistant', content: [{ type: 'text', text: 'No.' }] }])
  const answered = { role: 'assistant', content: 'x' } as const
  assert.deepEqual(render([{ ...answered, refusal: null }]).messages, [answered])
})

test('a strict host gets only the fields it knows: empty ones go silently, a refusal becomes text, others are named', () => {
  const strange = {
    role: 'assistant',
    content: null,
    refusal: 'No.',
    annotations: [],
    audio: null,
    mood: 'calm',
  } as const
  assert.deepEqual(render([strange], { messageFields: ['role', 'content'] }), {
    messages: [{ role: 'assistant', content: 'No.' }],
    warnings: ['messages[].mood'],
  })
})

test('names of speakers are refused where a host cannot read them, a tool’s name is not missed', () => {
  const named = [USER, { role: 'user', name: 'Ann', content: 'x' }] as const
  assert.throws(() => render(named, { namedRoles: ['tool'] }), refuses('messages[1].name'))
  const result = { role: 'tool', name: 'f', tool_call_id: 'c', content: '1' } as const
  assert.deepEqual(render([result], { namedRoles: [] }).messages, [{ role: 'tool', tool_call_id: 'c', content: '1' }])
  assert.deepEqual(render([result], { namedRoles: ['tool'] }).messages, [result])
  assert.deepEqual(render(named).messages, named)
})

test('content that a host cannot read is rejected with its path', () => {
  const image = { type: 'image_url', image_url: { url: 'data:,' } } as const
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'x' }, image] }] as const
  const isRefused = refuses('messages[0].content[1]', 'unsupported_content')
  assert.throws(() => render(messages, { refusedParts: ['image_url'] }), isRefused)
  assert.deepEqual(render(messages).messages, messages)
})

test('text in a list is a string for hosts that read no lists, and a list with more than text stays one', () => {
  const text = { type: 'text', text: 'a' } as const
  const image = { type: 'image_url', image_url: { url: 'data:,' } } as const
  const contentOf = (content: ChatMessage['content']) =>
    render([{ role: 'user', content: content ?? null }], { joinedText: true }).messages[0].content
  assert.equal(contentOf([text, { type: 'text', text: 'b' }]), 'ab')
  assert.deepEqual(contentOf([text, image]), [text, image])
  assert.equal(contentOf('x'), 'x')
})

test('system messages go to the front where they must, and that is named', () => {
  const system = (content: string) => ({ role: 'system', content }) as const
  const mixed = [system('a'), USER, system('b'), { role: 'developer', content: 'c' }] as const
  assert.deepEqual(render(mixed, { systemFirst: true }), {
    messages: [system('a'), system('b'), system('c'), USER],
    warnings: ['messages'],
  })
  const ordered = [system('a'), system('b'), USER] as const
  assert.deepEqual(render(ordered, { systemFirst: true }), { messages: ordered, warnings: [] })
})
