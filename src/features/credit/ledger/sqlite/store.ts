/** The ledger on SQLite: each batch is one message to the database's writer thread, which carries it out there. */
import { extname } from 'node:path'
import type { OpenedDatabase } from '../../../../db/database.ts'
import type { LedgerStore, Outcome } from '../unit.ts'
import { toWire } from './wire.ts'

const NAME = 'ledger'

/** To be given to `openDatabase`. */
export const LEDGER_PROGRAMS: Readonly<Record<string, URL>> = {
  [NAME]: new URL(`./program${extname(import.meta.url)}`, import.meta.url),
}

/** @param database Opened with `LEDGER_PROGRAMS`. */
export function createSqliteStore({ run }: Pick<OpenedDatabase, 'run'>): LedgerStore {
  return {
    commit: (batch) => run(NAME, toWire(batch)) as Promise<readonly Outcome[]>, // that is what the program answers
  }
}
