import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from './schema.ts'

/**
 * The rows of a query in SQL, read where other selects are. Executed as it is, it would be taken for one that writes, and
 * what writes would wait for it.
 */
export function readRows<Row>(db: Kysely<Database>, query: RawBuilder<Row>): Promise<readonly Row[]> {
  return db.selectFrom(sql`(${query})`.as('found')).selectAll().$castTo<Row>().execute()
}
