/** Clients that leave before the end of their answer. Runs on one database: it is about connections. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { bestOf, CHAT, eventually, hello, open, send, usageReport } from '../support/client.ts'
import { model, oneModel, startGateway } from '../support/gateway.ts'
import { chunk, frame, ordinary, SSE_HEAD, sendFrames, silent, slowStream } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const MAX_IN_FLIGHT = 4
const provider = await startFakeProvider(ordinary)
const gateway = await startGateway({
  config: oneModel(
    provider.url,
    {},
    {
      models: [
        model('m1', 'up', 'up-model'),
        { ...model('vectors', 'up', 'up-vectors'), kind: 'embedding', capabilities: undefined },
        { ...model('ranks', 'up', 'up-ranks'), kind: 'rerank', capabilities: undefined },
      ],
      plans: { narrow: { billing: 'postpaid', max_in_flight: MAX_IN_FLIGHT } },
      accounts: { default_plan: 'narrow' },
    },
  ),
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

/** How long the provider's connection outlived the client's, in milliseconds. */
const bestOutliving = (leave: () => Promise<number>) => bestOf(leave, 100, 100)

interface Leaving {
  readonly script: Script
  readonly body: object
  /** Whether to wait for the answer's first bytes before leaving. */
  readonly afterFirstBytes: boolean
  /** The key that asks; the file's own by default. */
  readonly by?: string
  /** Chat completions by default. */
  readonly path?: string
}

async function leaveOnce({ script, body, afterFirstBytes, by = key, path = CHAT }: Leaving): Promise<number> {
  provider.answer(script)
  const next = provider.call(provider.calls.length)
  const abort = new AbortController()
  const answer = open(gateway, path, { key: by, body, signal: abort.signal })
  answer.catch(() => {})
  const call = await next
  if (afterFirstBytes) {
    const { body: bytes } = await answer
    bytes.on('error', () => {})
    await new Promise((resolve) => bytes.once('data', resolve))
  } else {
    await send(gateway, '/healthz') // the provider has the request; when the gateway has answered this, it waits
    await sleep(20)
  }
  const leftAt = performance.now()
  abort.abort()
  await call.over
  assert.ok(call.abortedAtMs !== undefined, 'the connection to the provider was destroyed')
  return call.abortedAtMs - leftAt
}

const headOnly: Script = (_, reply) => reply.head(200, SSE_HEAD)
const halfJson: Script = async (_, reply) => {
  reply.head(200, { 'content-type': 'application/json' })
  await reply.write('{"id":"up-1","choices":[')
}

const CASES: readonly (readonly [name: string, leaving: Leaving])[] = [
  [
    'R-A1: in the middle of a stream',
    { script: slowStream(100_000, 10), body: hello({ stream: true }), afterFirstBytes: true },
  ],
  ['R-A2: of a non-streaming call', { script: silent, body: hello(), afterFirstBytes: false }],
  ['R-A2: of a non-streaming call whose body has begun', { script: halfJson, body: hello(), afterFirstBytes: false }],
  [
    'R-A4: before the provider answers a streaming call',
    { script: silent, body: hello({ stream: true }), afterFirstBytes: false },
  ],
  ['R-A4: between head and first event', { script: headOnly, body: hello({ stream: true }), afterFirstBytes: false }],
]

/** Of every other endpoint: the smallest request. */
const OTHERS: Readonly<Record<string, object>> = {
  '/v1/messages': { model: 'm1', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] },
  '/v1/responses': { model: 'm1', input: 'hi' },
  '/v1/completions': { model: 'm1', prompt: 'hi' },
  '/v1/embeddings': { model: 'vectors', input: 'hi' },
  '/v1/rerank': { model: 'ranks', query: 'hi', documents: ['a', 'b'] },
}
const STREAMED: readonly string[] = ['/v1/messages', '/v1/responses', '/v1/completions']
const OTHER_CASES = [
  ...Object.entries(OTHERS).map(
    ([path, body]) =>
      [`R-A2: of ${path}, not streaming`, { path, script: silent, body, afterFirstBytes: false }] as const,
  ),
  ...STREAMED.map(
    (path) =>
      [
        `R-A1: of ${path}, in the middle of a stream`,
        { path, script: slowStream(100_000, 10), body: { ...OTHERS[path], stream: true }, afterFirstBytes: true },
      ] as const,
  ),
]
for (const [name, leaving] of [...CASES, ...OTHER_CASES]) {
  test(`${name}, the client leaves and the provider is aborted within 100 ms`, async () => {
    assert.ok((await bestOutliving(() => leaveOnce(leaving))) <= 100)
  })
}

test('R-A3: it is the same on a connection that the client would have closed', async () => {
  provider.answer(slowStream(100_000, 10))
  const next = provider.call(provider.calls.length)
  const body = JSON.stringify(hello({ stream: true }))
  const head = `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
  const socket = connect(gateway.port, '127.0.0.1', () => socket.write(head + body))
  socket.on('error', () => {})
  const begun = new Promise((resolve) => socket.once('data', resolve))
  const call = await next
  await begun
  socket.destroy()
  await call.over
  assert.ok(call.abortedAtMs !== undefined)
})

test('R-A3: the SDK’s own abort reaches the provider', async () => {
  provider.answer(slowStream(100_000, 10))
  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const next = provider.call(provider.calls.length)
  const stream = await client.chat.completions.create({
    ...hello(),
    stream: true,
  } as OpenAI.ChatCompletionCreateParamsStreaming)
  for await (const part of stream) if (part.choices[0]?.delta.content) break
  const call = await next
  await call.over
  assert.ok(call.abortedAtMs !== undefined)
})

test('R-A5, R-A12: an aborted connection is destroyed, not used again', async () => {
  await leaveOnce({ script: slowStream(100_000, 10), body: hello({ stream: true }), afterFirstBytes: true })
  const aborted = provider.calls.at(-1)?.callerPort
  provider.answer(ordinary)
  assert.equal((await send(gateway, CHAT, { key, body: hello() })).status, 200)
  assert.notEqual(provider.calls.at(-1)?.callerPort, aborted)
})

test('R-A13, INV-7: the output until the client disconnected is metered, including the prompt', async () => {
  const key = await gateway.keyOfNewAccount()
  const WORDS = 60
  const word = chunk({ content: ' hello' })
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, Array(WORDS).fill(word), 5)
    await reply.wait(120_000) // until the caller leaves: what it left behind does not hang on how soon that is seen
    reply.bill({ promptTokens: 10, completionTokens: WORDS })
  })
  const billed = provider.bills.length
  const abort = new AbortController()
  const answer = await open(gateway, CHAT, { key, body: hello({ stream: true }), signal: abort.signal })
  answer.body.on('error', () => {})
  let events = 0
  await new Promise<void>((resolve) => {
    answer.body.on('data', (bytes: Buffer) => {
      events += bytes.toString().split('data:').length - 1
      if (events >= WORDS) resolve()
    })
  })
  abort.abort()
  await eventually(
    async () => provider.bills.length,
    (count) => count > billed,
  )
  const bill = provider.bills[billed] ?? assert.fail('no bill')
  const { total_tokens: metered } = await eventually(
    () => usageReport(gateway, key),
    (report) => report.total_tokens > 0,
  )
  const owed = bill.promptTokens + bill.completionTokens
  assert.ok(Math.abs(metered - owed) <= 20, `metered ${metered}, the provider bills ${owed}`)
})

test('R-A13: leaving before anything was generated still meters the prompt that the provider took', async () => {
  const key = await gateway.keyOfNewAccount()
  await leaveOnce({ script: headOnly, body: hello({ stream: true }), afterFirstBytes: false, by: key })
  const report = await eventually(
    () => usageReport(gateway, key),
    ({ total_tokens }) => total_tokens > 0,
  )
  assert.ok(report.total_tokens > 0)
})

test('R-A14: a client that leaves a failing call pays nothing for the error', async () => {
  const key = await gateway.keyOfNewAccount()
  provider.answer((_, reply) => {
    reply.head(500, { 'content-type': 'application/json' })
    reply.end(JSON.stringify({ error: { message: 'words '.repeat(200) } }))
  })
  assert.equal((await send(gateway, CHAT, { key, body: hello() })).status, 503)
  await sleep(300)
  assert.equal((await usageReport(gateway, key)).total_tokens, 0)
})

test('R-A9: after many clients left at random moments, every slot is free again', async () => {
  provider.answer(async (_, reply) => {
    if (!(await reply.wait(15))) return
    reply.head(200, SSE_HEAD)
    if (
      await sendFrames(
        reply,
        Array.from({ length: 50 }, () => chunk({ content: 'x' })),
        2,
      )
    )
      reply.end(frame('[DONE]'))
  })
  for (let round = 0; round < 12; round++) {
    const abort = new AbortController()
    const all = Array.from({ length: MAX_IN_FLIGHT }, async () => {
      const answer = await open(gateway, CHAT, { key, body: hello({ stream: round % 2 === 0 }), signal: abort.signal })
      await answer.body.dump()
    })
    setTimeout(() => abort.abort(), (round * 7) % 45)
    await Promise.allSettled(all)
  }
  provider.answer(ordinary)
  const admitted = await eventually(
    async () => {
      const answers = await Promise.all(
        Array.from({ length: MAX_IN_FLIGHT }, () => send(gateway, CHAT, { key, body: hello() })),
      )
      return answers.map(({ status }) => status)
    },
    (statuses) => statuses.every((status) => status === 200),
  )
  assert.deepEqual(
    admitted,
    Array.from({ length: MAX_IN_FLIGHT }, () => 200),
  )
})
