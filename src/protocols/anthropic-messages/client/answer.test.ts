import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../../../domain/chat.ts'
import { openaiChat } from '../../openai-chat/index.ts'
import { droppedNativeFields } from '../../parameters.ts'
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

test('calls that wait for another one have a limit [limit: waiting-calls]', () => {
  const begun = (toolIndex: number, written: string): ChatEvent => ({
    ...{ type: 'tool-call', index: 0, toolIndex, id: `c${toolIndex}`, name: 'f', arguments: written },
  })
  const streamOf = () =>
    messagesApi.createStream({ request, id: 'chatcmpl-1', created: 1, model: 'm', promptTokens: 1 })
  const most = 1024 * 1024 - 100
  const stream = streamOf()
  stream.push(begun(0, '{"a":'))
  assert.equal(stream.push(begun(1, 'x'.repeat(most))), '')
  assert.match(stream.push({ type: 'tool-call', index: 0, toolIndex: 0, arguments: '1}' }), /input_json_delta/)
  assert.throws(() => stream.push({ type: 'tool-call', index: 0, toolIndex: 1, arguments: 'x' }), /too large/)
  const many = streamOf()
  many.push(begun(0, '{"a":'))
  assert.throws(() => {
    for (let at = 1; at < 11_000; at++) many.push(begun(at, ''))
  }, /too large/)
})

const mark = { cache_control: { type: 'ephemeral' } }

test('a mark to cache on text of the assistant reaches hosts that know it; one on a call is named', () => {
  const asked = (block: object) =>
    messagesApi.parse({
      model: 'm',
      max_tokens: 10,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'text', text: 'Well, ' }, block] },
        { role: 'user', content: 'Go on' },
      ],
    })
  const text = asked({ type: 'text', text: 'yes.', ...mark })
  const sent = (cacheMarks: readonly 'cache_control'[]) =>
    openaiChat({ cacheMarks }).renderRequest(text, { model: 'm', maxOutputTokens: 10 })
  const known = sent(['cache_control'])
  assert.deepEqual(JSON.parse(known.body).messages[1].content, [
    { type: 'text', text: 'Well, ' },
    { type: 'text', text: 'yes.', ...mark },
  ])
  assert.deepEqual([known.warnings, droppedNativeFields(text, 'openai')], [[], []])
  assert.deepEqual(sent([]).warnings, ['messages[].content[].cache_control'])
  const call = { type: 'tool_use', id: 'c', name: 'f', input: {}, ...mark }
  assert.deepEqual(droppedNativeFields(asked(call), 'openai'), ['messages[].content[].cache_control'])
  assert.deepEqual(droppedNativeFields(asked(call), 'anthropic'), [])
})

test('every field that the translation does not read is named, at any depth', () => {
  const asked = messagesApi.parse({
    model: 'm',
    max_tokens: 10,
    system: [{ type: 'text', text: 'Be brief.', made_up: 1 }],
    metadata: { user_id: 'u', team: 'x' },
    output_config: { effort: 'low', task_budget: { total: 5 }, format: { type: 'json_schema', schema: {}, name: 'n' } },
    tools: [{ name: 'f', input_schema: {} }],
    tool_choice: { type: 'auto', hint: 1 },
    messages: [
      {
        role: 'user',
        content: [
          {
            ...{ type: 'search_result', title: 'T', source: 's', content: [{ type: 'text', text: 'found' }] },
            citations: { enabled: true },
          },
          { type: 'text', text: 'Hi', citations: null, annotation: [] },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {}, caller: { type: 'direct' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: [], ...mark }] },
    ],
  })
  assert.deepEqual([...droppedNativeFields(asked, 'openai')].sort(), [
    'messages[].content[].cache_control',
    'messages[].content[].caller',
    'messages[].content[].citations',
    'messages[].content[].made_up',
    'metadata.team',
    'output_config.format.name',
    'output_config.task_budget',
    'tool_choice.hint',
  ])
})
