import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { testIds } from '../../../test/support/database.ts'
import {
  completionIdAt,
  completionRecord,
  ensureAccounts,
  recordCompletions,
} from '../../../test/support/ledger/completions.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { agentReference } from '../../domain/agent.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { type AccountId, createIdSource, type DeviceId, type KeyId, type UserId } from '../../domain/ids.ts'
import { callerOf } from '../../http/caller.ts'
import { DAY_MS, HOUR_MS } from './period.ts'
import { usageRoutes } from './routes.ts'

async function setUp(t: TestContext) {
  const fixture = await openCreditFixture(t)
  await ensureAccounts(fixture.database, ['acc_a' as AccountId])
  const ask = await serveRoutes(t, fixture, [
    usageRoutes({ ...fixture, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1) }),
  ])
  return { ...fixture, get: (query: string) => ask(`/usage?${query}`, 'acc_a') }
}

const START = Date.UTC(2026, 4, 1)
const iso = (time: number) => new Date(time).toISOString()
const nano = (usd: number) => BigInt(Math.round(usd * 1e9))

const recordArbitrary = fc.record({
  model: fc.constantFrom('m1', 'm2', 'M2'),
  keyId: fc.constantFrom('key_a', 'key_b') as fc.Arbitrary<KeyId>,
  accountId: fc.constantFrom('acc_a', 'acc_a', 'acc_b') as fc.Arbitrary<AccountId>,
  createdAt: fc.integer({ min: START, max: START + 3 * DAY_MS }),
  promptTokens: fc.nat(100_000),
  completionTokens: fc.nat(100_000),
  costNanoUsd: fc.bigInt(0n, 10n ** 12n),
})

interface Counted {
  readonly key?: string
  readonly at?: string
  readonly tokens: number
  readonly requests: number
  readonly cost_usd: number
}

/** To the last digit: requests, tokens and nano-dollars. */
function totalOf(parts: readonly Counted[]) {
  return parts.reduce<readonly [number, number, bigint]>(
    ([requests, tokens, cost], part) => [requests + part.requests, tokens + part.tokens, cost + nano(part.cost_usd)],
    [0, 0, 0n],
  )
}

/** By hand, over the records themselves. */
function expectedSeries(
  records: readonly CompletionRecord[],
  unitMs: number,
  keyOf: (one: CompletionRecord) => string,
) {
  const sums = Map.groupBy(records, (one) => `${iso(Math.floor(one.createdAt / unitMs) * unitMs)} ${keyOf(one)}`)
  const sumOf = (some: readonly CompletionRecord[], field: 'promptTokens' | 'completionTokens') =>
    some.reduce((sum, one) => sum + one[field], 0)
  return [...sums]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, some]) => ({
      at: name.split(' ')[0],
      key: name.split(' ')[1],
      tokens: sumOf(some, 'promptTokens') + sumOf(some, 'completionTokens'),
      requests: some.length,
      cost_usd: Number(some.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n)) / 1e9,
      prompt_tokens: sumOf(some, 'promptTokens'),
      completion_tokens: sumOf(some, 'completionTokens'),
    }))
}

test('a series is the sums of its rows, and adds up to groups and total to the last digit, whatever is filtered', async (t) => {
  const { database, db, get } = await setUp(t)
  const edge = fc.oneof(
    fc.integer({ min: START - DAY_MS, max: START + 4 * DAY_MS }),
    fc.integer({ min: -1, max: 80 }).map((hour) => START + hour * HOUR_MS),
  )
  const choice = fc.record({
    interval: fc.constantFrom('hour' as const, 'day' as const),
    group_by: fc.constantFrom('model', 'key', undefined),
    model: fc.constantFrom('m1', undefined, undefined),
    key_id: fc.constantFrom('key_a', undefined, undefined),
    edges: fc.tuple(edge, edge),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(recordArbitrary, { maxLength: 14 }), choice, async (made, { edges, ...query }) => {
      for (const table of ['completion', 'usage_rollup', 'usage_hour'] as const) await db.deleteFrom(table).execute()
      const records = made.map((over) => completionRecord({ ...over, id: completionIdAt(over.createdAt) }))
      await recordCompletions(database, records)
      const [start, end] = [Math.min(...edges), Math.max(...edges)]
      const said = Object.entries({ ...query, period_start: iso(start), period_end: iso(end) })
      const parameters = new URLSearchParams(
        said.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      )
      const { status, body, text } = await get(String(parameters))
      assert.equal(status, 200, text)
      const counted = records.filter(
        ({ accountId, createdAt, model, keyId }) =>
          accountId === 'acc_a' &&
          createdAt >= start &&
          createdAt < end &&
          (query.model ?? model) === model &&
          (query.key_id ?? keyId) === keyId,
      )
      const keyOf = {
        model: ({ model }: CompletionRecord) => model,
        key: ({ keyId }: CompletionRecord) => keyId as string,
      }
      const by = query.group_by === 'model' || query.group_by === 'key' ? keyOf[query.group_by] : () => 'all'
      assert.deepEqual(body.series, expectedSeries(counted, query.interval === 'hour' ? HOUR_MS : DAY_MS, by))
      const total = [body.total_requests, body.total_tokens, nano(body.total_cost_usd)]
      assert.deepEqual(totalOf(body.series), total)
      assert.equal(body.total_tokens, body.total_prompt_tokens + body.total_completion_tokens)
      if (query.group_by !== undefined) {
        assert.deepEqual(totalOf(body.groups), total)
        for (const group of body.groups) {
          const ofGroup = body.series.filter(({ key }: Counted) => key === group.key)
          assert.deepEqual(totalOf(ofGroup), totalOf([group]))
        }
      }
      assert.equal(counted.length, body.total_requests)
    }),
    { numRuns: 100 },
  )
})

test('without an interval there is no series, and a file has the same columns with and without it', async (t) => {
  const { database, get } = await setUp(t)
  await recordCompletions(database, [completionRecord(), completionRecord({ model: 'm2', keyId: 'key_b' as KeyId })])
  assert.ok(!('series' in (await get('')).body))
  const file = await get('format=csv&interval=day&model=m2')
  assert.equal(file.text, 'group,tokens,requests,cost_usd\r\nm2,15,1,0.0000015\r\n')
})

test('periods that are too long for their interval are refused [limit: usage-series]', async (t) => {
  const { get } = await setUp(t)
  const over = (days: number, more = 0) => `period_start=${iso(START)}&period_end=${iso(START + days * DAY_MS + more)}`
  for (const [query, refused] of [
    [`interval=hour&${over(32)}`, undefined],
    [`interval=hour&${over(32, 1)}`, 'interval'],
    [`interval=day&${over(400)}`, undefined],
    [`interval=day&${over(400, 1)}`, 'interval'],
    ['interval=day&group_by=day', 'interval'],
    ['interval=hour&group_by=agent', 'interval'],
    ['interval=hour&group_by=agent&format=csv', 'interval'],
    ['interval=hour&group_by=model', undefined],
  ] as const) {
    const { status, body } = await get(query)
    assert.deepEqual([status, body.error?.param], [refused === undefined ? 200 : 400, refused], query)
  }
})

test('a series tells the 50 most expensive groups apart, and has the others under an empty key [limit: usage-groups]', async (t) => {
  const { database, get } = await setUp(t)
  const models = Array.from({ length: 53 }, (_, index) => `m${String(index).padStart(2, '0')}`)
  await recordCompletions(
    database,
    models.map((model, index) => completionRecord({ model, costNanoUsd: BigInt(100 - index) })),
  )
  const { body } = await get('interval=day&group_by=model')
  assert.equal(body.groups.length, 53)
  assert.deepEqual(
    body.series.map(({ key }: Counted) => key),
    ['', ...models.slice(0, 50)],
  )
  assert.deepEqual(totalOf([body.series[0]]), [3, 45, 50n + 49n + 48n])
  assert.deepEqual(totalOf(body.series), [body.total_requests, body.total_tokens, nano(body.total_cost_usd)])
})

test('groups by key and by agent have the names that keys, devices, people and agents have', async (t) => {
  const { database, db, get } = await setUp(t)
  const accountId = 'acc_a' as AccountId
  const ids = createIdSource(() => START, randomBytes)
  const [keyId, deviceId, userId] = [testIds.key(), testIds.device(), testIds.user()]
  const [agentId, goneAgent, foreignKey] = [ids.agent(), ids.agent(), testIds.key()]
  const asked = (over: Partial<CompletionRecord>) => completionRecord({ accountId, ...over })
  await recordCompletions(database, [
    asked({ keyId, costNanoUsd: 9n, clientRequestId: agentReference(agentId, testIds.run()) }),
    asked({ keyId: deviceId as string as KeyId, costNanoUsd: 8n }),
    asked({ keyId: userId as string as KeyId, costNanoUsd: 7n }),
    asked({ keyId: foreignKey, costNanoUsd: 6n, clientRequestId: agentReference(goneAgent, testIds.run()) }),
    completionRecord({ accountId: 'acc_b' as AccountId }),
  ])
  const person = { id: userId, email: 'ada@example.com', name: 'Ada', created_at: 1, changed_at: 1 }
  await db.insertInto('person').values(person).execute()
  const key = {
    prefix: 'tp',
    last4: 'abcd',
    scopes: '[]',
    ip_allowlist: '[]',
    models: '[]',
    created_at: 1,
    changed_at: 1,
  }
  await db
    .insertInto('api_key')
    .values({ ...key, id: keyId, account_id: accountId, name: 'production' })
    .execute()
  const theirs = { id: foreignKey, account_id: 'acc_b' as AccountId, name: 'somebody else’s' }
  await db
    .insertInto('api_key')
    .values({ ...key, ...theirs })
    .execute()
  const device = { client_id: 'turnpike-cli', user_id: userId, scopes: '[]', created_at: 1, changed_at: 1 }
  await db
    .insertInto('device')
    .values({ ...device, account_id: accountId, id: deviceId as DeviceId })
    .execute()
  const agent = { name: 'Fix the login', status: 'cancelled', repository: 'a/b', model: 'm1', creator: '{}' } as const
  const counts = { key_id: keyId, runs: 1, messages: 1, events: 1, created_at: 1 }
  await db
    .insertInto('agent')
    .values({ ...agent, ...counts, account_id: accountId, id: agentId })
    .execute()
  const namesOf = (groups: readonly { readonly key: string; readonly name: string | null }[]) =>
    groups.map(({ key: of, name }) => [of, name])
  assert.deepEqual(namesOf((await get('group_by=key')).body.groups), [
    [keyId, 'production'],
    [deviceId, 'device "turnpike-cli" of ada@example.com'],
    [userId, 'ada@example.com'],
    [foreignKey, null],
  ])
  assert.deepEqual(namesOf((await get('group_by=agent')).body.groups), [
    [agentId, 'Fix the login'],
    [goneAgent, null],
  ])
  assert.ok((await get('group_by=model')).body.groups.every((group: object) => !('name' in group)))
  const ofAgent = (await get(`group_by=agent&key_id=${foreignKey}`)).body
  assert.deepEqual([namesOf(ofAgent.groups), ofAgent.total_requests], [[[goneAgent, null]], 1])
  await db
    .deleteFrom('person')
    .where('id', '=', userId as UserId)
    .execute()
  assert.equal((await get('group_by=key')).body.groups[1].name, 'device "turnpike-cli"')
})
