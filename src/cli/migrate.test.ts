import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { makeInstallation } from '../../test/support/process/installation.ts'
import { type PostgresServer, startPostgres } from '../../test/support/process/postgres-server.ts'
import { migrate } from '../db/migrate.ts'
import { describeTables, LEFT_BEHIND, MOVED_TABLES } from '../db/move/move.ts'
import { openDatabase } from '../db/open.ts'
import type { AccountId } from '../domain/ids.ts'
import { reconcile, renderReconciled } from '../features/credit/reconcile.ts'

const COMMAND = fileURLToPath(new URL('../../bin/turnpike.js', import.meta.url))
const COMPLETIONS = 2_000

let server: PostgresServer
let template: string

before(async () => {
  server = await startPostgres()
  template = await mkdtemp(join(tmpdir(), 'turnpike-move-'))
  await makeInstallation(join(template, 'turnpike.db'), COMPLETIONS)
})
after(async () => {
  await server.stop()
  await rm(template, { recursive: true, force: true })
})

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

let databases = 0

/** A copy of the installation, and an empty database. */
async function setUp(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-move-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'turnpike.db')
  const original = new DatabaseSync(join(template, 'turnpike.db'))
  original.prepare('vacuum into ?').run(path)
  original.close()
  const name = `move_${++databases}`
  await statement(server.url, `create database ${name}`)
  const url = server.url.replace(/\/postgres$/, `/${name}`)
  const env = { PATH: '', TURNPIKE_DATA_DIR: folder, NO_COLOR: '1' }
  const move = (...flags: string[]): Promise<Ended> =>
    new Promise((resolve) => {
      const words = [COMMAND, 'migrate-to-postgres', url, ...flags]
      execFile(process.execPath, words, { env, cwd: folder }, (error, out, errors) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, error: errors }),
      )
    })
  const spawnMove = (...flags: string[]) =>
    spawn(process.execPath, [COMMAND, 'migrate-to-postgres', url, ...flags], { env, cwd: folder, stdio: 'ignore' })
  const ask = (text: string) => statement(url, text)
  /** Kills a move while it inserts a row, in the middle of a batch. */
  const killAt = async (table: string, row: string, ...flags: string[]) => {
    const database = await openDatabase({ url })
    await migrate(database.db, Date.now)
    await database.close()
    await ask(`create function stall() returns trigger language plpgsql as
      $$ begin perform pg_sleep(9); return new; end $$`)
    await ask(`create trigger stall before insert on ${table} for each row when (${row}) execute function stall()`)
    const stalled = "datname = current_database() and wait_event = 'PgSleep'"
    // One connection for all looks: a new one for each may take longer than the stall.
    const watcher = new Client({ connectionString: url })
    await watcher.connect()
    const isStalled = async () =>
      (await watcher.query(`select 1 from pg_stat_activity where ${stalled}`)).rows.length > 0
    const child = spawnMove(...flags)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    while (!(await isStalled()) && child.exitCode === null) await sleep(10)
    assert.equal(child.exitCode, null)
    child.kill('SIGKILL')
    await ended
    await watcher.end()
    await ask(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${stalled}`)
    await ask('drop function stall() cascade')
  }
  const source = (text: string) => {
    const database = new DatabaseSync(path)
    try {
      return database.prepare(text).all()
    } finally {
      database.close()
    }
  }
  return { folder, path, url, move, killAt, ask, source }
}

async function statement(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Every value of every row of every table, as text. `changed_at` is the database's own. */
async function assertSame({ path, ask }: Awaited<ReturnType<typeof setUp>>): Promise<void> {
  const database = new DatabaseSync(path)
  for (const { name, columns, key } of describeTables(database)) {
    const text = (bytes: string) =>
      columns
        .filter((column) => column.name !== 'changed_at')
        .map((column) => (column.type === 'BLOB' ? bytes.replaceAll('?', column.name) : `cast(${column.name} as text)`))
        .map((value, index) => `${value} as value_${index}`)
        .join(', ')
    const order = `order by ${key.map((column) => column.name).join(', ')}`
    const ours = database.prepare(`select ${text('iif(? is null, null, lower(hex(?)))')} from ${name} ${order}`).all()
    const theirs = await ask(`select ${text("encode(?, 'hex')")} from ${name} ${order}`)
    assert.equal(theirs.length, ours.length, name)
    const digest = (rows: readonly unknown[]) => createHash('sha256').update(JSON.stringify(rows)).digest('hex')
    assert.equal(digest(theirs), digest(ours), name)
  }
  database.close()
}

test('every row of every table is moved exactly, and the ledgers are consistent', async (t) => {
  const installation = await setUp(t)
  const { move, url, path } = installation
  const before = readFileSync(path)
  const { code, out, error } = await move()
  assert.deepEqual([code, error], [0, ''])
  assert.match(out, /moved completion: 2,000 rows\n/)
  assert.match(out, /to the nano-dollar:\n.*accounts +3\n.*completions +2,000, cost \d/)
  await assertSame(installation)
  assert.ok(before.equals(readFileSync(path)), 'the source is as it was')
  const database = await openDatabase({ url })
  t.after(() => database.close())
  for (const id of ['acc_a', 'acc_b', 'acc_c'] as AccountId[]) {
    assert.equal(renderReconciled(await reconcile(database.db, id)).ok, true)
  }
})

test('a killed move continues where it stopped, and completes', async (t) => {
  const installation = await setUp(t)
  const { move, killAt, ask, source } = installation
  const [middle] = source('select id from completion order by account_id, id limit 1 offset 1215')
  await killAt('api_key', "new.id = 'key_20'", '--batch', '7')
  await killAt('completion', `new.id = '${middle?.['id']}'`, '--batch', '100')
  const progress = "select table_name, moved from sqlite_move where table_name in ('completion', 'ledger') order by 1"
  assert.deepEqual(
    (await ask(progress)).map(({ moved }) => Number(moved)),
    [1_200, 0],
  )
  await killAt('ledger', "new.account_id = 'acc_b' and new.number = 500")
  await killAt('idempotency', "new.key = 'b'")
  const { code, out, error } = await move()
  assert.deepEqual([code, error], [0, ''])
  assert.match(out, /moved completion: 2,000 rows, 2,000 of them in an earlier run/)
  assert.match(out, /moved idempotency: 3 rows, 1 of them in an earlier run/)
  await assertSame(installation)
})

test('a target with data is rejected, even the result of a move', async (t) => {
  const { move, ask } = await setUp(t)
  assert.equal((await move()).code, 0)
  const again = await move()
  assert.deepEqual([again.code, again.out], [1, ''])
  assert.match(again.error, /not empty: it has rows in account/)
  const other = await setUp(t)
  await other.move('--batch', '0')
  await other.ask('create table unrelated (a int)')
  assert.equal((await other.move()).code, 0, 'what is not ours does not matter')
  assert.equal((await ask('select * from sqlite_move').catch(() => ['gone']))[0], 'gone')
})

test('a source that changed during a move is rejected', async (t) => {
  const { killAt, source, move } = await setUp(t)
  await killAt('credit', 'true')
  source("update credit set entries = entries + 1 where account_id = 'acc_a'")
  const { code, error } = await move()
  assert.equal(code, 1)
  assert.match(error, /written to since. Empty the target/)
})

test('a target that differs after the move is reported', async (t) => {
  const { move, ask, killAt } = await setUp(t)
  await killAt('job', 'true')
  await ask('update completion set cost_nano_usd = cost_nano_usd + 1 where id = (select max(id) from completion)')
  const { code, error } = await move()
  assert.equal(code, 1)
  assert.match(error, /rows of completion of the account acc_\w are not the same on both sides/)
})

test('an additional row in the target is reported', async (t) => {
  const { move, ask, killAt } = await setUp(t)
  await killAt('job', 'true')
  await ask(`insert into setting values ('zzz', 'x')`)
  assert.match((await move()).error, /rows of setting are not the same/)
})

test('a move is rejected while a service runs, or while requests are unsettled', async (t) => {
  const { move, path, folder, source, ask } = await setUp(t)
  const service = new DatabaseSync(path)
  service.exec('pragma journal_mode = wal; select count(*) from account')
  assert.match((await move()).error, /is in use/)
  service.close()
  mkdirSync(join(folder, 'spool', 'ins_1'), { recursive: true })
  assert.match((await move()).error, /the spool contains settlements/)
  await rm(join(folder, 'spool'), { recursive: true })
  source(
    `insert into hold (account_id, id, key_id, instance_id, amount_nano_usd, of_key_budget, model, provider, stream,
      price_version, prompt_tokens, completion_tokens, estimate_nano_usd, created_at)
      values ('acc_a', 'chatcmpl-x', 'key_1', 'ins_1', 1, 0, 'm', 'p', 0, 'v', 0, 0, 0, 0)`,
  )
  const { code, error } = await move()
  assert.equal(code, 1)
  assert.match(error, /1 requests are unsettled.*stop it with SIGTERM/)
  assert.deepEqual(await ask("select 1 from pg_tables where schemaname = 'public'"), [])
})

test('wrong usage exits with 2, and messages omit the password of the target', async (t) => {
  const { move, folder } = await setUp(t)
  const turnpike = (...words: string[]): Promise<Ended> =>
    new Promise((resolve) => {
      const env = { PATH: '', TURNPIKE_DATA_DIR: folder, NO_COLOR: '1' }
      execFile(process.execPath, [COMMAND, ...words], { env, cwd: folder }, (error, out, errors) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, error: errors }),
      )
    })
  assert.equal((await move('--batch', '0')).code, 2)
  assert.equal((await turnpike('migrate-to-postgres', 'mysql://x')).code, 2)
  const { code, error } = await turnpike('migrate-to-postgres', `postgres://u:topsecret@127.0.0.1:${server.port}/no`)
  assert.equal(code, 1)
  assert.ok(!error.includes('topsecret'), error)
})

test('every table of the schema is moved or explicitly excluded', () => {
  const database = new DatabaseSync(join(template, 'turnpike.db'))
  const tables = database.prepare("select name from sqlite_schema where type = 'table'").all()
  database.close()
  assert.deepEqual(tables.map(({ name }) => String(name)).sort(), [...MOVED_TABLES, ...LEFT_BEHIND].sort())
})
