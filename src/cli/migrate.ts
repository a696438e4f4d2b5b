/** `turnpike migrate`: brings the database to the schema of this release. */
import { existsSync } from 'node:fs'
import { migrate as applyMigrations, pendingMigrations } from '../db/migrate.ts'
import { MIGRATIONS } from '../db/migrations/index.ts'
import { type OpenOptions, openDatabase } from '../db/open.ts'
import { placeOf } from '../db/place.ts'
import { loadCliConfig } from './context.ts'

/** Prints what was applied, one name a line; with `dryRun` what would be, without making or changing anything. */
export async function migrate({ dryRun = false }: { readonly dryRun?: boolean }): Promise<void> {
  const place = placeOf(await loadCliConfig())
  const isMissing = 'path' in place && !existsSync(place.path)
  const names = dryRun && isMissing ? MIGRATIONS.map(({ name }) => name) : await migrateAt(place, dryRun)
  for (const name of names) process.stdout.write(`${dryRun ? 'would apply' : 'applied'} ${name}\n`)
  if (names.length === 0) process.stdout.write('The schema is current.\n')
}

async function migrateAt(place: OpenOptions, dryRun: boolean): Promise<readonly string[]> {
  const { db, close } = await openDatabase(place)
  try {
    return await (dryRun ? pendingMigrations(db) : applyMigrations(db, Date.now))
  } finally {
    await close()
  }
}
