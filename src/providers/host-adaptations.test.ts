/** What the adaptations in hosts' own files change of requests and bodies. Runs on one database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ChatMessage, ChatRequest } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import { groq } from './groq.ts'
import { mistral } from './mistral.ts'
import { ollama } from './ollama.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { perplexity } from './perplexity.ts'
import type { Provider } from './provider.ts'

const USER = { role: 'user', content: 'Hi' } as const
const TOOL = { type: 'function', function: { name: 'f' } } as const
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }) as const
const said = (role: 'user' | 'assistant', content: ChatMessage['content']) =>
  ({ role, content: content ?? null }) as const

const BASE = { model: 'ours', messages: [USER], stream: false, includeUsage: false, n: 1, extra: {} }

function render({ protocol }: Provider, request: Partial<ChatRequest>) {
  const target = { model: 'theirs', maxOutputTokens: undefined }
  const { body, warnings } = protocol.renderRequest({ ...BASE, ...request }, target)
  return { body: JSON.parse(body), warnings }
}

function messagesAt(provider: Provider, messages: readonly ChatMessage[]) {
  const { body, warnings } = render(provider, { messages })
  return { messages: body.messages, warnings }
}

const rejects =
  (param: string) =>
  (error: unknown): boolean =>
    error instanceof GatewayError && error.code === 'unsupported_content' && error.param === param

test('OpenAI leaves chunks unpadded where the client says so', () => {
  const options = (request: Partial<ChatRequest>) => render(openai, request).body.stream_options
  assert.deepEqual(options({ stream: true }), { include_usage: true })
  const unpadded = { include_usage: true, include_obfuscation: false }
  assert.deepEqual(options({ stream: true, plainChunks: true }), unpadded)
  assert.equal(options({ plainChunks: true }), undefined)
})

test('OpenAI gets refusals of earlier answers as fields and as parts', () => {
  const refused = { role: 'assistant', content: null, refusal: 'No.' } as const
  const text = { type: 'text', text: 'a' } as const
  const inParts = { role: 'assistant', content: [text, { type: 'refusal', refusal: 'No.' }] } as const
  const messages = [USER, refused, inParts, said('assistant', 'x')]
  assert.deepEqual(messagesAt(openai, messages), { messages, warnings: [] })
})

test('Groq gets a temperature above 0, with a warning', () => {
  const { body, warnings } = render(groq, { temperature: 0 })
  assert.deepEqual([body.temperature, warnings], [1e-8, ['temperature']])
})

test('Mistral gets the seed and a demanded call under its own names', () => {
  const { body, warnings } = render(mistral, { seed: 7, tools: [TOOL], toolChoice: 'required' })
  assert.deepEqual([body.random_seed, body.seed, body.tool_choice, warnings], [7, undefined, 'any', []])
})

test('Mistral gets ids of nine letters and digits, alike in call and result, and its own ids unchanged', () => {
  const messages: readonly ChatMessage[] = [
    { role: 'assistant', content: null, tool_calls: [call('call_1'), call('Abcdef123')] },
    { role: 'tool', tool_call_id: 'Abcdef123', content: '2' },
    { role: 'tool', tool_call_id: 'call_1', content: '1' },
  ]
  const shown = () => {
    const [called, second, first] = messagesAt(mistral, messages).messages
    return [...called.tool_calls.map(({ id }: { id: string }) => id), first.tool_call_id, second.tool_call_id]
  }
  const [made, own, first, second] = shown()
  assert.match(made, /^[A-Za-z0-9]{9}$/)
  assert.deepEqual([own, first, second], ['Abcdef123', made, 'Abcdef123'])
  assert.deepEqual(shown(), [made, own, first, second], 'the same in every request')
})

test('different ids stay different when Mistral gets them', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 40 }), (ids) => {
      const message: ChatMessage = { role: 'assistant', content: null, tool_calls: ids.map(call) }
      const [rendered] = messagesAt(mistral, [message]).messages
      const short: string[] = rendered.tool_calls.map(({ id }: { id: string }) => id)
      assert.equal(new Set(short).size, ids.length)
      for (const id of short) assert.match(id, /^[A-Za-z0-9]{9}$/)
    }),
  )
})

test('Mistral’s thinking models get earlier reasoning as the first part of the content', () => {
  const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'r' }] }
  const text = { type: 'text', text: 'x' } as const
  const contentOf = (content: ChatMessage['content']) => {
    const messages = [{ role: 'assistant', content: content ?? null, reasoning_content: 'r' }] as const
    const target = { model: 'magistral-medium-latest', maxOutputTokens: undefined }
    const { body, warnings } = mistral.protocol.renderRequest({ ...BASE, messages }, target)
    assert.deepEqual(warnings, [])
    return JSON.parse(body).messages[0].content
  }
  assert.deepEqual(contentOf('x'), [thought, text])
  assert.deepEqual(contentOf([text]), [thought, text])
  assert.deepEqual(contentOf(''), [thought])
  assert.deepEqual(contentOf(null), [thought])
})

test('Ollama rejects an image’s address, not its data', () => {
  const withImage = (url: string) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] as const
  assert.throws(() => messagesAt(ollama, withImage('https://host/a.png')), rejects('messages[0].content[0]'))
  messagesAt(ollama, withImage('DATA:image/png;base64,AA=='))
})

test('Perplexity rejects results of tools with their path', () => {
  const result = { role: 'tool', tool_call_id: 'c', content: '1' } as const
  assert.throws(() => messagesAt(perplexity, [USER, result]), rejects('messages[1].role'))
})

test('Perplexity rejects tools, and is offered none that may not be called', () => {
  const isRefused = (error: unknown) => error instanceof GatewayError && error.param === 'tools'
  for (const toolChoice of [undefined, 'auto', 'required'] as const) {
    const request = toolChoice === undefined ? { tools: [TOOL] } : { tools: [TOOL], toolChoice }
    assert.throws(() => render(perplexity, request), isRefused)
  }
  const { body, warnings } = render(perplexity, { tools: [TOOL], toolChoice: 'none' })
  assert.deepEqual([body.tools, body.tool_choice, warnings], [undefined, undefined, ['tool_choice']])
})

test('Perplexity gets successive messages of one role as one message, with a warning', () => {
  const image = { type: 'image_url', image_url: { url: 'data:,' } } as const
  const { messages, warnings } = messagesAt(perplexity, [
    said('user', 'a'),
    said('user', 'b'),
    said('assistant', 'c'),
    said('assistant', ''),
    said('user', 'd'),
    said('user', [image]),
  ])
  assert.deepEqual(messages, [
    said('user', 'a\n\nb'),
    said('assistant', 'c'),
    { role: 'user', content: [{ type: 'text', text: 'd' }, image] },
  ])
  assert.deepEqual(warnings, ['messages'])
  assert.deepEqual(messagesAt(perplexity, [USER, said('assistant', 'x'), USER]).warnings, [])
})

test('OpenRouter gets reasoning details of earlier answers in place of the reasoning’s text', () => {
  const details = [{ type: 'reasoning.text', text: 'r', signature: 's', index: 0 }]
  const answer = said('assistant', 'x')
  const context = { 'openai-chat': { reasoning_details: details }, another: { blocks: [] } }
  const message = { ...answer, reasoning_content: 'r', provider_context: context }
  assert.deepEqual(messagesAt(openrouter, [message]), {
    messages: [{ ...answer, reasoning_details: details }],
    warnings: [],
  })
  const own = { ...answer, reasoning_details: [{ type: 'reasoning.text', text: 'own' }] }
  assert.deepEqual(messagesAt(openrouter, [{ ...own, provider_context: context } as ChatMessage]).messages, [own])
})

test('OpenRouter ignores any other context', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (value, inner) => {
      const details = { reasoning_details: inner }
      for (const context of [value, { 'openai-chat': value }, { 'openai-chat': details }]) {
        const message = { role: 'assistant', content: 'x', provider_context: context } as unknown as ChatMessage
        const [rendered] = messagesAt(openrouter, [message]).messages
        assert.equal('provider_context' in rendered, false)
        assert.equal(rendered.content, 'x')
      }
    }),
  )
})
