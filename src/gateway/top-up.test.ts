import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { countQuarters, HANGS, type Step, testClient } from '../../test/support/ledger/data-plane.ts'
import { type FakeCreditInput, fakeCredit } from '../../test/support/ledger/fake-credit.ts'
import { only, type PlaneInput, plane, STREAM } from '../../test/support/ledger/plane.ts'
import { chunk, counts, frame, usageChunk } from '../../test/support/providers/answers.ts'
import { assertWireRules, readStream } from '../../test/support/providers/sse.ts'

/** Ten tokens by our count. */
const TEN = frame(chunk({ content: 'abcd'.repeat(10) }))
const END: readonly Step[] = [frame(chunk({}, 'stop')), frame(usageChunk(counts(12, 500))), frame('[DONE]')]
/** The event loop turns between two reads, so that what was asked meanwhile is answered. */
const spaced = (steps: readonly Step[]): Step[] => steps.flatMap((step) => [step, idle])
async function idle(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn()
}
const tens = (count: number): Step[] => spaced(Array.from({ length: count }, () => TEN))

/** A stream of so many tens of tokens, though 100 were asked for: a provider that does not keep to that. */
function run(count: number, money: FakeCreditInput = {}, input: PlaneInput & { readonly end?: readonly Step[] } = {}) {
  const { end = END, ...over } = input
  const credit = fakeCredit(money)
  const asked: string[] = []
  const countTokens = (text: string): Promise<number> => {
    asked.push(text)
    return countQuarters(text)
  }
  const running = plane(() => ({ body: [...tens(count), ...end] }), { credit, countTokens, ...over })
  return { ...running, credit, asked }
}

const BODY = { ...STREAM, max_tokens: 100 }

test('LED-5: at 90 % of the hold it is raised, once, before it is exhausted', async () => {
  const { ask, credit, network } = run(12)
  const { client } = await ask(BODY)
  assert.equal(JSON.parse(network.exchanges[0]?.call.body ?? '').max_tokens, 100)
  assert.deepEqual(credit.extensions, [256n * 2_000n], 'half of 100 tokens, but at least 256')
  assert.deepEqual(
    credit.events.filter((event) => event !== 'committed'),
    ['hold', 'dispatched', 'extend', 'settle'],
  )
  assertWireRules(readStream(client.written.join('')), { model: 'm1' })
})

test('LED-5: each top-up raises the hold by half, for every choice', async () => {
  const { ask, credit } = run(400)
  await ask({ ...STREAM, max_tokens: 1000, n: 2 })
  assert.deepEqual(credit.extensions, [1000n * 2_000n, 1500n * 2_000n], '2 000, then 3 000 of which 90 % came')
})

test('a stream within its hold requests no top-up', async () => {
  const { ask, credit, asked } = run(8)
  await ask(BODY)
  assert.deepEqual([credit.extensions.length, asked.length], [0, 0])
})

test('no tokenizer is needed if the hold can be raised', async () => {
  const { ask, credit, asked } = run(100)
  await ask(BODY)
  assert.ok(credit.extensions.length > 1)
  assert.equal(asked.length, 0)
})

test('dense scripts are noticed in time, too', async () => {
  const content = '漢字'.repeat(15) // 90 bytes
  const { ask, credit } = run(0, {}, { end: [...spaced(Array(6).fill(frame(chunk({ content })))), ...END] })
  await ask(BODY)
  assert.equal(credit.extensions.length, 1)
})

test('no top-up is requested for a free model', async () => {
  const price = { inputMicroUsd: 1, outputMicroUsd: 0 }
  const { ask, credit } = run(40, {}, { model: { price } })
  await ask(BODY)
  assert.deepEqual(credit.extensions, [])
})

test('LED-5, INV-3, TM1: after a refused top-up the stream continues to 110 %, then ends with its error; the output is charged', async () => {
  const { ask, credit, records, network } = run(40, { extend: () => false }, { end: [HANGS] })
  const { client, error } = await ask(BODY)
  assert.equal(error, undefined)
  const stream = readStream(client.written.join(''))
  assertWireRules(stream, { model: 'm1' })
  assert.equal(stream.error?.code, 'insufficient_credit')
  assert.match(client.written.join(''), /\[DONE\]\n\n$/)
  assert.deepEqual([client.ended, network.exchanges[0]?.aborted], [true, true])
  const record = only(records)
  assert.deepEqual([record.status, record.usageSource], ['incomplete', 'estimated'])
  assert.ok(record.completionTokens > 110 && record.completionTokens <= 130, String(record.completionTokens))
  assert.ok(credit.extensions.length >= 1)
  assert.equal(credit.open(), 0)
})

test('LED-5: after a refused top-up an answer that ends before 110 % is complete', async () => {
  const { ask, records } = run(11, { extend: () => false })
  const { client } = await ask(BODY)
  assertWireRules(readStream(client.written.join('')), { model: 'm1' })
  assert.equal(only(records).status, 'completed')
})

test('credit that arrives later is used', async () => {
  let asked = 0
  const { ask, records } = run(13, { extend: () => ++asked > 1 })
  await ask(BODY)
  assert.deepEqual([asked, only(records).status], [2, 'completed'])
})

test('there is never more than one top-up at a time, however long the ledger takes', async () => {
  const decided = Promise.withResolvers<boolean>()
  const { ask, credit } = run(30, { extend: () => decided.promise }, { end: [() => decided.resolve(true), ...END] })
  await ask(BODY)
  assert.equal(credit.extensions.length, 1)
})

test('an answer that completes during a top-up is settled once', async () => {
  const decided = Promise.withResolvers<boolean>()
  const { ask, credit, records } = run(12, { extend: () => decided.promise })
  await ask(BODY)
  decided.resolve(false)
  await idle()
  assert.deepEqual([only(records).status, credit.open()], ['completed', 0])
})

test('intermediate figures of the provider take precedence over our own', async () => {
  const reported = frame(usageChunk(counts(12, 95)))
  const { ask, credit } = run(1, {}, { end: [...spaced([reported]), ...END] })
  await ask(BODY)
  assert.equal(credit.extensions.length, 1)
})

test('figures at the end of an answer request no top-up', async () => {
  const { ask, credit } = run(
    1,
    {},
    { end: [frame(chunk({}, 'length')) + frame(usageChunk(counts(12, 100))), frame('[DONE]')] },
  )
  await ask(BODY)
  assert.deepEqual(credit.extensions, [])
})

test('a burst is covered by one top-up', async () => {
  const burst = Array.from({ length: 100 }, () => TEN).join('')
  const { ask, credit } = run(0, {}, { end: [...spaced([burst]), ...END] })
  await ask(BODY)
  assert.deepEqual(credit.extensions, [900n * 2_000n])
})

test('text is not counted again before another tenth was generated', async () => {
  const { ask, asked } = run(40, { extend: () => false }, { end: [HANGS] })
  await ask({ ...STREAM, max_tokens: 300 })
  const looks = asked.slice(0, -2).map(({ length }) => length / 4) // the last two are for the bill
  assert.ok(looks.length >= 2, String(looks))
  for (const [position, tokens] of looks.entries()) assert.ok(tokens - (looks[position - 1] ?? 0) >= 30, String(looks))
})

test('a failing counter does not end the stream', async () => {
  const countTokens = (): Promise<number> => Promise.reject(new Error('no tokenizer'))
  const { ask, records } = run(20, { extend: () => false }, { countTokens })
  await ask(BODY)
  assert.equal(only(records).status, 'completed')
})

test('a disconnected client’s stream is not covered beyond its usage', async () => {
  const client = testClient({
    onWrite: (count, own) => {
      if (count === 2) own.leave()
      return undefined
    },
  })
  const { ask, records } = run(60, { extend: () => false }, { end: [HANGS], upstream: { onDisconnect: 'drain' } })
  await ask(BODY, client)
  const record = only(records)
  assert.equal(record.status, 'client_left')
  assert.ok(record.completionTokens <= 130, String(record.completionTokens))
})
