/** Runs on one database: it is about the wire. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { errorOf } from '../support/client.ts'
import { model } from '../support/gateway.ts'
import type { Script } from './kit/byte-script.ts'
import { type FaultAnswer, startFaultedGateway } from './kit/faulted-gateway.ts'
import { failure, goodAnswer, goodStream } from './kit/openai-script.ts'

/** A credential that was limited rests, for everybody: each case has a provider of its own. */
const CASES = ['second', 'hour', 'date', 'garbage', 'none', 'negative', 'passed', 'storm'] as const
type Case = (typeof CASES)[number]

const faulted = await startFaultedGateway({
  config: (url) => ({
    providers: Object.fromEntries(
      [...CASES, 'spare'].map((name) => [name, { protocol: 'openai', base_url: `${url}/${name}`, api_key: 'k' }]),
    ),
    models: CASES.flatMap((name) => [
      model(name, name, 'up-model'),
      {
        ...model(`${name}-or-spare`, name, 'other-model'),
        deployments: [
          { provider: name, model: 'other-model', priority: 0 },
          { provider: 'spare', model: 'other-model', priority: 1 },
        ],
      },
    ]),
    routing: { max_attempts: 3, breaker: { failures: 5 } },
  }),
})
after(() => faulted.stop())

const limited = (retryAfter?: string): Script =>
  failure(429, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
const inMs = (ms: number): string => new Date(Date.now() + ms).toUTCString()

function assertPassedOn(answer: FaultAnswer): void {
  const { code, retry_after: seconds } = errorOf(answer)
  assert.deepEqual([answer.status, code], [503, 'provider_rate_limited'], answer.text)
  assert.ok(Number(answer.headers['retry-after']) >= 1 && Number(answer.headers['retry-after']) <= 60)
  assert.equal(seconds, Number(answer.headers['retry-after']))
}

/** How long after its first call the gateway called again. */
function waitedMs(answer: FaultAnswer): number {
  const [first, second] = faulted.callsOf(answer)
  assert.ok(first && second, 'called a second time')
  return second.receivedAtMs - first.receivedAtMs
}

suite('F4: a provider that answers 429', { concurrency: true }, () => {
  test('F4, UP-3: Retry-After of 1 s is waited for, and then it is tried again', async () => {
    const script = (attempt: number): Script => (attempt === 0 ? limited('1') : goodAnswer(3))
    const answer = await faulted.ask({ model: 'second', script })
    assert.equal(answer.status, 200, answer.text)
    assert.ok(waitedMs(answer) >= 950, `waited ${waitedMs(answer)} ms`)
    assert.equal(faulted.callsOf(answer).length, 2)
    await faulted.assertCharged(answer, { status: 'completed', completionTokens: 3 })
  })

  const FAR: readonly (readonly [name: string, model: Case, retryAfter: () => string])[] = [
    ['of 3600 s', 'hour', () => '3600'],
    ['with a date in ten minutes', 'date', () => inMs(600_000)],
  ]
  for (const [name, limitedModel, retryAfter] of FAR) {
    test(`F4, UP-3: Retry-After ${name}: another provider answers immediately`, async () => {
      const answer = await faulted.ask({
        model: `${limitedModel}-or-spare`,
        stream: true,
        script: (_, { path }) => (path.startsWith('/spare') ? goodStream({ words: 3 }) : limited(retryAfter())),
      })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(
        faulted.callsOf(answer).map(({ path }) => path.split('/')[1]),
        [limitedModel, 'spare'],
      )
      assert.ok(waitedMs(answer) < 30_000, `waited ${waitedMs(answer)} ms`)
      await faulted.assertCharged(answer, { status: 'completed', completionTokens: 3 })
    })

    test(`F4, UP-3: Retry-After ${name}, and there is no other provider: passed on immediately, nothing charged`, async () => {
      const answer = await faulted.ask({ model: limitedModel, script: limited(retryAfter()) })
      assertPassedOn(answer)
      assert.equal(answer.headers['retry-after'], '60', 'what was asked for, as far as we tell clients to wait')
      assert.equal(faulted.callsOf(answer).length, 1)
      await faulted.assertFree(answer)
    })
  }

  const IGNORED: readonly (readonly [name: string, model: Case, retryAfter: string | undefined])[] = [
    ['that is garbage', 'garbage', 'soon, promised'],
    ['that is not there', 'none', undefined],
    ['that is negative', 'negative', '-5'],
    ['with a date that has passed', 'passed', inMs(-60_000)],
  ]
  for (const [name, limitedModel, retryAfter] of IGNORED) {
    test(`F4, UP-3: Retry-After ${name} stops nobody from retrying soon`, async () => {
      const script = (attempt: number): Script => (attempt === 0 ? limited(retryAfter) : goodAnswer(3))
      const answer = await faulted.ask({ model: limitedModel, script })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(faulted.callsOf(answer).length, 2)
      await faulted.assertCharged(answer, { status: 'completed', completionTokens: 3 })
    })
  }
})

test('F4, UP-4, TM14: a storm of 429s leaves the breaker closed', async () => {
  const refused = await Promise.all(
    Array.from({ length: 20 }, () => faulted.ask({ model: 'storm', script: limited('0') })),
  )
  for (const answer of refused) assertPassedOn(answer)
  assert.equal((await faulted.deployment('storm', 'up-model'))?.breaker, 'closed')
  assert.equal((await faulted.ask({ model: 'storm', script: goodAnswer(1) })).status, 200)
})

test('F4, INV-6, INV-13: afterwards nothing is held and everything adds up', () => faulted.assertAgreement())
