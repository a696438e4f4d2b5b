/**
 * A SQLite file in the hands of one process, for commands that copy or replace it. Everything here blocks, so nothing of
 * the service may use it.
 */
import { DatabaseSync } from 'node:sqlite'
import { resultCodeOf } from './failure.ts'

const BUSY_TIMEOUT_MS = 1_000
const SQLITE_BUSY = 5

/**
 * Nobody else has the file open now, and whoever opens it has to wait until this connection is closed. What is in the
 * file is not changed.
 * Throws when another process has it open, also one that only looks on.
 */
export function openAlone(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
  try {
    // With this, the lock is of the whole file, and stays when the transaction is over.
    database.exec('pragma locking_mode = exclusive; begin exclusive; commit')
    return database
  } catch (error) {
    database.close()
    if (!hasCode(error, SQLITE_BUSY)) throw error
    throw new Error(`${path} is in use: a service or another command has it open. End that first.`, { cause: error })
  }
}

/** Names of the migrations that the database has; undefined when it is not one of Turnpike's. */
export function appliedMigrations(database: DatabaseSync): readonly string[] | undefined {
  const found = database.prepare("select 1 from sqlite_schema where type = 'table' and name = 'schema_migration'").get()
  if (found === undefined) return undefined
  const rows = database.prepare('select name from schema_migration order by name').all()
  return rows.map(({ name }) => String(name))
}

/** What is wrong with the structure of the file, in SQLite's words; nothing: it is whole. */
export function damages(database: DatabaseSync, check: 'integrity_check' | 'quick_check'): readonly string[] {
  const findings = database.prepare(`pragma ${check}`).all()
  return findings.flatMap((row) => Object.values(row).map(String)).filter((text) => text !== 'ok')
}

/** Whether the error says that the file is not a database, or is one no longer. */
export function isDamage(error: unknown): boolean {
  return hasCode(error, SQLITE_CORRUPT) || hasCode(error, SQLITE_NOTADB)
}

const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26

/** The extended codes have the plain one in their lowest byte. */
function hasCode(error: unknown, code: number): boolean {
  return ((resultCodeOf(error) ?? 0) & 0xff) === code
}
