import assert from 'node:assert/strict'
import { test } from 'node:test'
import { functionItem, messageItem, reasoningItem, responseOf } from '../../../test/support/providers/responses-fake.ts'
import type { ChatEvent } from '../../domain/chat.ts'
import { ProviderError } from '../protocol.ts'
import { parseResponse, parseUsage } from './response.ts'

const parseAll = (response: object): ChatEvent[] => parseResponse(JSON.stringify(response))
/** Without what clients of this same API get beside. */
const parse = (response: object): ChatEvent[] => parseAll(response).filter(({ type }) => type !== 'native')
const plain = (output: readonly unknown[], over: object = {}): ChatEvent[] =>
  parse({ ...responseOf(output), usage: null, ...over })
const failsAs =
  (kind: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ProviderError)
    return error.failure.kind === kind
  }

test('reasoning, text and calls come in the order of the items, with what must go back at the end', () => {
  const call = functionItem('fc_1', { id: 'call_1', name: 'look', arguments: '{"at":1}' })
  const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'patch', input: '*** Begin' }
  const reasoning = reasoningItem('rs_1', 'First.', 'Then.')
  const events = parse(responseOf([reasoning, messageItem('msg_1', 'I look.', 'commentary'), call, custom]))
  assert.deepEqual(events, [
    { type: 'reasoning', index: 0, text: 'First.\n\nThen.' },
    { type: 'text', index: 0, text: 'I look.' },
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'call_1', name: 'look', arguments: '' },
    { type: 'tool-call', index: 0, toolIndex: 0, arguments: '{"at":1}' },
    { type: 'tool-call', index: 0, toolIndex: 1, id: 'call_2', name: 'patch', arguments: '', custom: true },
    { type: 'tool-call', index: 0, toolIndex: 1, arguments: '*** Begin', custom: true },
    {
      type: 'extension',
      index: 0,
      field: 'provider_context',
      value: {
        'openai-responses': {
          items: [
            { ...reasoning, index: 0 },
            { type: 'message', id: 'msg_1', phase: 'commentary', length: '7', index: 1 },
            { type: 'call', id: 'fc_1', call_id: 'call_1', index: 2 },
            { type: 'call', id: 'ctc_1', call_id: 'call_2', index: 3 },
          ],
        },
      },
    },
    { type: 'finish', index: 0, reason: 'tool_calls', raw: 'completed' },
    { type: 'usage', usage: { promptTokens: 10, completionTokens: 5, cachedTokens: 0, reasoningTokens: 0 } },
  ])
})

test('an answer without reasoning has no context, nor has one that ends in reasoning', () => {
  for (const output of [[messageItem('msg_1', 'Hi')], [reasoningItem('rs_1', 'Hm.')]]) {
    assert.ok(plain(output).every(({ type }) => type !== 'extension'))
  }
})

test('reasoning of hosts that do not encrypt goes back as text', () => {
  const content = [{ type: 'reasoning_text', text: 'Hm.' }]
  const events = plain([{ type: 'reasoning', id: 'rs_1', summary: [], content }, messageItem('msg_1', 'Hi')])
  assert.deepEqual(events[0], { type: 'reasoning', index: 0, text: 'Hm.' })
  const context = events.find((event) => event.type === 'extension')?.value as Record<string, { items: unknown[] }>
  assert.deepEqual(context['openai-responses']?.items[0], {
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    content,
    index: 0,
  })
})

test('a refusal is one, beside the text', () => {
  const content = [
    { type: 'output_text', text: 'Well. ' },
    { type: 'refusal', refusal: 'No.' },
  ]
  assert.deepEqual(plain([reasoningItem('rs_1'), { type: 'message', content }]), [
    { type: 'text', index: 0, text: 'Well. ' },
    { type: 'refusal', index: 0, text: 'No.' },
    { type: 'finish', index: 0, reason: 'stop', raw: 'completed' },
  ])
})

test('sources are nested as in chat completions, with positions in the whole content', () => {
  const cited = { type: 'url_citation', start_index: 1, end_index: 2, url: 'https://a.example', title: 'A' }
  const part = { type: 'output_text', text: 'abc', annotations: [cited, 'no', { type: 'file_path', file_id: 'f' }] }
  const [, , extension] = plain([{ type: 'message', content: [part, part] }])
  const { type, ...fields } = cited
  assert.deepEqual(extension, {
    type: 'extension',
    index: 0,
    field: 'annotations',
    value: [
      { type, url_citation: fields },
      { type: 'file_path', file_path: { file_id: 'f' } },
      { type, url_citation: { ...fields, start_index: 4, end_index: 5 } },
      { type: 'file_path', file_path: { file_id: 'f' } },
    ],
  })
})

test('log probabilities come with their text', () => {
  const logprobs = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }]
  const [first] = plain([{ type: 'message', content: [{ type: 'output_text', text: 'a', logprobs }] }])
  assert.deepEqual(first, { type: 'text', index: 0, text: 'a', logprobs: { content: logprobs, refusal: null } })
})

test('an incomplete answer ends as its reason says', () => {
  const output = [functionItem('fc_1', { id: 'call_1', name: 'look', arguments: '' })]
  const endOf = (details: object | null) =>
    plain(output, { status: 'incomplete', incomplete_details: details }).find(({ type }) => type === 'finish')
  const finish = { type: 'finish', index: 0 }
  assert.deepEqual(endOf({ reason: 'max_output_tokens' }), { ...finish, reason: 'length', raw: 'max_output_tokens' })
  assert.deepEqual(endOf({ reason: 'content_filter' }), { ...finish, reason: 'content_filter', raw: 'content_filter' })
  assert.deepEqual(endOf(null), { ...finish, reason: 'length', raw: 'incomplete' })
})

test('a call without arguments gets `{}` if it is whole', () => {
  const argumentsOf = (status: string) =>
    plain([{ ...functionItem('fc_1', { id: 'c', name: 'now', arguments: '' }), status }])
      .flatMap((event) => (event.type === 'tool-call' ? [event.arguments] : []))
      .join('')
  assert.deepEqual([argumentsOf('completed'), argumentsOf('incomplete')], ['{}', ''])
})

test('searches of the host are counted, pages that it opened are not', () => {
  const search = (type: string, status = 'completed') => ({
    type: 'web_search_call',
    id: 'ws',
    status,
    action: { type },
  })
  const output = [search('search'), search('open_page'), search('search'), search('search', 'failed')]
  const usage = { input_tokens: 3, output_tokens: 4 }
  assert.deepEqual(parse({ ...responseOf(output), usage }).at(-1), {
    type: 'usage',
    usage: { promptTokens: 3, completionTokens: 4, serverToolUses: { web_search: 2 } },
  })
})

test('usage: cached, written and reasoning tokens, and the service tier; nothing of what is no count', () => {
  const wire = {
    input_tokens: 100,
    input_tokens_details: {
      cached_tokens: 10,
      cache_write_tokens: 30,
      cache_write_tokens_details: { ttl_12h_tokens: 20, ttl_30m_tokens: 10 },
    },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 40 },
  }
  assert.deepEqual(parseUsage(wire, 'priority'), {
    promptTokens: 100,
    completionTokens: 50,
    cachedTokens: 10,
    cacheWriteTokens: 30,
    cacheWrite12hTokens: 20,
    reasoningTokens: 40,
    serviceTier: 'priority',
  })
  for (const wrong of [null, 'x', {}, { input_tokens: -1, output_tokens: 1.5 }]) {
    assert.equal(parseUsage(wrong, 'flex'), undefined)
  }
})

test('a response that failed is a failure of its code', () => {
  const failed = (code: string) => () => plain([], { status: 'failed', error: { code, message: 'Nothing doing.' } })
  assert.throws(failed('server_error'), failsAs('failed'))
  assert.throws(failed('rate_limit_exceeded'), failsAs('rate_limited'))
  assert.throws(failed('invalid_prompt'), failsAs('content_filter'))
  assert.throws(failed('image_too_large'), failsAs('rejected'))
  assert.throws(() => plain([], { status: 'cancelled' }), failsAs('failed'))
})

test('what is no response is a failure, and one in progress has no end', () => {
  assert.throws(() => parseResponse('<html>'), failsAs('failed'))
  assert.throws(() => parseResponse('[]'), failsAs('failed'))
  assert.throws(() => parseResponse('{"id":"resp_1"}'), failsAs('failed'))
  assert.throws(() => parse({ error: { message: 'slow', code: 'slow_down' } }), failsAs('rate_limited'))
  assert.throws(() => plain([{ type: 'function_call', call_id: 'a' }]), failsAs('failed'))
  for (const status of ['queued', 'in_progress']) {
    assert.ok(plain([messageItem('m', 'Hi')], { status }).every(({ type }) => type !== 'finish'))
  }
})

test('clients of the same API get the IDs of items, encrypted reasoning, and items without a counterpart whole', () => {
  const own = { protocol: 'openai-responses', type: 'native', index: 0 }
  const newItem = { type: 'new_item', id: 'new_1', deep: { a: [1] } }
  const call = { ...functionItem('fc_1', { id: 'call_1', name: 'look', arguments: '{}' }), namespace: 'files' }
  const items = [reasoningItem('rs_1', 'Hm.'), newItem, messageItem('msg_1', 'Hi', 'commentary'), call]
  const native = parseAll(responseOf(items)).filter(({ type }) => type === 'native')
  const encrypted_content = reasoningItem('rs_1', 'Hm.')['encrypted_content']
  const none = { namespace: undefined, phase: undefined }
  assert.deepEqual(native, [
    { ...own, part: 'start', value: { type: 'reasoning', id: 'rs_1', ...none } },
    { ...own, part: 'stop', value: { encrypted_content } },
    { ...own, part: 'start', value: newItem },
    { ...own, part: 'start', value: { type: 'message', id: 'msg_1', namespace: undefined, phase: 'commentary' } },
    { ...own, part: 'start', value: { type: 'function_call', id: 'fc_1', namespace: 'files', phase: undefined } },
  ])
})

test('items of unknown types, and values of other types, are skipped by clients of other APIs', () => {
  const output = [1, null, { type: 'new_item' }, { type: 'message', content: 'x' }, messageItem('m', 'Hi')]
  assert.deepEqual(plain(output), [
    { type: 'text', index: 0, text: 'Hi' },
    { type: 'finish', index: 0, reason: 'stop', raw: 'completed' },
  ])
})
