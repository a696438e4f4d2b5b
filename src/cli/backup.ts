/** `turnpike backup`: a copy of the SQLite database, also while the service runs. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Config } from '../config/schema.ts'
import { appliedMigrations } from '../db/alone.ts'
import { writeCopy } from '../db/backup.ts'
import { databaseFile } from '../db/file.ts'
import { loadCliConfig } from './context.ts'

export async function backup(file: string): Promise<void> {
  const config = await loadCliConfig()
  refusePostgresCopies(config, 'pg_dump')
  const source = databaseFile(config.data_dir)
  if (!existsSync(source)) throw new Error(`There is no database ${source} yet.`)
  const bytes = await writeCopy(source, resolve(file))
  process.stdout.write(`Wrote ${file}: ${mebibytes(bytes)}, ${describe(resolve(file))}.\n`)
  if (config.secret === undefined) {
    process.stdout.write(
      `The installation's secret is not in it: keep a copy of ${config.data_dir}/secret elsewhere.\n`,
    )
  }
}

/** Throws where the data is in Postgres, whose own programs make better copies than another could. */
export function refusePostgresCopies({ database_url }: Pick<Config, 'database_url'>, tool: string): void {
  if (database_url === undefined) return
  throw new Error(`database_url is set, so the data is in Postgres: use ${tool}. This command is for SQLite.`)
}

function mebibytes(bytes: number): string {
  return `${(bytes / (1024 * 1024)).toFixed(1)} MiB`
}

/** Looked up in the copy itself. */
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
