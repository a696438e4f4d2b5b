import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../../../domain/chat.ts'
import { withoutForeignCitations } from './answer.ts'
import { messagesApi } from './index.ts'

const request = messagesApi.parse({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }, {})
const bill = { usage: { promptTokens: 1, completionTokens: 1 }, costUsd: undefined }
const page = (url: string, start_index: number) => ({
  type: 'url_citation',
  url_citation: { url, title: 'T', start_index, end_index: start_index + 1 },
})
const citation = (url: string) => ({
  type: 'web_search_result_location',
  cited_text: '',
  url,
  title: 'T',
  encrypted_index: '',
})
const annotations = [page('https://a.example', 0), { type: 'file_citation' }, page('https://b.example', 6)]
const call: ChatEvent = { type: 'tool-call', index: 0, toolIndex: 0, id: 'c', name: 'f', arguments: '{}' }
const text = (said: string): ChatEvent => ({ type: 'text', index: 0, text: said })
const cited: ChatEvent = { type: 'extension', index: 0, field: 'annotations', value: annotations }

test('pages that another provider cites are citations of the text that has them', () => {
  const answer = messagesApi.createAnswer(request, 'chatcmpl-1')
  for (const event of [text('First'), call, text('second'), cited]) answer.push(event)
  const { content } = JSON.parse(answer.render({ id: 'chatcmpl-1', created: 1, model: 'm', ...bill }))
  assert.deepEqual(
    content.map((block: { citations?: unknown }) => block.citations),
    [[citation('https://a.example')], undefined, [citation('https://b.example')]],
  )
})

test('a stream cites them at the end of its last text', () => {
  const stream = messagesApi.createStream({ request, id: 'chatcmpl-1', created: 1, model: 'm', promptTokens: 1 })
  const sent = [text('First'), cited].map((event) => stream.push(event)).join('') + stream.close(bill)
  const deltas = sent
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .flatMap((line) => JSON.parse(line.slice(6)).delta ?? [])
    .filter(({ type }) => type === 'citations_delta')
  assert.deepEqual(
    deltas.map((delta) => delta.citation),
    [citation('https://a.example'), citation('https://b.example')],
  )
})

test('Anthropic gets back its own citations and no others', () => {
  const own = { ...citation('https://c.example'), encrypted_index: 'x' }
  const block = { type: 'text', text: 'Hi' }
  assert.deepEqual(withoutForeignCitations({ ...block, citations: [citation('https://a.example')] }), block)
  const mixed = { ...block, citations: [own, citation('https://a.example'), { type: 'page_location' }] }
  assert.deepEqual(withoutForeignCitations(mixed), { ...block, citations: [own, { type: 'page_location' }] })
  const kept = { ...block, citations: [own] }
  assert.equal(withoutForeignCitations(kept), kept)
})
