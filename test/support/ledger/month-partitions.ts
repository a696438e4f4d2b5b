/** Months of completions on PostgreSQL as they were some time after the migration that made them. */
import { sql } from 'kysely'
import type { OpenedDatabase } from '../../../src/db/database.ts'
import { createMonthPartitions } from '../../../src/db/postgres/completion-partitions.ts'
import { completionIdFloor } from '../../../src/domain/ids.ts'
import { monthNumber, monthStart } from '../../../src/lib/time.ts'

/** Makes the months from that of `first` to three after `now`, both Unix milliseconds, in a database without completions. */
export async function createPartitionsSince({ db }: OpenedDatabase, first: number, now: number): Promise<void> {
  const floor = completionIdFloor(monthStart(monthNumber(first)))
  const statements = [
    'alter table completion detach partition completion_default',
    'alter table completion_default rename to completion_before',
    `alter table completion attach partition completion_before for values from (minvalue) to ('${floor}')`,
    'create table completion_default partition of completion default',
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
  await createMonthPartitions(db, now)
}
