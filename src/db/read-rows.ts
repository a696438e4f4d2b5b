import { type Kysely, type RawBuilder, sql } from 'kysely'
import { dialectOf } from './dialect.ts'
import type { Database } from './schema.ts'

/**
 * The rows of a query in SQL, read where other selects are. On SQLite, executed as it is, it would be taken for one that
 * writes, and what writes would wait for it. PostgreSQL gets it as it is: it would prepare no `select *` of ours.
 */
export async function readRows<Row>(db: Kysely<Database>, query: RawBuilder<Row>): Promise<readonly Row[]> {
  if (dialectOf(db) === 'postgres') return (await query.execute(db)).rows
  return db.selectFrom(sql`(${query})`.as('found')).selectAll().$castTo<Row>().execute()
}
