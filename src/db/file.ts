import { join } from 'node:path'

/** The SQLite file of an installation. */
export function databaseFile(dataDirectory: string): string {
  return join(dataDirectory, 'turnpike.db')
}
