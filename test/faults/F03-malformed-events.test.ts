/** Runs on one database: this is about what a provider sends. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { errorOf } from '../support/client.ts'
import { model } from '../support/gateway.ts'
import { chunk } from '../support/providers/answers.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'
import { bill, body, delay, end, fin, garbage, repeat, type Script, split } from './kit/byte-script.ts'
import { startFaultedGateway } from './kit/faulted-gateway.ts'
import { streamHead } from './kit/openai-script.ts'

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
/** How often each case runs, cut differently every time; the first time it comes whole, the second byte by byte. */
const SPLITS = 6
const FIRST_BYTE_MS = 400
const IDLE_MS = 300

const PATIENT = { connect: 60_000, first_byte: 60_000, idle: 60_000, total: 120_000 }
const faulted = await startFaultedGateway({
  config: (url) => ({
    providers: {
      up: { protocol: 'openai', base_url: url, api_key: 'k' },
      first: { protocol: 'openai', base_url: url, api_key: 'k', timeout_ms: { ...PATIENT, first_byte: FIRST_BYTE_MS } },
      idle: { protocol: 'openai', base_url: url, api_key: 'k', timeout_ms: { ...PATIENT, idle: IDLE_MS } },
    },
    models: [model('m1', 'up', 'up-model'), model('first', 'first', 'up-model'), model('idle', 'idle', 'up-model')],
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  }),
})
after(() => faulted.stop())

const event = (payload: object | string, lineEnd = '\n'): string =>
  `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}${lineEnd}${lineEnd}`
const role = chunk({ role: 'assistant', content: '' })
const stop = chunk({}, 'stop')
/** A token each, by our count as by the provider's. */
const WORDS = [' hello', ' hello', ' hello', ' hello']
const begun = (lineEnd = '\n'): string =>
  [role, ...WORDS.map((content) => chunk({ content }))].map((each) => event(each, lineEnd)).join('')
const ended = (lineEnd = '\n'): string => event(stop, lineEnd) + event('[DONE]', lineEnd)

/** Odd, and right. */
const READABLE: readonly (readonly [name: string, text: string])[] = [
  ['LF', begun() + ended()],
  ['CRLF', begun('\r\n') + ended('\r\n')],
  ['CR alone', begun('\r') + ended('\r')],
  ['every kind of line end in turn', begun('\r') + event(stop, '\r\n') + event('[DONE]')],
  ['a byte order mark', `\uFEFF${begun()}${ended()}`],
  ['comments and empty lines between events', begun().replaceAll('\n\n', '\n\n: still here\n\n\n\n') + ended()],
  ['comments inside events', begun().replaceAll('data: {', ': why\ndata: {') + ended()],
  ['no space after the colon', (begun() + ended()).replaceAll('data: ', 'data:')],
  [
    'fields that nobody asked for',
    begun().replaceAll('data: {', 'id: 7\0\nretry: bogus\nfoo: bar\nevent: message\ndata: {') + ended(),
  ],
  [
    'JSON over several data lines',
    (begun() + event(stop)).replaceAll('"choices":', '\ndata: "choices":') + event('[DONE]'),
  ],
  ['a last event without its blank line, after a whole answer', `${begun() + event(stop)}data: [DONE]`],
]

/** What must not be passed on. No id of an answer can have it by chance: they have no spaces. */
const LOST = 'lost on the way'

/** After four words. */
const BROKEN: readonly (readonly [name: string, text: string])[] = [
  ['bad JSON', `${begun()}data: {"choices":[{"index":0,"delta":{"content":"${LOST}"\n\n`],
  ['JSON that is no object', begun() + event('"text"')],
  [
    'garbage in data',
    `${begun()}data: ${Buffer.from(garbage(60))
      .toString('latin1')
      .replace(/[\r\n]/g, '?')}\n\n`,
  ],
  ['no blank line between an event and the next', begun() + event(chunk({ content: LOST })).slice(0, -1) + ended()],
  ['no blank line at the end', begun() + event(stop).slice(0, -1)],
  ['events of another field', begun() + ended().replaceAll('data: ', 'date: ')],
  ['a second byte order mark before the end', `${begun()}\uFEFF${event(stop)}`],
]

suite(`F3: malformed event streams, seed ${SEED}`, { concurrency: true }, () => {
  for (const [name, text] of READABLE) {
    test(`F3, SSE-1: ${name}: the same answer wherever it is cut`, async () => {
      for (const cut of splits()) {
        const answer = await faulted.ask({
          stream: true,
          script: [cut, streamHead('close'), bill(WORDS.length), body(text), end],
        })
        const stream = readStream(answer.text)
        assertWireRules(stream, { model: 'm1' })
        assert.equal(stream.error, undefined, answer.text)
        assert.deepEqual([assemble(stream).content, assemble(stream).finishReason], [WORDS.join(''), 'stop'])
        await faulted.assertCharged(answer, { status: 'completed', completionTokens: WORDS.length })
      }
    })
  }

  for (const [name, text] of BROKEN) {
    test(`F3, SSE-2: ${name}: the error event wherever it is cut, nothing of it is passed on, the output before it is charged`, async () => {
      for (const cut of splits()) {
        const answer = await faulted.ask({
          stream: true,
          script: [cut, streamHead(), bill(WORDS.length), body(text), end],
        })
        const stream = readStream(answer.text)
        assertWireRules(stream, { model: 'm1' })
        assert.equal(stream.error?.type, 'upstream_error', answer.text)
        assert.equal(assemble(stream).content, WORDS.join(''))
        assert.ok(!answer.text.includes(LOST), answer.text)
        await faulted.assertCharged(answer, { status: 'incomplete', completionTokens: WORDS.length })
      }
    })
  }

  test('F3, SSE-1: a code point that is torn apart is whole again', async () => {
    const told = 'naïve “résumé” — 日本語 🙂👩‍👩‍👧'
    for (const cut of splits()) {
      const text = event(role) + event(chunk({ content: told })) + ended()
      const answer = await faulted.ask({ stream: true, script: [cut, streamHead('close'), bill(1), body(text), end] })
      assert.equal(assemble(readStream(answer.text)).content, told)
    }
  })
})

const comments: Script = [repeat(4_000, body(': OPENROUTER PROCESSING\n\n'), delay(40))]

test('F3, UP-5: comments for ever do not put off the first event: 503, nothing charged', async () => {
  const answer = await faulted.ask({ model: 'first', stream: true, script: [streamHead(), ...comments, fin] })
  assert.deepEqual([answer.status, errorOf(answer).code], [503, 'provider_error'])
  const [call] = faulted.callsOf(answer)
  await call?.over
  assert.ok(call === undefined || call.abortedAtMs, 'given up while comments came')
  await faulted.assertFree(answer)
})

test('F3, UP-5: endless comments do not extend the idle timeout: the error event, charged for the words', async () => {
  const answer = await faulted.ask({
    model: 'idle',
    stream: true,
    script: [streamHead(), bill(WORDS.length), body(begun()), ...comments, fin],
  })
  const stream = readStream(answer.text)
  assertWireRules(stream, { model: 'idle' })
  assert.equal(stream.error?.type, 'upstream_error')
  const [call] = faulted.callsOf(answer)
  await call?.over
  assert.ok(call?.abortedAtMs, 'given up while comments came')
  await faulted.assertCharged(answer, { status: 'incomplete', completionTokens: WORDS.length })
})

test('F3, INV-6: afterwards nothing is held and everything adds up', () => faulted.assertAgreement())

let state = SEED >>> 0
function* splits() {
  yield split()
  yield split(1)
  for (let left = SPLITS - 2; left > 0; left--) yield split(...Array.from({ length: 5 }, nextSize))
}

/** From 1 to 64, most of them small. */
function nextSize(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return 1 + ((state >>> 24) & (state >>> 16) & 63)
}
