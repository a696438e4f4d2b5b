import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { openLocation, postgresTest, temporaryLocation } from '../../../test/support/database.ts'
import { MIGRATIONS, planMigrations } from '../migrate.ts'

postgresTest('the planned locks of every migration are those that PostgreSQL takes', async (t) => {
  const { db, close } = await openLocation(await temporaryLocation(t))
  t.after(close)
  for (const { name } of MIGRATIONS) {
    const [planned = assert.fail(name)] = planMigrations([name], 'postgres')
    const taken = await db.transaction().execute(async (transaction) => {
      const names = new Map((await tables.execute(transaction)).rows.map(({ oid, table }) => [oid, table]))
      for (const { sql: text } of planned.statements) await sql.raw(text).execute(transaction)
      const { rows } = await locks.execute(transaction)
      return rows.flatMap(({ oid, mode }) => ({ table: names.get(oid) ?? '', mode }))
    })
    const expected = planned.statements.flatMap((statement) => statement.locks)
    const texts = (all: readonly { table: string; mode: string }[]) =>
      [...new Set(all.filter(({ table }) => table !== '').map(({ table, mode }) => `${mode} on ${table}`))].sort()
    assert.deepEqual(texts(taken), texts(expected), name)
  }
})

/** By their numbers, since a migration may give a name to another table. */
const tables = sql<{ oid: number; table: string }>`
  select oid, relname as table from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace`
/** Without those of readers, which hold nobody up; `AccessExclusiveLock` becomes `access exclusive`. */
const locks = sql<{ oid: number; mode: string }>`
  select relation as oid, lower(trim(regexp_replace(replace(mode, 'Lock', ''), '([A-Z])', ' \\1', 'g'))) as mode
  from pg_locks where pid = pg_backend_pid() and relation is not null and mode not in ('AccessShareLock', 'RowShareLock')`

test('tables of the same plan have no locks, and SQLite has none of tables', () => {
  const all = MIGRATIONS.map(({ name }) => name)
  const locksOf = (dialect: 'sqlite' | 'postgres') =>
    planMigrations(all, dialect).flatMap(({ statements }) => statements.flatMap((statement) => statement.locks))
  assert.deepEqual([locksOf('sqlite'), locksOf('postgres')], [[], []])
  const last = planMigrations(all.slice(21), 'postgres').flatMap(({ statements }) => statements)
  assert.deepEqual(last.find(({ sql: text }) => text.startsWith('alter table completion'))?.locks, [
    { table: 'completion', mode: 'access exclusive' },
  ])
})
