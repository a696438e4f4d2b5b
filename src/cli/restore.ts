/** `turnpike restore`: puts a backup where the SQLite database is, once it has proved to be whole and to add up. */
import { existsSync, realpathSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { appliedMigrations, isDamage, openAlone } from '../db/alone.ts'
import { assertWhole, copyFiles, removeFiles, replaceDatabase } from '../db/backup.ts'
import { databaseFile } from '../db/file.ts'
import { migrate } from '../db/migrate.ts'
import { MIGRATIONS } from '../db/migrations/index.ts'
import { openDatabase } from '../db/open.ts'
import type { AccountId } from '../domain/ids.ts'
import { reconcile, renderReconciled } from '../features/credit/reconcile.ts'
import { runningProcesses } from '../features/credit/spool-owners.ts'
import { refusePostgresCopies } from './backup.ts'
import { loadCliConfig } from './context.ts'

export async function restore(file: string): Promise<void> {
  const config = await loadCliConfig()
  refusePostgresCopies(config, 'pg_restore')
  const path = databaseFile(config.data_dir)
  const source = resolve(file)
  if (!existsSync(source)) throw new Error(`There is no file ${file}.`)
  if (existsSync(path) && realpathSync(source) === realpathSync(path)) {
    throw new Error(`${file} is the database itself.`)
  }
  await mkdir(config.data_dir, { recursive: true, mode: 0o700 })
  await refuseRunning(config.data_dir)
  const alone = existsSync(path) ? takeDatabase(path) : undefined
  const draft = `${path}.restoring`
  try {
    await copyFiles(source, draft)
    for (const line of await checkDraft(draft, file)) print(line)
    const aside = `${path}.before-restore-${new Date().toISOString().replaceAll(':', '-')}`
    const hadOne = existsSync(path)
    await replaceDatabase({ draft, path, aside })
    if (hadOne) print(`The former database is ${aside} now.`)
    print(`Restored ${path}.`)
  } finally {
    await removeFiles(draft)
    alone?.close()
  }
}

/** Of these the lock of a file that is damaged says nothing. */
async function refuseRunning(dataDirectory: string): Promise<void> {
  const [running] = await runningProcesses(dataDirectory)
  if (running === undefined) return
  throw new Error(`A service runs on ${dataDirectory} (process ${running}). Stop it first.`)
}

/**
 * The database for this process alone, in one file without a log; undefined when it is beyond that. Without a log, a
 * service that has opened the file meanwhile notices that it was replaced, and ends, instead of writing to the former one.
 */
function takeDatabase(path: string): DatabaseSync | undefined {
  try {
    const database = openAlone(path)
    database.exec('pragma journal_mode = delete')
    return database
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/** Throws with what is wrong with it. @returns What is to be said of it. */
async function checkDraft(draft: string, file: string): Promise<readonly string[]> {
  try {
    assertWhole(draft, 'integrity_check')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${file} cannot be used, and nothing was changed: ${reason}`, { cause: error })
  }
  const schema = schemaOf(draft, file)
  const { db, close } = await openDatabase({ path: draft })
  try {
    const applied = await migrate(db, Date.now)
    const accounts = await db.selectFrom('account').select('id').orderBy('id').execute()
    const wrong: AccountId[] = []
    for (const { id } of accounts) {
      if (!renderReconciled(await reconcile(db, id)).ok) wrong.push(id)
    }
    if (wrong.length > 0) throw new Error(`${notAddingUp(wrong)} of ${file}; nothing was changed.`)
    const brought = applied.length === 0 ? '' : `, brought to ${applied.at(-1)}`
    return [`${file} is whole: schema ${schema}${brought}.`, `The ledgers of all ${accounts.length} accounts add up.`]
  } finally {
    await close()
  }
}

function notAddingUp(accounts: readonly AccountId[]): string {
  const more = accounts.length > 3 ? ` and ${accounts.length - 3} more` : ''
  return `Ledger, usage and balance do not agree for ${accounts.slice(0, 3).join(', ')}${more}`
}

function schemaOf(draft: string, file: string): string {
  const database = new DatabaseSync(draft)
  try {
    const names = appliedMigrations(database)
    const newest = names?.at(-1)
    if (newest === undefined) throw new Error(`${file} is not a database of Turnpike; nothing was changed.`)
    if (MIGRATIONS.some(({ name }) => name === newest)) return newest
    throw new Error(`${file} was made by a newer release of Turnpike (it has ${newest}). Run that release.`)
  } finally {
    database.close()
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
