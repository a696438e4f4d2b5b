import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { sql } from 'kysely'
import { temporaryDatabase, temporaryPath } from '../../test/support/database.ts'
import { migrate, pendingMigrations } from './migrate.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { openDatabase } from './open.ts'

const ALL = MIGRATIONS.map(({ name }) => name)

test('an empty database gets every migration in order, once', async (t) => {
  const { db, close } = await openDatabase({ path: await temporaryPath(t) })
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

test('processes that start at the same time on a new file share the work without harm', async (t) => {
  const path = await temporaryPath(t)
  const code = `import { openDatabase } from ${JSON.stringify(new URL('./open.ts', import.meta.url).href)}
    import { migrate } from ${JSON.stringify(new URL('./migrate.ts', import.meta.url).href)}
    const { db, close } = await openDatabase({ path: ${JSON.stringify(path)} })
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

test('every tenant table has account_id first in its primary key, and all tables are strict', async (t) => {
  const { db } = await temporaryDatabase(t)
  const exempt = new Set([
    'account',
    'credential',
    'sign_in_link',
    'price_version',
    'setting',
    'schema_migration',
    'instance',
    'job',
  ])
  const { rows } = await sql<{ name: string; strict: number; wr: number }>`
    select name, strict, wr from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite%'`.execute(
    db,
  )
  assert.ok(rows.length >= 18)
  for (const { name, strict, wr } of rows) {
    assert.equal(strict, 1, name)
    if (exempt.has(name)) continue
    assert.equal(wr, 1, `${name} is stored in the order of its key`)
    const key = await sql<{ name: string }>`select name from pragma_table_info(${name}) where pk = 1`.execute(db)
    assert.deepEqual(key.rows, [{ name: 'account_id' }], name)
  }
})
