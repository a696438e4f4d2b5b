import { databaseFile } from './file.ts'
import type { OpenOptions, SqliteOptions } from './open.ts'

/** Where an installation's database is, as its configuration says. */
export interface DatabasePlace {
  /** PostgreSQL's; undefined: SQLite in the data directory. */
  readonly database_url?: string | undefined
  readonly data_dir: string
}

/** For `openDatabase`. @param programs Used where there are programs. */
export function placeOf(
  { database_url: url, data_dir }: DatabasePlace,
  programs?: NonNullable<SqliteOptions['programs']>,
): OpenOptions {
  if (url !== undefined) return { url }
  return { path: databaseFile(data_dir), ...(programs === undefined ? {} : { programs }) }
}
