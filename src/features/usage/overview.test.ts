import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { testIds } from '../../../test/support/database.ts'
import { completionIdAt, completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { agentReference } from '../../domain/agent.ts'
import type { AttemptNote, AttemptOutcome, CompletionRecord, CompletionStatus } from '../../domain/completion.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { callerOf } from '../../http/caller.ts'
import { DAY_MS, HOUR_MS } from './period.ts'
import { usageRoutes } from './routes.ts'

const MINUTE_MS = 60_000
const INTERVAL_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }

async function setUp(t: TestContext) {
  const fixture = await openCreditFixture(t)
  const ask = await serveRoutes(t, fixture, [
    usageRoutes({ ...fixture, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1) }),
  ])
  const get = (query: Readonly<Record<string, string | undefined>>) => {
    const said = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
    return ask(`/usage/completions?${new URLSearchParams(said)}`, 'acc_a')
  }
  return { ...fixture, get }
}

const START = Date.UTC(2026, 4, 1)
const iso = (time: number) => new Date(time).toISOString()

interface Overview {
  readonly interval: keyof typeof INTERVAL_MS
  readonly width: number
  readonly buckets: readonly ({ readonly at: string } & Readonly<Record<CompletionStatus, number>>)[]
}

/** By hand, over the records themselves. */
function expectedBuckets({ interval, width, buckets }: Overview, records: readonly CompletionRecord[]) {
  const bucketMs = INTERVAL_MS[interval] * width
  return buckets.map(({ at }) => {
    const from = Date.parse(at)
    const inside = records.filter(({ createdAt }) => createdAt >= from && createdAt < from + bucketMs)
    const of = (wanted: CompletionStatus) => inside.filter(({ status }) => status === wanted).length
    return {
      at,
      completed: of('completed'),
      failed: of('failed'),
      client_left: of('client_left'),
      incomplete: of('incomplete'),
    }
  })
}

const [agent, other] = [testIds.agent(), testIds.agent()]
const runs = [
  agentReference(agent, testIds.run()),
  agentReference(agent, testIds.run()),
  agentReference(other, testIds.run()),
]
const note = (outcome: AttemptOutcome, message?: string): AttemptNote => ({
  ...{ provider: 'p', model: 'm', outcome, status: 0, startedMs: 0, durationMs: 1 },
  message,
})
const logs = [
  undefined,
  [note('rate_limited'), note('answered')],
  [note('failed', '{"outcome":"rate_limited"}')], // a provider's text is not an outcome
]
const recordArbitrary = fc.record({
  durationMs: fc.constantFrom(10, 500, 5_000),
  costNanoUsd: fc.constantFrom(0n, 1_500n, 2_000_000_000n) as fc.Arbitrary<NanoUsd>,
  attemptLog: fc.constantFrom(...logs),
  model: fc.constantFrom('m1', 'm2'),
  keyId: fc.constantFrom('key_a', 'key_b') as fc.Arbitrary<KeyId>,
  accountId: fc.constantFrom('acc_a', 'acc_a', 'acc_b') as fc.Arbitrary<AccountId>,
  provider: fc.constantFrom('p', 'q'),
  status: fc.constantFrom<CompletionStatus>('completed', 'completed', 'failed', 'client_left', 'incomplete'),
  clientRequestId: fc.constantFrom(undefined, 'mine', ...runs),
  createdAt: fc.oneof(
    fc.integer({ min: START, max: START + 6 * DAY_MS }),
    fc.integer({ min: START, max: START + 90 * MINUTE_MS }),
  ),
})
const filterArbitrary = fc.record({
  model: fc.constantFrom('m1', undefined, undefined),
  key_id: fc.constantFrom('key_a', undefined, undefined),
  status: fc.constantFrom('completed', 'failed', 'incomplete', undefined, undefined),
  provider: fc.constantFrom('q', undefined, undefined),
  client_request_id: fc.constantFrom('mine', runs[0], undefined, undefined, undefined),
  agent_id: fc.constantFrom(agent, undefined, undefined, undefined),
  outcome: fc.constantFrom('rate_limited', 'failed', undefined, undefined, undefined, undefined),
  min_duration_ms: fc.constantFrom('500', undefined, undefined, undefined),
  max_duration_ms: fc.constantFrom('500', undefined, undefined, undefined),
  min_cost_usd: fc.constantFrom('0.0000015', undefined, undefined, undefined),
  max_cost_usd: fc.constantFrom('0.000001500', '0', undefined, undefined, undefined),
})
type Filter = typeof filterArbitrary extends fc.Arbitrary<infer Value> ? Value : never

function passes(record: CompletionRecord, filter: Filter): boolean {
  const { client_request_id: name, agent_id: agentId } = filter
  return (
    (filter.model ?? record.model) === record.model &&
    (filter.key_id ?? record.keyId) === record.keyId &&
    (filter.status ?? record.status) === record.status &&
    (filter.provider ?? record.provider) === record.provider &&
    (filter.outcome === undefined || record.attemptLog?.some(({ outcome }) => outcome === filter.outcome) === true) &&
    record.durationMs >= Number(filter.min_duration_ms ?? 0) &&
    record.durationMs <= Number(filter.max_duration_ms ?? Number.POSITIVE_INFINITY) &&
    Number(record.costNanoUsd) >= Math.round(Number(filter.min_cost_usd ?? 0) * 1e9) &&
    Number(record.costNanoUsd) <= Math.round(Number(filter.max_cost_usd ?? 1e6) * 1e9) &&
    (name === undefined || record.clientRequestId === name) &&
    (agentId === undefined || record.clientRequestId?.startsWith(`${agentId}/`) === true)
  )
}

test('list and overview have exactly what the filter describes: every status, every width, any period', async (t) => {
  const { database, db, get } = await setUp(t)
  const edge = fc.oneof(
    fc.integer({ min: START - HOUR_MS, max: START + 6.5 * DAY_MS }),
    fc.integer({ min: START, max: START + 90 * MINUTE_MS }),
  )
  const some = fc.array(recordArbitrary, { maxLength: 30, size: 'max' })
  await fc.assert(
    fc.asyncProperty(some, filterArbitrary, fc.tuple(edge, edge), async (made, filter, edges) => {
      for (const table of ['completion', 'usage_rollup', 'usage_hour'] as const) await db.deleteFrom(table).execute()
      const records = made.map((over) => completionRecord({ ...over, id: completionIdAt(over.createdAt) }))
      await recordCompletions(database, records)
      const [start, end] = [Math.min(...edges), Math.max(...edges)]
      const period = { period_start: iso(start), period_end: iso(end) }
      const expected = records.filter(
        (record) =>
          record.accountId === 'acc_a' && record.createdAt >= start && record.createdAt < end && passes(record, filter),
      )
      const ids: string[] = []
      for (let cursor: string | undefined; ; ) {
        const { status, body, text } = await get({ ...filter, ...period, include: 'overview', limit: '7', cursor })
        assert.equal(status, 200, text)
        ids.push(...body.data.map(({ id }: { id: string }) => id))
        const overview = body.overview as Overview
        assert.deepEqual(overview.buckets, expectedBuckets(overview, expected))
        assert.ok(overview.buckets.length <= 91)
        assert.ok(overview.buckets.every(({ at }, index) => index === 0 || Date.parse(at) >= start))
        const counted = overview.buckets.flatMap(({ at: _, ...counts }) => Object.values(counts))
        assert.equal(
          counted.reduce((sum, one) => sum + one, 0),
          expected.length,
        )
        if (body.next_cursor === null) break
        cursor = body.next_cursor
      }
      assert.deepEqual(
        ids,
        expected
          .map(({ id }) => id as string)
          .toSorted()
          .toReversed(),
      )
    }),
    { numRuns: 120 },
  )
})

test('a histogram is as fine as 90 buckets allow', async (t) => {
  const { get } = await setUp(t)
  for (const [ms, interval, width, count] of [
    [HOUR_MS, 'minute', 1, 60],
    [90 * MINUTE_MS, 'minute', 1, 90],
    [91 * MINUTE_MS, 'hour', 1, 2],
    [DAY_MS, 'hour', 1, 24],
    [90 * HOUR_MS, 'hour', 1, 90],
    [7 * DAY_MS, 'hour', 2, 84],
    [30 * DAY_MS, 'hour', 12, 60],
    [90 * DAY_MS, 'day', 1, 90],
    [91 * DAY_MS, 'day', 2, undefined],
    [20 * 365 * DAY_MS, 'day', 82, undefined],
  ] as const) {
    const { body } = await get({ include: 'overview', period_start: iso(START), period_end: iso(START + ms) })
    const { buckets } = body.overview
    assert.deepEqual([body.overview.interval, body.overview.width], [interval, width], String(ms))
    const shifted = { period_start: iso(START + 29_999), period_end: iso(START + 29_999 + ms) }
    const { length } = (await get({ include: 'overview', ...shifted })).body.overview.buckets
    assert.ok(length <= 91, `${ms}: ${length}`)
    if (count === undefined) assert.ok(buckets.length <= 91 && buckets.length > 45, String(buckets.length))
    else assert.equal(buckets.length, count, String(ms))
  }
})

test('without a period the overview is of the last 24 hours, and the list of all time', async (t) => {
  const { database, clock, get } = await setUp(t)
  const hoursAgo = (hours: number) => completionRecord({ createdAt: clock.now - hours * HOUR_MS })
  await recordCompletions(database, [hoursAgo(50), hoursAgo(23), hoursAgo(1)])
  const { body } = await get({ include: 'overview' })
  assert.equal(body.data.length, 3)
  assert.equal(body.overview.period_start, iso(clock.now - DAY_MS))
  assert.equal(body.overview.period_end, iso(clock.now))
  const completed = (overview: Overview) => overview.buckets.reduce((sum, bucket) => sum + bucket.completed, 0)
  assert.equal(completed(body.overview), 2)
  const before = await get({ include: 'overview', period_end: iso(clock.now - 2 * HOUR_MS) })
  assert.deepEqual([before.body.data.length, completed(before.body.overview)], [2, 1])
  const since = await get({ include: 'overview', period_start: iso(clock.now - 3 * DAY_MS) })
  assert.deepEqual([since.body.data.length, completed(since.body.overview)], [3, 3])
  const later = await get({ include: 'overview', period_start: iso(clock.now + DAY_MS) })
  assert.deepEqual([later.status, later.body.overview.buckets], [200, []])
  assert.ok(!('overview' in (await get({})).body))
})

test('what retention has deleted is not counted, though its sums are kept', async (t) => {
  const { database, db, get } = await setUp(t)
  const period = { include: 'overview', period_start: iso(START), period_end: iso(START + 10 * DAY_MS) }
  const records = [0, 1, 2, 3].map((day) => completionRecord({ createdAt: START + day * DAY_MS + 5, status: 'failed' }))
  await recordCompletions(database, records)
  const failed = async () => {
    const { buckets } = (await get(period)).body.overview as Overview
    return buckets.reduce((sum, bucket) => sum + bucket.failed + 10 * bucket.completed, 0)
  }
  assert.equal(await failed(), 4)
  for (const record of records.slice(0, 2)) await db.deleteFrom('completion').where('id', '=', record.id).execute()
  assert.equal(await failed(), 2)
  await db.deleteFrom('completion').execute()
  assert.equal(await failed(), 0)
})

test('what has neither index nor sums is searched for in at most 7 days [limit: usage-search]', async (t) => {
  const { get } = await setUp(t)
  const week = { period_start: iso(START), period_end: iso(START + 7 * DAY_MS) }
  const others = [{ outcome: 'quota' }, { min_duration_ms: '1' }, { max_duration_ms: '1' }, { min_cost_usd: '0.1' }]
  for (const filter of [{ provider: 'p' }, { client_request_id: 'mine' }, ...others, { max_cost_usd: '1' }]) {
    assert.equal((await get({ ...week, ...filter })).status, 200)
    assert.equal(
      (await get({ ...week, period_end: iso(START + 7 * DAY_MS + 1), ...filter, agent_id: agent })).status,
      200,
    )
    for (const period of [{}, { ...week, period_end: iso(START + 7 * DAY_MS + 1) }]) {
      const { status, body } = await get({ ...period, ...filter })
      assert.deepEqual([status, body.error?.param], [400, 'period_start'])
    }
  }
  assert.equal((await get({ agent_id: agent })).status, 200)
  for (const wrong of [{ min_cost_usd: '-1' }, { min_duration_ms: '1.5' }, { outcome: 'answered' }])
    assert.equal((await get({ ...week, ...wrong })).status, 400, JSON.stringify(wrong))
})
