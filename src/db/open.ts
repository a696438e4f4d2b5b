/** Opens the database of an installation: a SQLite file, or PostgreSQL. */
import { join } from 'node:path'
import type { OpenedDatabase, OpenOptions, SqliteOptions } from './database.ts'
import { openSqlite } from './sqlite/open.ts'

/**
 * Rejects when the file cannot be opened, the server cannot be reached, or either does not keep the required settings.
 * Does not check the schema: see `migrate`.
 */
export async function openDatabase(options: OpenOptions): Promise<OpenedDatabase> {
  if ('path' in options) return openSqlite(options)
  const { openPostgres } = await import('./postgres/open.ts') // loads its packages only where they are used: starts are quick
  return openPostgres(options)
}

/** The database of an installation, by its configuration. */
export interface DatabaseLocation {
  /** Of PostgreSQL; undefined: SQLite in the data directory. */
  readonly database_url?: string | undefined
  readonly data_dir: string
}

/** Returns the options for `openDatabase`. @param programs For SQLite. */
export function databaseLocation(
  { database_url: url, data_dir }: DatabaseLocation,
  programs?: NonNullable<SqliteOptions['programs']>,
): OpenOptions {
  if (url !== undefined) return { url }
  return { path: databaseFile(data_dir), ...(programs === undefined ? {} : { programs }) }
}

/** The path of an installation's SQLite file. */
export function databaseFile(dataDirectory: string): string {
  return join(dataDirectory, 'turnpike.db')
}
