/** Brings a database to the schema of this release. Forward only: an older release refuses a newer database. */
import { type Kysely, sql, type Transaction } from 'kysely'
import { MIGRATIONS } from './migrations/index.ts'
import type { Database } from './schema.ts'

/** Names of the migrations that `migrate` would apply, in order. Throws for a database of a newer release. */
export async function pendingMigrations(db: Kysely<Database>): Promise<readonly string[]> {
  const applied = await appliedMigrations(db)
  return MIGRATIONS.filter(({ name }) => !applied.has(name)).map(({ name }) => name)
}

/**
 * All that is missing, in one transaction; processes that start at the same time take turns.
 * @param now Unix milliseconds.
 * @returns The names of what was applied; nothing when the schema was current.
 */
export async function migrate(db: Kysely<Database>, now: () => number): Promise<readonly string[]> {
  if ((await pendingMigrations(db)).length === 0) return []
  return db.transaction().execute(async (transaction) => {
    const pending = await pendingMigrations(transaction)
    await sql`create table if not exists schema_migration (name text primary key, applied_at integer not null) strict`.execute(
      transaction,
    )
    for (const { name, statements } of MIGRATIONS) {
      if (!pending.includes(name)) continue
      await applyStatements(transaction, statements)
      await transaction.insertInto('schema_migration').values({ name, applied_at: now() }).execute()
    }
    return pending
  })
}

async function applyStatements(transaction: Transaction<Database>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(transaction)
}

async function appliedMigrations(db: Kysely<Database>): Promise<ReadonlySet<string>> {
  const table = await sql`select name from sqlite_schema where type = 'table' and name = 'schema_migration'`.execute(db)
  if (table.rows.length === 0) return new Set()
  const rows = await db.selectFrom('schema_migration').select('name').execute()
  const known = new Set(MIGRATIONS.map(({ name }) => name))
  const unknown = rows.find(({ name }) => !known.has(name))
  if (unknown !== undefined) {
    throw new Error(`The database was made by a newer release of Turnpike (it has ${unknown.name}). Run that release.`)
  }
  return new Set(rows.map(({ name }) => name))
}
