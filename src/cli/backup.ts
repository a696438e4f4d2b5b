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
import { reconcile, renderReconciled } from '../features/credit/reconcile.ts'
import { runningProcesses } from '../features/credit/spool/directory.ts'
import { loadCliConfig } from './configuration.ts'
import { grouped, type JsonOption, printResult, progress, steadyProgress } from './output.ts'

export async function backup(file: string, options: JsonOption): Promise<void> {
  const config = await loadCliConfig()
  refusePostgresCopies(config, 'pg_dump')
  const source = databaseFile(config.data_dir)
  if (!existsSync(source)) throw new Error(`The database ${source} does not exist.`)
  progress(`Copying ${source}…`)
  const bytes = await writeCopy(source, resolve(file))
  const { accounts, completions, schema } = contentsOf(resolve(file))
  const secretFile = config.secret === undefined ? `${config.data_dir}/secret` : null
  const lines = [
    `Wrote ${file}: ${mebibytes(bytes)}, ${grouped(accounts)} accounts, ${grouped(completions)} completions, schema ${schema}.`,
    ...(secretFile === null
      ? []
      : [`The backup does not contain the installation's secret: store a copy of ${secretFile} separately.`]),
  ]
  printResult(options, { file, bytes, accounts, completions, schema, secret_file: secretFile }, lines.join('\n'))
}

/** Throws if the data is in PostgreSQL, which has its own backup tools. */
function refusePostgresCopies({ database_url }: Pick<Config, 'database_url'>, tool: string): void {
  if (database_url === undefined) return
  throw new Error(`database_url is set, so the data is in PostgreSQL: use ${tool}. This command supports SQLite only.`)
}

function mebibytes(bytes: number): string {
  return `${grouped((bytes / (1024 * 1024)).toFixed(1))} MiB`
}

/** Describes a backup by reading it. */
function contentsOf(path: string) {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const count = (table: string) => Number(database.prepare(`select count(*) as rows from ${table}`).get()?.['rows'])
    const schema = appliedMigrations(database)?.at(-1) ?? null
    return { accounts: count('account'), completions: count('completion'), schema }
  } finally {
    database.close()
  }
}

export async function restore(file: string, options: JsonOption): Promise<void> {
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
    const checked = await checkDraft(draft, file)
    const aside = `${path}.before-restore-${new Date().toISOString().replaceAll(':', '-')}`
    const previous = existsSync(path) ? aside : null
    await replaceDatabase({ draft, path, aside })
    printResult(
      options,
      { file, database: path, previous, ...checked },
      restoredText({ file, path, previous }, checked),
    )
  } finally {
    await removeFiles(draft)
    exclusive?.close()
  }
}

interface Restored {
  readonly file: string
  readonly path: string
  /** Null: there was none. */
  readonly previous: string | null
}

function restoredText({ file, path, previous }: Restored, { schema, migrated_to, accounts }: CheckedDraft): string {
  return [
    `${file} is intact: schema ${schema}${migrated_to === null ? '' : `, migrated to ${migrated_to}`}.`,
    `The ledgers of all ${grouped(accounts)} accounts are consistent.`,
    ...(previous === null ? [] : [`The previous database was moved to ${previous}.`]),
    `Restored ${path}.`,
  ].join('\n')
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

interface CheckedDraft {
  readonly schema: string
  /** Null: the backup had the schema of this release. */
  readonly migrated_to: string | null
  readonly accounts: number
}

/** Throws if the backup is unusable. */
async function checkDraft(draft: string, file: string): Promise<CheckedDraft> {
  progress(`Checking every page of ${file}…`)
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
    const accounts = await db.selectFrom('account').select(['id', 'name']).orderBy('id').execute()
    const wrong: string[] = []
    const show = steadyProgress()
    for (const [index, { id, name }] of accounts.entries()) {
      show(() => `Checked the ledgers of ${grouped(index)} of ${grouped(accounts.length)} accounts.`)
      if (!renderReconciled(await reconcile(db, id)).ok) wrong.push(name)
    }
    if (wrong.length > 0) throw new Error(`${inconsistencyText(wrong)} in ${file}; nothing was changed.`)
    return { schema, migrated_to: applied.at(-1) ?? null, accounts: accounts.length }
  } finally {
    await close()
  }
}

/** @param accounts Names. */
function inconsistencyText(accounts: readonly string[]): string {
  const more = accounts.length > 3 ? ` and ${grouped(accounts.length - 3)} more` : ''
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
