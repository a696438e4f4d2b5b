import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { HANGS, refusal, type Script, testClient } from '../../../test/support/ledger/data-plane.ts'
import { fakeCredit, fakeIdempotency } from '../../../test/support/ledger/fake-credit.ts'
import { only, ordinary, type Plane, plane, STREAM } from '../../../test/support/ledger/plane.ts'
import { frame, textChunks } from '../../../test/support/providers/answers.ts'
import type { IdempotentStart } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import { createResumableStreams, type Relay, type RelayRequest } from './registry.ts'

const KEY = { idempotencyKey: 'k' }
const FIELDS = { requests: { limit: 20, remaining: 7, resetMs: 1500 }, tokens: undefined }

async function settled(): Promise<void> {
  for (let count = 0; count < 20; count++) await turn()
}

const once = ({ ask }: Plane, client = testClient(), lastEventId?: number) =>
  ask(STREAM, client, { ...KEY, lastEventId })

const textOf = ({ written }: { readonly written: readonly string[] }): string => written.join('')
const streams = (graceMs = 0, relay?: Relay) =>
  createResumableStreams({ graceMs: () => graceMs, ...(relay === undefined ? {} : { relay }) })

/** Three words, then nothing until the test says so. */
function inTwoParts() {
  const gate = Promise.withResolvers<void>()
  const [begin, end] = [textChunks(5).slice(0, 4), textChunks(5).slice(4)]
  const script: Script = { body: [...begin.map(frame), () => gate.promise, ...end.map(frame), frame('[DONE]')] }
  return { script, goOn: () => gate.resolve() }
}

/** Three words, then nothing more. */
const begun: Script = { body: [...textChunks(5).slice(0, 4).map(frame), HANGS] }

test('IDEM-6: the whole text is committed with the charge before its last byte is written', async () => {
  const order: string[] = []
  const commit = Promise.withResolvers<void>()
  const credit = fakeCredit({ beforeCommit: () => commit.promise })
  const running = plane(() => ordinary(), { credit })
  const client = testClient({ onEnd: () => order.push(`settled ${credit.settled.length}`) })
  const asked = once(running, client)
  await asked
  assert.deepEqual(order, ['settled 1'])
  const kept = credit.settled[0]?.kept
  assert.equal(kept?.answer?.body, textOf(client))
  assert.equal(kept?.answer?.headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.equal(kept?.answer?.headers['x-turnpike-provider'], 'up')
  assert.equal(running.idempotency.kept.size, 0, 'nobody waited for the commit')
  const between = testClient()
  await once(running, between, 2)
  assert.equal(textOf(between), textOf(client).slice(textOf(client).indexOf('id: 3\n')))
  commit.resolve()
  await settled()
  const after = await once(running)
  assert.equal(after.kept?.body, textOf(client))
  assert.deepEqual([running.network.exchanges.length, running.admitted()], [1, 0])
})

test('IDEM-3: 50 concurrent requests lead to one call, one charge and 50 equal texts, each with its own rate limits', async () => {
  const { script, goOn } = inTwoParts()
  let settledTokens = 0
  const admit = () => ({ ...FIELDS, release: () => {}, settle: () => void settledTokens++ })
  const running = plane(() => script, { admit })
  const clients = Array.from({ length: 50 }, () => testClient())
  const asked = clients.map((client) => once(running, client))
  await settled()
  assert.ok(settledTokens >= 49, 'what repeats reserved is given back at once')
  goOn()
  await Promise.all(asked)
  assert.equal(new Set(clients.map(textOf)).size, 1)
  assert.equal(clients.filter(({ headers }) => headers?.['idempotent-replayed'] === 'true').length, 49)
  assert.ok(clients.every(({ headers }) => headers?.['x-ratelimit-remaining-requests'] === '7'))
  assert.ok(clients.every(({ headers }) => headers?.['x-turnpike-provider'] === 'up'))
  assert.equal(running.network.exchanges.length, 1)
  only(running.records)
})

test('a stream whose clients disconnected runs to its end within the grace period and is completed', async () => {
  const { script, goOn } = inTwoParts()
  const running = plane(() => script, { streams: streams(60_000) })
  const client = testClient()
  const asked = once(running, client)
  await settled()
  client.leave()
  await settled()
  assert.equal(running.network.exchanges[0]?.aborted, false)
  goOn()
  await asked
  assert.equal(only(running.records).status, 'completed')
  const { kept } = await once(running)
  assert.ok(kept?.body.startsWith(textOf(client)))
  assert.match(kept?.body ?? '', /\[DONE\]/)
})

test('INV-7: without a reader within the grace period the call ends; the output is charged and repeats receive the error', async () => {
  const running = plane(() => begun, { streams: streams(0) })
  const client = testClient()
  const asked = once(running, client)
  await settled()
  client.leave()
  await asked
  assert.equal(running.network.exchanges[0]?.aborted, true)
  const record = only(running.records)
  assert.deepEqual([record.status, record.costNanoUsd > 0n], ['client_left', true])
  const { kept } = await once(running)
  assert.equal(kept?.status, 200)
  assert.match(kept?.body ?? '', /"code":"client_left".*\n\nid: \d+\ndata: \[DONE\]\n\n$/)
})

test('R-A17: a stream that is drained for its usage is kept to its end', async () => {
  const { script, goOn } = inTwoParts()
  const running = plane(() => script, { streams: streams(0), upstream: { onDisconnect: 'drain' } })
  const client = testClient()
  const asked = once(running, client)
  await settled()
  client.leave()
  goOn()
  await asked
  assert.equal(only(running.records).status, 'client_left')
  assert.match((await once(running)).kept?.body ?? '', /t4 .*\[DONE\]\n\n$/s)
})

test('without a reader before the first event the call ends, and repeats learn that the client disconnected', async () => {
  const running = plane(() => ({ body: [HANGS] }), { streams: streams(0) })
  const client = testClient()
  const asked = once(running, client)
  await settled()
  client.leave()
  await asked
  assert.equal(running.network.exchanges[0]?.aborted, true)
  const { kept } = await once(running)
  assert.equal(kept?.status, 409)
  assert.equal(JSON.parse(kept?.body ?? '').error.code, 'client_left')
})

test('contract rule 1, IDEM-5: an early failure is a status for all readers and frees the key', async () => {
  const gate = Promise.withResolvers<void>()
  const broken: Script = { ...refusal(500), body: [() => gate.promise, ...(refusal(500).body ?? [])] }
  const running = plane((position) => (position === 0 ? broken : ordinary()), { maxAttempts: 1 })
  const asked = [once(running), once(running)]
  await settled()
  gate.resolve()
  for (const { error } of await Promise.all(asked))
    assert.deepEqual([error?.status, error?.code], [503, 'provider_error'])
  const { client } = await once(running, testClient(), 3)
  assert.match(textOf(client), /^id: 1\n/, 'it runs again, so its events begin at 1')
})

test('a 402 before anything is held is a status and frees the key', async () => {
  const running = plane(() => ordinary(), { credit: fakeCredit({ nanoUsd: 0n }) })
  assert.equal((await once(running)).error?.status, 402)
  assert.equal(running.idempotency.freed.length, 1)
})

test('SSE-4: a stream that broke off is kept with its error event and [DONE]', async () => {
  const script: Script = { body: [...textChunks(3).slice(0, 3).map(frame), new Error('reset')] }
  const running = plane(() => script)
  const { client } = await once(running)
  assert.match(textOf(client), /"type":"upstream_error".*\n\nid: \d+\ndata: \[DONE\]\n\n$/)
  const { kept } = await once(running)
  assert.equal(kept?.body, textOf(client))
  assert.equal(only(running.records).status, 'incomplete')
})

test('at shutdown every reader receives the error in the stream, once', async () => {
  const running = plane(() => begun)
  const clients = [testClient(), testClient()]
  const asked = clients.map((client) => once(running, client))
  await settled()
  running.gateway.interrupt(new GatewayError('shutting_down', 'Bye.'))
  await Promise.all(asked)
  for (const client of clients) {
    assert.equal(textOf(client).split('"code":"shutting_down"').length, 2)
    assert.deepEqual([client.ended, textOf(client).endsWith('data: [DONE]\n\n')], [true, true])
  }
  assert.equal(running.gateway.active, 0)
})

/** A stream that another process runs. */
function elsewhere(relay: Relay, then: readonly IdempotentStart[] = []) {
  const fake = fakeIdempotency()
  const there: IdempotentStart = { kind: 'elsewhere', subjectId: 'chatcmpl-1', instanceId: 'ins_b' }
  const turns = [there, ...then]
  const gone: (string | undefined)[] = []
  const begin: typeof fake.port.begin = async (ask) => {
    gone.push(ask.goneSubjectId)
    return turns.shift() ?? fake.port.begin(ask)
  }
  const running = plane(() => ordinary(), { idempotency: { ...fake, port: { begin } }, streams: streams(0, relay) })
  return { running, gone }
}

test('a stream of another process is passed on with the rate limits of this request', async () => {
  const requests: RelayRequest[] = []
  const { running } = elsewhere(async (ask, client) => {
    requests.push(ask)
    client.expectStream(() => ask.headers({ 'x-turnpike-provider': 'far', 'x-request-id': 'req_far', date: 'x' }))
    client.write('id: 8\ndata: 8\n\n')
    client.endStream()
    return { kind: 'whole' }
  })
  const { client, error } = await once(running, testClient(), 7)
  assert.equal(error, undefined)
  assert.deepEqual([textOf(client), client.ended], ['id: 8\ndata: 8\n\n', true])
  assert.deepEqual(client.headers, { 'x-turnpike-provider': 'far', 'idempotent-replayed': 'true' })
  const { accountId, id, instanceId, after } = requests[0] ?? assert.fail()
  assert.deepEqual([accountId, id, instanceId, after], ['acc_1', 'chatcmpl-1', 'ins_b', 7])
  assert.deepEqual([running.network.exchanges.length, running.credit.asks.length], [0, 0])
})

test('a stream that just ended there is looked up again; one that was answered otherwise leads to that answer', async () => {
  const answer = { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'id: 1\ndata: [DONE]\n\n' }
  const ended = elsewhere(async () => ({ kind: 'unknown' }), [{ kind: 'replay', answer }])
  assert.equal((await once(ended.running)).kept?.body, answer.body)
  const refused = elsewhere(async () => ({ kind: 'answer', answer: { status: 409, headers: {}, body: '{}' } }))
  assert.equal((await once(refused.running)).kept?.status, 409)
})

test('IDEM-7: if the process is gone, the key is looked up again, which decides whether this request may run', async () => {
  const { running, gone } = elsewhere(async () => ({ kind: 'gone' }))
  const { client } = await once(running)
  assert.match(textOf(client), /^id: 1\n.*\[DONE\]\n\n$/s)
  assert.deepEqual(gone, [undefined, 'chatcmpl-1'])
})

test('a relay that breaks off ends with the error event and [DONE]', async () => {
  const { running } = elsewhere(async (ask, client) => {
    client.expectStream(() => ask.headers({}))
    client.write('id: 1\ndata: 1\n\n')
    return { kind: 'cut' }
  })
  const { client } = await once(running)
  assert.match(
    textOf(client),
    /^id: 1\ndata: 1\n\ndata: {"error":{"type":"upstream_error".*idempotency_outcome_unknown/,
  )
  assert.ok(textOf(client).endsWith('data: [DONE]\n\n'))
})

test('an unreachable process that runs leads to a 503, to be retried', async () => {
  const { running } = elsewhere(async () => ({ kind: 'unreachable' }))
  const { error } = await once(running)
  assert.deepEqual([error?.status, error?.retryable, error?.retryAfterMs], [503, true, 5_000])
})

test('a client that disconnects, or is interrupted, ends its relay', async () => {
  for (const leaves of [true, false]) {
    let signal: AbortSignal | undefined
    const { running } = elsewhere((ask) => {
      signal = ask.signal
      return new Promise((resolve) => ask.signal.addEventListener('abort', () => resolve({ kind: 'cut' })))
    })
    const client = testClient()
    const asked = once(running, client)
    await settled()
    if (leaves) client.leave()
    else running.gateway.interrupt(new GatewayError('invalid_credential', 'Revoked.'))
    const { error } = await asked
    assert.equal(signal?.aborted, true)
    assert.equal(error?.code, leaves ? undefined : 'invalid_credential')
    assert.equal(running.gateway.active, 0)
  }
})

test('[limit: kept-streams] the streams of an account, and all together, have a limit of kept bytes; the growing one is no longer kept', async () => {
  const small = createResumableStreams({ graceMs: () => 0, maxBytes: 800 })
  const running = plane(() => ordinary(20), { streams: small })
  const { client } = await once(running)
  assert.equal(client.ended, true)
  assert.equal(running.credit.settled[0]?.kept?.answer, undefined)
  const place = { accountId: only(running.records).accountId, id: 'x' }
  const [one, two] = [small.open(place), small.open({ ...place, id: 'y' })]
  one.write(`data: ${'x'.repeat(100)}\n\n`)
  two.write(`data: ${'x'.repeat(100)}\n\n`)
  assert.notEqual(one.textWith(''), undefined, 'what the first used was given back, and this one fits')
  assert.equal(two.textWith(''), undefined)
  const others = ['acc_2', 'acc_3', 'acc_4', 'acc_5'].map((account) => {
    const stream = small.open({ accountId: account as typeof place.accountId, id: 'x' })
    stream.write(`data: ${'x'.repeat(160)}\n\n`)
    return stream.textWith('') !== undefined
  })
  assert.deepEqual(others, [true, true, true, false], 'an account leaves room for others; all have a limit together')
  assert.equal(small.find({ ...place, accountId: 'acc_9' as typeof place.accountId }), undefined)
})
