/** For tests about SQLite itself, whatever the dialect of the pass. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { OpenedDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import { keepThreads } from '../../src/db/sqlite/open.ts'
import { LEDGER_PROGRAMS } from '../../src/features/credit/ledger/sqlite/store.ts'
import { copyCurrentFile } from './current-databases.ts'
import { dataRoot } from './process/data-root.ts'

keepThreads()

/** A path for a database in a folder that is removed after the test. */
export async function temporaryPath(test: Pick<TestContext, 'after'>): Promise<string> {
  const folder = await mkdtemp(join(dataRoot, 'turnpike-test-'))
  test.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return join(folder, 'turnpike.db')
}

/** The path of a database with the current schema, in a folder that is removed after the test. */
export async function currentFile(test: Pick<TestContext, 'after'>): Promise<string> {
  const path = await temporaryPath(test)
  await copyCurrentFile(path)
  return path
}

/** The database of a data directory. */
export function sqliteFileIn(dataDirectory: string): string {
  return join(dataDirectory, 'turnpike.db')
}

/** Opened with the current schema, and with the ledger's program; closed after the test. */
export async function temporarySqlite(test: TestContext, path?: string): Promise<OpenedDatabase> {
  const database = await openDatabase({ path: path ?? (await currentFile(test)), programs: LEDGER_PROGRAMS })
  test.after(() => database.close())
  await migrate(database.db, Date.now)
  return database
}
