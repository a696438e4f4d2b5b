import type { OpenedDatabase } from '../../../db/database.ts'
import { createPostgresStore } from './postgres/store.ts'
import { createSqliteStore } from './sqlite/store.ts'
import type { LedgerStore } from './unit.ts'

/** The ledger where the data is. @param database A SQLite one is opened with `LEDGER_PROGRAMS`. */
export function createLedgerStore(database: Pick<OpenedDatabase, 'postgres' | 'run'>): LedgerStore {
  const { postgres } = database
  return postgres === undefined ? createSqliteStore(database) : createPostgresStore(postgres)
}
