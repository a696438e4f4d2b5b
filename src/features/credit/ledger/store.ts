import type { OpenedDatabase } from '../../../db/database.ts'
import { createPostgresStore } from './postgres/store.ts'
import { createSqliteStore } from './sqlite/store.ts'
import type { LedgerStore } from './unit.ts'

/** Returns the ledger on a database. @param database SQLite must be opened with `LEDGER_PROGRAMS`. */
export function createLedgerStore(database: Pick<OpenedDatabase, 'postgres' | 'run'>): LedgerStore {
  const { postgres } = database
  return postgres === undefined ? createSqliteStore(database) : createPostgresStore(postgres)
}
