/**
 * Millions of events: slow. Fast cases of the same caps are in `test/e2e/provider-faults.test.ts`. Runs on one database:
 * this is about what a provider sends.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { CHAT, hello, open } from '../support/client.ts'
import { oneModel } from '../support/gateway.ts'
import { chunk, frame } from '../support/providers/answers.ts'
import { bill, body, end, fin, repeat, type Script, type Step } from './kit/byte-script.ts'
import { startFaultedGateway } from './kit/faulted-gateway.ts'
import { finish, goodStream, streamBegun } from './kit/openai-script.ts'
import { figuresWhile } from './kit/process-figures.ts'

const MIB = 1024 * 1024
const PIECE_BYTES = 64 * 1024
const MAX_GROWTH_BYTES = 32 * MIB
const MAX_DELAY_MS = 200
/** As long as the process is late because others had its core. */
const TRIES = 3
const WARM_UPS = 300

const faulted = await startFaultedGateway({
  config: (url) => oneModel(url, {}, { routing: { max_attempts: 1, breaker: { failures: 1000 } } }),
})
after(() => faulted.stop())

/** Of a stream that is too long to be kept: how it ended. */
interface Ending {
  readonly prompt: string
  readonly events: number
  readonly tail: string
}

/** Once in each event that the gateway sends; pieces may cut it in two. */
const EVENT_MARK = '"object"'
let asked = 0
async function flood(script: Script): Promise<Ending> {
  const prompt = `flood-${++asked}`
  faulted.provider.answer(script)
  const response = await open(faulted.gateway, CHAT, {
    key: faulted.key,
    body: hello({ stream: true, messages: [{ role: 'user', content: prompt }] }),
    headers: { 'x-client-request-id': prompt },
  })
  assert.equal(response.statusCode, 200)
  let events = 0
  let tail = ''
  for await (const piece of response.body) {
    const text = String(piece)
    events += (tail.slice(1 - EVENT_MARK.length) + text).split(EVENT_MARK).length - 1
    tail = (tail + text).slice(-1000)
  }
  return { prompt, events, tail }
}

const begun = streamBegun({ words: 3 })
const pieces = (bytes: number): Script => [repeat(bytes / PIECE_BYTES, body('x'.repeat(PIECE_BYTES)))]
const MANY = 1_000_000
const AT_ONCE = 1000
const EVENT = frame(chunk({ content: ' hello' }))
const SMALL_EVENT = frame({ choices: [{ index: 0, delta: { content: ' a' } }] })
/** The provider was sent a limit of 1 000 tokens: text beyond it counts up to as much again and 1 024. */
const MOST_CHARGED = 2 * 1_000 + 1_024
const tiny = (event: string, times = MANY): Step => repeat(times / AT_ONCE, body(event.repeat(AT_ONCE)))

const TOO_LARGE: readonly (readonly [name: string, script: Script])[] = [
  [
    'one event of 10 MB',
    [...begun, body('data: {"choices":[{"index":0,"delta":{"content":"'), ...pieces(10 * MIB), body('"}}]}\n\n'), end],
  ],
  ['10 MB without a line end', [...begun, ...pieces(10 * MIB), end]],
  ['10 MB of one comment', [...begun, body(': '), ...pieces(10 * MIB), end]],
  ['10 MB of lines of one event', [...begun, repeat(160, body(`data: ${'x'.repeat(60)}\n`.repeat(1000))), end]],
]

/** What is asked of the process, whatever a provider sends. */
async function bounded(work: () => Promise<void>): Promise<void> {
  let measured = await figuresWhile(faulted.gateway, work)
  const isHeldUp = (): boolean => measured.delayP99Ms >= MAX_DELAY_MS && measured.waitedMs >= MAX_DELAY_MS
  for (let tries = 1; tries < TRIES && isHeldUp(); tries++) measured = await figuresWhile(faulted.gateway, work)
  const { grownBytes, delayP99Ms, delayMaxMs, waitedMs } = measured
  const figures = `grown ${Math.round(grownBytes / MIB)} MiB, delay p99 ${delayP99Ms.toFixed(0)} ms, max ${delayMaxMs.toFixed(0)} ms, ${waitedMs.toFixed(0)} ms without a core`
  console.log(`F6: ${figures}`)
  assert.ok(grownBytes < MAX_GROWTH_BYTES, figures)
  assert.ok(delayP99Ms < MAX_DELAY_MS + waitedMs, figures)
}

suite('F6: a provider that floods', () => {
  before(async () => {
    for (let time = 0; time < WARM_UPS; time++) await flood(goodStream({ words: 200 }))
    await flood([...begun, tiny(EVENT), fin]) // the first estimate starts the thread that counts; memory is given room
  })

  for (const [name, script] of TOO_LARGE) {
    test(`F6, UP-6, TM15: ${name}: ended at 1 MiB, with the error event, charged for the words before it`, async () => {
      const index = faulted.provider.calls.length
      await bounded(async () => {
        const { prompt, tail } = await flood(script)
        assert.match(tail, /"type":"upstream_error"[^\n]*\n\ndata: \[DONE\]\n\n$/)
        await faulted.assertCharged({ prompt }, { status: 'incomplete', completionTokens: 3 })
      })
      const call = await faulted.provider.call(index)
      await call.over
      assert.ok(call.abortedAtMs, 'the provider’s connection is gone')
    })
  }

  test('F6: a million tiny events pass, and are charged up to the requested limit', async () => {
    const script = [...begun, bill(MANY), tiny(SMALL_EVENT), ...finish(MANY + 3)]
    await bounded(async () => {
      const { prompt, events, tail } = await flood(script)
      assert.ok(events >= MANY, `${events} events`)
      assert.ok(tail.endsWith('data: [DONE]\n\n'))
      await faulted.assertCharged({ prompt }, { status: 'completed', completionTokens: MOST_CHARGED })
    })
  })

  test('F6, UP-6: a million events that are too much together end at the cap of a completion, charged for those before', async () => {
    await bounded(async () => {
      const { prompt, events, tail } = await flood([...begun, bill(MANY), tiny(EVENT), ...finish(MANY + 3)])
      assert.match(tail, /"type":"upstream_error"[^\n]*\n\ndata: \[DONE\]\n\n$/)
      assert.ok(events > MANY / 4 && events < MANY, `${events} events`)
      const [row] = await faulted.rowsOf({ prompt })
      assert.equal(row?.completion_tokens, MOST_CHARGED)
    })
  })

  test('F6: a million comments and a million empty events cost nothing and break nothing', async () => {
    const empty = repeat(1000, body(':\n'.repeat(1000) + 'data: {}\n\n'.repeat(1000)))
    await bounded(async () => {
      const { prompt, tail } = await flood([...begun, empty, ...finish(3)])
      assert.ok(tail.endsWith('data: [DONE]\n\n'))
      await faulted.assertCharged({ prompt }, { status: 'completed', completionTokens: 3 })
    })
  })
})

test('F6, INV-4, INV-6: afterwards nothing is held and everything adds up', () => faulted.assertAgreement())
