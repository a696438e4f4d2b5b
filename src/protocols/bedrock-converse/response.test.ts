/** Citations of documents, from a client of the Messages API to the service and back, whole and streamed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../../domain/chat.ts'
import { messagesApi } from '../anthropic-messages/client/index.ts'
import { chatCompletionsApi } from '../openai-chat/client/index.ts'
import { openaiChat } from '../openai-chat/index.ts'
import { bedrockConverse } from './index.ts'

const CLAUDE = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
const enabled = { enabled: true }
const REQUEST = {
  model: 'm',
  max_tokens: 100,
  messages: [
    {
      role: 'user',
      content: [
        {
          type: 'document',
          title: 'Tolls.pdf',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
          citations: enabled,
        },
        {
          type: 'document',
          title: 'Gates',
          source: { type: 'text', media_type: 'text/plain', data: 'A gate is shut.' },
          citations: enabled,
        },
        {
          type: 'document',
          source: {
            type: 'content',
            content: [
              { type: 'text', text: 'One.' },
              { type: 'text', text: 'Two.' },
            ],
          },
          citations: enabled,
        },
        { type: 'text', text: 'Well?' },
      ],
    },
  ],
}

// biome-ignore lint/suspicious/noExplicitAny: a body is any JSON
type Anything = any

const codec = bedrockConverse()
const render = (model: string, protocol = codec) => {
  const { body, warnings } = protocol.renderRequest(messagesApi.parse(REQUEST), { model, maxOutputTokens: undefined })
  return { content: JSON.parse(body).messages[0].content as Anything[], warnings }
}

test('documents with citations are documents for Claude', () => {
  const { content, warnings } = render(CLAUDE)
  assert.deepEqual(content, [
    { document: { format: 'pdf', name: 'Tolls', source: { bytes: 'JVBERg==' }, citations: enabled } },
    { document: { format: 'txt', name: 'Gates', source: { text: 'A gate is shut.' }, citations: enabled } },
    {
      document: {
        format: 'txt',
        name: 'document',
        source: { content: [{ text: 'One.' }, { text: 'Two.' }] },
        citations: enabled,
      },
    },
    { text: 'Well?' },
  ])
  assert.deepEqual(warnings, [])
})

test('where nothing is cited they are plain documents and texts, and the citations are named', () => {
  for (const [model, protocol] of [
    ['amazon.nova-pro-v1:0', codec],
    ['gpt', openaiChat()],
  ] as const) {
    const { content, warnings } = render(model, protocol)
    assert.ok(warnings.includes('messages[].content[].citations'), model)
    assert.doesNotMatch(JSON.stringify(content), /citations|citable/)
    assert.match(JSON.stringify(content), /Gates\\n\\nA gate is shut\./)
  }
})

const CITATIONS = [
  {
    title: 'Tolls.pdf',
    sourceContent: [{ text: 'A toll' }],
    location: { documentPage: { documentIndex: 0, start: 1, end: 2 } },
  },
  {
    title: 'Gates',
    sourceContent: [{ text: 'A gate' }],
    location: { documentChar: { documentIndex: 1, start: 0, end: 6 } },
  },
  { sourceContent: [{ text: 'One.' }], location: { documentChunk: { documentIndex: 2, start: 0, end: 1 } } },
  { title: 'Page', location: { web: { url: 'https://example.com/a', domain: 'example.com' } } },
  { title: 'Nowhere', location: {} },
]
const RENDERED = [
  {
    ...{ type: 'page_location', cited_text: 'A toll', document_index: 0, document_title: 'Tolls.pdf' },
    ...{ start_page_number: 1, end_page_number: 2, file_id: null },
  },
  {
    ...{ type: 'char_location', cited_text: 'A gate', document_index: 1, document_title: 'Gates' },
    ...{ start_char_index: 0, end_char_index: 6, file_id: null },
  },
  {
    ...{ type: 'content_block_location', cited_text: 'One.', document_index: 2, document_title: null },
    ...{ start_block_index: 0, end_block_index: 1, file_id: null },
  },
  {
    type: 'web_search_result_location',
    cited_text: '',
    url: 'https://example.com/a',
    title: 'Page',
    encrypted_index: '',
  },
]
const USAGE = { inputTokens: 12, outputTokens: 4, totalTokens: 16 }

function wholeEvents(): ChatEvent[] {
  const content = [
    { text: 'So: ' },
    { citationsContent: { content: [{ text: 'It ' }, { text: 'is.' }], citations: CITATIONS } },
  ]
  return codec.parseResponse(JSON.stringify({ output: { message: { content } }, stopReason: 'end_turn', usage: USAGE }))
}

function streamedEvents(): ChatEvent[] {
  const parser = codec.streamParser()
  const events: ChatEvent[] = []
  const push = (event: string, payload: object) => parser.push({ event, data: JSON.stringify(payload) }, events)
  const delta = (contentBlockIndex: number, value: object) =>
    push('contentBlockDelta', { contentBlockIndex, delta: value })
  push('messageStart', { role: 'assistant' })
  delta(0, { text: 'So: ' })
  push('contentBlockStop', { contentBlockIndex: 0 })
  for (const text of ['It ', 'is.']) delta(1, { text })
  for (const citation of CITATIONS) delta(1, { citation })
  push('contentBlockStop', { contentBlockIndex: 1 })
  push('messageStop', { stopReason: 'end_turn' })
  push('metadata', { usage: USAGE })
  parser.end(events)
  return events
}

const HEAD = { id: 'chatcmpl-00000000000000000000', created: 1, model: 'm' }
const BILL = { usage: { promptTokens: 12, completionTokens: 4 }, costUsd: undefined }
const BLOCKS = [
  { type: 'text', text: 'So: ', citations: null },
  { type: 'text', text: 'It is.', citations: RENDERED },
]

for (const [way, events] of [
  ['whole', wholeEvents()],
  ['streamed', streamedEvents()],
] as const) {
  test(`${way}: clients of the Messages API get each citation at its text, others the cited pages`, () => {
    const message = messagesApi.createAnswer(messagesApi.parse(REQUEST))
    for (const event of events) message.push(event)
    assert.deepEqual(JSON.parse(message.render({ ...HEAD, ...BILL })).content, BLOCKS)
    const chat = chatCompletionsApi.createAnswer(
      chatCompletionsApi.parse({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }),
    )
    for (const event of events) chat.push(event)
    const [choice] = JSON.parse(chat.render({ ...HEAD, ...BILL })).choices
    assert.equal(choice.message.content, 'So: It is.')
    assert.deepEqual(choice.message.annotations, [
      {
        type: 'url_citation',
        url_citation: { start_index: 4, end_index: 10, url: 'https://example.com/a', title: 'Page' },
      },
    ])
  })
}

test('a stream of the Messages API has the citations in deltas of their block', () => {
  const request = messagesApi.parse({ ...REQUEST, stream: true })
  const stream = messagesApi.createStream({ ...HEAD, request, promptTokens: 12 })
  const text =
    streamedEvents()
      .map((event) => stream.push(event))
      .join('') + stream.close(BILL)
  const blocks: Anything[] = []
  for (const [, data = ''] of text.matchAll(/^data: (.*)$/gm)) {
    const { type, index, content_block: block, delta } = JSON.parse(data)
    if (type === 'content_block_start') blocks[index] = block
    if (delta?.type === 'text_delta') blocks[index].text += delta.text
    if (delta?.type === 'citations_delta')
      blocks[index].citations = [...(blocks[index].citations ?? []), delta.citation]
  }
  assert.deepEqual(blocks, BLOCKS)
})
