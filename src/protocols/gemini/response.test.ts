import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ChatEvent } from '../../domain/chat.ts'
import { ProviderError } from '../protocol.ts'
import { parseResponse } from './stream.ts'

function answer(name: string): ChatEvent[] {
  return parseResponse(readFileSync(join(import.meta.dirname, 'fixtures', `${name}.answer.json`), 'utf8'))
}

const finishes = (events: readonly ChatEvent[]): unknown =>
  events.filter((event) => event.type === 'finish').map(({ index, reason, raw }) => [index, reason, raw])

function failure(body: unknown): string {
  try {
    parseResponse(typeof body === 'string' ? body : JSON.stringify(body))
  } catch (error) {
    assert.ok(error instanceof ProviderError, String(error))
    return error.failure.kind
  }
  return assert.fail('the answer was taken for a whole one')
}

test('thoughts are reasoning, the answer is text, and the signature goes along', () => {
  assert.deepEqual(answer('thoughts'), [
    { type: 'usage', usage: { promptTokens: 6, completionTokens: 21, reasoningTokens: 20 } },
    { type: 'reasoning', index: 0, text: 'Let me add.' },
    { type: 'text', index: 0, text: '7' },
    {
      type: 'extension',
      index: 0,
      field: 'provider_context',
      value: { gemini: { signatures: [{ index: 0, text: '0:1', signature: 'c2lnLXRleHQ=' }] } },
    },
    { type: 'finish', index: 0, reason: 'stop', raw: 'STOP' },
  ])
})

test('calls end an answer as calls although the word is STOP, and get ids of their own', () => {
  const events = answer('parallel-tools')
  const calls = events.filter((event) => event.type === 'tool-call')
  assert.deepEqual(
    calls.map(({ id, name, arguments: text }) => [id, name, text]),
    [
      ['call_resp-1_0_0', 'get_weather', '{"city":"Oslo"}'],
      ['call_resp-1_0_1', 'get_weather', '{"city":"Rome"}'],
      ['call_resp-1_0_2', 'now', '{}'],
    ],
  )
  assert.deepEqual(finishes(events), [[0, 'tool_calls', 'STOP']])
})

test('a prompt that was blocked is an answer with nothing in it', () => {
  assert.deepEqual(answer('prompt-blocked'), [
    { type: 'usage', usage: { promptTokens: 5, completionTokens: 0 } },
    { type: 'finish', index: 0, reason: 'content_filter', raw: 'PROHIBITED_CONTENT' },
  ])
})

test('several candidates are several choices', () => {
  assert.deepEqual(finishes(answer('several-candidates')), [
    [0, 'stop', 'STOP'],
    [1, 'length', 'MAX_TOKENS'],
  ])
})

test('an image is an extension that clients can show', () => {
  const [image] = answer('image').filter((event) => event.type === 'extension' && event.field === 'images')
  assert.deepEqual(image, {
    type: 'extension',
    index: 0,
    field: 'images',
    value: [{ index: 0, type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
  })
})

test('log probabilities come with the text, in the shape that clients read', () => {
  const logprobsResult = {
    chosenCandidates: [{ token: 'é', logProbability: -0.5, tokenId: 7 }],
    topCandidates: [
      {
        candidates: [
          { token: 'é', logProbability: -0.5 },
          { token: 'e', logProbability: -2 },
        ],
      },
    ],
  }
  const body = { candidates: [{ content: { parts: [{ text: 'é' }] }, finishReason: 'STOP', logprobsResult }] }
  const [event] = parseResponse(JSON.stringify(body))
  const e = { token: 'e', logprob: -2, bytes: [101] }
  const accent = { token: 'é', logprob: -0.5, bytes: [195, 169] }
  const logprobs = { content: [{ ...accent, top_logprobs: [accent, e] }], refusal: null }
  assert.deepEqual(event, { type: 'text', index: 0, text: 'é', logprobs })
})

test('every word for a refusal is content_filter, and unknown words are a normal end', () => {
  const reason = (word: unknown): unknown =>
    finishes(
      parseResponse(JSON.stringify({ candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: word }] })),
    )
  for (const word of [
    'SAFETY',
    'RECITATION',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'LANGUAGE',
    'IMAGE_SAFETY',
    'MODEL_ARMOR',
  ]) {
    assert.deepEqual(reason(word), [[0, 'content_filter', word]])
  }
  for (const word of ['OTHER', 'FINISH_REASON_UNSPECIFIED', 'SOMETHING_NEW', 'MALFORMED_FUNCTION_CALL']) {
    assert.deepEqual(reason(word), [[0, 'stop', word]])
  }
  assert.deepEqual(reason(2), [[0, 'length', 'MAX_TOKENS']])
})

test('what is no whole answer is a failure, not an empty answer', () => {
  assert.equal(failure('<html>'), 'failed')
  assert.equal(failure([]), 'failed')
  assert.equal(failure({}), 'failed')
  assert.equal(failure({ candidates: [] }), 'failed')
  assert.equal(failure({ candidates: [{ content: {}, index: 0 }] }), 'failed')
  assert.equal(failure({ candidates: [{ index: 1.5 }] }), 'failed')
  assert.equal(
    failure({ candidates: [{ content: { parts: [{ functionCall: { args: {} } }] }, finishReason: 'STOP' }] }),
    'failed',
  )
  assert.equal(failure({ candidates: [{ content: {}, finishReason: 'MALFORMED_FUNCTION_CALL' }] }), 'failed')
  const open = { functionCall: { name: 'f', willContinue: true } }
  assert.equal(failure({ candidates: [{ content: { parts: [open] } }] }), 'failed')
  assert.equal(
    failure({ candidates: [{ index: 1, content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }] }),
    'failed',
  )
  assert.equal(failure([{ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }]), 'rate_limited')
})

test('a list is the chunks of one answer', () => {
  const chunks = ['Hel', 'lo'].map((text, at) => ({
    candidates: [{ content: { parts: [{ text }] }, ...(at === 1 && { finishReason: 'STOP' }) }],
  }))
  const events = parseResponse(JSON.stringify(chunks))
  assert.deepEqual(
    events.map((event) => ('text' in event ? event.text : event.type)),
    ['Hel', 'lo', 'finish'],
  )
})

test('a call with an id that was given before gets one of its own; an answer without id names its calls nevertheless', () => {
  const ids = (events: readonly ChatEvent[]): unknown[] =>
    events.flatMap((event) => (event.type === 'tool-call' ? [event.id] : []))
  assert.deepEqual(ids(answer('tool-same-id-twice')), ['fc-1', 'call_resp-1_0_1'])
  const body = (tokens: number): string =>
    JSON.stringify({
      candidates: [{ content: { parts: [{ functionCall: { name: 'now' } }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: tokens },
    })
  const [one, again, other] = [ids(parseResponse(body(1))), ids(parseResponse(body(1))), ids(parseResponse(body(2)))]
  assert.deepEqual(one, again)
  assert.notDeepEqual(one, other)
  assert.match(String(one?.[0]), /^call_[\w-]{24}_0_0$/)
})
