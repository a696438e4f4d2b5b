/** Providers that die within a stream. Runs on one database: `random-scenarios` has the same on both. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { errorOf } from '../support/client.ts'
import { oneModel } from '../support/gateway.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'
import {
  awaitRead,
  bill,
  body,
  delay,
  end,
  type Framing,
  fin,
  rst,
  type Script,
  type Step,
  sse,
} from './kit/byte-script.ts'
import { type FaultAnswer, startFaultedGateway } from './kit/faulted-gateway.ts'
import { streamBegun, streamHead } from './kit/openai-script.ts'

const WORDS = 12
/** After what was sent has been read: so that a reset seldom overtakes it on its way through the gateway. */
const SETTLING_MS = 100

const faulted = await startFaultedGateway({
  config: (url) => oneModel(url, {}, { routing: { max_attempts: 3, breaker: { failures: 1000 } } }),
})
after(() => faulted.stop())

function dying(framing: Framing, ...death: Script): Script {
  return [...streamBegun({ words: WORDS, framing }), awaitRead, delay(SETTLING_MS), ...death]
}

const DEATHS: readonly (readonly [name: string, script: Script])[] = [
  ['FIN in a chunked body', dying('chunked', fin)],
  ['RST in a chunked body', dying('chunked', rst)],
  ['FIN of a close-delimited body, which looks like its end', dying('close', fin)],
  ['RST in a close-delimited body', dying('close', rst)],
  ['FIN before the length that was told', dying(1_000_000, fin)],
  ['FIN inside an event', dying('close', body('data: {"choices":[{"index":0,"del'), fin)],
  ['the proper end of the body, and nothing that ended the answer', dying('chunked', end)],
]

/** What the client was given is what it pays for. */
async function assertBrokenOff(answer: FaultAnswer, isReset = false): Promise<void> {
  assert.equal(answer.status, 200)
  const stream = readStream(answer.text)
  assertWireRules(stream, { model: 'm1' })
  assert.deepEqual([stream.error?.type, stream.error?.code], ['upstream_error', 'provider_error'])
  const { content } = assemble(stream)
  const delivered = content.length / ' hello'.length
  assert.equal(content, ' hello'.repeat(delivered))
  if (isReset) assert.ok(delivered <= WORDS)
  else assert.equal(delivered, WORDS)
  assert.ok(answer.text.trimEnd().endsWith('data: [DONE]'))
  await faulted.assertCharged(answer, { status: 'incomplete', completionTokens: delivered, source: 'estimated' })
  assert.equal(faulted.provider.bills.get(answer.prompt)?.completionTokens, WORDS)
}

suite('F2: a provider that dies in the middle of a stream', { concurrency: true }, () => {
  for (const [name, script] of DEATHS) {
    test(`F2, SSE-4, UP-1: ${name}: the error event, then [DONE], no second call, and the delivered output is charged`, async () => {
      const answer = await faulted.ask({ stream: true, script })
      await assertBrokenOff(answer, name.startsWith('RST'))
      assert.equal(faulted.callsOf(answer).length, 1)
    })
  }

  test('F2, SSE-4, IDEM-5: with an idempotency key a broken answer that was charged is not generated again', async () => {
    const request = { stream: true, script: dying('chunked', fin), headers: { 'idempotency-key': 'f2-broken' } }
    const first = await faulted.ask(request)
    await assertBrokenOff(first)
    const second = await faulted.ask({ ...request, again: first })
    assert.equal(assemble(readStream(second.text)).content, ' hello'.repeat(WORDS))
    assert.equal(faulted.callsOf(first).length, 1)
    await assertBrokenOff(second)
  })

  const EARLY: readonly (readonly [name: string, step: Step])[] = [
    ['FIN', fin],
    ['RST', rst],
  ]
  for (const [name, death] of EARLY) {
    test(`F2, UP-1: ${name} after the head and before the first event is tried again, and then charged once`, async () => {
      const answer = await faulted.ask({
        stream: true,
        script: (attempt) =>
          attempt === 0
            ? [streamHead(), awaitRead, delay(SETTLING_MS), death]
            : [...streamBegun({ words: WORDS }), ...good],
      })
      assert.equal(assemble(readStream(answer.text)).finishReason, 'stop')
      assert.equal(faulted.callsOf(answer).length, 2)
      await faulted.assertCharged(answer, { status: 'completed', completionTokens: WORDS })
    })
  }

  test('F2: a whole answer that is cut is 503 and costs its reader nothing', async () => {
    const answer = await faulted.ask({
      script: [bill(WORDS), streamHead(500), body('{"choices":['), delay(SETTLING_MS), fin],
    })
    assert.deepEqual([answer.status, errorOf(answer).code], [503, 'provider_error'])
    await faulted.assertFree(answer)
  })
})

const good: Script = [sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }), sse('[DONE]'), end]

test('F2, INV-4, INV-6: afterwards nothing is held and everything adds up', () => faulted.assertAgreement())
