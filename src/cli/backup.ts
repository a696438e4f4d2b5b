/** `turnpike backup` copies the SQLite database while the gateway runs; `turnpike restore` replaces it after checks. */
import { existsSync, realpathSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Config } from '../config/schema.ts'
import { MIGRATIONS, migrate } from '../db/migrate.ts'
import { databaseFile, openDatabase } from '../db/open.ts'
import {
  appliedMigrations,
  assertIntact,
  copyFiles,
  isCorruption,
  openExclusive,
  removeFiles,
  replaceDatabase,
  writeCopy,
} from '../db/sqlite/offline.ts'
import type { AccountId } from '../domain/ids.ts'
import { reconcile, renderReconciled } from '../features/credit/reconcile.ts'
import { runningProcesses } from '../features/credit/spool/directory.ts'
import { loadCliConfig } from './configuration.ts'
import { printLine } from './output.ts'

export async function backup(file: string): Promise<void> {
  const config = await loadCliConfig()
  refusePostgresCopies(config, 'pg_dump')
  const source = databaseFile(config.data_dir)
  if (!existsSync(source)) throw new Error(`The database ${source} does not exist.`)
  const bytes = await writeCopy(source, resolve(file))
  process.stdout.write(`Wrote ${file}: ${mebibytes(bytes)}, ${describe(resolve(file))}.\n`)
  if (config.secret === undefined) {
    process.stdout.write(
      `The backup does not contain the installation's secret: store a copy of ${config.data_dir}/secret separately.\n`,
    )
  }
}

/** Throws if the data is in PostgreSQL, which has its own backup tools. */
function refusePostgresCopies({ database_url }: Pick<Config, 'database_url'>, tool: string): void {
  if (database_url === undefined) return
  throw new Error(`database_url is set, so the data is in PostgreSQL: use ${tool}. This command supports SQLite only.`)
}

function mebibytes(bytes: number): string {
  return `${(bytes / (1024 * 1024)).toFixed(1)} MiB`
}

/** Describes a backup by reading it. */
function describe(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const count = (table: string) => Number(database.prepare(`select count(*) as rows from ${table}`).get()?.['rows'])
    const schema = appliedMigrations(database)?.at(-1)
    return `${count('account')} accounts, ${count('completion')} completions, schema ${schema}`
  } finally {
    database.close()
  }
}

export async function restore(file: string): Promise<void> {
  const config = await loadCliConfig()
  refusePostgresCopies(config, 'pg_restore')
  const path = databaseFile(config.data_dir)
  const source = resolve(file)
  if (!existsSync(source)) throw new Error(`The file ${file} does not exist.`)
  if (existsSync(path) && realpathSync(source) === realpathSync(path)) {
    throw new Error(`${file} is the database itself.`)
  }
  await mkdir(config.data_dir, { recursive: true, mode: 0o700 })
  await refuseRunning(config.data_dir)
  const exclusive = existsSync(path) ? takeDatabase(path) : undefined
  const draft = `${path}.restoring`
  try {
    await copyFiles(source, draft)
    for (const line of await checkDraft(draft, file)) printLine(line)
    const aside = `${path}.before-restore-${new Date().toISOString().replaceAll(':', '-')}`
    const hadOne = existsSync(path)
    await replaceDatabase({ draft, path, aside })
    if (hadOne) printLine(`The previous database was moved to ${aside}.`)
    printLine(`Restored ${path}.`)
  } finally {
    await removeFiles(draft)
    exclusive?.close()
  }
}

/** Also detects processes if the file is corrupt and its lock says nothing. */
async function refuseRunning(dataDirectory: string): Promise<void> {
  const [running] = await runningProcesses(dataDirectory)
  if (running === undefined) return
  throw new Error(`A gateway uses ${dataDirectory} (process ${running}). Stop it first.`)
}

/**
 * Opens the database exclusively and without a write-ahead log; undefined if it is corrupt. Without that log, a gateway
 * that opened the file before notices that it was replaced, and ends, instead of writing to the previous file.
 */
function takeDatabase(path: string): DatabaseSync | undefined {
  try {
    const database = openExclusive(path)
    database.exec('pragma journal_mode = delete')
    return database
  } catch (error) {
    if (isCorruption(error)) return undefined
    throw error
  }
}

/** Throws if the backup is unusable. @returns Lines that describe it. */
async function checkDraft(draft: string, file: string): Promise<readonly string[]> {
  try {
    assertIntact(draft, 'integrity_check')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${file} is unusable, nothing was changed: ${reason}`, { cause: error })
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
    if (wrong.length > 0) throw new Error(`${inconsistencyText(wrong)} in ${file}; nothing was changed.`)
    const migrated = applied.length === 0 ? '' : `, migrated to ${applied.at(-1)}`
    return [
      `${file} is intact: schema ${schema}${migrated}.`,
      `The ledgers of all ${accounts.length} accounts are consistent.`,
    ]
  } finally {
    await close()
  }
}

function inconsistencyText(accounts: readonly AccountId[]): string {
  const more = accounts.length > 3 ? ` and ${accounts.length - 3} more` : ''
  return `Ledger, usage and balance do not agree for ${accounts.slice(0, 3).join(', ')}${more}`
}

function schemaOf(draft: string, file: string): string {
  const database = new DatabaseSync(draft)
  try {
    const names = appliedMigrations(database)
    const newest = names?.at(-1)
    if (newest === undefined) throw new Error(`${file} is not a Turnpike database; nothing was changed.`)
    if (MIGRATIONS.some(({ name }) => name === newest)) return newest
    throw new Error(`${file} was created by a newer release of Turnpike (schema ${newest}). Use that release.`)
  } finally {
    database.close()
  }
}
