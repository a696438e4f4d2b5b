import assert from 'node:assert/strict'
import { afterEach, type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import {
  callerOf,
  deployment,
  HANGS,
  healthOf,
  LONG,
  modelOf,
  type Network,
  playNetwork,
  refusal,
  requestOf,
  type Script,
  streamed,
  testPorts,
  upstreamOf,
  whole,
} from '../../test/support/ledger/data-plane.ts'
import { completion as answer, bodyOf, chunk, frame, textChunks } from '../../test/support/providers/answers.ts'
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import { chatCompletionsApi } from '../protocols/openai-chat/client/index.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { ProviderError } from '../protocols/protocol.ts'
import { beginAnswer } from './attempt.ts'
import { type Answering, type Completion, createCompletion, disconnect, interrupt } from './completion.ts'
import { routeRequest } from './routing/candidates.ts'
import type { UpstreamProvider } from './upstream/transport.ts'
import type { WorstCase } from './worst-case.ts'

interface Begun {
  readonly completion: Completion
  readonly network: Network
  readonly answering: Promise<Answering>
}

interface BeginInput {
  readonly targets?: readonly string[]
  readonly maxAttempts?: number
  readonly random?: () => number
  readonly request?: Partial<ChatRequest>
  readonly model?: Partial<Model>
  readonly upstream?: Partial<UpstreamProvider>
  readonly severalChoices?: boolean
  readonly clock?: () => number
  /** Monotonic milliseconds; now by default. */
  readonly receivedAt?: number
  /** Done to the completion before it begins. */
  readonly before?: (completion: Completion) => void
}

function begin(scriptFor: (host: string, position: number) => Script, input: BeginInput = {}): Begun {
  const { targets = ['a'], maxAttempts = 3, random = () => 0, severalChoices = true, clock = Date.now } = input
  const { receivedAt = clock() } = input
  const network = playNetwork((call, position) => scriptFor(new URL(call.url).hostname.replace('.test', ''), position))
  const protocol = openaiChat({ severalChoices })
  const upstreams = targets.map((name) =>
    upstreamOf({ transport: network.transport, name, protocol, ...input.upstream }),
  )
  const deployments = targets.map((name, priority) => deployment(name, { model: 'theirs', priority }))
  const { ports } = testPorts({ random, clock, health: healthOf({ random, clock }), upstreams })
  const caller = callerOf()
  const request = requestOf(input.request)
  const model = modelOf({ ...input.model, deployments })
  const route = routeRequest({ accountId: caller.accountId, model, request }, ports)
  const completion = createCompletion({
    id: ports.ids.completion(),
    api: chatCompletionsApi,
    caller,
    request,
    model,
    price: { inputMicroUsd: 1_000_000, outputMicroUsd: 2_000_000 },
    priceVersion: 'pv_1',
    worst: WORST,
    limits: { requests: undefined, tokens: undefined, release() {}, settle() {} },
    requestId: 'req_1',
    route,
    candidates: route.candidates,
    fallbacks: [],
    answersAs: model.id,
    createdAt: ports.now(),
    receivedAt,
    clientRequestId: undefined,
  })
  input.before?.(completion)
  begun.push(completion)
  return { completion, network, answering: beginAnswer(completion, ports, { maxAttempts }) }
}

const WORST: WorstCase = {
  promptTokens: 10,
  likelyTokens: 10,
  outputTokens: 1000,
  reasoningTokens: 0,
  lowered: false,
  rates: { inputMicroUsd: 1_000_000, outputMicroUsd: 2_000_000, fixedNanoUsd: 0 },
  tools: { uses: {}, growsPrompt: false },
  bound: {
    tokens: 10,
    likelyTokens: 10,
    otherTokens: 0,
    mediaTokens: 0,
    images: 0,
    hasAudio: false,
    predictionTokens: 0,
    isOpen: false,
  },
}

/** An answer that is not read to its end holds its time-outs. */
const begun: Completion[] = []
afterEach(() => {
  for (const { attempt } of begun.splice(0)) attempt.answering?.abort()
})

const good = streamed(textChunks(2))
const hosts = ({ network }: Begun): string => network.hosts().join(' ').replaceAll('.test', '')

/** Answers in turn with these. */
const inTurn =
  (...scripts: readonly Script[]) =>
  (_host: string, position: number): Script =>
    scripts[position] ?? assert.fail(`call ${position} was not expected`)

async function rejection(begun: Begun): Promise<ProviderError> {
  const error = await begun.answering.then(
    () => assert.fail('it was answered'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ProviderError, String(error))
  return error
}

test('UP-1: after a failed target the next one is called, and the completion records the one that answers', async () => {
  const begun = begin((host) => (host === 'c' ? good : refusal(500)), { targets: ['a', 'b', 'c', 'd'] })
  const answering = await begun.answering
  assert.equal(hosts(begun), 'a b c')
  assert.deepEqual([begun.completion.attempt.count, begun.completion.attempt.running?.target.upstream.name], [3, 'c'])
  assert.equal(begun.completion.attempt.answering, answering)
})

test('UP-1: attempts count across all targets, and the client receives the last failure [limit: attempts]', async () => {
  const begun = begin((_, position) => refusal(500 + position), { targets: ['a', 'b'] })
  assert.equal((await rejection(begun)).failure.status, 502)
  assert.equal(hosts(begun), 'a b a')
  assert.equal(begun.completion.attempt.answering, undefined)
})

test('with max_attempts 1 there is one attempt', async () => {
  const begun = begin(() => refusal(500), { targets: ['a', 'b'], maxAttempts: 1 })
  await rejection(begun)
  assert.equal(hosts(begun), 'a')
})

for (const [name, script] of [
  ['rejected', refusal(400)],
  ['unprocessable', refusal(422)],
  ['too long', refusal(400, { message: 'long', code: 'context_length_exceeded' })],
  ['filtered', refusal(400, { message: 'bad words', code: 'content_filter' })],
] as const) {
  test(`UP-1: a request that is ${name} is not retried`, async () => {
    const begun = begin(() => script, { targets: ['a', 'b'] })
    await rejection(begun)
    assert.equal(hosts(begun), 'a')
  })
}

const UNKNOWN_MODEL = refusal(404)

for (const [name, script] of [
  ['a wrong credential', refusal(401)],
  ['used-up money', refusal(429, { message: 'pay', code: 'insufficient_quota' })],
  ['an unknown model', UNKNOWN_MODEL],
] as const) {
  test(`${name} leads to another target, never to the same one`, async () => {
    const alone = begin(() => script)
    await rejection(alone)
    assert.equal(hosts(alone), 'a')
    const other = begin((host) => (host === 'a' ? script : good), { targets: ['a', 'b'] })
    await other.answering
    assert.equal(hosts(other), 'a b')
    const round = begin((host) => (host === 'a' ? script : refusal(500)), { targets: ['a', 'b'] })
    await rejection(round)
    // A refused credential is none of the three attempts.
    assert.equal(hosts(round), script === UNKNOWN_MODEL ? 'a b b' : 'a b b b')
  })
}

test('no call is made when no target is left', async () => {
  const begun = begin(() => refusal(401), { targets: ['a', 'b'], maxAttempts: 10 })
  await rejection(begun)
  assert.equal(hosts(begun), 'a b')
})

test('a failed connection and an answer that ends too early are retried', async () => {
  const begun = begin(inTurn({ head: new Error('ECONNREFUSED') }, { body: [] }, good))
  await begun.answering
  assert.equal(begun.completion.attempt.count, 3)
})

/** Everything that can happen without time passing has happened. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await turn()
}

/** With it the clock is to be `Date.now`. */
function mockTime(t: TestContext): (ms: number) => Promise<void> {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 })
  return async (ms) => {
    t.mock.timers.tick(ms)
    await settled()
  }
}

test('UP-3: the only target is retried after its Retry-After, up to 2 s', async (t) => {
  const advance = mockTime(t)
  const begun = begin(inTurn(refusal(429, {}, { 'retry-after': '2' }), good))
  await settled()
  await advance(1999)
  assert.equal(begun.network.exchanges.length, 1)
  await advance(1)
  assert.equal(begun.network.exchanges.length, 2)
  await begun.answering
})

test('UP-3: a Retry-After above 2 s is passed on to the client', async () => {
  const begun = begin(inTurn(refusal(429, {}, { 'retry-after': '3' })))
  assert.equal((await rejection(begun)).failure.retryAfterMs, 3000)
  assert.equal(begun.network.exchanges.length, 1)
})

test('UP-3: with another target there is no wait', async () => {
  const begun = begin((host) => (host === 'a' ? refusal(429, {}, { 'retry-after': '3600' }) : good), {
    targets: ['a', 'b'],
  })
  await begun.answering
  assert.equal(hosts(begun), 'a b')
})

test('UP-3: a target with a longer Retry-After is not retried, another one is', async () => {
  const scripts: Readonly<Record<string, Script>> = {
    a: refusal(429, {}, { 'retry-after': '3600' }),
    b: refusal(500),
  }
  for (const targets of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    const begun = begin((host) => scripts[host] ?? good, { targets, maxAttempts: 4 })
    await rejection(begun)
    assert.equal(hosts(begun), `${targets.join(' ')} b b`)
  }
})

test('UP-3: a round begins after the longest Retry-After of its targets', async (t) => {
  const advance = mockTime(t)
  const wait = (seconds: string): Script => refusal(429, {}, { 'retry-after': seconds })
  const begun = begin(inTurn(wait('2'), wait('1'), good), { targets: ['a', 'b'] })
  await settled()
  await advance(1999)
  assert.equal(hosts(begun), 'a b')
  await advance(1)
  assert.equal(hosts(begun), 'a b a')
  await begun.answering
})

test('UP-3: without Retry-After the backoff is full jitter over 100 ms, doubled each round', async (t) => {
  const advance = mockTime(t)
  const begun = begin(() => refusal(500), { maxAttempts: 4, random: () => 0.5 })
  begun.answering.catch(() => {})
  for (const pauseMs of [50, 100, 200]) {
    await settled()
    const asked = begun.network.exchanges.length
    await advance(pauseMs - 1)
    assert.equal(begun.network.exchanges.length, asked, `${pauseMs} ms`)
    await advance(1)
    assert.equal(begun.network.exchanges.length, asked + 1)
  }
  await rejection(begun)
})

test('UP-3: no backoff exceeds 2 s [limit: pause]', async (t) => {
  const advance = mockTime(t)
  const begun = begin(() => refusal(500), { maxAttempts: 12, random: () => 0.999 })
  begun.answering.catch(() => {})
  await settled()
  for (let i = 1; i < 12; i++) await advance(2000)
  assert.equal(begun.network.exchanges.length, 12)
  await rejection(begun)
})

test('UP-3: a backoff follows a round, not a single target', async (t) => {
  const advance = mockTime(t)
  const begun = begin(() => refusal(500), { targets: ['a', 'b'], maxAttempts: 4, random: () => 0.5 })
  begun.answering.catch(() => {})
  await settled()
  assert.equal(hosts(begun), 'a b')
  await advance(50)
  assert.equal(hosts(begun), 'a b a b')
  await rejection(begun)
})

for (const [name, end] of [
  ['the client leaves', disconnect],
  ['the gateway ends', (completion: Completion) => interrupt(completion, new GatewayError('shutting_down', 'Bye.'))],
] as const) {
  test(`R-A4: when ${name} during the backoff, no call follows and the backoff ends`, async (t) => {
    const advance = mockTime(t)
    const begun = begin(() => refusal(500), { random: () => 0.5 })
    begun.answering.catch(() => {})
    await settled()
    end(begun.completion)
    await rejection(begun)
    await advance(100_000)
    assert.equal(begun.network.exchanges.length, 1)
    assert.equal(begun.completion.attempt.answering, undefined, 'no call is under way')
  })

  test(`R-A4: when ${name} before the first event, the call is aborted and not repeated`, async () => {
    const begun = begin(() => ({ body: [HANGS] }))
    begun.answering.catch(() => {})
    await settled()
    end(begun.completion)
    await rejection(begun)
    assert.deepEqual(
      begun.network.exchanges.map(({ aborted }) => aborted),
      [true],
    )
  })

  test(`INV-5: when ${name} before the first attempt, no provider is called`, async () => {
    const begun = begin(() => good, { before: end })
    await assert.rejects(begun.answering)
    assert.deepEqual([begun.network.exchanges.length, begun.completion.attempt.count], [0, 0])
  })
}

test('UP-1: after the first event nothing is retried, whatever the failure', async () => {
  const broken = new Error('ECONNRESET')
  const first = frame(chunk({ content: 'a' }))
  for (const body of [
    [first, broken],
    [first, frame({ error: { message: 'boom' } })],
    [first + frame({ error: { message: 'boom' } })],
    [`${first}data: {broken\n\n`],
  ]) {
    const begun = begin(inTurn({ body }))
    const { calls } = await begun.answering
    const events: ChatEvent[] = []
    assert.equal(await calls[0]?.next(events), true)
    assert.deepEqual(events, [{ type: 'text', index: 0, text: 'a' }])
    await assert.rejects(calls[0]?.next([]) ?? assert.fail(), ProviderError)
    assert.equal(begun.network.exchanges.length, 1)
  }
})

test('a failure before the first output is retried, even with status 200', async () => {
  for (const body of [
    [frame({ error: { message: 'boom' } })],
    [frame(chunk({ role: 'assistant', content: '' })), frame({ error: { message: 'boom' } })],
    ['{"error":{"message":"boom"}}'],
  ]) {
    const begun = begin(inTurn({ body }, good))
    await begun.answering
    assert.equal(begun.completion.attempt.count, 2)
  }
})

test('waiting for providers is not part of the gateway’s own time, over all attempts', async () => {
  let now = 0
  const wait = (ms: number): void => {
    now += ms
  }
  const later = (ms: number, script: Script): Script => ({
    ...script,
    body: [() => wait(ms), ...(script.body ?? [])],
  })
  const begun = begin(inTurn(later(30, refusal(500)), later(12, good)), { clock: () => now })
  await begun.answering
  assert.equal(begun.completion.attempt.upstreamMs, 42)
})

test('a provider of one choice a call receives n calls with different seeds, as one attempt', async () => {
  const begun = begin(() => good, { severalChoices: false, request: { n: 3, seed: 40 } })
  const { calls, spread } = await begun.answering
  assert.deepEqual(
    [calls.length, spread, begun.completion.attempt.count, begun.completion.attempt.usages.length],
    [3, true, 1, 3],
  )
  const bodies = begun.network.exchanges.map(({ call }) => JSON.parse(call.body) as Record<string, unknown>)
  assert.deepEqual(
    bodies.map(({ seed, n }) => [seed, n]),
    [
      [40, undefined],
      [41, undefined],
      [42, undefined],
    ],
  )
})

test('when one of n calls fails, the others are aborted and all are repeated', async () => {
  const begun = begin((_, position) => (position === 1 ? refusal(500) : position < 3 ? { body: [HANGS] } : good), {
    severalChoices: false,
    request: { n: 3 },
  })
  await begun.answering
  assert.deepEqual(
    begun.network.exchanges.map(({ aborted }) => aborted),
    [true, false, true, false, false, false],
  )
  assert.equal(begun.completion.attempt.count, 2)
})

test('a provider of several choices receives one call', async () => {
  const begun = begin(() => good, { request: { n: 3 } })
  const { spread } = await begun.answering
  assert.equal(spread, false)
  assert.equal(JSON.parse(begun.network.exchanges[0]?.call.body ?? '').n, 3)
})

test('a model that cannot stream is called for a whole answer', async () => {
  const capabilities = { ...modelOf().capabilities, streaming: false }
  const begun = begin(() => whole(answer({ content: 'Hello' })), { model: { capabilities } })
  const { calls } = await begun.answering
  const events: ChatEvent[] = []
  await calls[0]?.next(events)
  const [first] = events
  assert.deepEqual(first, { type: 'text', index: 0, text: 'Hello' })
  const call = begun.network.exchanges[0]?.call
  assert.equal(bodyOf({ body: call?.body ?? '' } as Parameters<typeof bodyOf>[0]).stream, undefined)
})

const FATES: Readonly<Record<string, Script>> = {
  answers: good,
  fails: refusal(500),
  limits: refusal(429, {}, { 'retry-after': '0' }),
  refuses: refusal(400),
  forbids: refusal(401),
  breaks: { head: new Error('ECONNRESET') },
}
const FINAL = new Set(['answers', 'refuses'])

test('UP-1: whatever the outcomes, attempts without refused credentials stay within the limit, and none follows an answer or a rejection', async () => {
  const fates = fc.array(fc.constantFrom(...Object.keys(FATES)), { minLength: 12, maxLength: 12 })
  const shape = fc.record({ targets: fc.integer({ min: 1, max: 4 }), maxAttempts: fc.integer({ min: 1, max: 6 }) })
  await fc.assert(
    fc.asyncProperty(fates, shape, async (planned, { targets, maxAttempts }) => {
      const names = ['a', 'b', 'c', 'd'].slice(0, targets)
      const begun = begin((_, position) => FATES[planned[position] ?? ''] ?? good, { targets: names, maxAttempts })
      const answered = await begun.answering.then(
        () => true,
        () => false,
      )
      const called = begun.network.hosts().map((host) => host.replace('.test', ''))
      const happened = planned.slice(0, called.length)
      const counted = happened.filter((fate) => fate !== 'forbids').length
      assert.ok(called.length >= 1 && counted <= maxAttempts)
      assert.equal(begun.completion.attempt.count, called.length)
      assert.equal(answered, happened.at(-1) === 'answers')
      assert.ok(happened.slice(0, -1).every((fate) => !FINAL.has(fate)))
      for (const name of names) {
        const own = happened.filter((_, position) => called[position] === name)
        assert.ok(!own.slice(0, -1).includes('forbids'), `${name}: ${own}`)
      }
      const left = names.filter((name) => !happened.some((fate, i) => fate === 'forbids' && called[i] === name))
      if (counted < maxAttempts && !FINAL.has(happened.at(-1) ?? '')) assert.deepEqual(left, [])
    }),
    { numRuns: 300 },
  )
})

test('UP-3: a 429 without Retry-After is retried after about a second, not sooner', async (t) => {
  const advance = mockTime(t)
  const begun = begin(inTurn(refusal(429), good), { random: () => 0.25 })
  await settled()
  for (let ms = 0; ms < 740; ms += 20) await advance(20)
  assert.equal(begun.network.exchanges.length, 1)
  for (let ms = 0; ms < 60; ms += 10) await advance(10)
  assert.equal(begun.network.exchanges.length, 2)
  await begun.answering
})

test('UP-5: waiting before a call is deducted from its total timeout', async (t) => {
  const advance = mockTime(t)
  const late = begin(() => good, {
    clock: Date.now,
    upstream: { timeouts: { ...LONG, total: 1_000 } },
    receivedAt: -1_000,
  })
  await assert.rejects(late.answering, { code: 'overloaded' })
  assert.equal(late.network.exchanges.length, 0, 'nothing is sent that cannot be waited for')
  const begun = begin(() => ({ head: HANGS }), {
    upstream: { timeouts: { ...LONG, total: 1_000 } },
    receivedAt: -600,
    maxAttempts: 1,
  })
  begun.answering.catch(() => {})
  await settled()
  await advance(399)
  assert.equal(begun.network.exchanges[0]?.aborted, false)
  await advance(1)
  assert.equal(begun.network.exchanges[0]?.aborted, true)
  await rejection(begun)
})

test('UP-5: a retry that would begin after the deadline is not awaited', async () => {
  const timeouts = { ...LONG, total: 1_500 }
  const begun = begin(inTurn(refusal(503, {}, { 'retry-after': '2' })), { upstream: { timeouts } })
  assert.equal((await rejection(begun)).failure.status, 503)
})

test('the attempt log has every attempt, and is empty after a single success', async () => {
  const alone = begin(() => good)
  await alone.answering
  assert.deepEqual(alone.completion.attempt.log, [])
  const begun = begin((host) => (host === 'a' ? refusal(500) : host === 'b' ? { head: new Error('no') } : good), {
    targets: ['a', 'b', 'c'],
    clock: () => 0,
  })
  await begun.answering
  const times = { startedMs: 0, durationMs: 0 }
  const unreachable = 'The connection to the provider failed.'
  assert.deepEqual(begun.completion.attempt.log, [
    { provider: 'a', model: 'theirs', outcome: 'failed', status: 500, ...times, message: 'no' },
    { provider: 'b', model: 'theirs', outcome: 'failed', status: 0, ...times, message: unreachable },
    { provider: 'c', model: 'theirs', outcome: 'answered', status: 200, ...times },
  ])
})

test('the attempt log says cut for an answer that broke off, and abandoned for one that was given up', async () => {
  const cut = begin(() => ({ body: [frame(chunk({ content: 'a' })), new Error('ECONNRESET')] }))
  const { calls } = await cut.answering
  await calls[0]?.next([])
  await assert.rejects(calls[0]?.next([]) ?? assert.fail())
  assert.deepEqual(
    cut.completion.attempt.log.map(({ outcome }) => outcome),
    ['cut'],
  )
  const left = begin(() => ({ head: HANGS }))
  left.answering.catch(() => {})
  await settled()
  disconnect(left.completion)
  await rejection(left)
  assert.deepEqual(
    left.completion.attempt.log.map(({ outcome }) => outcome),
    ['abandoned'],
  )
})
