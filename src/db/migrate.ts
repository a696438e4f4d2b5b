/** Brings a database to the schema of this release. Forward only: an older release refuses a newer database. */
import { type Kysely, sql, type Transaction } from 'kysely'
import { dialectOf } from './dialect.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { inPostgresWords, inSqliteWords, type MigrationStatement } from './migrations/statement.ts'
import type { OpenedDatabase } from './open.ts'
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
    if (dialectOf(db) === 'postgres') await takeMigrationTurn(transaction)
    const pending = await pendingMigrations(transaction)
    await applyStatements(transaction, [MIGRATIONS_TABLE])
    for (const { name, statements } of MIGRATIONS) {
      if (!pending.includes(name)) continue
      await applyStatements(transaction, statements)
      await transaction.insertInto('schema_migration').values({ name, applied_at: now() }).execute()
    }
    return pending
  })
}

/**
 * The schema of this release, for whoever is about to use the database: made on SQLite, which belongs to one machine, on
 * PostgreSQL only where that is allowed, since other processes of another release may be at work there.
 * Throws where the schema is another and may not be changed.
 */
export async function ensureSchema(
  { db, dialect }: Pick<OpenedDatabase, 'db' | 'dialect'>,
  { mayMigrate, now }: { readonly mayMigrate: boolean; readonly now: () => number },
): Promise<void> {
  if (dialect === 'sqlite' || mayMigrate) return void (await migrate(db, now))
  const pending = await pendingMigrations(db)
  if (pending.length === 0) return
  throw new Error(
    `The database lacks ${pending.join(', ')}. Run 'turnpike migrate', or start with 'turnpike serve --migrate'.`,
  )
}

/** The tables of migrations can wait for long statements of a running service, and the other way round. */
async function takeMigrationTurn(transaction: Transaction<Database>): Promise<void> {
  await sql`set local lock_timeout = '60s'`.execute(transaction)
  await sql`set local statement_timeout = '1h'`.execute(transaction)
  await sql`select pg_advisory_xact_lock(hashtextextended(current_schema() || ' turnpike migrations', 0))`.execute(
    transaction,
  )
}

const MIGRATIONS_TABLE: MigrationStatement = {
  sqlite: 'create table if not exists schema_migration (name text primary key, applied_at integer not null) strict',
  postgres:
    'create table if not exists schema_migration (name text collate "C" primary key, applied_at bigint not null)',
}

async function applyStatements(
  transaction: Transaction<Database>,
  statements: readonly MigrationStatement[],
): Promise<void> {
  const inItsWords = dialectOf(transaction) === 'postgres' ? inPostgresWords : inSqliteWords
  for (const statement of statements) {
    const text = inItsWords(statement)
    if (text !== undefined) await sql.raw(text).execute(transaction)
  }
}

async function appliedMigrations(db: Kysely<Database>): Promise<ReadonlySet<string>> {
  if (!(await hasMigrationsTable(db))) return new Set()
  const rows = await db.selectFrom('schema_migration').select('name').execute()
  const known = new Set(MIGRATIONS.map(({ name }) => name))
  const unknown = rows.find(({ name }) => !known.has(name))
  if (unknown !== undefined) {
    throw new Error(`The database was made by a newer release of Turnpike (it has ${unknown.name}). Run that release.`)
  }
  return new Set(rows.map(({ name }) => name))
}

async function hasMigrationsTable(db: Kysely<Database>): Promise<boolean> {
  const query =
    dialectOf(db) === 'postgres'
      ? sql`select 1 from pg_tables where schemaname = current_schema() and tablename = 'schema_migration'`
      : sql`select 1 from sqlite_schema where type = 'table' and name = 'schema_migration'`
  return (await query.execute(db)).rows.length > 0
}
