import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KyselyPlugin, sql } from 'kysely'
import { postgresTest, sqliteTest, temporaryDatabase } from '../../../test/support/database.ts'
import { completionRecord, ensureAccounts, recordCompletions } from '../../../test/support/ledger/completions.ts'
import { ledgerDays } from '../../../test/support/ledger/ledger-days.ts'
import { createPartitionsSince } from '../../../test/support/ledger/month-partitions.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import { DatabaseError } from '../../db/failure.ts'
import type { Database, IdempotencyTable, InvoiceTable } from '../../db/schema/schema.ts'
import { type AccountId, type AuditId, type CompletionId, completionIdFloor, type KeyId } from '../../domain/ids.ts'
import { inBatches } from '../../jobs/batched-deletion.ts'
import { reconcile } from '../credit/reconcile.ts'
import { sumCompletions } from '../usage/dimension-sums.ts'
import {
  deleteIdempotencyKeys,
  deleteRejections,
  deleteResponses,
  deleteTraces,
  retentionJobs,
  retireUsage,
} from './jobs.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW = Date.UTC(2028, 5, 15, 12)
const OLD = NOW - 401 * DAY_MS
const ada = 'acc_ada' as AccountId
const bob = 'acc_bob' as AccountId

const at =
  (time: number) =>
  ({ db }: OpenedDatabase) => ({ db, now: () => time })
const now = at(NOW)

/** Of the month of `time`; it says nothing about its contents. */
async function invoiceFor({ db }: OpenedDatabase, accountId: AccountId, time: number): Promise<void> {
  const date = new Date(time)
  const [start, end] = [0, 1].map((later) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1))
  const number =
    (await db.selectFrom('invoice').select('number').where('account_id', '=', accountId).execute()).length + 1
  const row: InvoiceTable = {
    account_id: accountId,
    number,
    id: `inv_${accountId}${number}`,
    period_start: start ?? 0,
    period_end: end ?? 0,
    total_nano_usd: 0n,
    document: '{}',
    closed_at: NOW,
  }
  await db.insertInto('invoice').values(row).execute()
}

const rowsLeft = async ({ db }: OpenedDatabase, accountId: AccountId) =>
  (await db.selectFrom('completion').select('id').where('account_id', '=', accountId).orderBy('id').execute()).map(
    ({ id }) => id,
  )
const everything = async ({ db }: OpenedDatabase, table: keyof Database) => db.selectFrom(table).selectAll().execute()

/** As `/usage/reconcile` compares them. */
async function books({ db }: OpenedDatabase, accountId: AccountId) {
  const sums = await sql<
    Record<'rows_nano_usd' | 'rollups_nano_usd' | 'hours_nano_usd' | 'ledger_nano_usd', bigint>
  >`select
    (select coalesce(sum(cost_nano_usd), 0) from completion where account_id = ${accountId})
      + (select retired_nano_usd from credit where account_id = ${accountId}) as rows_nano_usd,
    (select sum(cost_nano_usd) from usage_rollup where account_id = ${accountId}) as rollups_nano_usd,
    (select sum(cost_nano_usd) from usage_hour where account_id = ${accountId}) as hours_nano_usd,
    (select sum(amount_nano_usd) from ledger where account_id = ${accountId}) as ledger_nano_usd`.execute(db)
  return sums.rows[0]
}

test('usage rows older than 400 days go; sums, ledger and invoices stay, and the books still agree', async (t) => {
  const database = await temporaryDatabase(t)
  const ledger = await ledgerDays(database, ada)
  await ledger.charge(OLD, { costNanoUsd: 700n })
  await ledger.charge(OLD + 1, { costNanoUsd: 11n })
  const young = await ledger.charge(NOW - 399 * DAY_MS, { costNanoUsd: 5n })
  await invoiceFor(database, ada, OLD)
  const kept = ['ledger', 'invoice', 'usage_rollup', 'usage_hour'] as const
  const before = await Promise.all(kept.map((table) => everything(database, table)))
  assert.equal(await retireUsage(now(database)), 2)
  assert.deepEqual(await rowsLeft(database, ada), [young.id])
  assert.deepEqual(await Promise.all(kept.map((table) => everything(database, table))), before)
  const credit = await database.db.selectFrom('credit').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual([credit.retired_nano_usd, credit.balance_nano_usd], [711n, -716n])
  const sums = { rows_nano_usd: 716n, rollups_nano_usd: 716n, hours_nano_usd: 716n, ledger_nano_usd: 716n }
  assert.deepEqual({ ...(await books(database, ada)) }, sums)
  assert.equal(await retireUsage(now(database)), 0)
})

test('sums by tag, session and the like go by month, when all their completions have gone', async (t) => {
  const database = await temporaryDatabase(t)
  const ledger = await ledgerDays(database, ada)
  const young = NOW - 40 * DAY_MS
  for (const time of [OLD, young, young + 2 * HOUR_MS]) await ledger.charge(time, { costNanoUsd: 5n })
  for (const _ of ['begins', 'sums']) await sumCompletions(database.db)
  const months = async () =>
    (await database.db.selectFrom('usage_dimension').select('month').distinct().orderBy('month').execute()).length
  assert.equal(await months(), 2)
  for (const time of [OLD, young]) await invoiceFor(database, ada, time)
  await retireUsage(now(database))
  assert.equal(await months(), 2, 'the month has not passed')
  await retireUsage(at(NOW + 30 * DAY_MS)(database))
  assert.equal(await months(), 1)
})

test('a usage row stays until its month’s invoice is closed', async (t) => {
  const database = await temporaryDatabase(t)
  const record = await (await ledgerDays(database, ada)).charge(OLD, { costNanoUsd: 700n })
  assert.equal(await retireUsage(now(database)), 0)
  await invoiceFor(database, ada, OLD - 40 * DAY_MS)
  assert.equal(await retireUsage(now(database)), 0)
  assert.deepEqual(await rowsLeft(database, ada), [record.id])
  await invoiceFor(database, ada, OLD)
  assert.equal(await retireUsage(now(database)), 1)
})

test('while a later month waits for its invoice, what may have been settled in it stays', async (t) => {
  const database = await temporaryDatabase(t)
  const ledger = await ledgerDays(database, ada)
  const monthEnd = Date.UTC(2026, 3, 1)
  const early = await ledger.charge(monthEnd - 40 * DAY_MS, { costNanoUsd: 1n })
  const late = await ledger.charge(monthEnd + 1, { costNanoUsd: 2n, createdAt: monthEnd - 1 })
  await invoiceFor(database, ada, monthEnd - 1)
  assert.equal(await retireUsage(now(database)), 1)
  assert.deepEqual(await rowsLeft(database, ada), [late.id])
  assert.ok(early.id < late.id)
  await invoiceFor(database, ada, monthEnd)
  assert.equal(await retireUsage(now(database)), 1)
})

test('usage that cost nothing needs no invoice, and other accounts are not touched', async (t) => {
  const database = await temporaryDatabase(t)
  await recordCompletions(database, [completionRecord({ accountId: ada, createdAt: OLD, costNanoUsd: 0n })])
  const other = await (await ledgerDays(database, bob)).charge(OLD, { costNanoUsd: 3n })
  assert.equal(await retireUsage(now(database)), 1)
  assert.deepEqual(await rowsLeft(database, bob), [other.id])
})

test('rejections go after 7 days, in every account', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada, bob])
  const week = NOW - 7 * DAY_MS
  const rejection = (account_id: AccountId, request_id: string, created_at: number) => ({
    account_id,
    request_id,
    created_at,
    key_id: 'key_a' as KeyId,
    endpoint: '/v1/messages',
    status: 404,
    code: 'model_not_found',
  })
  const rows = [rejection(ada, 'req_a', week - 1), rejection(bob, 'req_b', week - 1), rejection(bob, 'req_c', week)]
  await database.db.insertInto('rejection').values(rows).execute()
  assert.equal(await deleteRejections(now(database)), 2)
  const left = (await everything(database, 'rejection')) as readonly { readonly request_id?: string }[]
  assert.deepEqual(
    left.map((row) => row.request_id),
    ['req_c'],
  )
})

test('R-F6: usage goes in transactions of 500 rows at most, and each is whole [limit: retention-rows]', async (t) => {
  const database = await temporaryDatabase(t)
  await (await ledgerDays(database, ada)).charge(OLD, { costNanoUsd: 1n })
  await invoiceFor(database, ada, OLD)
  await sql`insert into completion (account_id, id, key_id, model, provider, status, stream, finish_reason,
      prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_nano_usd,
      price_version, usage_source, created_at, duration_ms, first_byte_ms, attempts, client_request_id, attempt_log)
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 1199)
    select account_id, substr(id, 1, 17) || cast(10000000000000 + i as text), key_id, model, provider, status, stream, finish_reason,
      prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_nano_usd,
      price_version, usage_source, created_at, duration_ms, first_byte_ms, attempts, client_request_id, attempt_log
    from completion cross join n`.execute(database.db)
  const retired: bigint[] = []
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if ('cost_nano_usd' in (result.rows[0] ?? {})) retired.push(BigInt(result.rows.length))
      return result
    },
  }
  const db = database.db.withPlugin(counting)
  assert.equal(await retireUsage({ db, now: () => NOW }), 1_200)
  assert.deepEqual(retired, [500n, 500n, 200n])
  const credit = await database.db.selectFrom('credit').select('retired_nano_usd').executeTakeFirstOrThrow()
  assert.equal(credit.retired_nano_usd, 1_200n)
})

test('stored responses go in transactions of 50, when they are as old as the retention [limit: retention-responses]', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada, bob])
  const empty = { previous_id: null, items: 0, items_bytes: 0, sealed_with: '', content: Buffer.from('x') }
  const row = (account_id: AccountId, at: number, created_at: number) => ({
    ...empty,
    ...{ account_id, id: `resp_${at}`, created_at },
  })
  const limit = NOW - 30 * DAY_MS
  const old = Array.from({ length: 60 }, (_, at) => [row(ada, at, limit - 1), row(bob, at, limit - 2)]).flat()
  const kept = [row(ada, 100, limit), row(bob, 100, NOW)]
  await database.db
    .insertInto('response')
    .values([...old, ...kept])
    .execute()
  const deleted: bigint[] = []
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      deleted.push(result.numAffectedRows ?? 0n)
      return result
    },
  }
  const db = database.db.withPlugin(counting)
  assert.equal(await deleteResponses({ db, now: () => NOW }, 30), 120)
  assert.deepEqual(deleted, [50n, 50n, 20n, 0n])
  assert.equal((await everything(database, 'response')).length, 2)
})

/** Statements that delete completions row by row. */
function countDeletions(database: OpenedDatabase) {
  const counted = { deletions: 0 }
  const counting: KyselyPlugin = {
    transformQuery({ node }) {
      if (node.kind === 'DeleteQueryNode' && JSON.stringify(node.from).includes('"completion"')) counted.deletions++
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return { counted, db: database.db.withPlugin(counting) }
}

postgresTest('a month of PostgreSQL goes as a whole, a day after all of it is old, and the books agree', async (t) => {
  const database = await temporaryDatabase(t)
  const monthEnd = Date.UTC(2027, 3, 1)
  const passed = monthEnd + 400 * DAY_MS + HOUR_MS
  await createPartitionsSince(database, monthEnd - 32 * DAY_MS, passed)
  const ledger = await ledgerDays(database, ada)
  for (const time of [monthEnd - 31 * DAY_MS, monthEnd - 1]) await ledger.charge(time, { costNanoUsd: 50n })
  const young = await ledger.charge(monthEnd + 1, { costNanoUsd: 7n })
  await recordCompletions(database, [completionRecord({ accountId: bob, createdAt: monthEnd - 2, costNanoUsd: 0n })])
  await invoiceFor(database, ada, monthEnd)
  const { counted, db } = countDeletions(database)
  assert.equal(await retireUsage({ db, now: () => passed - 2 * HOUR_MS }), 0)
  assert.equal((await rowsLeft(database, ada)).length, 3, 'old rows wait for the rest of their month')
  assert.equal(await retireUsage({ db, now: () => passed }), 3)
  assert.equal(counted.deletions, 0)
  assert.deepEqual(await rowsLeft(database, ada), [young.id])
  assert.deepEqual(await everything(database, 'retired_usage'), [{ account_id: ada, cost_nano_usd: 100n }])
  const { rowsNanoUsd, rollupsNanoUsd, ledgerNanoUsd } = await reconcile(database.db, ada)
  assert.deepEqual([rowsNanoUsd, rollupsNanoUsd, ledgerNanoUsd], [107n, 107n, 107n])
  assert.equal(await retireUsage({ db, now: () => passed }), 0)
})

postgresTest('a month in which an account waits for its invoice stays, without the rows of others', async (t) => {
  const database = await temporaryDatabase(t)
  const [march, april] = [Date.UTC(2027, 2, 15), Date.UTC(2027, 3, 15)]
  const passed = Date.UTC(2027, 4, 1) + 401 * DAY_MS
  await createPartitionsSince(database, march, passed)
  const [ofAda, ofBob] = [await ledgerDays(database, ada), await ledgerDays(database, bob)]
  const earlier = await ofAda.charge(march - 60 * DAY_MS, { costNanoUsd: 1n })
  const waiting = await ofAda.charge(march, { costNanoUsd: 2n })
  for (const time of [march, april]) await ofBob.charge(time, { costNanoUsd: 3n })
  await invoiceFor(database, bob, april)
  const { counted, db } = countDeletions(database)
  assert.equal(await retireUsage({ db, now: () => passed }), 2)
  assert.ok(counted.deletions > 0)
  assert.deepEqual(await rowsLeft(database, ada), [earlier.id, waiting.id])
  assert.deepEqual(await rowsLeft(database, bob), [])
  const costs = await Promise.all([ada, bob].map(async (id) => (await reconcile(database.db, id)).rowsNanoUsd))
  assert.deepEqual(costs, [3n, 6n])
  assert.deepEqual(await everything(database, 'retired_usage'), [{ account_id: bob, cost_nano_usd: 3n }])
  await invoiceFor(database, ada, march)
  assert.equal(await retireUsage({ db, now: () => passed }), 2)
  assert.equal((await reconcile(database.db, ada)).rowsNanoUsd, 3n)
})

test('a deletion whose cost cannot be noted does not happen', async (t) => {
  const database = await temporaryDatabase(t)
  const record = await (await ledgerDays(database, ada)).charge(OLD, { costNanoUsd: 1n })
  await database.db.deleteFrom('credit').execute()
  await assert.rejects(retireUsage(now(database)), /has no credit/)
  assert.deepEqual(await rowsLeft(database, ada), [record.id])
})

test('INV-9: the ledger refuses to forget', async (t) => {
  const { db, ...database } = await temporaryDatabase(t)
  await (await ledgerDays({ db, ...database }, ada)).charge(OLD, { costNanoUsd: 1n })
  const refused = (error: unknown) => error instanceof DatabaseError && /append-only/.test(error.message)
  await assert.rejects(db.deleteFrom('ledger').execute(), refused)
  await assert.rejects(db.updateTable('ledger').set({ amount_nano_usd: 2n }).execute(), refused)
})

const keyRow = (key: string, over: Partial<IdempotencyTable> = {}): IdempotencyTable => ({
  account_id: ada,
  endpoint: 'POST /v1/chat/completions',
  key,
  fingerprint: new Uint8Array(32),
  state: 'kept',
  subject_id: `chatcmpl-${key}`,
  instance_id: 'ins_1',
  lease_until: 1,
  status: 200,
  headers: '{}',
  body: '{}',
  created_at: 1,
  ended_at: NOW - DAY_MS - 1,
  ...over,
})
const keysLeft = async ({ db }: OpenedDatabase) =>
  (await db.selectFrom('idempotency').select('key').orderBy('key').execute()).map(({ key }) => key)

test('idempotency keys are forgotten a day after their answer, however it came out', async (t) => {
  const database = await temporaryDatabase(t)
  const rows = [
    keyRow('kept'),
    keyRow('large', { state: 'too_large', body: null }),
    keyRow('freed', { state: 'freed' }),
    keyRow('younger', { ended_at: NOW - DAY_MS }),
  ]
  await database.db.insertInto('idempotency').values(rows).execute()
  assert.equal(await deleteIdempotencyKeys(now(database)), 3)
  assert.deepEqual(await keysLeft(database), ['younger'])
  assert.equal(await deleteIdempotencyKeys(at(NOW + 1)(database)), 1)
})

test('a request that nobody will answer is forgotten when its lease is long over and its hold is gone', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const running = { state: 'running', status: null, headers: null, body: null, ended_at: null } as const
  const rows = [
    keyRow('gone', { ...running, lease_until: NOW - DAY_MS - 1 }),
    keyRow('held', { ...running, lease_until: NOW - DAY_MS - 1 }),
    keyRow('alive', { ...running, lease_until: NOW - DAY_MS }),
  ]
  await db.insertInto('idempotency').values(rows).execute()
  await db
    .insertInto('hold')
    .values({
      account_id: ada,
      id: 'chatcmpl-held' as CompletionId,
      key_id: 'key_a' as KeyId,
      instance_id: 'ins_1',
      amount_nano_usd: 1n,
      of_key_budget: 0,
      model: 'm',
      provider: 'p',
      stream: 0,
      price_version: 'v1',
      prompt_tokens: 1,
      completion_tokens: 0,
      estimate_nano_usd: 0n,
      created_at: 1,
    })
    .execute()
  assert.equal(await deleteIdempotencyKeys(now(database)), 1)
  assert.deepEqual(await keysLeft(database), ['alive', 'held'])
})

test('R-F6: idempotency keys go 500 at a time, fewer where their answers are large [limit: retention-answers]', async (t) => {
  const database = await temporaryDatabase(t)
  const deleted: bigint[] = []
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (result.numAffectedRows !== undefined && result.numAffectedRows > 0n) deleted.push(result.numAffectedRows)
      return result
    },
  }
  const db = database.db.withPlugin(counting)
  const numbered = (count: number, over: Partial<IdempotencyTable>) =>
    Array.from({ length: count }, (_, index) => keyRow(`${over.endpoint}${index}`, over))
  await database.db
    .insertInto('idempotency')
    .values(numbered(1_100, { endpoint: 'small' }))
    .execute()
  assert.equal(await deleteIdempotencyKeys({ db, now: () => NOW }), 1_100)
  assert.deepEqual(deleted.splice(0), [500n, 500n, 100n])
  const body = 'x'.repeat(1.5 * 1024 * 1024)
  for (const row of numbered(5, { endpoint: 'large', body }))
    await database.db.insertInto('idempotency').values(row).execute()
  assert.equal(await deleteIdempotencyKeys({ db, now: () => NOW }), 5)
  assert.deepEqual(deleted, [2n, 2n, 1n])
})

sqliteTest('both ways to forgotten keys are by index', async (t) => {
  const { db } = await temporaryDatabase(t)
  const planOf = async (condition: string) => {
    const query = sql<{ detail: string }>`explain query plan select key from idempotency where ${sql.raw(condition)}`
    return (await query.execute(db)).rows.map(({ detail }) => detail).join()
  }
  assert.match(
    await planOf('ended_at < 5 order by ended_at limit 500'),
    /^SEARCH idempotency USING COVERING INDEX idempotency_ended_at/,
  )
  assert.match(
    await planOf(`state = 'running' and lease_until < 5`),
    /^SCAN idempotency USING INDEX idempotency_running/,
  )
})

test('ended jobs are kept for a week, processes for a day; alerts for ever', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const job = (name: string, endedAt: number | null) => ({
    id: `job_${completionIdFloor(1).slice(9)}${name}`,
    kind: 'mail',
    name,
    payload: 'null',
    run_at: 1,
    attempt: 1,
    created_at: 1,
    ended_at: endedAt,
  })
  const week = 7 * DAY_MS
  await db
    .insertInto('job')
    .values([job('old', NOW - week - 1), job('new', NOW - week), job('open', null)])
    .execute()
  const instance = (id: string, seenAt: number) => ({ id, version: '1', role: 'all', started_at: 1, seen_at: seenAt })
  await db
    .insertInto('instance')
    .values([instance('gone', NOW - DAY_MS - 1), instance('here', NOW - DAY_MS)])
    .execute()
  const alert = {
    account_id: ada,
    month: 1,
    event: 'usage.alert',
    basis: 'credit',
    threshold: 50,
    created_at: 1,
    told: 0,
  } as const
  await db
    .insertInto('usage_alert')
    .values({ ...alert, spent_nano_usd: 1n, limit_nano_usd: 2n })
    .execute()
  const attempt = (id: string, result: 'done' | 'denied', at: number) => ({
    account_id: ada,
    id: `aud_${id}` as AuditId,
    actor_kind: 'key' as const,
    action: 'key.created',
    result,
    details: '{}',
    created_at: at,
  })
  const long = NOW - 400 * DAY_MS
  await db
    .insertInto('audit')
    .values([attempt('a', 'denied', long - 1), attempt('b', 'denied', long), attempt('c', 'done', long - 1)])
    .execute()
  assert.equal(await deleteTraces(now(database)), 3)
  assert.deepEqual(
    (await db.selectFrom('audit').select('id').orderBy('id').execute()).map(({ id }) => id),
    ['aud_b', 'aud_c'],
  )
  const names = (await db.selectFrom('job').select('name').orderBy('name').execute()).map(({ name }) => name)
  assert.deepEqual(names, ['new', 'open'])
  assert.deepEqual(
    (await db.selectFrom('instance').select('id').execute()).map(({ id }) => id),
    ['here'],
  )
  assert.equal((await everything(database, 'usage_alert')).length, 1)
})

test('retention stops between two batches when asked to, and goes on the next time', async (t) => {
  const controller = new AbortController()
  let left = 3
  const deleteOne = async () => {
    left--
    controller.abort(new Error('stopping'))
    return 1
  }
  await assert.rejects(inBatches(deleteOne, controller.signal))
  assert.equal(left, 2)
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const kinds = retentionJobs({ ...now(database), responseDays: () => 30 })
  assert.deepEqual(
    Object.entries(kinds).map(([kind, { everyMs }]) => [kind, everyMs]),
    [
      ['retention.idempotency', HOUR_MS / 4],
      ['retention.months', 6 * HOUR_MS],
      ['retention.usage', HOUR_MS],
      ['retention.traces', HOUR_MS],
      ['retention.rejections', HOUR_MS],
      ['retention.responses', HOUR_MS / 4],
    ],
  )
  const job = { id: 'job_1', kind: 'k', name: 'schedule', payload: null, attempt: 1, createdAt: 1 }
  const context = { signal: new AbortController().signal, stillMine: async () => true }
  for (const { handler } of Object.values(kinds)) await handler(job, context)
})
