import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ChatEvent } from '../../domain/chat.ts'
import { withVendorField } from '../../providers/groq.ts'
import { createSseDecoder } from '../framing.ts'
import { type Frame, ProviderError } from '../protocol.ts'
import { openaiChat } from './index.ts'
import { streamParser } from './stream.ts'

function readFixture(name: string): ChatEvent[] {
  const frames: Frame[] = []
  createSseDecoder().push(readFileSync(join(import.meta.dirname, 'fixtures', `${name}.sse`)), frames)
  return readFrames(frames)
}

function readFrames(frames: readonly Frame[]): ChatEvent[] {
  const parser = withVendorField(openaiChat(), 'x_vendor').streamParser()
  const events: ChatEvent[] = []
  for (const frame of frames) if (parser.push(frame, events)) break
  parser.end(events)
  return events
}

const frame = (chunk: unknown, event = ''): Frame => ({ event, data: JSON.stringify(chunk) })
const chunk = (delta: object, finish: string | null = null, index = 0): Frame =>
  frame({ id: 'x', choices: [{ index, delta, finish_reason: finish }] })
const calls = (...tool_calls: object[]): Frame => chunk({ tool_calls })
const end = chunk({}, 'tool_calls')
const failsWith =
  (kind: string) =>
  (error: unknown): boolean =>
    error instanceof ProviderError && error.failure.kind === kind

/** What a client would put together: `id name arguments` of each call, by its index. */
function assembled(frames: readonly Frame[]): string[] {
  const found: string[] = []
  for (const event of readFrames(frames)) {
    if (event.type !== 'tool-call') continue
    if (event.id !== undefined) {
      assert.equal(event.toolIndex, found.length)
      found.push(`${event.id} ${event.name} ${event.arguments}`)
    } else found[event.toolIndex] += event.arguments
  }
  return found
}

test('text comes piece by piece, then finish, then usage; chunks that say nothing make no events', () => {
  assert.deepEqual(readFixture('text'), [
    { type: 'text', index: 0, text: 'Grüße' },
    { type: 'text', index: 0, text: ', 世界 👩‍👩‍👧!' },
    { type: 'finish', index: 0, reason: 'stop', raw: 'stop' },
    { type: 'usage', usage: { promptTokens: 9, completionTokens: 7, cachedTokens: 4, reasoningTokens: 0 } },
  ])
})

test('id and name of a call come once, with its first fragment', () => {
  assert.deepEqual(readFixture('parallel-tools').slice(1, 6), [
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'call_a', name: 'find', arguments: '{"a":' },
    { type: 'tool-call', index: 0, toolIndex: 1, id: 'call_b', name: 'find', arguments: '' },
    { type: 'tool-call', index: 0, toolIndex: 1, arguments: '{"b":2}' },
    { type: 'tool-call', index: 0, toolIndex: 0, arguments: '1}' },
    { type: 'finish', index: 0, reason: 'tool_calls', raw: 'stop' },
  ])
})

test('a call without argument text gets `{}` before its finish', () => {
  assert.deepEqual(readFixture('no-argument-tool').slice(0, 3), [
    { type: 'tool-call', index: 0, toolIndex: 0, id: 'call_a', name: 'now', arguments: '' },
    { type: 'tool-call', index: 0, toolIndex: 0, arguments: '{}' },
    { type: 'finish', index: 0, reason: 'tool_calls', raw: 'tool_calls' },
  ])
})

test('indices of calls are renumbered from 0 without gaps', () => {
  const call = (index: number, id: string): object => ({ index, id, function: { name: 'f', arguments: '1' } })
  assert.deepEqual(assembled([calls(call(3, 'a')), calls(call(1, 'b')), end]), ['a f 1', 'b f 1'])
})

test('calls without index are told apart by id, and a fragment without either belongs to the last begun', () => {
  const first = calls(
    { id: 'a', function: { name: 'f', arguments: '{' } },
    { id: 'b', function: { name: 'g', arguments: '' } },
  )
  const more = calls(
    { id: 'a', function: { arguments: '}' } },
    { function: { arguments: '[' } },
    { function: { arguments: ']' } },
  )
  assert.deepEqual(assembled([first, more, end]), ['a f {}', 'b g []'])
  const whole = calls({ function: { name: 'f', arguments: '1' } }, { function: { name: 'f', arguments: '2' } })
  assert.deepEqual(assembled([whole, end]), ['call_x_0_0 f 1', 'call_x_0_1 f 2'])
})

test('hosts that give every call the index 0 are understood by the new id and name', () => {
  const call = (id: string, text: string): object => ({ index: 0, id, function: { name: 'f', arguments: text } })
  assert.deepEqual(assembled([calls(call('a', '1')), calls(call('b', '2')), calls(call('b', '3')), end]), [
    'a f 1',
    'b f 23',
  ])
})

test('a name that comes after the id and first arguments is waited for', () => {
  const parts = [
    { index: 0, id: 'a' },
    { index: 0, function: { arguments: '{"a"' } },
    { index: 0, function: { name: 'f', arguments: ':1}' } },
  ]
  assert.deepEqual(assembled([...parts.map((part) => calls(part)), end]), ['a f {"a":1}'])
  assert.throws(() => assembled([calls({ index: 0, id: 'a' }), end]), failsWith('failed'))
})

test('arguments are text whatever the host sends', () => {
  const call = (index: number, value: unknown): object => ({
    index,
    id: `${index}`,
    function: { name: 'f', arguments: value },
  })
  assert.deepEqual(assembled([calls(call(0, { a: 1 }), call(1, null), call(2, '')), end]), [
    '0 f {"a":1}',
    '1 f {}',
    '2 f {}',
  ])
})

test('arguments that were closed with `{}` are not written on', () => {
  const late = calls({ index: 0, function: { arguments: '{"a":1}' } })
  assert.deepEqual(assembled([calls({ index: 0, id: 'a', function: { name: 'f' } }), end, late]), ['a f {}'])
})

test('legacy function calls in pieces are a tool call', () => {
  const parts = [{ name: 'f', arguments: '' }, { arguments: '{"a"' }, { arguments: ':1}' }]
  const frames = [...parts.map((part) => chunk({ function_call: part })), chunk({}, 'function_call')]
  assert.deepEqual(assembled(frames), ['call_x_0_0 f {"a":1}'])
})

test('a second finish of a choice says more or is not told', () => {
  const finishes = (...frames: Frame[]): string[] =>
    readFrames(frames).flatMap((event) => (event.type === 'finish' ? [event.reason] : []))
  assert.deepEqual(finishes(chunk({}, 'stop'), chunk({}, 'stop')), ['stop'])
  assert.deepEqual(finishes(chunk({}, 'length'), chunk({}, 'stop')), ['length'])
  assert.deepEqual(finishes(chunk({}, 'stop'), chunk({}, 'length')), ['stop', 'length'])
  assert.deepEqual(finishes(chunk({}, 'tool_calls'), chunk({}, 'stop')), ['tool_calls'])
  const call = calls({ index: 0, id: 'a', function: { name: 'f', arguments: '1' } })
  assert.deepEqual(finishes(chunk({}, 'stop'), call), ['stop', 'tool_calls'])
})

test('an empty finish reason is none', () => {
  assert.throws(() => readFrames([chunk({ content: 'a' }, ''), { event: '', data: '[DONE]' }]), failsWith('failed'))
})

test('usage is found on the finish chunk, on its own, in a choice or under the vendor’s name', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2 }
  const expected = { type: 'usage', usage: { promptTokens: 1, completionTokens: 2 } }
  const done = { index: 0, delta: {}, finish_reason: 'stop' }
  const chunks = [
    [{ choices: [done], usage }],
    [
      { choices: [done], usage: null },
      { choices: [], usage },
    ],
    [{ choices: [done] }, { usage }],
    [{ choices: [{ ...done, usage }] }],
    [{ choices: [done], x_vendor: { usage } }],
  ]
  for (const parts of chunks) {
    const found = readFrames(parts.map((part) => frame(part))).filter(({ type }) => type === 'usage')
    assert.deepEqual(found, [expected])
  }
})

test('logprobs go with their text, also where the text is empty because a character is not whole yet', () => {
  const texts = readFixture('logprobs').flatMap((event) => (event.type === 'text' ? [event] : []))
  assert.deepEqual(
    texts.map(({ text }) => text),
    ['Hi', '', '!'],
  )
  assert.ok(texts.every(({ logprobs }) => logprobs !== undefined))
})

test('a refusal is no text', () => {
  assert.deepEqual(readFixture('refusal').slice(0, 2), [
    { type: 'refusal', index: 0, text: 'I will' },
    { type: 'refusal', index: 0, text: ' not.' },
  ])
})

test('what is only carried is passed piece by piece', () => {
  const annotation = { type: 'url_citation' }
  const events = readFrames([chunk({ content: 'a', annotations: [annotation] }), chunk({ annotations: [] }, 'stop')])
  assert.deepEqual(events[1], { type: 'extension', index: 0, field: 'annotations', value: [annotation] })
  assert.equal(events.length, 3)
})

test('details of reasoning are gathered, and told once as context before the finish', () => {
  const detail = { type: 'reasoning.text', index: 0 }
  const contextWith = (details: unknown) => ({
    type: 'extension',
    index: 0,
    field: 'provider_context',
    value: { 'openai-chat': { reasoning_details: details } },
  })
  const begun = [
    chunk({ reasoning: 'a', reasoning_details: [{ ...detail, text: 'a' }] }),
    chunk({ reasoning: 'b', reasoning_details: [{ ...detail, text: 'b' }] }),
  ]
  const signed = { ...detail, text: 'ab', signature: 's' }
  const last = chunk({ reasoning_details: [{ ...detail, signature: 's' }] }, 'stop')
  const finish = { type: 'finish', index: 0, reason: 'stop', raw: 'stop' }
  assert.deepEqual(readFrames([...begun, last]).slice(2), [contextWith([signed]), finish])
  const late = readFrames([...begun, chunk({}, 'stop'), chunk({ reasoning_details: [{ ...detail, signature: 's' }] })])
  assert.deepEqual(late.slice(2), [contextWith([{ ...detail, text: 'ab' }]), finish, contextWith([signed])])
})

test('`[DONE]` ends the stream, and what follows is not read', () => {
  const parser = streamParser()
  const events: ChatEvent[] = []
  assert.equal(parser.push(chunk({ content: 'a' }, 'stop'), events), false)
  assert.equal(parser.push({ event: '', data: '[DONE]' }, events), true)
  assert.equal(parser.push({ event: '', data: 'not JSON' }, events), true)
  parser.end(events)
  assert.equal(events.length, 2)
})

test('a stream is complete when every choice that appeared is finished, and not before', () => {
  const cut = failsWith('failed')
  const start = [chunk({ content: 'a' }), chunk({ content: 'b' }, null, 1)]
  const done: Frame = { event: '', data: '[DONE]' }
  assert.throws(() => readFrames([]), cut)
  assert.throws(() => readFrames([done]), cut)
  assert.throws(() => readFrames([frame({ choices: [], usage: { prompt_tokens: 1 } }), done]), cut)
  assert.throws(() => readFrames([...start, chunk({}, 'stop'), done]), cut)
  assert.equal(readFrames([...start, chunk({}, 'stop'), chunk({}, 'stop', 1)]).length, 4)
})

test('an error in a chunk ends the call with the kind it says', () => {
  const error =
    (value: unknown, event = ''): (() => void) =>
    () =>
      readFrames([chunk({ content: 'a' }), frame(value, event)])
  assert.throws(error({ error: { message: 'x', type: 'server_error', code: null } }), failsWith('failed'))
  assert.throws(error({ error: { message: 'x', code: 429 }, choices: [] }), failsWith('rate_limited'))
  assert.throws(
    error({ error: { message: 'x', code: 'tool_use_failed', status_code: 400 } }, 'error'),
    failsWith('rejected'),
  )
  assert.throws(error({ message: 'x', type: 'overloaded_error' }, 'error'), failsWith('overloaded'))
  assert.throws(error('busy', 'error'), failsWith('failed'))
  assert.throws(error({ error: 'busy' }), failsWith('failed'))
  assert.throws(error({ object: 'error', message: 'x', code: 503 }), failsWith('overloaded'))
  assert.throws(error({ x_vendor: { error: 'over capacity' }, choices: [] }), failsWith('failed'))
  assert.throws(
    error({ choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 502, message: 'x' } }] }),
    failsWith('failed'),
  )
  assert.throws(
    error({ choices: [{ index: 0, delta: {}, finish_reason: 'insufficient_system_resource' }] }),
    failsWith('overloaded'),
  )
})

test('usage that comes with an error is told before it', () => {
  const events: ChatEvent[] = []
  const broken = frame({ error: { code: 400, message: 'x' }, usage: { prompt_tokens: 4, completion_tokens: 1 } })
  assert.throws(() => streamParser().push(broken, events), failsWith('rejected'))
  assert.deepEqual(events, [{ type: 'usage', usage: { promptTokens: 4, completionTokens: 1 } }])
})

test('SSE-2: what cannot be read is an error that quotes nothing of it', () => {
  for (const data of ['{"choices":[', 'secret words', '7', '[]', 'null']) {
    assert.throws(
      () => streamParser().push({ event: '', data }, []),
      (error) => error instanceof ProviderError && !error.message.includes('secret') && error.cause === undefined,
      data,
    )
  }
  assert.throws(() => readFrames([chunk({}, 'stop', -1)]), failsWith('failed'))
  assert.throws(() => readFrames([chunk({}, 'stop', 1e9)]), failsWith('failed'))
})

test('unknown events, blank data and fields of no meaning are ignored', () => {
  const parser = streamParser()
  const events: ChatEvent[] = []
  parser.push({ event: 'ping', data: 'keep-alive' }, events)
  parser.push({ event: '', data: '' }, events)
  parser.push(frame({ obfuscation: 'xx', citations: [1], choices: null }), events)
  parser.push(frame({ choices: [null, { delta: { content: 7, tool_calls: [null], reasoning: {} } }] }), events)
  assert.deepEqual(events, [])
})

test('no chunk, however strange, makes the parser throw anything but a ProviderError', () => {
  const shape = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.constantFrom(null, '', 'x', 0, -1, 1e21, true), tie('list'), tie('map')),
    list: fc.array(tie('value'), { maxLength: 3 }),
    map: fc.dictionary(
      fc.constantFrom(
        'choices',
        'delta',
        'index',
        'tool_calls',
        'function',
        'arguments',
        'name',
        'id',
        'content',
        'usage',
        'error',
        'finish_reason',
        'logprobs',
        'message',
        '__proto__',
      ),
      tie('value'),
      { maxKeys: 5 },
    ),
  }))
  fc.assert(
    fc.property(fc.array(shape.map, { maxLength: 4 }), (chunks) => {
      try {
        readFrames([...chunks.map((value) => frame(value)), end])
      } catch (error) {
        assert.ok(error instanceof ProviderError, String(error))
      }
    }),
    { numRuns: 500 },
  )
})
