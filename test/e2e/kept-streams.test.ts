import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'
import OpenAI from 'openai'
import { type Answer, CHAT, errorOf, eventually, hello, open, send, untilActive } from '../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, type LedgerRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import {
  answerJson,
  answerStream,
  chunk,
  frame,
  ordinary,
  SSE_HEAD,
  sendFrames,
  textChunks,
} from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { readStream } from '../support/providers/sse.ts'

const KEEP_MS = 500
const GRACE_MS = 300

const provider = await startFakeProvider(ordinary)
const settings = { routing: { max_attempts: 1 }, streams: { keep_ms: 600_000, grace_ms: 60_000 } }
const config = oneModel(provider.url, {}, settings)
const gateway = await startGateway({ config })
const [second, forgetful] = await Promise.all([
  startGateway({ config, dataDir: gateway.dataDir }),
  startGateway({
    config: oneModel(provider.url, {}, { ...settings, streams: { keep_ms: KEEP_MS, grace_ms: GRACE_MS } }),
    dataDir: gateway.dataDir,
    args: ['--role', 'api'], // its retention would empty the streams of the others
  }),
])
after(async () => {
  await Promise.all([second.stop(), forgetful.stop()])
  await gateway.stop()
  await provider.close()
})

interface Ask {
  readonly key: string
  readonly name: string
  readonly at?: Gateway
  readonly after?: number | string
  readonly body?: object
  readonly signal?: AbortSignal
}

function callOf({ key, name, after: last, body = {}, signal }: Ask) {
  const headers = { 'idempotency-key': name, ...(last === undefined ? {} : { 'last-event-id': String(last) }) }
  return {
    key,
    body: hello({ stream: true, ...body }),
    headers,
    fresh: true,
    ...(signal === undefined ? {} : { signal }),
  }
}

const ask = (what: Ask): Promise<Answer> => send(what.at ?? gateway, CHAT, callOf(what))

/** A request whose answer is read only as far as the test says. */
async function begin(what: Ask) {
  const { body, statusCode, headers } = await open(what.at ?? gateway, CHAT, callOf(what))
  let text = ''
  const over = Promise.withResolvers<void>()
  body.on('data', (bytes: Buffer) => {
    text += bytes.toString()
  })
  for (const end of ['end', 'error', 'close']) body.on(end, () => over.resolve())
  return {
    status: statusCode,
    headers,
    over: over.promise,
    text: () => text,
    until: (mark: string) =>
      eventually(
        async () => text.includes(mark),
        (there) => there,
      ),
    leave: () => body.destroy(),
  }
}

/** The first words, then the rest when the test says so. */
function inTwoParts() {
  const gate = Promise.withResolvers<void>()
  const script: Script = async (_, reply) => {
    const chunks = textChunks(6)
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, chunks.slice(0, 4))
    await gate.promise
    if (await sendFrames(reply, chunks.slice(4))) reply.end(frame('[DONE]'))
  }
  return { script, goOn: () => gate.resolve() }
}

const idsOf = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
const eventsOf = (text: string): string => text.replaceAll(': keep-alive\n\n', '')
const restAfter = (text: string, id: number): string => text.slice(text.indexOf(`id: ${id + 1}\n`))

async function assertChargedOnce(key: string, at = gateway): Promise<UsageRow> {
  const rows = await eventually(
    () => everyRow<UsageRow>(at, key, '/v1/usage/completions'),
    ({ length }) => length > 0,
  )
  assert.equal(rows.length, 1)
  assert.equal((await everyRow<LedgerRow>(at, key, '/v1/ledger?kind=charge')).length, 1)
  assert.equal((await reconcile(at, key)).ok, true)
  return rows[0] ?? assert.fail()
}

test('a stream with a key has IDs; a repeat receives all of it, or the rest after Last-Event-ID, and costs nothing', async () => {
  provider.answer(ordinary)
  const key = await gateway.keyOfNewAccount()
  const called = provider.calls.length
  const body = { stream_options: { include_usage: true } }
  const first = await ask({ key, name: 'whole', body })
  assert.equal(first.status, 200, first.text)
  const { chunks, done } = readStream(first.text)
  assert.deepEqual([done, chunks.at(-1)?.usage?.completion_tokens], [true, 5])
  const blocks = first.text.split('\n\n').length - 1
  assert.deepEqual(
    idsOf(first.text),
    Array.from({ length: blocks }, (_, index) => index + 1),
    'each event, usage and [DONE] too',
  )
  assert.equal(first.headers['idempotent-replayed'], undefined)
  for (const at of [gateway, second]) {
    const whole = await ask({ key, name: 'whole', body, at })
    assert.equal(whole.text, first.text)
    assert.equal(whole.headers['idempotent-replayed'], 'true')
    assert.match(whole.headers['content-type'] ?? '', /^text\/event-stream/)
    assert.equal(whole.headers['cache-control'], 'no-store')
    assert.notEqual(whole.headers['x-request-id'], first.headers['x-request-id'])
    for (const id of [0, 3, blocks - 1]) {
      assert.equal((await ask({ key, name: 'whole', body, at, after: id })).text, restAfter(first.text, id))
    }
    assert.equal((await ask({ key, name: 'whole', body, at, after: 10 ** 6 })).text, `id: ${blocks}\ndata: [DONE]\n\n`)
  }
  assert.equal(provider.calls.length - called, 1)
  await assertChargedOnce(key)
})

test('a stream of each API is resumed after Last-Event-ID, in another process too, and charged once', async () => {
  provider.answer(ordinary)
  const bodies = {
    '/v1/messages': hello({ max_tokens: 100 }),
    '/v1/responses': { model: 'm1', input: 'hi' },
    '/v1/completions': { model: 'm1', prompt: 'hi' },
  }
  for (const [path, body] of Object.entries(bodies)) {
    const key = await gateway.keyOfNewAccount()
    const call = { key, body: { ...body, stream: true }, headers: { 'idempotency-key': 'each' } }
    const first = await send(gateway, path, call)
    assert.equal(first.status, 200, first.text)
    assert.ok(idsOf(first.text).length > 4, first.text)
    for (const at of [gateway, second]) {
      const rest = await send(at, path, { ...call, headers: { ...call.headers, 'last-event-id': '3' } })
      assert.equal(rest.text, restAfter(first.text, 3), path)
    }
    await assertChargedOnce(key)
  }
})

test('without a key events have no numbers, and Last-Event-ID has no effect', async () => {
  provider.answer(ordinary)
  const key = await gateway.key()
  const headers = { 'last-event-id': 'anything' }
  const { status, text } = await send(gateway, CHAT, { key, body: hello({ stream: true }), headers })
  assert.equal(status, 200)
  assert.deepEqual(idsOf(text), [])
})

test('a Last-Event-ID that is no number is refused', async () => {
  const key = await gateway.key()
  for (const last of ['a', '-1', '1.5', '1, 2']) {
    const answer = await ask({ key, name: 'odd', after: last })
    assert.deepEqual([answer.status, errorOf(answer).code], [400, 'invalid_header'], last)
  }
})

for (const [name, other] of [
  ['the same process', gateway],
  ['another process', second],
] as const) {
  test(`a client that was cut receives the rest from ${name}, while the stream runs`, async () => {
    const { script, goOn } = inTwoParts()
    provider.answer(script)
    const key = await gateway.keyOfNewAccount()
    const called = provider.calls.length
    const first = await begin({ key, name: 'cut' })
    await first.until('t2')
    first.leave()
    const had = idsOf(first.text()).at(-1) ?? 0
    const [rest, whole] = await Promise.all([
      begin({ key, name: 'cut', at: other, after: had }),
      begin({ key, name: 'cut', at: other }),
    ])
    await whole.until('t2')
    assert.equal(rest.headers['idempotent-replayed'] ?? whole.headers['idempotent-replayed'], 'true')
    assert.equal(whole.headers['x-turnpike-provider'], 'up')
    goOn()
    await Promise.all([rest.over, whole.over])
    const later = await ask({ key, name: 'cut', at: other })
    assert.equal(eventsOf(whole.text()), later.text)
    assert.equal(eventsOf(rest.text()), restAfter(later.text, had))
    assert.equal(
      readStream(later.text)
        .chunks.map(({ choices }) => choices[0]?.delta.content ?? '')
        .join(''),
      't0 t1 t2 t3 t4 t5 ',
    )
    assert.equal(provider.calls.length - called, 1)
    const { status } = await assertChargedOnce(key)
    assert.equal(status, 'completed')
  })
}

for (const [name, gateways] of [
  ['one process', [gateway]],
  ['two processes', [gateway, second]],
] as const) {
  test(`IDEM-3, F23, INV-8: 50 concurrent equal streams, ${name}: one call, one charge, 50 equal texts`, async () => {
    provider.answer(answerStream(textChunks(20), 10))
    const key = await gateway.keyOfNewAccount()
    const called = provider.calls.length
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        ask({ key, name: 'fifty', at: gateways[index % gateways.length] ?? gateway }),
      ),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
    assert.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true').length, 49)
    assert.equal(provider.calls.length - called, 1)
    await assertChargedOnce(key)
  })
}

test('the provider call is cancelled if no reader returns within the grace period, and the output is charged', async () => {
  provider.answer(inTwoParts().script)
  const key = await gateway.keyOfNewAccount()
  const called = provider.calls.length
  const first = await begin({ key, name: 'grace', at: forgetful })
  const call = await provider.call(called)
  await first.until('t2')
  const leftAt = performance.now()
  first.leave()
  await call.over
  const waited = performance.now() - leftAt
  assert.ok(waited >= GRACE_MS - 50, `${waited} ms`)
  const { status } = await assertChargedOnce(key)
  assert.equal(status, 'client_left')
  const rest = await ask({ key, name: 'grace', after: idsOf(first.text()).at(-1) ?? 0 })
  const { chunks, error, done } = readStream(rest.text)
  assert.deepEqual([chunks.length, error?.type, error?.code, done], [0, 'upstream_error', 'client_left', true])
  const whole = await ask({ key, name: 'grace' })
  assert.ok(whole.text.startsWith(first.text()))
  assert.equal(whole.text, first.text() + rest.text)
})

test('IDEM-2: the same key with another body is 409, while the stream runs and afterwards', async () => {
  const { script, goOn } = inTwoParts()
  provider.answer(script)
  const key = await gateway.keyOfNewAccount()
  const first = await begin({ key, name: 'other' })
  for (const at of [gateway, second]) {
    for (const body of [{ temperature: 1 }, { stream: false }]) {
      const answer = await ask({ key, name: 'other', body, at })
      assert.deepEqual([answer.status, errorOf(answer).code], [409, 'idempotency_key_reused'])
    }
  }
  goOn()
  await first.over
  assert.equal((await ask({ key, name: 'other', body: { temperature: 1 } })).status, 409)
})

test('contract rule 1, IDEM-5: an early failure is a status for all, and frees the key', async () => {
  const told = Promise.withResolvers<void>()
  provider.answer(async (_, reply) => {
    await told.promise
    reply.head(500, { 'content-type': 'application/json' })
    reply.end('{"error": {"message": "busy"}}')
  })
  const key = await gateway.keyOfNewAccount()
  const called = provider.calls.length
  const first = ask({ key, name: 'early' })
  await provider.call(called)
  const all = Promise.all([first, ask({ key, name: 'early' }), ask({ key, name: 'early', at: second })])
  await Promise.all([untilActive(gateway, 2), untilActive(second, 1)])
  // Keys are looked for in the order of requests: where another body is refused, those before it wait. The last one comes
  // to the first process after the question of the other one for its stream.
  for (const at of [gateway, second, gateway, second, gateway])
    assert.equal((await ask({ key, name: 'early', at, body: { temperature: 1 } })).status, 409)
  told.resolve()
  const answers = await all
  for (const answer of answers) assert.deepEqual([answer.status, errorOf(answer).code], [503, 'provider_error'])
  assert.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, 3)
  assert.equal(provider.calls.length - called, 1)
  provider.answer(ordinary)
  const again = await ask({ key, name: 'early', after: 3 })
  assert.deepEqual([again.status, again.headers['idempotent-replayed'], idsOf(again.text)[0]], [200, undefined, 1])
})

test('SSE-4, IDEM-5: a stream that broke off is kept with its error event and [DONE]', async () => {
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, textChunks(3).slice(0, 3))
    await reply.wait(50)
    reply.cut()
  })
  const key = await gateway.keyOfNewAccount()
  const called = provider.calls.length
  const first = await ask({ key, name: 'broken' })
  const { error, done } = readStream(first.text)
  assert.deepEqual([error?.type, error?.code, done], ['upstream_error', 'provider_error', true])
  for (const at of [gateway, second]) {
    assert.equal((await ask({ key, name: 'broken', at })).text, first.text)
    assert.equal((await ask({ key, name: 'broken', at, after: 2 })).text, restAfter(first.text, 2))
  }
  assert.equal(provider.calls.length - called, 1)
  await assertChargedOnce(key)
})

test('IP-3: a stream is resumed from the addresses of its key alone', async () => {
  provider.answer(ordinary)
  const key = await gateway.key('--ip-allowlist', '127.0.0.1/32')
  const whole = await ask({ key, name: 'from-here' })
  assert.equal(whole.status, 200)
  assert.equal(await statusFrom('127.0.0.1', { key, name: 'from-here' }), 200)
  assert.equal(await statusFrom('127.0.0.2', { key, name: 'from-here' }), 403)
})

/** Asks on a connection from another of the machine's own addresses. */
function statusFrom(localAddress: string, what: Ask): Promise<number | undefined> {
  const { body, headers, key } = callOf(what)
  const all = { ...headers, authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const options = { host: '127.0.0.1', port: gateway.port, path: CHAT, method: 'POST', headers: all, localAddress }
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...options, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject)
    request.end(JSON.stringify(body))
  })
}

test('once the time for which it is kept is over the key answers 409', async () => {
  provider.answer(ordinary)
  const key = await forgetful.keyOfNewAccount()
  const first = await ask({ key, name: 'expired', at: forgetful })
  assert.equal((await ask({ key, name: 'expired' })).text, first.text)
  await assertChargedOnce(key) // its time begins when it is written, which may be after it was read
  await sleep(KEEP_MS)
  const answer = await ask({ key, name: 'expired', at: forgetful, after: 2 })
  assert.deepEqual(
    [answer.status, errorOf(answer).code, errorOf(answer).type],
    [409, 'idempotency_result_expired', 'conflict'],
  )
  assert.equal(answer.headers['x-should-retry'], 'false')
})

test('a stream of more than 8 MiB continues for its client; the key answers 409', async () => {
  const large = chunk({ content: 'x'.repeat(500_000) })
  provider.answer(answerStream([...Array(18).fill(large), chunk({}, 'stop')]))
  const key = await gateway.keyOfNewAccount()
  const first = await ask({ key, name: 'large' })
  assert.equal(readStream(first.text).done, true)
  assert.equal(idsOf(first.text).length, 18 + 3)
  for (const at of [gateway, second]) {
    const answer = await eventually(
      () => ask({ key, name: 'large', at }),
      ({ status }) => status === 409,
    )
    assert.deepEqual([answer.status, errorOf(answer).code], [409, 'idempotency_result_too_large'])
  }
  await assertChargedOnce(key)
})

test('a revoked key cuts its own listener only', async () => {
  const { script, goOn } = inTwoParts()
  provider.answer(script)
  const account = await gateway.cli('accounts', 'create', '--name', 'revoking')
  const [key, revoked] = [await gateway.key('--account', account), await gateway.key('--account', account)]
  const first = await begin({ key, name: 'revoke' })
  await first.until('t2')
  const listeners = [
    await begin({ key: revoked, name: 'revoke' }),
    await begin({ key: revoked, name: 'revoke', at: second }),
  ]
  for (const listener of listeners) await listener.until('t2')
  const keys = JSON.parse((await send(gateway, '/v1/keys', { key })).text) as { data: { id: string; last4: string }[] }
  const id = keys.data.find(({ last4 }) => revoked.endsWith(last4))?.id
  assert.equal((await send(gateway, `/v1/keys/${id}`, { key, method: 'DELETE' })).status, 204)
  for (const listener of listeners) {
    await listener.over
    assert.deepEqual(
      [readStream(listener.text()).error?.code, readStream(listener.text()).done],
      ['invalid_credential', true],
    )
  }
  goOn()
  await first.over
  assert.equal(readStream(first.text()).error, undefined)
  assert.match(first.text(), /t5/)
})

test('the openai SDK and the Vercel AI SDK read streams with ids', async () => {
  provider.answer(ordinary)
  const key = await gateway.key()
  const headers = { 'Idempotency-Key': 'sdk-1' }
  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  for (let repeat = 0; repeat < 2; repeat++) {
    const stream = await client.chat.completions.create(
      { model: 'm1', messages: [{ role: 'user', content: 'hi' }], stream: true },
      { headers },
    )
    let text = ''
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
    assert.equal(text, 't0 t1 t2 t3 t4 ')
  }
  const vercel = createOpenAICompatible({ name: 'turnpike', apiKey: key, baseURL: `${gateway.url}/v1` })
  for (let repeat = 0; repeat < 2; repeat++) {
    const { textStream } = streamText({ model: vercel('m1'), prompt: 'hi', headers: { 'Idempotency-Key': 'sdk-2' } })
    let text = ''
    for await (const piece of textStream) text += piece
    assert.equal(text, 't0 t1 t2 t3 t4 ')
  }
})

test('the route between processes rejects everybody else, and is in no document', async () => {
  const key = await gateway.key('--operator')
  for (const authorization of [undefined, `Bearer ${key}`, 'Bearer x']) {
    const headers = { 'x-turnpike-account': 'a', ...(authorization === undefined ? {} : { authorization }) }
    assert.equal((await send(gateway, '/internal/streams/chatcmpl-1', { headers })).status, 401)
  }
  assert.doesNotMatch((await send(gateway, '/openapi.json')).text, /internal\/streams/)
})

async function victim(): Promise<Gateway> {
  return await startGateway({ config, dataDir: gateway.dataDir })
}

test('F16, IDEM-7: its process is killed in the middle: an error event and [DONE]', async () => {
  provider.answer(inTwoParts().script)
  const owner = await victim()
  const key = await gateway.keyOfNewAccount()
  const first = await begin({ key, name: 'killed', at: owner })
  await first.until('t2')
  const following = await begin({ key, name: 'killed', after: 1 })
  await following.until('t2')
  owner.signal('SIGKILL')
  await Promise.all([owner.exited, following.over, first.over])
  const had = idsOf(first.text()).at(-1) ?? 0
  const rest = await ask({ key, name: 'killed', after: had })
  for (const text of [following.text(), rest.text]) {
    const { error, done } = readStream(text)
    assert.deepEqual([error?.type, error?.code, done], ['upstream_error', 'idempotency_outcome_unknown', true])
    assert.match(error?.message ?? '', /charged/)
    assert.match(error?.request_id ?? '', /^(req|chatcmpl)[_-]/)
  }
  assert.deepEqual(readStream(rest.text).chunks, [])
  await owner.stop()
})

test('F16, IDEM-6: its process is killed after the end: the whole is there', async () => {
  provider.answer(ordinary)
  const owner = await victim()
  const key = await gateway.keyOfNewAccount()
  const first = await ask({ key, name: 'ended', at: owner })
  await assertChargedOnce(key)
  owner.signal('SIGKILL')
  await owner.exited
  assert.equal((await ask({ key, name: 'ended' })).text, first.text)
  await owner.stop()
})

test('a process that accepts no connections but runs is awaited', async () => {
  const { script, goOn } = inTwoParts()
  provider.answer(script)
  const owner = await victim()
  const key = await gateway.keyOfNewAccount()
  const first = await begin({ key, name: 'draining', at: owner })
  await first.until('t2')
  owner.signal('SIGTERM')
  const turned = await eventually(
    () => begin({ key, name: 'draining' }),
    (answer) => {
      if (answer.status === 200) answer.leave()
      return answer.status === 503
    },
  )
  assert.equal(turned.status, 503)
  assert.ok(Number(turned.headers['retry-after']) > 0)
  goOn()
  await first.over
  assert.equal(await owner.exited, 0) // a second signal would end it at once
  await owner.stop()
  assert.equal((await ask({ key, name: 'draining' })).text, eventsOf(first.text()))
})

test('only a failure has a status: an answer of the provider that is not a stream is kept as one', async () => {
  provider.answer(answerJson({ error: { message: 'no' } }, 400))
  const key = await gateway.keyOfNewAccount()
  const answer = await ask({ key, name: 'refused' })
  assert.deepEqual([answer.status, errorOf(answer).type], [400, 'invalid_request'])
})

/* Caps of a process, of which one account or address must not take all. */

test('A4: who opens as many event streams as it can leaves some for other accounts', async (t) => {
  const [greedy, other] = [await gateway.keyOfNewAccount(), await gateway.keyOfNewAccount()]
  for (const path of ['/v1/events/stream', '/v1/usage/completions/stream']) {
    const listen = async (key: string) => {
      const { statusCode, body } = await open(gateway, path, { key, fresh: true })
      body.on('error', () => undefined)
      t.after(() => body.destroy())
      return statusCode
    }
    // More than all accounts have together.
    const opened = await Promise.all(Array.from({ length: 210 }, () => listen(greedy)))
    assert.deepEqual(Map.groupBy(opened, (status) => status).get(200)?.length, 10, path)
    assert.equal(await listen(other), 200, path)
  }
})

test('A4: an address that begins as many device flows as it can leaves some for others', async () => {
  const begin = (localAddress: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const options = { port: gateway.port, localAddress, method: 'POST', path: '/device/code', headers }
      const asked = httpRequest({ ...options, host: '127.0.0.1' }, (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
      asked.on('error', reject)
      asked.end('client_id=turnpike-cli&scope=api')
    })
  const statuses = new Set<number>()
  for (let asked = 0; asked < 3_100 && !statuses.has(429); asked++) statuses.add(await begin('127.0.0.2'))
  assert.deepEqual([...statuses], [200, 429])
  assert.equal(await begin('127.0.0.3'), 200)
})

/** Nearly as much as is kept of one stream, in few events. */
const LARGE = { pieces: 15, size: 500_000 }

test('A4: who runs as many long streams with keys as it can leaves room for those of other accounts', async () => {
  const end = Promise.withResolvers<void>()
  let whole = 0
  provider.answer(async ({ body }, reply) => {
    const isLarge = JSON.stringify(body).includes('large')
    reply.head(200, SSE_HEAD)
    const text = isLarge ? 'x'.repeat(LARGE.size) : 'a word '
    for (let sent = 0; sent < LARGE.pieces; sent++) await reply.write(frame(chunk({ content: text })))
    whole += 1
    await end.promise
    if (await sendFrames(reply, textChunks(0).slice(-2))) reply.end(frame('[DONE]'))
  })
  const [greedy, other] = [await gateway.keyOfNewAccount(), await gateway.keyOfNewAccount()]
  const names = Array.from({ length: 12 }, (_, at) => `large ${at}`)
  const bodyOf = (name: string) => ({ messages: [{ role: 'user', content: name }] })
  const streams = []
  for (const [at, name] of names.entries()) {
    streams.push(await begin({ key: greedy, name, body: bodyOf(name) }))
    await eventually(
      async () => whole,
      (sent) => sent > at,
    )
  }
  const small = await begin({ key: other, name: 'small', body: bodyOf('small') })
  await small.until('a word')
  small.leave()
  end.resolve()
  await Promise.all(streams.map(({ over }) => over))
  const repeats = await Promise.all(names.map((name) => ask({ key: greedy, name, body: bodyOf(name) })))
  const refused = repeats.filter(({ status }) => status === 409)
  assert.ok(refused.length > 0 && refused.length < 8, `${refused.length} of ${names.length} are not kept`)
  for (const answer of refused) assert.equal(errorOf(answer).code, 'idempotency_result_too_large')
  const repeated = await ask({ key: other, name: 'small', body: bodyOf('small') })
  assert.deepEqual([repeated.status, repeated.headers['idempotent-replayed']], [200, 'true'])
  assert.equal(repeated.text.split('a word ').length - 1, LARGE.pieces)
  provider.answer(ordinary)
})
