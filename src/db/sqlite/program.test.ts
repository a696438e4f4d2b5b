import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import type { Order } from '../../../test/support/process/database-program.ts'
import { temporaryPath } from '../../../test/support/sqlite-file.ts'
import type { AccountId } from '../../domain/ids.ts'
import { migrate } from '../migrate.ts'
import { openDatabase } from '../open.ts'

const FIXTURE = new URL('../../../test/support/process/database-program.ts', import.meta.url)

async function openWithProgram(t: TestContext) {
  const database = await openDatabase({ path: await temporaryPath(t), programs: { fixture: FIXTURE } })
  t.after(() => database.close())
  await migrate(database.db, Date.now)
  const order = (given: Order) => database.run('fixture', given)
  const names = async () => {
    const rows = await database.db.selectFrom('account').select('name').orderBy('name').execute()
    return rows.map(({ name }) => name)
  }
  return { ...database, order, names }
}

test('a program decides and writes in one transaction, and answers plain data', async (t) => {
  const { order, names } = await openWithProgram(t)
  assert.equal(await order({ add: ['a', 'b'] }), 2)
  assert.deepEqual(await names(), ['a', 'b'])
  assert.deepEqual(await order({ read: { sql: 'select name from account order by name', one: false } }), [
    { name: 'a' },
    { name: 'b' },
  ])
  assert.equal(await order({ read: { sql: 'select 1 as one where 0', one: true } }), undefined)
})

test('a program reads amounts as bigint and all other integers as number', async (t) => {
  const { order } = await openWithProgram(t)
  const columns = 'select 9007199254740993 as cost_nano_usd, 7 as requests'
  const row = { cost_nano_usd: 9_007_199_254_740_993n, requests: 7 }
  assert.deepEqual(await order({ read: { sql: columns, one: true } }), row)
  assert.deepEqual(await order({ read: { sql: columns, one: false } }), [row])
})

test('what a program threw in the middle of leaves nothing behind, and the next one works', async (t) => {
  const { order, names } = await openWithProgram(t)
  await assert.rejects(order({ add: ['a'], thenThrow: 'no' }), { name: 'DatabaseError', message: 'no' })
  await assert.rejects(order({ add: ['b', 'b'] }), { name: 'DatabaseError', resultCode: 1555 })
  await assert.rejects(order({ add: ['c'], leaveOpen: true }), /left its transaction open/)
  await order({ add: ['d'] })
  assert.deepEqual(await names(), ['d'])
})

test('a part of a program’s transaction can be taken back alone', async (t) => {
  const { order, names } = await openWithProgram(t)
  await order({ add: ['a'], addAndTakeBack: 'b' })
  assert.deepEqual(await names(), ['a'])
})

test('a program waits for the transaction that holds the writer', async (t) => {
  const { db, order, names } = await openWithProgram(t)
  let done: Promise<unknown> | undefined
  await db.transaction().execute(async (inside) => {
    await inside
      .insertInto('account')
      .values({ id: 'acc_first' as AccountId, name: 'first', plan: 'free', created_at: 1, changed_at: 1 })
      .execute()
    done = order({ add: ['second'] })
    assert.deepEqual(await names(), [])
  })
  await done
  assert.deepEqual(await names(), ['first', 'second'])
})

test('F15: a full disk refuses a program with database_unavailable, whole, until there is space', async (t) => {
  const { db, order, names } = await openWithProgram(t)
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db)
  await sql`pragma max_page_count = ${sql.raw(String(rows[0]?.page_count))}`.execute(db)
  const large = 'x'.repeat(100_000)
  await assert.rejects(order({ add: ['a', large] }), { code: 'database_unavailable' })
  assert.deepEqual(await names(), [])
  await sql`pragma max_page_count = 1000000`.execute(db)
  await order({ add: ['a', large] })
  assert.equal((await names()).length, 2)
})

test('an unknown program is refused when it is run, one that cannot be loaded when the database is opened', async (t) => {
  const { run } = await openWithProgram(t)
  await assert.rejects(run('other', {}), { name: 'DatabaseError', message: /without this program/ })
  const missing = new URL('./no-such-program.ts', import.meta.url)
  await assert.rejects(openDatabase({ path: await temporaryPath(t), programs: { missing } }), /no-such-program/)
})
