import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import type { OpenedDatabase } from '../../db/open.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { type AccountId, type CompletionId, completionIdFloor, type KeyId } from '../../domain/ids.ts'
import type { Model } from '../../domain/model.ts'
import { callerOf, requireCaller } from '../../http/caller.ts'
import { createHttpServer } from '../../http/server.ts'
import { parsePeriod } from './period.ts'
import { recordPriceVersions, usageByModel } from './queries.ts'
import { usageRoutes } from './routes.ts'
import { completionWriter, DAY_MS } from './statements.ts'

const ACCOUNT = 'acc_a' as AccountId
let serial = 0

function completion(over: Partial<CompletionRecord> = {}): CompletionRecord {
  const createdAt = over.createdAt ?? Date.UTC(2026, 4, 5, 12)
  return {
    id: `${completionIdFloor(createdAt)}${String(++serial).padStart(14, '0')}` as CompletionId,
    accountId: ACCOUNT,
    keyId: 'key_a' as KeyId,
    model: 'm1',
    provider: 'p',
    status: 'completed',
    stream: false,
    finishReason: 'stop',
    promptTokens: 10,
    completionTokens: 5,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costNanoUsd: 1500n,
    priceVersion: 'v1',
    usageSource: 'provider',
    createdAt,
    durationMs: 12.4,
    firstByteMs: undefined,
    attempts: 1,
    clientRequestId: undefined,
    ...over,
  }
}

async function record({ db, batch }: OpenedDatabase, records: readonly CompletionRecord[]): Promise<void> {
  await batch(completionWriter(db)(records))
}

test('a completion is kept with every field', async (t) => {
  const database = await temporaryDatabase(t)
  const whole = completion({
    stream: true,
    finishReason: 'tool_calls',
    cachedTokens: 3,
    cacheWriteTokens: 2,
    reasoningTokens: 1,
    costNanoUsd: 9_007_199_254_740_993n,
    firstByteMs: 3.6,
    clientRequestId: 'mine',
    usageSource: 'estimated',
    status: 'client_left',
  })
  await record(database, [whole, completion()])
  const [row] = await database.db.selectFrom('completion').selectAll().where('id', '=', whole.id).execute()
  assert.deepEqual(row, {
    account_id: whole.accountId,
    id: whole.id,
    key_id: whole.keyId,
    model: 'm1',
    provider: 'p',
    status: 'client_left',
    stream: 1,
    finish_reason: 'tool_calls',
    prompt_tokens: 10,
    completion_tokens: 5,
    cached_tokens: 3,
    cache_write_tokens: 2,
    reasoning_tokens: 1,
    cost_nano_usd: 9_007_199_254_740_993n,
    price_version: 'v1',
    usage_source: 'estimated',
    created_at: whole.createdAt,
    duration_ms: 12,
    first_byte_ms: 4,
    attempts: 1,
    client_request_id: 'mine',
  })
})

const START = Date.UTC(2026, 4, 1)
const recordArbitrary = fc.record({
  model: fc.constantFrom('m1', 'm2', 'M2'),
  keyId: fc.constantFrom('key_a', 'key_b') as fc.Arbitrary<KeyId>,
  accountId: fc.constantFrom('acc_a', 'acc_b') as fc.Arbitrary<AccountId>,
  createdAt: fc.integer({ min: START, max: START + 4 * DAY_MS }),
  promptTokens: fc.nat(100_000),
  completionTokens: fc.nat(100_000),
  costNanoUsd: fc.bigInt(0n, 10n ** 15n),
})

test('the sums by day are the sums of the rows, however they were batched', async (t) => {
  const database = await temporaryDatabase(t)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(recordArbitrary, { maxLength: 8 }), { maxLength: 5 }), async (batches) => {
      await clear(database)
      for (const batch of batches) await record(database, batch.map(completion))
      const rollups = await database.db.selectFrom('usage_rollup').selectAll().execute()
      const expected = new Map<string, [number, number, number, bigint]>()
      for (const each of batches.flat()) {
        const key = [each.accountId, Math.floor(each.createdAt / DAY_MS), each.keyId, each.model].join()
        const [requests, prompt, generated, cost] = expected.get(key) ?? [0, 0, 0, 0n]
        const { promptTokens, completionTokens, costNanoUsd } = each
        expected.set(key, [requests + 1, prompt + promptTokens, generated + completionTokens, cost + costNanoUsd])
      }
      const actual = rollups.map((row): [string, [number, number, number, bigint]] => [
        [row.account_id, row.day, row.key_id, row.model].join(),
        [row.requests, row.prompt_tokens, row.completion_tokens, row.cost_nano_usd],
      ])
      assert.deepEqual(new Map(actual), expected)
    }),
    { numRuns: 40 },
  )
})

test('a report of any period is the sum of the rows in it, sorted by cost, then by name', async (t) => {
  const database = await temporaryDatabase(t)
  const time = fc.integer({ min: START - DAY_MS, max: START + 5 * DAY_MS })
  const edge = fc.oneof(
    time,
    fc.integer({ min: -1, max: 5 }).map((day) => START + day * DAY_MS),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(recordArbitrary, { maxLength: 12 }), edge, edge, async (records, one, other) => {
      await clear(database)
      await record(database, records.map(completion))
      const period = { start: Math.min(one, other), end: Math.max(one, other) }
      const models = new Map<string, { tokens: number; costNanoUsd: bigint }>()
      for (const { accountId, createdAt, model, promptTokens, completionTokens, costNanoUsd } of records) {
        if (accountId !== ACCOUNT || createdAt < period.start || createdAt >= period.end) continue
        const sum = models.get(model) ?? { tokens: 0, costNanoUsd: 0n }
        const tokens = sum.tokens + promptTokens + completionTokens
        models.set(model, { tokens, costNanoUsd: sum.costNanoUsd + costNanoUsd })
      }
      const expected = [...models].map(([model, sum]) => ({ model, ...sum }))
      expected.sort((a, b) =>
        a.costNanoUsd === b.costNanoUsd ? (a.model < b.model ? -1 : 1) : a.costNanoUsd > b.costNanoUsd ? -1 : 1,
      )
      assert.deepEqual(await usageByModel(database.db, ACCOUNT, period), expected)
    }),
    { numRuns: 80 },
  )
})

async function clear({ db }: OpenedDatabase): Promise<void> {
  await db.deleteFrom('completion').execute()
  await db.deleteFrom('usage_rollup').execute()
}

test('the default period is the calendar month in UTC', () => {
  const december = Date.UTC(2026, 11, 31, 23, 59)
  assert.deepEqual(parsePeriod({}, december), { start: Date.UTC(2026, 11, 1), end: Date.UTC(2027, 0, 1) })
  const { start, end } = parsePeriod({ period_start: '2026-12-05', period_end: '2026-12-06T00:00:00Z' }, december)
  assert.deepEqual([start, end], [Date.UTC(2026, 11, 5), Date.UTC(2026, 11, 6)])
})

test('a period that cannot be read or runs backwards is 400 with its parameter', () => {
  const now = Date.UTC(2026, 4, 5)
  const cases: readonly [Record<string, unknown>, string][] = [
    [{ period_start: 'yesterday' }, 'period_start'],
    [{ period_end: '2026-02-31' }, 'period_end'],
    [{ period_end: '' }, 'period_end'],
    [{ period_start: ['2026-01-01', '2026-01-02'] }, 'period_start'],
    [{ period_start: '2026-05-03', period_end: '2026-05-02' }, 'period_end'],
    [{ period_start: '2026-07-01' }, 'period_start'],
    [{ period_end: '2026-04-01' }, 'period_end'],
  ]
  for (const [query, param] of cases) {
    assert.throws(() => parsePeriod(query, now), { name: 'GatewayError', status: 400, code: 'invalid_value', param })
  }
})

async function server(t: TestContext, { db }: OpenedDatabase) {
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    onError: () => {},
    draining: () => false,
  })
  t.after(() => app.close())
  requireCaller(app, (account) => ({
    accountId: account as AccountId,
    keyId: 'key_a' as KeyId,
    plan: 'free',
    models: undefined,
    requestsPerMinute: undefined,
    scopes: new Set(account === 'acc_chat' ? (['chat'] as const) : (['usage:read'] as const)),
  }))
  await app.register(usageRoutes({ db, now: () => Date.UTC(2026, 4, 20), ids: testIds, callerOf }))
  return async (url: string, account = 'acc_a') => {
    const response = await app.inject({ url, headers: { authorization: account } })
    return { status: response.statusCode, body: response.json() }
  }
}

test('GET /usage reports the month with exact dollars', async (t) => {
  const database = await temporaryDatabase(t)
  await record(database, [
    completion({ model: 'cheap', costNanoUsd: 1n }),
    completion({ model: 'dear', costNanoUsd: 300_000_000n, promptTokens: 100 }),
    completion({ model: 'dear', costNanoUsd: 100_000_001n }),
    completion({ model: 'old', createdAt: Date.UTC(2026, 3, 30, 23, 59, 59, 999) }),
    completion({ model: 'other', accountId: 'acc_b' as AccountId }),
  ])
  const get = await server(t, database)
  assert.deepEqual(await get('/usage'), {
    status: 200,
    body: {
      period_start: '2026-05-01T00:00:00.000Z',
      period_end: '2026-06-01T00:00:00.000Z',
      total_tokens: 135,
      total_cost_usd: 0.400000002,
      credit_remaining_usd: null,
      held_usd: 0,
      breakdown_by_model: [
        { model: 'dear', tokens: 120, cost_usd: 0.400000001 },
        { model: 'cheap', tokens: 15, cost_usd: 1e-9 },
      ],
    },
  })
  const hour = await get('/usage?period_start=2026-04-30T23:59:59.999Z&period_end=2026-05-01T00:00:00Z')
  assert.deepEqual(hour.body.breakdown_by_model, [{ model: 'old', tokens: 15, cost_usd: 0.0000015 }])
  const empty = await get('/usage?period_start=2027-01-01&period_end=2027-01-01')
  assert.deepEqual([empty.status, empty.body.total_tokens, empty.body.breakdown_by_model], [200, 0, []])
  const bad = await get('/usage?period_start=x')
  assert.deepEqual([bad.status, bad.body.error.param], [400, 'period_start'])
  assert.equal((await get('/usage', 'acc_chat')).status, 403)
})

test('a price is noted once, the first time it is seen', async (t) => {
  const { db } = await temporaryDatabase(t)
  const model = (id: string, priceVersion: string | undefined, inputMicroUsd: number) =>
    ({ id, priceVersion, price: priceVersion && { inputMicroUsd, outputMicroUsd: 2, cachedInputMicroUsd: 1 } }) as Model
  await recordPriceVersions(db, [model('m1', 'v1', 5), model('m2', undefined, 0)], 10)
  await recordPriceVersions(db, [model('m1', 'v1', 5), model('m1', 'v2', 6)], 20)
  const rows = await db
    .selectFrom('price_version')
    .select(['id', 'model', 'input_micro_usd', 'first_seen_at'])
    .execute()
  assert.deepEqual(rows, [
    { id: 'v1', model: 'm1', input_micro_usd: 5, first_seen_at: 10 },
    { id: 'v2', model: 'm1', input_micro_usd: 6, first_seen_at: 20 },
  ])
})
