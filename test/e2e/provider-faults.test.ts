/** What a client gets of providers that fail, which no database decides. Runs on one database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CHAT, completionOf, errorOf, eventually, hello, open, send, usageReport } from '../support/client.ts'
import { model, oneModel, startGateway } from '../support/gateway.ts'
import {
  answerBytes,
  answerJson,
  chunk,
  completion,
  counts,
  frame,
  ordinary,
  SSE_HEAD,
  sendFrames,
  textChunks,
  usageChunk,
} from '../support/providers/answers.ts'
import { type Reply, type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'

const provider = await startFakeProvider(ordinary)
const routing = { max_attempts: 1, breaker: { failures: 1000 } }
/** A provider that limits one of them is left alone for that one only, and for whole and streamed answers apart. */
const limited = [false, true].map((stream) => model(`limited-${stream}`, 'up', `limited-model-${stream}`))
const models = [model('m1', 'up', 'up-model'), ...limited]
const gateway = await startGateway({ config: oneModel(provider.url, {}, { routing, models }) })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

const begun = textChunks(5).slice(0, 4)

/** The client of the current stream has read three words. A reset discards what is still on its way. */
let areRead = Promise.withResolvers<void>()

/** @returns The text of a stream, in which an error event names the request as the response's header does. */
async function streamed(as: string): Promise<string> {
  areRead = Promise.withResolvers()
  const { statusCode, headers, body } = await open(gateway, CHAT, { key: as, body: hello({ stream: true }) })
  assert.equal(statusCode, 200)
  let text = ''
  for await (const piece of body) {
    text += piece
    if (text.includes('t2 ')) areRead.resolve()
  }
  const { error } = readStream(text)
  if (error !== undefined) assert.equal(error.request_id, headers['x-request-id'])
  return text
}

/** A stream that goes well for three words, and then as `then` does. */
function afterThreeWords(then: (reply: Reply) => void | Promise<void>): Script {
  return async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, begun)
    await Promise.race([areRead.promise, reply.wait(60_000)])
    await then(reply)
  }
}

const BREAKING_OFF: readonly (readonly [name: string, script: Script])[] = [
  ['FIN inside a chunked body', afterThreeWords((reply) => reply.cut())],
  ['RST inside a chunked body', afterThreeWords((reply) => reply.reset())],
  ['a well-formed end without finish_reason', afterThreeWords((reply) => reply.end())],
  ['[DONE] without finish_reason', afterThreeWords((reply) => reply.end(frame('[DONE]')))],
  ['SSE-2: malformed JSON', afterThreeWords((reply) => reply.end('data: {broken\n\n'))],
  ['JSON that is no object', afterThreeWords((reply) => reply.end('data: 42\n\n'))],
  [
    'an unfinished frame at the end',
    afterThreeWords((reply) => reply.end(`data: ${JSON.stringify(chunk({}, 'stop'))}`)),
  ],
  [
    "the provider's own error event",
    afterThreeWords((reply) => reply.end(frame({ error: { message: 'boom', code: 500 } }))),
  ],
  [
    'UP-6: an event of more than 1 MiB',
    afterThreeWords((reply) => void reply.write(frame(chunk({ content: 'x'.repeat(1_200_000) })))),
  ],
  [
    'UP-6: a line that never ends',
    afterThreeWords(async (reply) => {
      const block = Buffer.alloc(65_536, 120)
      while (await reply.write(block));
    }),
  ],
]
for (const [name, script] of BREAKING_OFF) {
  test(`SSE-4: ${name} ends the stream with an error event and [DONE], never with stop`, async () => {
    provider.answer(script)
    const stream = readStream(await streamed(key))
    assertWireRules(stream, { model: 'm1' })
    assert.equal(stream.error?.type, 'upstream_error')
    assert.equal(stream.error?.code, 'provider_error')
    assert.match(stream.error?.message ?? '', /incomplete/i)
    assert.equal(assemble(stream).content, 't0 t1 t2 ')
  })
}

test('a quota that is used up during a stream is provider_credentials, as before it', async () => {
  const usedUp = { message: 'You exceeded your quota.', code: 'insufficient_quota', type: 'insufficient_quota' }
  provider.answer(afterThreeWords((reply) => reply.end(frame({ error: usedUp }))))
  const stream = readStream(await streamed(key))
  assertWireRules(stream, { model: 'm1' })
  assert.deepEqual([stream.error?.type, stream.error?.code], ['upstream_error', 'provider_credentials'])
})

test('a close-delimited body that is cut is no complete answer', async () => {
  provider.answer(async (_, reply) => {
    reply.head(200, { ...SSE_HEAD, connection: 'close', 'transfer-encoding': 'identity' })
    await sendFrames(reply, begun)
    await reply.wait(30)
    reply.cut()
  })
  const stream = readStream((await send(gateway, CHAT, { key, body: hello({ stream: true }) })).text)
  assertWireRules(stream, { model: 'm1' })
  assert.equal(stream.error?.type, 'upstream_error')
})

test('an end after finish_reason without usage and [DONE] is a complete answer, with our own count', async () => {
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, textChunks(5).slice(0, -1))
    reply.end()
  })
  const stream = readStream((await send(gateway, CHAT, { key, body: hello({ stream: true }) })).text)
  assertWireRules(stream, { model: 'm1' })
  assert.equal(assemble(stream).finishReason, 'stop')
  assert.ok((stream.chunks.at(-1)?.usage?.completion_tokens ?? 0) > 0)
})

test('the output of a stream before a break is metered once', async () => {
  const own = await gateway.keyOfNewAccount()
  provider.answer(afterThreeWords((reply) => reply.reset()))
  await streamed(own)
  const report = (): ReturnType<typeof usageReport> => usageReport(gateway, own)
  const { total_tokens } = await eventually(report, (usage) => usage.total_tokens > 0)
  assert.ok(total_tokens > 0 && total_tokens < 40, `${total_tokens} tokens`)
})

const EARLY_STREAM_FAILURES: readonly (readonly [name: string, script: Script])[] = [
  ['an error event first', answerBytes(SSE_HEAD, frame({ error: { message: 'boom', code: 500 } }))],
  ['an empty body', answerBytes(SSE_HEAD)],
  ['only [DONE]', answerBytes(SSE_HEAD, frame('[DONE]'))],
  ['malformed JSON first', answerBytes(SSE_HEAD, 'data: {\n\n')],
  ['an HTML page with status 200', answerBytes({ 'content-type': 'text/html' }, '<html>busy</html>')],
  ['RST before the head', (_, reply) => reply.reset()],
]
for (const [name, script] of EARLY_STREAM_FAILURES) {
  test(`contract rule 1: ${name} is still an HTTP status, not a stream`, async () => {
    provider.answer(script)
    const answer = await send(gateway, CHAT, { key, body: hello({ stream: true }) })
    assert.equal(answer.status, 503)
    assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
    assert.equal(errorOf(answer).code, 'provider_error')
    assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d?$/)
  })
}

const JSON_HEAD = { 'content-type': 'application/json' }
const WHOLE_FAULTS: readonly (readonly [name: string, script: Script])[] = [
  ['malformed JSON', answerBytes(JSON_HEAD, '{"choices":')],
  ['an empty body', answerBytes(JSON_HEAD)],
  ['JSON that is no completion', answerBytes(JSON_HEAD, '[1,2]')],
  ['no choices', answerJson(completion({}, { choices: [] }))],
  ['an HTML page', answerBytes({ 'content-type': 'text/html' }, '<html>busy</html>')],
  ['an HTML page with status 502', answerBytes({ 'content-type': 'text/html' }, '<html>bad gateway</html>', 502)],
  [
    'a body cut by FIN',
    async (_, reply) => {
      reply.head(200, JSON_HEAD)
      await reply.write('{"id":"x","choices":[')
      await reply.wait(30)
      reply.cut()
    },
  ],
  ['RST before the head', (_, reply) => reply.reset()],
  [
    'UP-6: 70 MiB',
    async (_, reply) => {
      reply.head(200, JSON_HEAD)
      const block = Buffer.alloc(1024 * 1024, 120)
      for (let i = 0; i < 70 && (await reply.write(block)); i++);
      reply.end()
    },
  ],
  [
    'F7: a content encoding that nobody asked for',
    answerBytes({ ...JSON_HEAD, 'content-encoding': 'gzip' }, 'not gzip'),
  ],
]
for (const [name, script] of WHOLE_FAULTS) {
  test(`${name} instead of an answer is 503 provider_error`, async () => {
    provider.answer(script)
    const answer = await send(gateway, CHAT, { key, body: hello() })
    assert.equal(answer.status, 503)
    assert.equal(errorOf(answer).type, 'service_unavailable')
    assert.equal(errorOf(answer).code, 'provider_error')
    assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d?$/)
    assert.match(errorOf(answer).message, /try again in \d+ s/i)
    assert.equal(answer.headers['x-request-id'], errorOf(answer).request_id)
  })
}

const providerSays = (status: number, error: object, headers = {}): Script => answerJson({ error }, status, headers)
const MAPPED: readonly (readonly [script: Script, status: number, type: string, code: string])[] = [
  [
    providerSays(400, { message: 'temperature is too hot', type: 'invalid_request_error' }),
    400,
    'invalid_request',
    'provider_rejected',
  ],
  [
    providerSays(400, {
      message: "This model's maximum context length is 8192 tokens",
      code: 'context_length_exceeded',
    }),
    400,
    'invalid_request',
    'context_length_exceeded',
  ],
  [providerSays(422, { message: 'cannot' }), 400, 'invalid_request', 'provider_rejected'],
  [providerSays(401, { message: 'Incorrect API key sk-up' }), 503, 'service_unavailable', 'provider_credentials'],
  [providerSays(403, { message: 'no access' }), 503, 'service_unavailable', 'provider_credentials'],
  [providerSays(404, { message: 'no such model' }), 503, 'service_unavailable', 'provider_error'],
  [
    providerSays(429, { message: 'You exceeded your quota.', code: 'insufficient_quota', type: 'insufficient_quota' }),
    503,
    'service_unavailable',
    'provider_credentials',
  ],
  [
    providerSays(429, { message: 'slow down' }, { 'retry-after': '7' }),
    503,
    'service_unavailable',
    'provider_rate_limited',
  ],
  [providerSays(500, { message: 'oops' }), 503, 'service_unavailable', 'provider_error'],
  [providerSays(503, { message: 'overloaded' }), 503, 'service_unavailable', 'provider_error'],
]
/** Rows of the provider's 401, 403, 404 and used-up quota: only the operator can mend these, so clients are told not to repeat. */
const PERMANENT = [3, 4, 5, 6]
for (const [index, [script, status, type, code]] of MAPPED.entries()) {
  for (const stream of [false, true]) {
    test(`decisions 4: row ${index + 1} of the provider's failures becomes ${status} ${code}, stream ${stream}`, async () => {
      provider.answer(script)
      const answer = await send(gateway, CHAT, {
        key,
        body: hello({ stream, model: code === 'provider_rate_limited' ? `limited-${stream}` : 'm1' }),
      })
      const error = errorOf(answer)
      const isPermanent = PERMANENT.includes(index)
      assert.deepEqual([answer.status, error.type, error.code], [status, type, code])
      assert.equal(answer.headers['x-should-retry'], status === 400 || isPermanent ? 'false' : undefined)
      if (status === 503) assert.ok(Number(answer.headers['retry-after']) >= 1)
      assert.ok(!answer.text.includes('sk-up'), 'no credential of ours in an answer')
      if (code === 'provider_rate_limited') assert.equal(answer.headers['retry-after'], '7')
    })
  }
}

test('F6: a million tiny bytes of comments and empty lines do no harm', async () => {
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await reply.write(':\n'.repeat(250_000) + '\n'.repeat(250_000))
    if (await sendFrames(reply, textChunks(2))) reply.end(frame('[DONE]'))
  })
  const stream = readStream((await send(gateway, CHAT, { key, body: hello({ stream: true }) })).text)
  assertWireRules(stream, { model: 'm1' })
  assert.equal(assemble(stream).content, 't0 t1 ')
})

test('F8: usage that lies about its type does not reach the client', async () => {
  provider.answer(
    answerJson(
      completion({ content: 'a' }, { usage: { prompt_tokens: -5, completion_tokens: 'many', total_tokens: null } }),
    ),
  )
  const answer = await send(gateway, CHAT, { key, body: hello() })
  assert.ok(answer.status === 200 || answer.status === 503)
  if (answer.status !== 200) return
  const { usage } = completionOf(answer)
  for (const tokens of [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens])
    assert.ok(Number.isInteger(tokens) && tokens >= 0)
})

test('F8: usage that is sent twice is counted once', async () => {
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, [...textChunks(2).slice(0, -1), usageChunk(counts(10, 2)), usageChunk(counts(10, 2))])
    reply.end(frame('[DONE]'))
  })
  const stream = readStream((await send(gateway, CHAT, { key, body: hello({ stream: true }) })).text)
  assertWireRules(stream, { model: 'm1' })
  assert.equal(stream.chunks.at(-1)?.usage?.total_tokens, 12)
})
