import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { temporarySqlite } from '../../test/support/sqlite-file.ts'
import { readRows } from './database.ts'

test('a query in SQL does not wait for what writes', { timeout: 120_000 }, async (t) => {
  const { db } = await temporarySqlite(t)
  const rows = await db
    .transaction()
    .execute(() => readRows(db, sql<{ n: number }>`with one as (select 1 as n) select n + ${1} as n from one`))
  assert.deepEqual(rows, [{ n: 2 }])
})

test('a query in SQL cannot write', async (t) => {
  const { db } = await temporarySqlite(t)
  await assert.rejects(readRows(db, sql`delete from account returning id`))
})
