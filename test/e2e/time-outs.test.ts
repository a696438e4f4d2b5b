/** Runs on one database: it is about the wire. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { after, suite, test } from 'node:test'
import { CHAT, errorOf, hello, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { answerStream, chunk, frame, SSE_HEAD, sendFrames, silent, textChunks } from '../support/providers/answers.ts'
import { type Reply, type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'

const LONG = { connect: 60_000, first_byte: 60_000, idle: 60_000, total: 120_000 }
/** For what is said in time, also where the machine is kept busy. */
const ENOUGH_MS = 12_000
const provider = await startFakeProvider(silent)
/** Takes connections and never says a word: a TLS handshake that does not end. */
const mute = createServer((socket) => socket.on('error', () => {}))
await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))

const endpoint = (timeout_ms: object, base_url = `${provider.url}/v1`): object => ({
  protocol: 'openai',
  base_url,
  api_key: 'k',
  timeout_ms,
})
const gateway = await startGateway({
  config: {
    providers: {
      connect: endpoint({ ...LONG, connect: 300 }, `https://127.0.0.1:${(mute.address() as AddressInfo).port}/v1`),
      first: endpoint({ ...LONG, first_byte: 300 }),
      idle: endpoint({ ...LONG, idle: 300 }),
      total: endpoint({ ...LONG, total: 4_000 }),
      total_enough: endpoint({ ...LONG, total: ENOUGH_MS }),
      first_enough: endpoint({ ...LONG, first_byte: ENOUGH_MS }),
      idle_enough: endpoint({ ...LONG, idle: ENOUGH_MS }),
    },
    models: ['connect', 'first', 'idle', 'total', 'total_enough', 'first_enough', 'idle_enough'].map((name) =>
      model(name, name, `up-${name}`),
    ),
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
  mute.close()
})

/** Every call has its script in the prompt's place, so that tests can run side by side. */
const scripts = new Map<string, Script>()
provider.answer((call, reply) => scripts.get(/script-\d+/.exec(call.body)?.[0] ?? '')?.(call, reply))
function ask(name: string, { script, stream }: { script: Script; stream: boolean }) {
  const prompt = `script-${scripts.size}`
  scripts.set(prompt, script)
  return send(gateway, CHAT, {
    key,
    body: hello({ model: name, stream, messages: [{ role: 'user', content: prompt }] }),
  })
}

const headOnly: Script = (_, reply) => reply.head(200, SSE_HEAD)
const comments = async (reply: Reply): Promise<void> => {
  while ((await reply.write(': processing\n\n')) && (await reply.wait(40)));
}
const headAndComments: Script = async (_, reply) => {
  reply.head(200, SSE_HEAD)
  await comments(reply)
}
const wordAndSilence: Script = async (_, reply) => {
  reply.head(200, SSE_HEAD)
  await sendFrames(reply, textChunks(3).slice(0, 2))
}
const wordAndComments: Script = async (_, reply) => {
  reply.head(200, SSE_HEAD)
  await sendFrames(reply, textChunks(3).slice(0, 2))
  await comments(reply)
}
const endless: Script = async (_, reply) => {
  reply.head(200, SSE_HEAD)
  while ((await reply.write(frame(chunk({ content: 'x' })))) && (await reply.wait(20)));
}
const slowJson: Script = async (_, reply) => {
  reply.head(200, { 'content-type': 'application/json' })
  while ((await reply.write(' ')) && (await reply.wait(40)));
}

suite('R-A8, R-A11: every time-out fires', { concurrency: true }, () => {
  const BEFORE_THE_FIRST_EVENT: readonly (readonly [name: string, model: string, stream: boolean, script: Script])[] = [
    ['connect, whole', 'connect', false, silent],
    ['connect, streamed', 'connect', true, silent],
    ['first byte, streamed, without a head', 'first', true, silent],
    ['first byte, streamed, after the head (R-A7)', 'first', true, headOnly],
    ['first byte, streamed, although comments come', 'first', true, headAndComments],
    ['total, whole, without a head', 'total', false, silent],
    ['total, whole, although bytes come', 'total', false, slowJson],
    ['total, streamed, without a head', 'total', true, silent],
  ]
  for (const [name, modelId, stream, script] of BEFORE_THE_FIRST_EVENT) {
    test(`${name}: 503 [limit: provider-waits]`, async () => {
      const answer = await ask(modelId, { script, stream })
      assert.equal(answer.status, 503)
      assert.equal(errorOf(answer).code, 'provider_error')
      assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d?$/)
    })
  }

  const AFTER_IT: readonly (readonly [name: string, model: string, script: Script])[] = [
    ['idle (R-A7)', 'idle', wordAndSilence],
    ['idle, although comments come', 'idle', wordAndComments],
    ['total', 'total_enough', endless],
  ]
  for (const [name, modelId, script] of AFTER_IT) {
    test(`${name}: error event and [DONE]`, async () => {
      const answer = await ask(modelId, { script, stream: true })
      assert.equal(answer.status, 200)
      const stream = readStream(answer.text)
      assertWireRules(stream, { model: modelId })
      assert.deepEqual([stream.error?.type, stream.error?.code], ['upstream_error', 'provider_error'])
    })
  }

  for (const name of ['first_enough', 'idle_enough']) {
    test(`R-A10: the time-out of ${name} does not cut a stream that runs longer than it`, async () => {
      const answer = await ask(name, { script: answerStream(textChunks(12), ENOUGH_MS / 12), stream: true })
      const stream = readStream(answer.text)
      assertWireRules(stream, { model: name })
      assert.equal(assemble(stream).finishReason, 'stop')
    })
  }
})

test('after a time-out the provider’s connection is destroyed', async () => {
  const index = provider.calls.length
  await ask('first', { script: silent, stream: true })
  const call = await provider.call(index)
  await call.over
  assert.ok(call.abortedAtMs !== undefined)
})
