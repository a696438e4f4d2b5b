import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import {
  dialect,
  openLocation,
  postgresTest,
  sqliteTest,
  temporaryDatabase,
  temporaryLocation,
} from '../../test/support/database.ts'
import { completionRecord, ensureAccounts, recordCompletions } from '../../test/support/ledger/completions.ts'
import type { CompletionRecord } from '../domain/completion.ts'
import { type AccountId, type CompletionId, completionIdFloor } from '../domain/ids.ts'
import { reconcile } from '../features/credit/reconcile.ts'
import { listCompletions } from '../features/usage/completion-list.ts'
import { MIGRATIONS, migrate, pendingMigrations } from './migrate.ts'
import { postgresStatement, sqliteStatement } from './migrations/statement.ts'
import { createMonthPartitions } from './postgres/completion-partitions.ts'
import type { Database } from './schema/schema.ts'

/** Of lists of completions. */
const NO_FILTER = {
  model: undefined,
  keyId: undefined,
  status: undefined,
  agentId: undefined,
  provider: undefined,
  clientRequestId: undefined,
}
const LONGER_THAN_STATEMENTS_MS = 5_500
const ALL = MIGRATIONS.map(({ name }) => name)

test('an empty database gets every migration in order, once', async (t) => {
  const { db, close } = await openLocation(await temporaryLocation(t))
  t.after(close)
  assert.deepEqual(await pendingMigrations(db), ALL)
  assert.deepEqual(await migrate(db, () => 5), ALL)
  assert.deepEqual(await migrate(db, () => 6), [])
  assert.deepEqual(await pendingMigrations(db), [])
  const rows = await db.selectFrom('schema_migration').selectAll().execute()
  assert.deepEqual(
    rows,
    ALL.map((name) => ({ name, applied_at: 5 })),
  )
})

test('migrations are numbered without gaps', () => {
  assert.deepEqual(
    ALL.map((name) => Number(name.slice(0, 4))),
    ALL.map((_, index) => index + 1),
  )
})

test('a database of a newer release is refused', async (t) => {
  const { db } = await temporaryDatabase(t)
  await db.insertInto('schema_migration').values({ name: '9999-future', applied_at: 1 }).execute()
  await assert.rejects(migrate(db, Date.now), /newer release/)
})

test('processes that start at the same time on a new database share the work without harm', async (t) => {
  const place = await temporaryLocation(t)
  const code = `import { openLocation } from ${JSON.stringify(new URL('../../test/support/database.ts', import.meta.url).href)}
    import { migrate } from ${JSON.stringify(new URL('./migrate.ts', import.meta.url).href)}
    const { db, close } = await openLocation(${JSON.stringify(place)})
    console.log(JSON.stringify(await migrate(db, Date.now)))
    await close()`
  const run = async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
    return JSON.parse(output) as string[]
  }
  const applied = await Promise.all([run(), run(), run(), run()])
  assert.deepEqual(applied.flat(), ALL)
})

sqliteTest('a process waits for another one that migrates, longer than a statement waits', async (t) => {
  const location = await temporaryLocation(t)
  const { db, close } = await openLocation(location)
  t.after(close)
  const other = new DatabaseSync(location)
  t.after(() => other.close())
  other.exec('begin immediate')
  const applied = migrate(db, Date.now)
  await sleep(LONGER_THAN_STATEMENTS_MS)
  other.exec('rollback')
  assert.deepEqual(await applied, ALL)
})

/** As the release left it whose last migration this is. */
async function databaseOf(t: TestContext, last: string) {
  const location = await temporaryLocation(t)
  const database = { ...(await openLocation(location)), location }
  t.after(() => database.close())
  const { db } = database
  const inItsWords = dialect === 'postgres' ? postgresStatement : sqliteStatement
  await sql`create table schema_migration (name text primary key, applied_at bigint not null)`.execute(db)
  for (const { name, statements } of MIGRATIONS.slice(0, ALL.indexOf(last) + 1)) {
    for (const statement of statements) await sql.raw(inItsWords(statement) ?? 'select 1').execute(db)
    await db.insertInto('schema_migration').values({ name, applied_at: 1 }).execute()
  }
  return database
}

test('completions of a release that noted no attempts stay as they are, and new ones have their log', async (t) => {
  const database = await databaseOf(t, '0004-instances')
  const { db } = database
  const attemptLog = [
    { provider: 'p', model: 'm', outcome: 'cut', status: 200, startedMs: 0, durationMs: 1 },
  ] as const satisfies CompletionRecord['attemptLog']
  const record = completionRecord({ attemptLog })
  await ensureAccounts(database, [record.accountId])
  await sql`insert into completion (account_id, id, key_id, model, provider, status, stream, prompt_tokens,
      completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_nano_usd, price_version,
      usage_source, created_at, duration_ms, attempts)
    values (${record.accountId}, 'chatcmpl-0', 'key_a', 'm1', 'p', 'completed', 0, 1, 2, 0, 0, 0, 3, 'v1',
      'provider', 4, 5, 1)`.execute(db)
  const before = await sql<object>`select * from completion`.execute(db)
  assert.deepEqual((await migrate(db, Date.now))[0], '0005-attempts')
  await recordCompletions(database, [record])
  const [old, noted] = await db.selectFrom('completion').selectAll().orderBy('id').execute()
  const added = {
    usage_detail: null,
    price_rule: null,
    usage_bounded: null,
    provider_cost_nano_usd: null,
    unbilled_nano_usd: null,
    api: null,
    team_id: null,
    tags: null,
    session_id: null,
    end_user: null,
    request_id: null,
  }
  assert.deepEqual(old, { ...before.rows[0], attempt_log: null, ...added })
  assert.equal(noted?.attempt_log, JSON.stringify(attemptLog))
})

test('rejected requests stay, and those of nobody can be stored', async (t) => {
  const { db } = await databaseOf(t, '0028-rejections')
  await sql`insert into account (id, name, plan, created_at, changed_at) values ('acc_1', 'One', 'pro', 1, 1)`.execute(
    db,
  )
  const insert = (requestId: string, keyId: string | null) =>
    sql`insert into rejection (account_id, request_id, created_at, key_id, endpoint, model, status, code)
      values ('acc_1', ${requestId}, 1, ${keyId}, '/v1/messages', null, 401, 'invalid_credential')`.execute(db)
  await insert('req_1', 'key_1')
  await assert.rejects(insert('req_2', null))
  await migrate(db, Date.now)
  await insert('req_2', null)
  const rows = await db.selectFrom('rejection').select(['request_id', 'key_id']).orderBy('request_id').execute()
  assert.deepEqual(rows, [
    { request_id: 'req_1', key_id: 'key_1' },
    { request_id: 'req_2', key_id: null },
  ])
})

/** Names of the partitions of completions, with their rows. */
async function partitionsOf(db: Kysely<Database>) {
  const { rows } = await sql<{ name: string; count: number }>`
    select c.tableoid::regclass::text as name, count(*) as count from completion as c group by 1 order by 1`.execute(db)
  return Object.fromEntries(rows.map(({ name, count }) => [name.replace(/.*\./, ''), count]))
}

postgresTest(
  'completions stay where they are when their table is partitioned, while others read and write',
  async (t) => {
    const database = await databaseOf(t, '0043-destination-content')
    const { db } = database
    const accountId = 'acc_1' as AccountId
    const old = [3, 2, 1].map((months) =>
      completionRecord({ accountId, createdAt: Date.now() - months * 31 * 86_400_000 }),
    )
    await recordCompletions(database, [...old, completionRecord({ accountId, status: 'failed' })])
    const file = async (name: string) =>
      (await sql`select oid, relfilenode from pg_class where oid = to_regclass(${name})`.execute(db)).rows
    const before = await file('completion')
    let written = 4
    let isOver = false
    const writer = (async () => {
      while (!isOver) {
        await recordCompletions(database, [completionRecord({ accountId, createdAt: Date.now() })])
        written++
      }
    })()
    const other = await openLocation(database.location)
    const read = sql`select count(*) from completion, pg_sleep(1)` // longer than statements of the job wait
    const reader = (async () => {
      await read.execute(other.db)
      await read.execute(other.db)
    })()
    assert.deepEqual(await migrate(db, Date.now), ['0044-completion-months'])
    await createMonthPartitions(db, Date.now())
    isOver = true
    await Promise.all([writer, reader])
    await other.close()
    assert.ok(written > 5)
    assert.deepEqual(await file('completion_before'), before)
    assert.deepEqual(await partitionsOf(db), { completion_before: written })
    const later = Date.now() + 70 * 86_400_000
    await recordCompletions(database, [completionRecord({ accountId, createdAt: later })])
    assert.equal(Object.keys(await partitionsOf(db)).length, 2)
    const filter = { period: { start: 0, end: later + 1 }, ...NO_FILTER }
    const pages: CompletionId[] = []
    for (let after: CompletionId | undefined; ; after = pages.at(-1)) {
      const page = await listCompletions(db, { accountId, filter, limit: 2, order: 'desc', after })
      pages.push(...page.map(({ id }) => id))
      if (page.length < 2) break
    }
    assert.equal(pages.length, written + 1)
    assert.deepEqual(pages, pages.toSorted().reverse())
    assert.equal(pages[0]?.slice(0, 17), completionIdFloor(later))
    const failed = await listCompletions(db, {
      accountId,
      filter: { ...filter, status: 'failed' },
      limit: 2,
      order: 'asc',
      after: undefined,
    })
    assert.equal(failed.length, 1)
    const { rowsNanoUsd, ledgerNanoUsd } = await reconcile(db, accountId)
    assert.equal(rowsNanoUsd, ledgerNanoUsd)
  },
)

/** The last migration of 0.1.0. */
const OF_0_1 = '0013-bounded-usage'
const NOW = Date.UTC(2026, 10, 24)

/** Two accounts with budgets, keys, what they spent, completions and a ledger, as 0.1.0 stored them. */
const ROWS_OF_0_1 = [
  `insert into account (id, name, plan, created_at, changed_at) values ('acc_1', 'One', 'pro', 1, 1), ('acc_2', 'Two', 'free', 2, 2)`,
  `insert into api_key (account_id, id, name, prefix, last4, scopes, ip_allowlist, monthly_budget_nano_usd,
    requests_per_minute, models, created_at, last_used_at, expires_at, revoked_at, changed_at)
  values ('acc_1', 'key_1', 'first', 'sk-tp-a', 'wxyz', '["chat"]', '["10.0.0.0/8"]', 5000000000, 60, '["m1"]', 3, 4, null, null, 3),
    ('acc_1', 'key_2', 'gone', 'sk-tp-b', 'abcd', '[]', '[]', null, null, '[]', 3, null, 9, 5, 6)`,
  `insert into credential (hash, account_id, kind, id) values (HASH, 'acc_1', 'key', 'key_1')`,
  `insert into credit (account_id, balance_nano_usd, held_nano_usd, allowance_nano_usd, month, granted_month, spent_nano_usd,
    entries, entered_at, monthly_budget_nano_usd, alert_thresholds, retired_nano_usd)
  values ('acc_1', 9999999971, 0, 0, 682, 0, 29, 2, 8, 7000000000, '[50,90]', 0)`,
  `insert into key_spending (account_id, key_id, month, spent_nano_usd, held_nano_usd) values ('acc_1', 'key_1', 682, 29, 0)`,
  `insert into price_version (id, model, input_micro_usd, output_micro_usd, first_seen_at) values ('pv_1', 'm1', 1, 2, 1)`,
  `insert into completion (account_id, id, key_id, model, provider, status, stream, prompt_tokens, completion_tokens,
    cached_tokens, cache_write_tokens, reasoning_tokens, cost_nano_usd, price_version, usage_source, created_at, duration_ms,
    attempts)
  values ('acc_1', 'chatcmpl-1', 'key_1', 'm1', 'p', 'completed', 0, 7, 11, 0, 0, 0, 29, 'pv_1', 'provider', ${NOW}, 5, 1)`,
  ...['usage_rollup', 'usage_hour'].map(
    (table) =>
      `insert into ${table} values ('acc_1', ${NOW / (table === 'usage_hour' ? 3_600_000 : 86_400_000)}, 'key_1', 'm1', 1, 7, 11, 29)`,
  ),
  `insert into ledger (account_id, number, kind, debit, credit, amount_nano_usd, balance_nano_usd, completion_id, key_id,
    price_version, created_at)
  values ('acc_1', 1, 'purchase', 'payments', 'credit', 10000000000, 10000000000, null, null, null, 2),
    ('acc_1', 2, 'charge', 'credit', 'revenue', 29, 9999999971, 'chatcmpl-1', 'key_1', 'pv_1', ${NOW})`,
]

test('a database of 0.1 keeps every account, key, budget, charge and row, and its sums agree', async (t) => {
  const { db } = await databaseOf(t, OF_0_1)
  const hash = dialect === 'postgres' ? `'\\x${'ab'.repeat(32)}'` : `x'${'ab'.repeat(32)}'`
  for (const statement of ROWS_OF_0_1) await sql.raw(statement.replace('HASH', hash)).execute(db)
  const tables = ROWS_OF_0_1.map((statement) => /into (\w+)/.exec(statement)?.[1] ?? '')
  const read = async (table: string) =>
    (await sql<object>`select * from ${sql.table(table)} order by 1, 2`.execute(db)).rows
  const before = new Map(await Promise.all(tables.map(async (table) => [table, await read(table)] as const)))
  await migrate(db, Date.now)
  for (const [table, rows] of before) {
    assert.ok(rows.length > 0, table)
    const after = await read(table)
    assert.equal(after.length, rows.length, table)
    rows.forEach((row, at) => {
      const names = Object.keys(row)
      const kept = Object.entries(after[at] ?? {}).filter(([name]) => names.includes(name))
      assert.deepEqual(Object.fromEntries(kept), row, table)
    })
  }
  const { balanceNanoUsd, expectedBalanceNanoUsd, ...sums } = await reconcile(db, 'acc_1' as AccountId)
  assert.deepEqual([balanceNanoUsd, expectedBalanceNanoUsd], [9_999_999_971n, 9_999_999_971n])
  assert.deepEqual([sums.rowsNanoUsd, sums.rollupsNanoUsd, sums.ledgerNanoUsd], [29n, 29n, 29n])
})

/** Reference and local tables, see `schema.ts`. */
const EXEMPT = new Set([
  'account',
  'credential',
  'sign_in_link',
  'device_code',
  'person',
  'identity',
  'session',
  'guess',
  'price_version',
  'plan_allowance',
  'provider_hour',
  'analytics_export',
  'ledger_audit',
  'ledger_audit_finding',
  'setting',
  'stored_setting',
  'schema_migration',
  'instance',
  'job',
])

sqliteTest('every tenant table has account_id first in its primary key, and all tables are strict', async (t) => {
  const { db } = await temporaryDatabase(t)
  const { rows } = await sql<{ name: string; strict: number; wr: number }>`
    select name, strict, wr from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite%'`.execute(
    db,
  )
  assert.ok(rows.length >= 18)
  for (const { name, strict, wr } of rows) {
    assert.equal(strict, 1, name)
    if (EXEMPT.has(name)) continue
    assert.equal(wr, 1, `${name} is stored in the order of its key`)
    const key = await sql<{ name: string }>`select name from pragma_table_info(${name}) where pk = 1`.execute(db)
    assert.deepEqual(key.rows, [{ name: 'account_id' }], name)
  }
})

postgresTest(
  'every tenant table has account_id first in its primary key, and every text is ordered by its bytes',
  async (t) => {
    const { db } = await temporaryDatabase(t)
    const { rows } = await sql<{ name: string; first: string }>`
    select t.relname as name, a.attname as first
    from pg_class t
    join pg_index i on i.indrelid = t.oid and i.indisprimary
    join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0]
    where t.relnamespace = current_schema()::regnamespace and t.relkind = 'r'`.execute(db)
    assert.ok(rows.length >= 18)
    for (const { name, first } of rows) if (!EXEMPT.has(name)) assert.equal(first, 'account_id', name)
    const texts = await sql<{
      table_name: string
      column_name: string
      data_type: string
      collation_name: string | null
    }>`
    select table_name, column_name, data_type, collation_name from information_schema.columns
    where table_schema = current_schema()`.execute(db)
    const types = new Set(texts.rows.map(({ data_type }) => data_type))
    assert.deepEqual(types, new Set(['text', 'bigint', 'bytea']))
    for (const { table_name, column_name, data_type, collation_name } of texts.rows)
      if (data_type === 'text') assert.equal(collation_name, 'C', `${table_name}.${column_name}`)
  },
)

postgresTest('what is written once stays: the ledger and invoices refuse updates, deletes and truncates', async (t) => {
  const { db } = await temporaryDatabase(t)
  for (const table of ['ledger', 'invoice']) {
    for (const change of ['update $ set number = 1', 'delete from $', 'truncate $']) {
      await assert.rejects(sql.raw(change.replace('$', table)).execute(db), new RegExp(`${table} is append-only`))
    }
  }
})
