/** Runs on one database: it is about the wire. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { errorOf } from '../support/client.ts'
import { model } from '../support/gateway.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'
import { body, delay, head, repeat, type Script, send, stall } from './kit/byte-script.ts'
import { type FaultAnswer, startFaultedGateway } from './kit/faulted-gateway.ts'
import { goodAnswer, goodStream } from './kit/openai-script.ts'

const FIRST_EVENT_MS = 300
/** Of a whole answer, and until a provider is called, which takes a busy machine a while where all are asked at once. */
const TOTAL_MS = 5_000
const hanging = {
  protocol: 'openai',
  api_key: 'k',
  timeout_ms: { first_byte: FIRST_EVENT_MS, total: TOTAL_MS },
}
const patient = { protocol: 'openai', api_key: 'k' }

const faulted = await startFaultedGateway({
  config: (url) => ({
    providers: { hanging: { ...hanging, base_url: `${url}/hanging` }, spare: { ...patient, base_url: `${url}/spare` } },
    models: [
      model('alone', 'hanging', 'up-alone'),
      {
        ...model('pair', 'hanging', 'up-pair'),
        deployments: [
          { provider: 'hanging', model: 'up-pair', priority: 0 },
          { provider: 'spare', model: 'up-pair', priority: 1 },
        ],
      },
    ],
    routing: { max_attempts: 2, breaker: { failures: 1000 } },
  }),
})
after(() => faulted.stop())

const HANGS: readonly (readonly [name: string, script: Script])[] = [
  ['says nothing', [stall]],
  ['stops in the status line', [send('HTTP/1.1 2'), stall]],
  ['stops in the headers', [send('HTTP/1.1 200 OK\r\ncontent-type: text/event-'), stall]],
  ['sends a head and no event', [head(200, { 'content-type': 'text/event-stream' }), stall]],
  ['goes on with 1xx answers', [repeat(4_000, send('HTTP/1.1 102 Processing\r\n\r\n'), delay(40))]],
  ['sends half an event', [head(200, { 'content-type': 'text/event-stream' }), body('data: {"choices":'), stall]],
]

/** A machine that is busy may have come to the deadline before a call was there. */
async function assertGivenUp(answer: FaultAnswer): Promise<void> {
  for (const call of faulted.callsOf(answer)) {
    if (call.path.startsWith('/spare')) continue
    await call.over
    assert.ok(call.abortedAtMs, 'the hanging connection was given up')
  }
}

suite('F1: a provider that hangs before its answer', { concurrency: true }, () => {
  for (const [name, hang] of HANGS) {
    for (const stream of [true, false]) {
      test(`F1, UP-1, UP-5: ${name}, stream ${stream}: another provider answers, and only its answer is charged`, async () => {
        const good = stream ? goodStream({ words: 3 }) : goodAnswer(3)
        const answer = await faulted.ask({
          model: 'pair',
          stream,
          script: (_, { path }) => (path.startsWith('/spare') ? good : hang),
        })
        assert.equal(answer.status, 200, answer.text)
        const calls = faulted.callsOf(answer)
        assert.equal(calls.at(-1)?.path.startsWith('/spare'), true)
        if (stream) {
          assertWireRules(readStream(answer.text), { model: 'pair' })
          assert.equal(assemble(readStream(answer.text)).content, ' hello hello hello')
        }
        await assertGivenUp(answer)
        await faulted.assertCharged(answer, { status: 'completed', completionTokens: 3, source: 'provider' })
      })

      test(`F1, UP-5: ${name}, stream ${stream}, and there is no other provider: 503 provider_error, nothing charged`, async () => {
        const askedAtMs = performance.now()
        const answer = await faulted.ask({ model: 'alone', stream, script: hang })
        assert.deepEqual([answer.status, errorOf(answer).code], [503, 'provider_error'])
        assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d?$/)
        assert.ok(performance.now() - askedAtMs > FIRST_EVENT_MS * 0.8, 'it was waited for')
        await assertGivenUp(answer)
        assert.ok(faulted.callsOf(answer).length <= 2)
        await faulted.assertFree(answer)
      })
    }
  }
})

test('F1, INV-6: afterwards nothing is held and everything adds up', () => faulted.assertAgreement())
