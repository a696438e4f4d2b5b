/** `turnpike migrate`: brings the database to the schema of this release. */
import { existsSync } from 'node:fs'
import { databaseFile } from '../db/file.ts'
import { migrate as applyMigrations, pendingMigrations } from '../db/migrate.ts'
import { MIGRATIONS } from '../db/migrations/index.ts'
import { openDatabase } from '../db/open.ts'
import { loadCliConfig } from './context.ts'
import { refusePostgres } from './database.ts'

/** Prints what was applied, one name a line; with `dryRun` what would be, without making or changing anything. */
export async function migrate({ dryRun = false }: { readonly dryRun?: boolean }): Promise<void> {
  const config = await loadCliConfig()
  refusePostgres(config)
  const path = databaseFile(config.data_dir)
  const names = dryRun && !existsSync(path) ? MIGRATIONS.map(({ name }) => name) : await migrateFile(path, dryRun)
  for (const name of names) process.stdout.write(`${dryRun ? 'would apply' : 'applied'} ${name}\n`)
  if (names.length === 0) process.stdout.write('The schema is current.\n')
}

async function migrateFile(path: string, dryRun: boolean): Promise<readonly string[]> {
  const { db, close } = await openDatabase({ path })
  try {
    return await (dryRun ? pendingMigrations(db) : applyMigrations(db, Date.now))
  } finally {
    await close()
  }
}
