/** Times that processes must agree on: when a code or a token is over. */
import type { Kysely, RawBuilder } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { databaseNow } from '../../jobs/clock.ts'

/** Unix milliseconds by the clock that all processes share, as part of a statement. */
export type DatabaseTime = () => RawBuilder<number>

export const DATABASE_TIME: DatabaseTime = databaseNow

export async function readTime(db: Kysely<Database>, time: DatabaseTime): Promise<number> {
  const row = await db.selectNoFrom(time().as('now')).executeTakeFirstOrThrow()
  return row.now
}
