/**
 * Databases of a test's own, gone when the test ends: SQLite files in temporary folders, or databases of the PostgreSQL that
 * `npm test` starts. Test files that use them, from here or through others of this folder, run once for each dialect; tests
 * about SQLite itself are files that use `sqlite-file.ts` instead, or `sqliteTest`.
 */
import { type TestContext, test } from 'node:test'
import type { DialectName, OpenedDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import { LEDGER_PROGRAMS } from '../../src/features/credit/ledger/sqlite/store.ts'
import { createCurrentDatabase, type TestDatabase } from './current-databases.ts'
import { createSchema } from './http/schemas.ts'
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
 * The location of an empty database for one test: the path of a file, or the URL of a schema. `openLocation` understands both,
 * and so does what is handed to other processes.
 */
export async function temporaryLocation(test: Pick<TestContext, 'after'>): Promise<string> {
  return SERVER === undefined ? temporaryPath(test) : gone(test, await createSchema(SERVER))
}

/** The same with a copy of the current schema: `migrate` finds nothing to do there. */
export async function currentLocation(test: Pick<TestContext, 'after'>): Promise<string> {
  return SERVER === undefined ? currentFile(test) : gone(test, await createCurrentDatabase(SERVER))
}

/** Where the database of an installation is: in its data directory, not made yet, or one on the server that is current. */
export async function locationFor(test: TestContext, dataDirectory: string): Promise<string> {
  return SERVER === undefined ? sqliteFileIn(dataDirectory) : currentLocation(test)
}

/** What a program of ours needs in its environment to use the location; a SQLite file is found by its data directory. */
export function environmentOf(location: string): Readonly<Record<string, string>> {
  if (!location.includes('://')) return {}
  return { DATABASE_URL: location, TURNPIKE_SECRET: 'a secret of tests, known to everybody' }
}

/** With the ledger's program, where there are programs. Not closed by itself. */
export function openLocation(location: string): Promise<OpenedDatabase> {
  const isServer = location.includes('://')
  return openDatabase(
    isServer ? { url: location, startWithinMs: 60_000 } : { path: location, programs: LEDGER_PROGRAMS },
  )
}

/** Opened with the current schema, and with the ledger's program; closed after the test. */
export async function temporaryDatabase(test: TestContext, location?: string): Promise<OpenedDatabase> {
  const database = await openLocation(location ?? (await currentLocation(test)))
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
