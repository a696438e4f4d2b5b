import { type Kysely, PostgresAdapter } from 'kysely'
import type { Database } from './schema.ts'

export type DialectName = 'sqlite' | 'postgres'

/** For the few who must tell them apart: queries are the same on both. */
export function dialectOf(db: Kysely<Database>): DialectName {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}
