import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import { migrate } from '../../db/migrate.ts'
import type { AttemptNote } from '../../domain/completion.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import type { Model } from '../../domain/model.ts'
import { ALL_TIME, parsePeriod } from '../../http/period.ts'
import { DAY_MS, HOUR_MS, monthOf, splitPeriod } from './period.ts'
import { recordPriceVersions } from './queries.ts'

const FAILED: AttemptNote = {
  provider: 'o',
  model: 'm"1\\',
  outcome: 'rate_limited',
  status: 429,
  startedMs: 1,
  durationMs: 2,
}
const ANSWERED: AttemptNote = { ...FAILED, provider: 'p', outcome: 'answered', status: 200, startedMs: 4 }

test('UP-1: a completion is kept with every field, its attempts among them', async (t) => {
  const database = await temporaryDatabase(t)
  const whole = completionRecord({
    stream: true,
    finishReason: 'tool_calls',
    cachedTokens: 3,
    cacheWriteTokens: 2,
    reasoningTokens: 1,
    costNanoUsd: 9_007_199_254_740_993n,
    providerCostNanoUsd: 9_007_199_254_740_991n,
    firstByteMs: 3.6,
    attempts: 2,
    attemptLog: [FAILED, ANSWERED],
    clientRequestId: 'mine',
    usageSource: 'estimated',
    status: 'client_left',
    api: 'responses',
  })
  await recordCompletions(database, [whole, completionRecord()])
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
    provider_cost_nano_usd: 9_007_199_254_740_991n,
    price_version: 'v1',
    usage_source: 'estimated',
    created_at: whole.createdAt,
    duration_ms: 12,
    first_byte_ms: 4,
    attempts: 2,
    client_request_id: 'mine',
    attempt_log: JSON.stringify([FAILED, ANSWERED]),
    usage_detail: null,
    price_rule: null,
    tags: null,
    team_id: null,
    session_id: null,
    end_user: null,
    request_id: null,
    usage_bounded: null,
    unbilled_nano_usd: null,
    api: 'responses',
  })
})

const START = Date.UTC(2026, 4, 1)
const recordArbitrary = fc.record({
  model: fc.constantFrom('m1', 'm2', 'M2'),
  keyId: fc.constantFrom('key_a', 'key_b') as fc.Arbitrary<KeyId>,
  accountId: fc.constantFrom('acc_a', 'acc_b') as fc.Arbitrary<AccountId>,
  createdAt: fc.integer({ min: START, max: START + 2 * DAY_MS }),
  promptTokens: fc.nat(100_000),
  completionTokens: fc.nat(100_000),
  costNanoUsd: fc.bigInt(0n, 10n ** 15n),
})

async function clear({ db }: OpenedDatabase): Promise<void> {
  await db.deleteFrom('completion').execute()
  await db.deleteFrom('usage_rollup').execute()
  await db.deleteFrom('usage_hour').execute()
}

type Sums = Map<string, readonly [requests: number, prompt: number, completion: number, cost: bigint]>

async function keptSums({ db }: OpenedDatabase): Promise<{ readonly days: Sums; readonly hours: Sums }> {
  const days = await db.selectFrom('usage_rollup').selectAll().execute()
  const hours = await db.selectFrom('usage_hour').selectAll().execute()
  const toSums = (rows: readonly ((typeof days)[number] | (typeof hours)[number])[]): Sums =>
    new Map(
      rows.map((row) => [
        [row.account_id, 'day' in row ? row.day : row.hour, row.key_id, row.model].join(),
        [row.requests, row.prompt_tokens, row.completion_tokens, row.cost_nano_usd],
      ]),
    )
  return { days: toSums(days), hours: toSums(hours) }
}

test('the sums by day and by hour are the sums of the rows, however they were batched', async (t) => {
  const database = await temporaryDatabase(t)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(recordArbitrary, { maxLength: 8 }), { maxLength: 5 }), async (batches) => {
      await clear(database)
      for (const batch of batches) await recordCompletions(database, batch.map(completionRecord))
      const expected = (unitMs: number): Sums => {
        const sums: Sums = new Map()
        for (const { accountId, createdAt, keyId, model, ...each } of batches.flat()) {
          const key = [accountId, Math.floor(createdAt / unitMs), keyId, model].join()
          const [requests, prompt, generated, cost] = sums.get(key) ?? [0, 0, 0, 0n]
          const tokens = [prompt + each.promptTokens, generated + each.completionTokens] as const
          sums.set(key, [requests + 1, ...tokens, cost + each.costNanoUsd])
        }
        return sums
      }
      assert.deepEqual(await keptSums(database), { days: expected(DAY_MS), hours: expected(HOUR_MS) })
    }),
    { numRuns: 40 },
  )
})

test('a database from before there were sums by hour gets them for what it has', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const records = fc.sample(recordArbitrary, { numRuns: 50, seed: 1 })
  await recordCompletions(database, records.map(completionRecord))
  const before = await keptSums(database)
  await sql`drop table usage_hour`.execute(db)
  await sql`drop index completion_not_completed`.execute(db)
  await db.deleteFrom('schema_migration').where('name', '=', '0002-usage-reports').execute()
  assert.deepEqual(await migrate(db, Date.now), ['0002-usage-reports'])
  assert.deepEqual(await keptSums(database), before)
})

test('the default period is the calendar month in UTC', () => {
  const december = Date.UTC(2026, 11, 31, 23, 59)
  const month = { start: Date.UTC(2026, 11, 1), end: Date.UTC(2027, 0, 1) }
  assert.deepEqual(parsePeriod({}, monthOf(december)), month)
  const query = { period_start: '2026-12-05', period_end: '2026-12-06T00:00:00Z' }
  const { start, end } = parsePeriod(query, monthOf(december))
  assert.deepEqual([start, end], [Date.UTC(2026, 11, 5), Date.UTC(2026, 11, 6)])
})

test('a period is cut into whole units and two ends, without gap or overlap', () => {
  const time = fc.integer({ min: ALL_TIME.start, max: START })
  fc.assert(
    fc.property(time, time, fc.constantFrom(HOUR_MS, DAY_MS), (one, other, unitMs) => {
      const period = { start: Math.min(one, other), end: Math.max(one, other) }
      const { units, head, tail } = splitPeriod(period, unitMs)
      const whole = { start: units.start * unitMs, end: units.end * unitMs }
      const parts = [head, whole, tail].filter(({ start, end }) => start < end)
      assert.equal(parts[0]?.start ?? period.end, period.start)
      for (const [index, { end }] of parts.entries()) assert.equal(end, parts[index + 1]?.start ?? period.end)
      assert.ok(parts.every((part) => part === whole || part.end - part.start < 2 * unitMs))
    }),
  )
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
