/**
 * Databases of a test's own, gone when the test ends: SQLite files in temporary folders, or databases of the PostgreSQL that
 * `npm test` starts. Test files that use them, from here or through others of this folder, run once for each dialect; tests
 * about SQLite itself are files that use `sqlite-file.ts` instead, or `sqliteTest`.
 */
import { type TestContext, test } from 'node:test'
import type { DialectName } from '../../src/db/dialect.ts'
import { migrate } from '../../src/db/migrate.ts'
import { type OpenedDatabase, openDatabase } from '../../src/db/open.ts'
import { LEDGER_PROGRAMS } from '../../src/features/credit/sqlite-store.ts'
import { createCurrentDatabase, type TestDatabase } from './current-databases.ts'
import { createSchema } from './schemas.ts'
import { currentFile, sqliteFileIn, temporaryPath } from './sqlite-file.ts'

export { testIds } from './ids.ts'
export { temporaryPath }

/** Of this pass's server; undefined: this is the pass of SQLite. */
const SERVER = process.env['TURNPIKE_TEST_DATABASE_URL']

/** Which databases this run of the file is about. */
export const dialect: DialectName = SERVER === undefined ? 'sqlite' : 'postgres'

/** A test of what only SQLite has; it is left out of the other pass. */
export const sqliteTest: (name: string, body: (t: TestContext) => Promise<void>) => void =
  dialect === 'sqlite' ? test : () => undefined

/** The same for what only PostgreSQL has. */
export const postgresTest: typeof sqliteTest = dialect === 'postgres' ? test : () => undefined

/**
 * Where a test's own, still empty database is: the path of a file, or the URL of a schema. `openPlace` understands both,
 * and so does what is handed to other processes.
 */
export async function temporaryPlace(test: Pick<TestContext, 'after'>): Promise<string> {
  return SERVER === undefined ? temporaryPath(test) : gone(test, await createSchema(SERVER))
}

/** The same with the current schema, which is copied: `migrate` finds nothing to do there. */
export async function currentPlace(test: Pick<TestContext, 'after'>): Promise<string> {
  return SERVER === undefined ? currentFile(test) : gone(test, await createCurrentDatabase(SERVER))
}

/** Where the database of an installation is: in its data directory, not made yet, or one on the server that is current. */
export async function placeFor(test: TestContext, dataDirectory: string): Promise<string> {
  return SERVER === undefined ? sqliteFileIn(dataDirectory) : currentPlace(test)
}

/** What a program of ours needs in its environment to use the place; a SQLite file is found by its data directory. */
export function environmentOf(place: string): Readonly<Record<string, string>> {
  if (!place.includes('://')) return {}
  return { DATABASE_URL: place, TURNPIKE_SECRET: 'a secret of tests, known to everybody' }
}

/** With the ledger's program, where there are programs. Not closed by itself. */
export function openPlace(place: string): Promise<OpenedDatabase> {
  return openDatabase(place.includes('://') ? { url: place } : { path: place, programs: LEDGER_PROGRAMS })
}

/** Opened with the current schema, and with the ledger's program; closed after the test. */
export async function temporaryDatabase(test: TestContext, place?: string): Promise<OpenedDatabase> {
  const database = await openPlace(place ?? (await currentPlace(test)))
  test.after(() => database.close())
  await migrate(database.db, Date.now)
  return database
}

/** Those of tests that have ended. What such a test opened is closed after it, so they are dropped when the next one begins; the last ones, when the next process of tests does. */
const ended: Pick<TestDatabase, 'drop'>[] = []

async function dropEnded(): Promise<void> {
  for (const { drop } of ended.splice(0)) await drop()
}

async function gone(test: Pick<TestContext, 'after'>, database: TestDatabase): Promise<string> {
  await dropEnded()
  test.after(() => void ended.push(database))
  return database.url
}
