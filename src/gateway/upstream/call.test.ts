import assert from 'node:assert/strict'
import { afterEach, type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import {
  type Exchange,
  HANGS,
  modelOf,
  playNetwork,
  requestOf,
  type Script,
  type Step,
  streamed,
  type UpstreamInput,
  upstreamOf,
  whole,
} from '../../../test/support/ledger/data-plane.ts'
import { chunk, completion, counts, frame, textChunks, usageChunk } from '../../../test/support/providers/answers.ts'
import type { ChatEvent, ChatRequest } from '../../domain/chat.ts'
import { openaiChat } from '../../protocols/openai-chat/index.ts'
import { type FailureKind, ProviderError } from '../../protocols/protocol.ts'
import type { Authorize } from '../../providers/provider.ts'
import { type Call, MAX_COMPLETION_BYTES, MAX_ERROR_BYTES, MAX_EVENT_BYTES, startCall } from './call.ts'

interface Started {
  readonly call: Call
  readonly exchanges: readonly Exchange[]
  /** The one that was made. */
  readonly exchange: Exchange
}

const calls: Call[] = []
afterEach(() => {
  for (const call of calls.splice(0)) call.abort() // a call that is not read to its end holds its time-outs
})

interface StartInput extends UpstreamInput {
  readonly request?: Partial<ChatRequest>
  readonly authorize?: Authorize
  readonly credential?: string
  readonly clock?: () => number
}

function start(script: Script, { request, authorize, clock, credential = 'sk-up', ...over }: StartInput = {}): Started {
  const { transport, exchanges } = playNetwork(() => script)
  const plain = upstreamOf({ transport, ...over })
  const upstream = authorize === undefined ? plain : { ...plain, provider: { ...plain.provider, authorize } }
  const call = startCall({
    target: { upstream, model: 'theirs', credential },
    request: requestOf(request),
    model: modelOf(),
    now: () => 0,
    clock: clock ?? (() => 0),
  })
  call.firstEvent.catch(() => {}) // not every test waits for it
  calls.push(call)
  return {
    call,
    exchanges,
    exchange: exchanges[0] ?? { call: { url: '', headers: {}, body: '' }, aborted: false, over: false, reads: 0 },
  }
}

interface Outcome {
  readonly events: ChatEvent[]
  readonly failure: ProviderError | undefined
  /** It failed before anything was there. */
  readonly early: boolean
}

async function play(call: Call): Promise<Outcome> {
  const events: ChatEvent[] = []
  let early = true
  try {
    await call.firstEvent
    early = false
    for (let into: ChatEvent[] = []; await call.next(into); into = []) events.push(...into)
    return { events, failure: undefined, early }
  } catch (error) {
    assert.ok(error instanceof ProviderError, String(error))
    return { events, failure: error, early }
  }
}

const textOf = ({ events }: Outcome): string =>
  events.map((event) => (event.type === 'text' ? event.text : '')).join('')
const typesOf = ({ events }: Outcome): string => events.map(({ type }) => type).join(' ')
const JSON_HEAD = { 'content-type': 'application/json' }

test('a call is sent uncompressed to base URL and path, with its own headers and the credential', () => {
  const { exchange } = start(streamed(textChunks(1)), { baseUrl: 'https://host.test/deep/v1' })
  const { url, headers, body } = exchange.call
  assert.equal(url, 'https://host.test/deep/v1/chat/completions')
  assert.deepEqual(headers, {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': 'turnpike',
    authorization: 'Bearer sk-up',
  })
  assert.equal(JSON.parse(body).model, 'theirs')
})

test('a version at the end of the base URL and the start of the path counts once', () => {
  const plain = upstreamOf({ transport: () => assert.fail() }).provider.protocol
  const protocol = {
    ...plain,
    renderRequest: (...input: Parameters<typeof plain.renderRequest>) => ({
      ...plain.renderRequest(...input),
      path: '/v1beta/models/x:go',
    }),
  }
  for (const baseUrl of ['http://a.test', 'http://a.test/v1beta']) {
    const { exchange } = start(streamed([]), { baseUrl, protocol })
    assert.equal(exchange.call.url, 'http://a.test/v1beta/models/x:go')
  }
  const { exchange } = start(streamed([]), { baseUrl: 'http://a.test/v1', protocol })
  assert.equal(exchange.call.url, 'http://a.test/v1/v1beta/models/x:go')
})

test('events arrive as the network delivers them, one read at a time, the first ones immediately', async () => {
  const { call, exchange } = start(streamed(textChunks(3)))
  await call.firstEvent
  const reads = exchange.reads
  const first: ChatEvent[] = []
  assert.equal(await call.next(first), true)
  assert.equal(exchange.reads, reads, 'nothing was read for what is there')
  assert.deepEqual(first, [{ type: 'text', index: 0, text: 't0 ' }])
  const second: ChatEvent[] = []
  await call.next(second)
  assert.equal(exchange.reads, reads + 1)
  assert.deepEqual(second, [{ type: 'text', index: 0, text: 't1 ' }])
})

test('several events of one read arrive together', async () => {
  const { call } = start({ body: [textChunks(3).map(frame).join('') + frame('[DONE]')] })
  const into: ChatEvent[] = []
  await call.firstEvent
  await call.next(into)
  assert.equal(typesOf({ events: into, failure: undefined, early: false }), 'text text text finish usage')
  assert.equal(await call.next([]), false)
})

test('the events are the same wherever the network divides the bytes', async () => {
  const bytes = Buffer.from(`: hello\r\n\r\n${[...textChunks(4), chunk({ content: 'ü€😀' })].map(frame).join('')}`)
  const all = Buffer.concat([bytes, Buffer.from(frame(chunk({}, 'stop')) + frame('[DONE]'))])
  const expected = (await play(start({ body: [all] }).call)).events
  const cuts = fc.array(fc.nat(all.length), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(cuts, async (places) => {
      const sorted = [0, ...places.sort((a, b) => a - b), all.length]
      const body = sorted.slice(1).map((end, i) => all.subarray(sorted[i], end))
      assert.deepEqual((await play(start({ body }).call)).events, expected)
    }),
    { numRuns: 100 },
  )
})

test('after [DONE] the rest is read, so that the connection can be reused', async () => {
  const { call, exchange } = start({ body: [...textChunks(1).map(frame), frame('[DONE]'), ': bye\n\n', '\n'] })
  assert.equal((await play(call)).failure, undefined)
  await turn()
  assert.equal(exchange.aborted, false)
  assert.equal(exchange.reads, 4 + 1 + 2 + 1)
})

test('the end of a connection after [DONE] is awaited for at most a second [limit: provider-end]', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { call, exchange } = start({ body: [...textChunks(1).map(frame), frame('[DONE]'), HANGS] })
  assert.equal((await play(call)).failure, undefined)
  t.mock.timers.tick(999)
  assert.equal(exchange.aborted, false)
  t.mock.timers.tick(1)
  assert.equal(exchange.aborted, true)
})

test('the first bytes, not the content type, decide between events and JSON', async () => {
  const events = [...textChunks(2).map(frame), frame('[DONE]')]
  for (const type of ['application/json', 'application/json; charset=utf-8', 'text/event-stream', 'text/plain', '']) {
    const outcome = await play(start({ headers: { 'content-type': type }, body: events }).call)
    assert.deepEqual([textOf(outcome), outcome.failure], ['t0 t1 ', undefined], type)
  }
  assert.equal(textOf(await play(start({ headers: {}, body: events }).call)), 't0 t1 ')
})

test('a whole answer instead of a stream is read as one', async () => {
  const json = JSON.stringify(completion({ content: 'Hello' }))
  for (const body of [[json], [json.slice(0, 20), json.slice(20)], [`\n ${json}`]]) {
    const outcome = await play(start({ headers: JSON_HEAD, body }).call)
    assert.deepEqual([textOf(outcome), typesOf(outcome)], ['Hello', 'text finish usage'])
  }
})

test('a whole answer is parsed', async () => {
  const { call, exchange } = start(whole(completion({ content: 'Hello' })), { request: { stream: false } })
  assert.equal(exchange.call.headers['accept'], 'application/json')
  assert.equal(textOf(await play(call)), 'Hello')
  assert.equal(await call.next([]), false)
})

const KINDS: readonly (readonly [name: string, script: Script, kind: FailureKind, status: number])[] = [
  ['an error status', whole({ error: { message: 'x' } }, 500), 'failed', 500],
  ['a status with a wait', whole({}, 429, { 'retry-after': '7' }), 'rate_limited', 429],
  [
    'an error instead of a whole answer',
    whole({ error: { message: 'x', code: 'overloaded_error' } }),
    'overloaded',
    200,
  ],
  [
    'an error as plain JSON in an event stream',
    { body: ['{"error":{"message":"x","code":429}}\n'] },
    'rate_limited',
    429,
  ],
  ['an error event', { body: [frame({ error: { message: 'x', code: 'overloaded_error' } })] }, 'overloaded', 200],
  ['a head that never comes', { head: new Error('ECONNREFUSED') }, 'failed', 0],
  ['an empty stream', { body: [] }, 'failed', 0],
  ['an empty body that says it is JSON', { headers: JSON_HEAD, body: [] }, 'failed', 0],
  ['a connection cut in the middle', { body: ['data: {"choi', new Error('ECONNRESET')] }, 'failed', 0],
  ['a web page', { headers: { 'content-type': 'text/html' }, body: ['<html>busy</html>'] }, 'failed', 0],
  ['a redirect', { status: 302, headers: { location: 'http://elsewhere.test' }, body: [] }, 'failed', 302],
]
for (const [name, script, kind, status] of KINDS) {
  test(`${name} instead of the first event is ${kind}`, async () => {
    const { failure, early } = await play(start(script).call)
    assert.deepEqual([failure?.failure.kind, failure?.failure.status, early], [kind, status, true])
  })
}

test('UP-3: the Retry-After of an error answer is read', async () => {
  const { failure } = await play(start(whole({}, 429, { 'retry-after': '7' })).call)
  assert.equal(failure?.failure.retryAfterMs, 7000)
})

test('the provider’s error is reported even if the connection broke after it', async () => {
  const body = [
    JSON.stringify({ error: { message: 'Too hot.', type: 'invalid_request_error' } }),
    new Error('ECONNRESET'),
  ]
  const { failure } = await play(start({ status: 400, headers: JSON_HEAD, body }).call)
  assert.equal(failure?.failure.message, 'Too hot.')
})

test('a credential that the provider quotes is never revealed, also not in a stream', async () => {
  const credential = 'q7Wx-secret'
  const error = {
    message: `${credential} is no key, ${credential}.`,
    type: 'invalid_request_error',
    param: `h.${credential}`,
  }
  const body = [JSON.stringify({ error })]
  const refused = await play(start({ status: 400, headers: JSON_HEAD, body }, { credential }).call)
  assert.equal(refused.failure?.failure.message, '[redacted] is no key, [redacted].')
  assert.equal(refused.failure?.failure.param, 'h.[redacted]')
  const broken = await play(start(streamed([chunk({ content: 'a' }), { error }]), { credential }).call)
  assert.equal(broken.failure?.message, '[redacted] is no key, [redacted].')
})

test('UP-6: the beginning of a large error answer is read and reported [limit: error-answer]', async () => {
  const filler = 'x'.repeat(16 * 1024)
  const body: Step[] = [
    `This model's maximum context length is 8192 tokens. `,
    ...Array.from({ length: 1000 }, () => filler),
  ]
  const { call, exchange } = start({ status: 400, headers: { 'content-type': 'text/plain' }, body })
  const { failure } = await play(call)
  assert.equal(failure?.failure.kind, 'context_length')
  assert.match(failure?.failure.message ?? '', /^This model's maximum context length/)
  assert.ok(exchange.reads <= 1 + Math.ceil(MAX_ERROR_BYTES / filler.length) + 1, `${exchange.reads} reads`)
  assert.equal(exchange.aborted, true)
})

for (const encoding of ['gzip', 'br', 'GZIP']) {
  test(`F7: an answer in ${encoding} is rejected unread`, async () => {
    const headers = { 'content-type': 'text/event-stream', 'content-encoding': encoding }
    const { call, exchange } = start({ headers, body: ['x'] })
    const { failure } = await play(call)
    assert.match(failure?.message ?? '', /compressed/)
    assert.deepEqual([exchange.reads, exchange.aborted], [0, true])
  })
}

const broken = new Error('ECONNRESET')
const said = frame(chunk({ content: 'said' }))
const AFTER_TEXT: readonly (readonly [name: string, body: readonly Step[], kind: FailureKind])[] = [
  ['a cut connection', [said, broken], 'failed'],
  ['an end without a finish', [said], 'failed'],
  ['[DONE] without a finish', [said + frame('[DONE]'), HANGS], 'failed'],
  [
    'an error event in the same read',
    [said + frame({ error: { message: 'x', code: 'overloaded_error' } }), HANGS],
    'overloaded',
  ],
  [
    'an error event in the next read',
    [said, frame({ error: { message: 'x', code: 'overloaded_error' } }), HANGS],
    'overloaded',
  ],
  ['an error that is no event', [said, '{"error":{"message":"x","code":"overloaded_error"}}'], 'overloaded'],
  ['what cannot be read, in the same read', [`${said}data: {broken\n\n`, HANGS], 'failed'],
  ['an event that is too large', [said, frame(chunk({ content: 'x'.repeat(MAX_EVENT_BYTES) })), HANGS], 'failed'],
]
for (const [name, body, kind] of AFTER_TEXT) {
  test(`SSE-2: after ${name} the text before it is delivered, then the failure, and the connection is closed [limit: event]`, async () => {
    const { call, exchange } = start({ body })
    const outcome = await play(call)
    assert.deepEqual([textOf(outcome), outcome.early, outcome.failure?.failure.kind], ['said', false, kind])
    await assert.rejects(call.next([]), ProviderError)
    if (body.includes(HANGS)) assert.equal(exchange.aborted, true)
  })
}

test('INV-7: usage that arrives together with a failure is delivered before it', async () => {
  const billed = { ...usageChunk(counts(1000, 7)), error: { message: 'x' } }
  const outcome = await play(start({ body: [said, frame(billed)] }).call)
  assert.equal(typesOf(outcome), 'text usage')
  assert.ok(outcome.failure)
})

test('UP-1: usage alone does not begin an answer, wherever the network divides the bytes', async () => {
  const billed = frame(usageChunk(counts(1000, 1)))
  const fault = frame({ error: { message: 'x' } })
  for (const body of [
    [frame({ ...usageChunk(counts(1000, 7)), error: { message: 'x' } })],
    [billed + fault],
    [billed, fault],
    [billed, billed, fault],
    [billed, broken],
    [billed],
  ]) {
    assert.equal((await play(start({ body }).call)).early, true)
  }
  const late = await play(start({ body: [billed, ...textChunks(1).map(frame), frame('[DONE]')] }).call)
  assert.deepEqual([typesOf(late), late.failure], ['usage text finish usage', undefined])
})

test('decisions 1: a connection that breaks after every finish reason leaves a complete answer', async () => {
  const outcome = await play(start({ body: [said, frame(chunk({}, 'stop')), broken] }).call)
  assert.deepEqual([typesOf(outcome), outcome.failure], ['text finish', undefined])
})

test('UP-6: a stream and a whole answer above the limit are cut [limit: answer]', async () => {
  const block = Buffer.from(frame(chunk({ content: 'x'.repeat(512 * 1024) })))
  const body = Array.from({ length: Math.ceil(MAX_COMPLETION_BYTES / block.length) + 1 }, () => block)
  const streamedOutcome = await play(start({ body }).call)
  assert.match(streamedOutcome.failure?.message ?? '', /larger/)
  const { call, exchange } = start({ headers: JSON_HEAD, body }, { request: { stream: false } })
  assert.match((await play(call)).failure?.message ?? '', /larger/)
  assert.equal(exchange.aborted, true)
})

test('the limit includes the bytes that were read before the form of the answer was known', async () => {
  const first = Buffer.from(`{"x":"${'x'.repeat(MAX_COMPLETION_BYTES / 2)}`)
  const rest = Buffer.alloc(MAX_COMPLETION_BYTES / 2 + 1024, 120)
  const { failure } = await play(start({ headers: JSON_HEAD, body: [first, rest, '"}'] }).call)
  assert.match(failure?.message ?? '', /larger/)
})

const waits = { connect: 1, wholeAnswer: 5000, firstByte: 600, idle: 200, total: 10_000 }

interface Wait {
  readonly name: string
  readonly body: readonly Step[]
  readonly message: RegExp
  readonly afterMs: number
  readonly stream: boolean
}
const WAITS: readonly Wait[] = [
  { name: 'no event', body: [HANGS], message: /did not start/, afterMs: 600, stream: true },
  { name: 'comments alone', body: [': a\n\n', ': b\n\n', HANGS], message: /did not start/, afterMs: 600, stream: true },
  { name: 'silence after an event', body: [said, HANGS], message: /stopped sending/, afterMs: 200, stream: true },
  {
    name: 'a whole answer that does not come',
    body: ['{', HANGS],
    message: /did not start/,
    afterMs: 5000,
    stream: false,
  },
]
for (const { name, body, message, afterMs, stream } of WAITS) {
  test(`R-A7, R-A8: ${name} ends the call when its timeout expires, under that timeout’s name`, async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 })
    const { call, exchange } = start({ body }, { timeouts: waits, clock: () => Date.now(), request: { stream } })
    const outcome = play(call)
    for (let i = 0; i < 10; i++) await turn()
    t.mock.timers.tick(afterMs - 1)
    assert.equal(exchange.aborted, false)
    t.mock.timers.tick(1)
    assert.equal(exchange.aborted, true)
    assert.match((await outcome).failure?.message ?? '', message)
  })
}

test('R-A7: a provider that stays silent after its slow reader has returned is idle', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 })
  const { call, exchange } = start({ body: [said, HANGS] }, { timeouts: waits, clock: () => Date.now() })
  await call.firstEvent
  await call.next([])
  call.suspend()
  t.mock.timers.tick(1000)
  assert.equal(exchange.aborted, false, 'the reader was busy')
  const rest = call.next([])
  for (let passed = 0; passed < 200; passed += 50) t.mock.timers.tick(50)
  await assert.rejects(rest, /stopped sending/)
})

test('R-A12: an aborted call ends everything that waits for it, at any time', async () => {
  for (const script of [{ head: HANGS }, { body: [HANGS] }, { body: [said, HANGS] }] satisfies Script[]) {
    const { call, exchange } = start(script)
    const outcome = play(call)
    for (let i = 0; i < 5; i++) await turn()
    call.abort()
    call.abort()
    assert.ok((await outcome).failure)
    assert.equal(exchange.aborted, true)
  }
})

test('a call whose credential takes time is sent when the credential is available', async () => {
  const key = Promise.withResolvers<void>()
  const authorize: Authorize = async ({ headers }) => {
    await key.promise
    headers['authorization'] = 'Bearer late'
  }
  const { call, exchanges } = start(streamed(textChunks(1)), { authorize })
  await turn()
  assert.equal(exchanges.length, 0)
  key.resolve()
  await call.firstEvent
  assert.equal(exchanges[0]?.call.headers['authorization'], 'Bearer late')
})

test('INV-5: a call that is aborted before its credential is available is never sent', async () => {
  const key = Promise.withResolvers<void>()
  const { call, exchanges } = start(streamed(textChunks(1)), { authorize: () => key.promise })
  call.abort()
  key.resolve()
  await assert.rejects(call.firstEvent, ProviderError)
  assert.equal(exchanges.length, 0)
})

test('a missing credential is the reported reason', async () => {
  const failure = new ProviderError({ kind: 'credentials', message: 'No token.', status: 0 })
  const { call, exchanges } = start(streamed([]), { authorize: () => Promise.reject(failure) })
  await assert.rejects(call.firstEvent, failure)
  assert.equal(exchanges.length, 0)
})

test('parameters that are dropped or changed for a provider are reported', () => {
  const protocol = openaiChat({ temperatureRange: [0, 1] })
  assert.deepEqual(start(streamed([]), { protocol, request: { temperature: 2 } }).call.warnings, ['temperature'])
  assert.deepEqual(start(streamed([]), { protocol, request: { temperature: 1 } }).call.warnings, [])
})
