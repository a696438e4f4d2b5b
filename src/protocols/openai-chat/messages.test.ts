import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ChatMessage } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { renderMessages } from './messages.ts'
import type { OpenAiChatOptions } from './options.ts'

const USER = { role: 'user', content: 'Hi' } as const
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }) as const

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

test('earlier reasoning may be a part of the content, before all else', () => {
  const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'r' }] }
  const said = { type: 'text', text: 'x' } as const
  const contentOf = (content: ChatMessage['content']) =>
    render([{ role: 'assistant', content: content ?? null, reasoning_content: 'r' }], { reasoningField: 'thinking' })
      .messages[0].content
  assert.deepEqual(contentOf('x'), [thought, said])
  assert.deepEqual(contentOf([said]), [thought, said])
  assert.deepEqual(contentOf(''), [thought])
  assert.deepEqual(contentOf(null), [thought])
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

test('the context is never sent; details go to hosts that take them, in place of the reasoning’s text', () => {
  const details = [{ type: 'reasoning.text', text: 'r', signature: 's', index: 0 }]
  const said = { role: 'assistant', content: 'x' } as const
  const context = { 'openai-chat': { reasoning_details: details }, another: { blocks: [] } }
  const message = { ...said, reasoning_content: 'r', provider_context: context } as const
  assert.deepEqual(render([message]), { messages: [{ ...said, reasoning_content: 'r' }], warnings: [] })
  const options = { reasoningField: 'reasoning', reasoningDetails: true } as const
  assert.deepEqual(render([message], options), {
    messages: [{ ...said, reasoning_details: details }],
    warnings: [],
  })
  const own = { ...said, reasoning_details: [{ type: 'reasoning.text', text: 'own' }] }
  assert.deepEqual(render([{ ...own, provider_context: context }], options).messages, [own])
})

test('a context that holds anything else is as good as none', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (value, inner) => {
      const details = { reasoning_details: inner }
      for (const context of [value, { 'openai-chat': value }, { 'openai-chat': details }]) {
        const message = { role: 'assistant', content: 'x', provider_context: context } as unknown as ChatMessage
        const [rendered] = render([message], { reasoningDetails: true }).messages
        assert.equal('provider_context' in rendered, false)
        assert.equal(rendered.content, 'x')
      }
    }),
  )
})

test('an earlier refusal is text to all who do not know refusals', () => {
  const refused = { role: 'assistant', content: null, refusal: 'No.' } as const
  const inParts = { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] } as const
  assert.deepEqual(render([refused]).messages, [{ role: 'assistant', content: 'No.' }])
  assert.deepEqual(render([{ ...refused, content: '' }]).messages, [{ role: 'assistant', content: 'No.' }])
  assert.deepEqual(render([inParts]).messages, [{ role: 'assistant', content: [{ type: 'text', text: 'No.' }] }])
  assert.deepEqual(render([refused, inParts], { refusals: true }).messages, [refused, inParts])
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

test('content and roles that a host cannot read are refused with their place', () => {
  const image = { type: 'image_url', image_url: { url: 'data:,' } } as const
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'x' }, image] }] as const
  const isRefused = refuses('messages[0].content[1]', 'unsupported_content')
  assert.throws(() => render(messages, { refusedParts: ['image_url'] }), isRefused)
  assert.deepEqual(render(messages).messages, messages)
  const result = { role: 'tool', tool_call_id: 'c', content: '1' } as const
  assert.throws(
    () => render([USER, result], { refusedRoles: ['tool'] }),
    refuses('messages[1].role', 'unsupported_content'),
  )
})

test('an image’s address is refused by hosts that fetch nothing, its data is not', () => {
  const withImage = (url: string) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] as const
  const isRefused = refuses('messages[0].content[0]', 'unsupported_content')
  assert.throws(() => render(withImage('https://host/a.png'), { remoteImages: false }), isRefused)
  render(withImage('DATA:image/png;base64,AA=='), { remoteImages: false })
  render(withImage('https://host/a.png'))
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

test('what one speaker says in a row is one message where turns must alternate, and that is named', () => {
  const image = { type: 'image_url', image_url: { url: 'data:,' } } as const
  const said = (role: 'user' | 'assistant', content: ChatMessage['content']) =>
    ({ role, content: content ?? null }) as const
  const { messages, warnings } = render(
    [
      said('user', 'a'),
      said('user', 'b'),
      said('assistant', 'c'),
      said('assistant', ''),
      said('user', 'd'),
      said('user', [image]),
    ],
    { alternatingRoles: true },
  )
  assert.deepEqual(messages, [
    said('user', 'a\n\nb'),
    said('assistant', 'c'),
    { role: 'user', content: [{ type: 'text', text: 'd' }, image] },
  ])
  assert.deepEqual(warnings, ['messages'])
  assert.deepEqual(render([USER, said('assistant', 'x'), USER], { alternatingRoles: true }).warnings, [])
})

test('ids of another form are nine letters and digits, alike in call and result, and the host’s own stay', () => {
  const messages: readonly ChatMessage[] = [
    { role: 'assistant', content: null, tool_calls: [call('call_1'), call('Abcdef123')] },
    { role: 'tool', tool_call_id: 'Abcdef123', content: '2' },
    { role: 'tool', tool_call_id: 'call_1', content: '1' },
  ]
  const shown = () => {
    const [called, second, first] = render(messages, { shortToolIds: true }).messages
    return [...called.tool_calls.map(({ id }: { id: string }) => id), first.tool_call_id, second.tool_call_id]
  }
  const [made, own, first, second] = shown()
  assert.match(made, /^[A-Za-z0-9]{9}$/)
  assert.deepEqual([own, first, second], ['Abcdef123', made, 'Abcdef123'])
  assert.deepEqual(shown(), [made, own, first, second], 'the same in every request')
})

test('different ids stay different when they are shortened', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 40 }), (ids) => {
      const message: ChatMessage = { role: 'assistant', content: null, tool_calls: ids.map(call) }
      const [rendered] = render([message], { shortToolIds: true }).messages
      const short: string[] = rendered.tool_calls.map(({ id }: { id: string }) => id)
      assert.equal(new Set(short).size, ids.length)
      for (const id of short) assert.match(id, /^[A-Za-z0-9]{9}$/)
    }),
  )
})
