import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { HANGS, refusal, type Script, testClient, whole } from '../../../test/support/ledger/data-plane.ts'
import { fakeCredit, fakeIdempotency } from '../../../test/support/ledger/fake-credit.ts'
import { type Asked, hello, only, type Plane, type PlaneInput, plane } from '../../../test/support/ledger/plane.ts'
import { completion as answer, counts } from '../../../test/support/providers/answers.ts'
import { GatewayError } from '../../domain/errors.ts'

const KEY = { idempotencyKey: 'k' }
const good = whole(answer({ content: 'Hi' }, { usage: counts(10, 5) }))
const requests = { limit: 20, remaining: 7, resetMs: 1500 }
const limited: PlaneInput['admit'] = () => ({ requests, tokens: undefined, release: () => {}, settle: () => {} })

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await turn()
}

const once = ({ ask }: Plane, client = testClient()): Promise<Asked> => ask(hello(), client, KEY)

test('IDEM-4, INV-8: a repeat receives status, body and headers of the first, with its own rate limits, and costs nothing', async () => {
  const running = plane(() => good, { admit: limited })
  const first = await once(running)
  const { kept, client, error } = await once(running)
  assert.deepEqual([error, client.ended], [undefined, false], 'the answer is for the route to send')
  assert.deepEqual([kept?.status, kept?.body], [200, first.client.body])
  assert.deepEqual(kept?.headers, {
    'content-type': 'application/json; charset=utf-8',
    'x-ratelimit-limit-requests': '20',
    'x-ratelimit-remaining-requests': '7',
    'x-ratelimit-reset-requests': '1.5s',
    'x-turnpike-provider': 'up',
    'x-turnpike-route': 'up;model="up-model";why=only;outcome=answered',
    'x-turnpike-attempts': '1',
    'x-turnpike-overhead-ms': '0.000',
    'x-turnpike-cost-usd': '0.00002',
    'idempotent-replayed': 'true',
  })
  assert.deepEqual([running.network.exchanges.length, running.credit.holds.length], [1, 1])
  only(running.records)
})

test('a kept answer has neither the rate limits nor the IDs of the first request', async () => {
  const running = plane(() => good, { admit: limited })
  await once(running)
  const names = Object.keys(running.idempotency.kept.get('k')?.headers ?? {})
  assert.deepEqual(
    names.filter((name) => !name.startsWith('x-turnpike-')),
    ['content-type'],
  )
})

test('the port receives account, endpoint, body, the completion’s ID and the provider’s total timeout', async () => {
  const running = plane(() => good)
  await once(running)
  assert.deepEqual(running.idempotency.asks, [
    {
      accountId: 'acc_1',
      endpoint: 'POST /v1/chat/completions',
      key: 'k',
      body: hello(),
      fingerprint: undefined,
      stream: false,
      goneSubjectId: undefined,
      subjectId: only(running.records).id,
      patienceMs: 600_000,
    },
  ])
})

test('IDEM-6: the answer is committed with its charge, and sent after both', async () => {
  const commit = Promise.withResolvers<void>()
  const running = plane(() => good, { credit: fakeCredit({ beforeCommit: () => commit.promise }) })
  const client = testClient()
  const asked = once(running, client)
  await settled()
  const [charge] = running.credit.settled
  assert.deepEqual([client.ended, running.idempotency.kept.size], [false, 0])
  assert.equal(charge?.kept?.key, 'k')
  commit.resolve()
  await asked
  assert.equal(client.body, charge?.kept?.answer?.body)
  assert.equal(running.idempotency.kept.get('k')?.body, client.body)
})

test('R-A15: a request that is interrupted while its charge is committed is answered immediately; the charge is safe', async () => {
  const commit = Promise.withResolvers<void>()
  const running = plane(() => good, { credit: fakeCredit({ beforeCommit: () => commit.promise }) })
  const asked = once(running)
  await settled()
  running.gateway.interrupt(new GatewayError('shutting_down', 'Bye.'))
  const { client, error } = await asked
  assert.deepEqual([error, client.ended, running.idempotency.kept.size], [undefined, true, 0])
  commit.resolve()
  await settled()
  assert.equal(running.idempotency.kept.size, 1)
})

test('IDEM-3: 50 concurrent requests lead to one call, one charge and 50 equal answers', async () => {
  const go = Promise.withResolvers<void>()
  const running = plane(() => ({ ...good, body: [() => go.promise, ...(good.body ?? [])] }))
  const asked = Array.from({ length: 50 }, () => once(running))
  await settled()
  assert.equal(running.idempotency.waiting('k'), 49)
  go.resolve()
  const answers = await Promise.all(asked)
  assert.equal(new Set(answers.map(({ client, kept }) => kept?.body ?? client.body)).size, 1)
  assert.equal(answers.filter(({ kept }) => kept?.headers['idempotent-replayed'] === 'true').length, 49)
  assert.deepEqual([running.network.exchanges.length, running.records.length, running.admitted()], [1, 1, 0])
})

test('IDEM-2, INV-13: a rejected key holds nothing, reaches no provider, and has the rate limit headers', async () => {
  const { port, ...rest } = fakeIdempotency()
  const begin = (): Promise<never> => Promise.reject(new GatewayError('idempotency_key_reused', 'Another body.'))
  const running = plane(() => good, { admit: limited, idempotency: { ...rest, port: { ...port, begin } } })
  const { error } = await once(running)
  assert.deepEqual([error?.code, error?.status], ['idempotency_key_reused', 409])
  assert.equal(error?.headers?.['x-ratelimit-limit-requests'], '20')
  assert.deepEqual([running.credit.asks.length, running.network.exchanges.length], [0, 0])
})

const FREE: readonly (readonly [name: string, script: Script, input: PlaneInput, status: number])[] = [
  ['an error of the provider', refusal(500), {}, 503],
  ['a refusal of the provider', refusal(400), {}, 400],
  ['a hold that does not fit', good, { credit: fakeCredit({ nanoUsd: 0n }) }, 402],
]
for (const [name, script, input, status] of FREE) {
  test(`IDEM-5: ${name} charges nothing and frees the key, and waiting repeats receive the answer`, async () => {
    const running = plane(() => script, { maxAttempts: 1, ...input })
    const { error } = await once(running)
    assert.equal(error?.status, status)
    assert.deepEqual([running.idempotency.kept.size, running.idempotency.freed.length], [0, 1])
    const [freed] = running.idempotency.freed
    assert.equal(freed?.status, status)
    const body = JSON.parse(freed?.body ?? '')
    assert.deepEqual([body.error.code, body.error.request_id], [error?.code, 'req_1'])
    assert.equal(freed?.headers['x-should-retry'], error?.retryable === true ? undefined : 'false')
    assert.equal(freed?.headers['retry-after'], error?.retryable === true ? '1' : undefined)
  })
}

/** Of two calls one is answered and one fails: what the first generated is owed. */
const halfBroken = (position: number): Script => {
  const broken = refusal(500)
  return position % 2 === 0 ? good : { ...broken, body: [settled, ...(broken.body ?? [])] }
}

test('IDEM-5, IDEM-6: a charged error is kept, marked as final, and replayed', async () => {
  const running = plane(halfBroken, { severalChoices: false, maxAttempts: 1 })
  const { error } = await running.ask(hello({ n: 2 }), testClient(), KEY)
  const record = only(running.records)
  assert.deepEqual([record.status, record.costNanoUsd > 0n], ['incomplete', true])
  assert.deepEqual([error?.code, error?.headers?.['x-should-retry']], ['provider_error', 'false'])
  assert.equal(running.credit.settled[0]?.kept?.answer?.status, 503)
  const { kept } = await running.ask(hello({ n: 2 }), testClient(), KEY)
  assert.deepEqual([kept?.status, kept?.headers['x-should-retry']], [503, 'false'])
  assert.equal(JSON.parse(kept?.body ?? '').error.code, 'provider_error')
  assert.equal(running.network.exchanges.length, 2)
})

test('the disconnect of the only client ends the call; a charged outcome is kept as its error', async () => {
  const running = plane(() => ({ headers: { 'content-type': 'application/json' }, body: ['{', HANGS] }))
  const client = testClient()
  const asked = once(running, client)
  await settled()
  client.leave()
  await asked
  assert.equal(running.network.exchanges[0]?.aborted, true)
  const record = only(running.records)
  assert.deepEqual([record.status, record.costNanoUsd > 0n], ['client_left', true])
  const { kept } = await once(running)
  const { error } = JSON.parse(kept?.body ?? '')
  assert.deepEqual(
    [kept?.status, error.type, error.code, error.completion_id],
    [409, 'conflict', 'client_left', record.id],
  )
  assert.match(error.message, /new key/)
  assert.equal(kept?.headers['x-should-retry'], 'false')
})

test('a client that disconnects while others wait does not end their answer', async () => {
  const go = Promise.withResolvers<void>()
  const running = plane(() => ({ ...good, body: [() => go.promise, ...(good.body ?? [])] }))
  const [leaving, staying] = [testClient(), testClient()]
  const first = once(running, leaving)
  await settled()
  const second = once(running, staying)
  await settled()
  leaving.leave()
  go.resolve()
  await first
  const { kept } = await second
  assert.equal(kept?.status, 200)
  assert.deepEqual([leaving.ended, running.network.exchanges[0]?.aborted], [false, false])
  assert.equal(only(running.records).status, 'completed')
})

test('with waiting repeats a call is retried after its client disconnected', async () => {
  const go = Promise.withResolvers<void>()
  const first: Script = { ...refusal(500), body: [() => go.promise, ...(refusal(500).body ?? [])] }
  const running = plane((position) => (position === 0 ? first : good))
  const leaving = testClient()
  const asked = [once(running, leaving), once(running)]
  await settled()
  leaving.leave()
  go.resolve()
  const [, second] = await Promise.all(asked)
  assert.deepEqual([second?.kept?.status, running.network.exchanges.length], [200, 2])
})

test('R-A17: an answer that is drained for a disconnected client is kept for its repeat', async () => {
  const client = testClient()
  const script = { ...good, body: [() => client.leave(), ...(good.body ?? [])] }
  const running = plane(() => script, { upstream: { onDisconnect: 'drain' } })
  await once(running, client)
  assert.equal(only(running.records).status, 'client_left')
  assert.equal((await once(running)).kept?.status, 200)
})

test('INV-5: a client that disconnects before anything was sent frees the key', async () => {
  const committing = Promise.withResolvers<void>()
  const running = plane(() => good, { credit: fakeCredit({ beforeHold: () => committing.promise }) })
  const client = testClient()
  const asked = once(running, client)
  await settled()
  client.leave()
  committing.resolve()
  await asked
  assert.deepEqual(running.credit.events, ['hold', 'release'])
  const [freed] = running.idempotency.freed
  assert.deepEqual([freed?.status, freed?.headers['x-should-retry']], [503, undefined], 'a repeat mends it')
})

test('a waiting request ends when the gateway stops, and a lease that arrives too late is returned', async () => {
  const late = Promise.withResolvers<void>()
  const fake = fakeIdempotency()
  const begin: typeof fake.port.begin = async (ask) => {
    await late.promise
    return fake.port.begin(ask)
  }
  const running = plane(() => good, { idempotency: { ...fake, port: { begin } } })
  const asked = once(running)
  await settled()
  running.gateway.interrupt(new GatewayError('shutting_down', 'Bye.'))
  assert.equal((await asked).error?.code, 'shutting_down')
  assert.equal(running.gateway.active, 0)
  late.resolve()
  await settled()
  assert.deepEqual([fake.freed.length, running.credit.asks.length, running.network.exchanges.length], [1, 0, 0])
})

test('IDEM-7: a request that may have lost its key while the hold was committed sends nothing', async () => {
  for (const input of [
    { idempotency: fakeIdempotency({ owned: () => false }) },
    { credit: fakeCredit({ unrecorded: true }) },
  ]) {
    const running = plane(() => good, input)
    const { error } = await once(running)
    assert.equal(error?.status, 503)
    assert.deepEqual(running.credit.events, ['hold', 'release'])
    assert.deepEqual([running.network.exchanges.length, running.idempotency.freed.length], [0, 1])
  }
})
