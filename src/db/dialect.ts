/** Where SQLite and PostgreSQL differ for those who write queries, which are otherwise the same on both. */
import { type Kysely, PostgresAdapter, type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from './schema/schema.ts'

export type DialectName = 'sqlite' | 'postgres'

export function dialectOf(db: Kysely<Database>): DialectName {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

/**
 * Serializes the transactions that decide by what they read: those that acquire the lock of the same name run one after
 * another, until each commits. To be called first. SQLite serializes transactions anyway.
 */
export async function acquireAdvisoryLock(transaction: Transaction<Database>, name: string): Promise<void> {
  await sql`select turnpike_turn(${name})`.execute(transaction)
}

/**
 * Reads the rows of a raw query on the reader. SQLite would execute it as it is on the writer, and delay writes;
 * PostgreSQL gets it as it is, since it prepares no `select *` of ours.
 */
export async function readRows<Row>(db: Kysely<Database>, query: RawBuilder<Row>): Promise<readonly Row[]> {
  if (dialectOf(db) === 'postgres') return (await query.execute(db)).rows
  return db.selectFrom(sql`(${query})`.as('found')).selectAll().$castTo<Row>().execute()
}

/** Marks a text that PostgreSQL plans for each execution (a custom plan). */
export const CUSTOM_PLAN = '/* custom plan */'

/** Begins a query whose best plan depends on its bounds: a cached generic plan does not know them. */
export const customPlan: RawBuilder<unknown> = sql.raw(CUSTOM_PLAN)
