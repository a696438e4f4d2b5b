/** Runs on one database: this is about what a provider sends. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { completionOf, errorOf } from '../support/client.ts'
import { oneModel } from '../support/gateway.ts'
import { completion, eventStream, SSE_HEAD, textChunks } from '../support/providers/answers.ts'
import { body, end, head, type Script, stall } from './kit/byte-script.ts'
import { startFaultedGateway } from './kit/faulted-gateway.ts'
import { goodAnswer } from './kit/openai-script.ts'

const JSON_HEAD = { 'content-type': 'application/json' }
/** Inflated it is 128 MiB, twice what a completion may have; as it is, some 130 KiB. */
const BOMB = gzipSync(Buffer.alloc(128 * 1024 * 1024, ' '))

const faulted = await startFaultedGateway({
  config: (url) => oneModel(url, {}, { routing: { max_attempts: 1, breaker: { failures: 1000 } } }),
})
after(() => faulted.stop())

const compressed = (encoding: string, bytes: Uint8Array, headers: Readonly<Record<string, string>>): Script => [
  head(200, { ...headers, 'content-encoding': encoding }),
  body(bytes),
  end,
]

const text = (stream: boolean): string =>
  stream ? eventStream(textChunks(3)) : JSON.stringify(completion({ content: 'three small words' }))

const REFUSED: readonly (readonly [name: string, script: (stream: boolean) => Script])[] = [
  ['gzip', (stream) => compressed('gzip', gzipSync(text(stream)), headOf(stream))],
  ['br', (stream) => compressed('br', brotliCompressSync(text(stream)), headOf(stream))],
  [
    'gzip a thousand times over, by its header',
    (stream) =>
      compressed(Array.from({ length: 1000 }, () => 'gzip').join(', '), gzipSync(text(stream)), headOf(stream)),
  ],
  ['as many gzips as headers may have', (stream) => compressed(chain(), gzipSync(text(stream)), headOf(stream))],
  ['a bomb', (stream) => compressed('gzip', BOMB, headOf(stream))],
  ['a bomb that never ends', (stream) => [...compressed('gzip', BOMB, headOf(stream)).slice(0, -1), stall]],
  ['an encoding that nobody knows', (stream) => compressed('x-zip', Buffer.from(text(stream)), headOf(stream))],
  ['gzip with an error’s status', () => [head(500, { ...JSON_HEAD, 'content-encoding': 'gzip' }), body(BOMB), end]],
]

function headOf(stream: boolean): Readonly<Record<string, string>> {
  return stream ? SSE_HEAD : JSON_HEAD
}

/** As far as headers may go: 16 KiB of them. */
function chain(): string {
  return Array.from({ length: 2600 }, () => 'gzip').join(',')
}

suite('F7: a provider that compresses what it was not asked to', { concurrency: true }, () => {
  for (const [name, script] of REFUSED) {
    for (const stream of [false, true]) {
      test(`F7, EDGE-4: ${name}, stream ${stream}: refused before it is read, nothing charged`, async () => {
        const answer = await faulted.ask({ stream, script: script(stream) })
        assert.deepEqual([answer.status, errorOf(answer).code], [503, 'provider_error'], answer.text)
        const [call] = faulted.callsOf(answer)
        assert.equal(call?.headers['accept-encoding'], 'identity')
        await faulted.assertFree(answer)
      })
    }
  }

  test('F7: an encoding of identity is none', async () => {
    const answer = await faulted.ask({
      script: goodAnswer(3).map((step) =>
        step.do === 'head' ? { ...step, headers: { ...step.headers, 'content-encoding': 'identity' } } : step,
      ),
    })
    assert.equal(completionOf(answer).choices[0]?.message.content, ' hello hello hello')
  })
})

test('F7, INV-6: afterwards nothing is held and everything adds up', () => faulted.assertAgreement())
