/** Offline access to a SQLite file, for commands that copy or replace it. It blocks the thread: the service must not use it. */
import { closeSync, constants, existsSync, openSync } from 'node:fs'
import { copyFile, link, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { syncPath } from '../directory.ts'
import { resultCodeOf, SQLITE_BUSY } from '../failure.ts'

const BUSY_TIMEOUT_MS = 1_000
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26
/** Companion files of a database that is in use, or was when its process died: the write-ahead log, and its index. */
const LOG = '-wal'
const INDEX = '-shm'

/**
 * Locks the whole file until this connection is closed, without changing it.
 * Throws when another process has it open, also one that only reads.
 */
export function openExclusive(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
  try {
    // In this mode the lock covers the whole file and outlives the transaction.
    database.exec('pragma locking_mode = exclusive; begin exclusive; commit')
    return database
  } catch (error) {
    database.close()
    if (!hasCode(error, SQLITE_BUSY)) throw error
    throw new Error(`${path} is in use: a service or another command has it open. End that first.`, { cause: error })
  }
}

/** Returns the names of the applied migrations; undefined when the database is not Turnpike's. */
export function appliedMigrations(database: DatabaseSync): readonly string[] | undefined {
  const found = database.prepare("select 1 from sqlite_schema where type = 'table' and name = 'schema_migration'").get()
  if (found === undefined) return undefined
  const rows = database.prepare('select name from schema_migration order by name').all()
  return rows.map(({ name }) => String(name))
}

/** Returns SQLite's messages about a damaged file; none when it is intact. */
function integrityErrors(database: DatabaseSync, check: 'integrity_check' | 'quick_check'): readonly string[] {
  const findings = database.prepare(`pragma ${check}`).all()
  return findings.flatMap((row) => Object.values(row).map(String)).filter((text) => text !== 'ok')
}

/** Whether the error means that the file is not a database, or is corrupt. */
export function isCorruption(error: unknown): boolean {
  return hasCode(error, SQLITE_CORRUPT) || hasCode(error, SQLITE_NOTADB)
}

/** The extended codes have the plain one in their lowest byte. */
function hasCode(error: unknown, code: number): boolean {
  return ((resultCodeOf(error) ?? 0) & 0xff) === code
}

/**
 * Writes a consistent copy of the database without blocking its writers. The target appears only when it is complete and
 * synced to disk.
 * @returns Bytes of the copy. Rejects when the target exists.
 */
export async function writeCopy(source: string, target: string): Promise<number> {
  const part = `${target}.part`
  createPartFile(part)
  try {
    vacuumInto(source, part)
    assertIntact(part, 'quick_check')
    syncPath(part)
    if (existsSync(target)) throw new Error(`${target} exists and is not overwritten.`)
    await rename(part, target)
    syncPath(dirname(target))
    return (await stat(target)).size
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Creates the empty file that SQLite writes into, readable by this user alone. */
function createPartFile(part: string): void {
  try {
    closeSync(openSync(part, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    const message = `${part} exists: another backup is running, or one was interrupted. Delete the file if none is running.`
    throw new Error(message, { cause: error })
  }
}

function vacuumInto(source: string, target: string): void {
  const database = new DatabaseSync(source, { readOnly: true, timeout: 5_000 })
  try {
    database.prepare('vacuum into ?').run(target)
  } finally {
    database.close()
  }
}

/** Throws, with SQLite's findings, when the file is not an intact database. */
export function assertIntact(path: string, check: 'integrity_check' | 'quick_check'): void {
  const database = new DatabaseSync(path)
  try {
    const found = integrityErrors(database, check)
    if (found.length > 0) throw new Error(`the database is damaged: ${found.slice(0, 3).join('; ')}`)
  } finally {
    database.close()
  }
}

/** Copies a database with the write-ahead log that a dead process left, as a draft to check and migrate. */
export async function copyFiles(source: string, draft: string): Promise<void> {
  await removeFiles(draft)
  await copyFile(source, draft, constants.COPYFILE_EXCL)
  if (existsSync(source + LOG)) await copyFile(source + LOG, draft + LOG)
}

export async function removeFiles(path: string): Promise<void> {
  await Promise.all(['', LOG, INDEX].map((companion) => rm(path + companion, { force: true })))
}

/**
 * Replaces the database with a draft that no process has open, and renames the old one to `aside`. There is a database at
 * every moment: a start in between would create an empty one.
 */
export async function replaceDatabase({
  draft,
  path,
  aside,
}: {
  readonly draft: string
  readonly path: string
  readonly aside: string
}): Promise<void> {
  syncPath(draft)
  if (existsSync(path)) {
    // Not every file system has hard links.
    await link(path, aside).catch(() => copyFile(path, aside, constants.COPYFILE_EXCL))
  }
  // SQLite would apply the old log to the new database.
  if (existsSync(path + LOG)) await rename(path + LOG, aside + LOG)
  await rm(path + INDEX, { force: true })
  await rename(draft, path)
  syncPath(dirname(path))
}
