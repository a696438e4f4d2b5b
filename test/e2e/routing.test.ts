/** Routes, retries and breakers, which no database decides. Runs on one database. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { CHAT, completionOf, errorOf, eventually, hello, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { answerJson, completion, ordinary, slowStream } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const good = answerJson(completion({ content: 'Hi' }))
const hosts = await Promise.all(Array.from({ length: 2 }, () => startFakeProvider(good)))
const [one, two] = hosts
assert.ok(one !== undefined && two !== undefined)
/** Nobody listens there, and nobody will: a port that was free a moment ago may be another test's a moment later. */
const DEAD_URL = 'http://127.0.0.1:1'

const endpoint = (url: string, over: object = {}): object => ({
  protocol: 'openai',
  base_url: `${url}/v1`,
  api_key: 'sk-1',
  ...over,
})
const deployed = (id: string, deployments: readonly object[]): object => ({ ...model(id, 'one', 'm'), deployments })
const at = (provider: string, over: object = {}): object => ({ provider, model: `${provider}-m`, ...over })

const gateway = await startGateway({
  config: {
    providers: {
      one: endpoint(one.url),
      two: endpoint(two.url),
      dead: endpoint(DEAD_URL),
      keyed: endpoint(one.url, { api_key: undefined, api_keys: ['sk-1', 'sk-2'] }),
      narrow: endpoint(two.url, { max_in_flight: 1 }),
      storm: endpoint(one.url),
    },
    models: [
      deployed('weighted', [at('one', { weight: 3 }), at('two', { weight: 1 })]),
      deployed('fallback', [at('dead'), at('two', { priority: 1 })]),
      deployed('alone', [at('dead', { model: 'other' })]),
      deployed('keyed', [at('keyed')]),
      deployed('narrow', [at('narrow')]),
      deployed('storm', [at('storm')]),
    ],
    routing: { breaker: { open_ms: 300_000 } },
  },
})
const key = await gateway.key('--operator')
after(async () => {
  await gateway.stop()
  await Promise.all(hosts.map((host) => host.close()))
})

interface Asking {
  readonly over?: object
  readonly key?: string
}

const ask = (name: string, { over = {}, key: own = key }: Asking = {}) =>
  send(gateway, CHAT, { key: own, body: hello({ model: name, ...over }) })
/** Resolves when so many requests are under way, and all of them are past their admission. */
async function underWay(count: number): Promise<void> {
  const gauge = async (): Promise<number> => {
    const { text } = await send(gateway, '/metrics', { key })
    return Number(/^turnpike_active_completions (\d+)$/m.exec(text)?.[1])
  }
  assert.equal(await eventually(gauge, (active) => active === count), count)
  assert.equal((await ask('storm')).status, 200, 'holds are given in the order of arrival')
}
const routeOf = async (name: string): Promise<string> => (await ask(name)).headers['x-turnpike-route'] ?? ''
const talk = (subject: number): object => ({
  messages: [
    { role: 'user', content: `about ${subject}` },
    { role: 'assistant', content: 'Yes?' },
    { role: 'user', content: 'Go on.' },
  ],
})

/** So many that by chance alone less than one run in a hundred million is not as expected. */
const TALKS = 120
/** Under way at once: fewer than a process on a busy machine needs to be overloaded. */
const AT_ONCE = 30

/** Answers to all talks, in their order. */
async function askAll(): Promise<readonly Awaited<ReturnType<typeof ask>>[]> {
  const answers = []
  for (let first = 0; first < TALKS; first += AT_ONCE)
    answers.push(
      ...(await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => ask('weighted', { over: talk(first + at) })))),
    )
  return answers
}

suite('routing', () => {
  test('deployments are called by weight, and a conversation stays where it was answered', async () => {
    // Nothing is answered before all are called: an answer that was slow by chance would count against its provider.
    let called = Promise.withResolvers<void>()
    const together: Script = async (call, reply) => {
      const { promise, resolve } = called
      if ((one.calls.length + two.calls.length) % AT_ONCE === 0) {
        called = Promise.withResolvers<void>()
        resolve()
      }
      await Promise.race([promise, reply.wait(60_000)])
      await good(call, reply)
    }
    for (const host of hosts) host.answer(together)
    const firsts = await askAll()
    assert.ok(firsts.every(({ status }) => status === 200))
    const providers = firsts.map(({ headers }) => headers['x-turnpike-provider'])
    const share = providers.filter((name) => name === 'one').length / providers.length
    assert.ok(share > 0.5 && share < 0.98, `three in four are expected at the first, not ${share}`)
    for (const host of hosts) host.answer(good)
    const nexts = await askAll()
    assert.deepEqual(
      nexts.map(({ headers }) => headers['x-turnpike-provider']),
      providers,
    )
    assert.match(nexts[0]?.headers['x-turnpike-route'] ?? '', /;why=sticky;outcome=answered$/)
  })

  test('UP-1, UP-4: a failing provider is skipped: each answer reports it, and then the provider is not called', async () => {
    const tried = 'dead;model="dead-m";why=priority;outcome=connection, two;model="two-m";why=fallback;outcome=answered'
    const left = 'dead;model="dead-m";skipped=open, two;model="two-m";why=fallback;outcome=answered'
    for (let i = 0; i < 5; i++) assert.equal(await routeOf('fallback'), tried)
    for (let i = 0; i < 5; i++) assert.equal(await routeOf('fallback'), left)
    const streamed = await ask('fallback', { over: { stream: true } })
    assert.equal(streamed.headers['x-turnpike-route'], left)
  })

  test('UP-4: a failing provider without a fallback is a 503 each time, with its route', async () => {
    for (let i = 0; i < 6; i++) {
      const answer = await ask('alone')
      assert.equal(errorOf(answer).code, 'provider_error')
      assert.match(answer.headers['x-turnpike-route'] ?? '', /outcome=connection$/)
    }
    assert.equal(await routeOf('alone'), 'dead;model="other";why=last;outcome=connection')
  })

  test('UP-3: one of two credentials cools down while the other serves', async () => {
    const limited = answerJson({ error: { message: 'slow down' } }, 429, { 'retry-after': '600' })
    const byKey: Script = (call, reply) => (call.headers.authorization === 'Bearer sk-1' ? limited : good)(call, reply)
    one.answer(byKey)
    const before = one.calls.length
    const keys = () => one.calls.slice(before).map(({ headers }) => headers.authorization)
    let asked = 0
    // Which of the two is called is drawn each time: heads a hundred times in a row do not happen.
    while (!keys().includes('Bearer sk-1') && asked < 100) {
      assert.equal((await ask('keyed')).status, 200)
      asked += 1
    }
    for (let i = 0; i < 12; i++) assert.equal((await ask('keyed')).status, 200)
    assert.equal(keys().filter((each) => each === 'Bearer sk-1').length, 1)
    assert.equal(keys().length, asked + 12 + 1)
    one.answer(good)
  })

  test('TM14, UP-4: many requests that the provider rejects open the breaker for nobody', async () => {
    one.answer(answerJson({ error: { message: 'no' } }, 400))
    const refused = await Promise.all(Array.from({ length: 30 }, () => ask('storm')))
    assert.ok(refused.every(({ status }) => status === 400))
    one.answer(good)
    const other = await ask('storm', { key: await gateway.keyOfNewAccount() })
    assert.equal(completionOf(other).choices[0]?.message.content, 'Hi')
    assert.equal(other.headers['x-turnpike-route'], 'storm;model="storm-m";why=only;outcome=answered')
  })

  test('OVL-4: a provider receives no more concurrent calls than its limit, and waiting accounts are served round-robin', async () => {
    const order: string[] = []
    const held: (() => void)[] = []
    let running = 0
    let most = 0
    two.answer(async (call, reply) => {
      most = Math.max(most, ++running)
      order.push(/from-(\w)/.exec(call.body)?.[1] ?? '')
      if (order.length === 1) await new Promise<void>((resolve) => held.push(resolve))
      running -= 1
      await good(call, reply)
    })
    const other = await gateway.keyOfNewAccount()
    const from = (name: string, own: string) =>
      ask('narrow', { key: own, over: { messages: [{ role: 'user', content: `from-${name}` }] } })
    const before = two.calls.length
    const first = from('a', key)
    await two.call(before)
    const crowd = Array.from({ length: 5 }, () => from('a', key))
    await underWay(6)
    const single = from('b', other)
    await underWay(7)
    held[0]?.()
    const answers = await Promise.all([first, single, ...crowd])
    assert.ok(answers.every(({ status }) => status === 200))
    assert.equal(most, 1)
    assert.deepEqual(order.slice(0, 3), ['a', 'a', 'b'])
    two.answer(good)
  })

  test('a stream whose provider is skipped is one stream', async () => {
    two.answer(slowStream(3, 1))
    const { text, status } = await ask('fallback', { over: { stream: true } })
    assert.equal(status, 200)
    assert.match(text, /data: \[DONE\]\n\n$/)
    two.answer(ordinary)
  })
})
