/** Brings a database to the schema of this release. Forward only: an older release refuses a newer database. */
import { type Kysely, sql, type Transaction } from 'kysely'
import { type DialectName, dialectOf, LONG_RUNNING, type OpenedDatabase } from './database.ts'
import { isLocked } from './failure.ts'
import { attempts, firstSchema, instances, money, usageReports } from './migrations/0001-0005.ts'
import { identities, jobs, webhooks } from './migrations/0006-0008.ts'
import {
  agents,
  boundedUsage,
  creditEntries,
  deniedAttempts,
  ledgerAudits,
  lineage,
  tariffs,
} from './migrations/0009-0015.ts'
import {
  attribution,
  budgets,
  dataPolicies,
  providerCredentials,
  provisioning,
  requestApis,
  storedResponseBytes,
  storedResponses,
  storedSettings,
  teams,
  telemetryDestinations,
} from './migrations/0016-0026.ts'
import {
  analyticsExports,
  completionMonths,
  contentCapture,
  destinationContent,
  guardrails,
  keyRotation,
  markup,
  payments,
  performanceDays,
  performanceHours,
  providerHours,
  pullRequests,
  raiseEnds,
  rejections,
  rejectionsOfNobody,
  teamTags,
  usageDimensions,
  webhookKinds,
} from './migrations/0027-0044.ts'
import {
  createPlanner,
  type MigrationStatement,
  type PlannedStatement,
  postgresStatement,
  sqliteStatement,
} from './migrations/statement.ts'
import type { Database } from './schema/schema.ts'

interface Migration {
  /** Number and name; the numbers count up without gaps. */
  readonly name: string
  readonly statements: readonly MigrationStatement[]
}

/** All migrations in order: applied once, forward only, never edited after a release. */
export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-first-schema', statements: firstSchema },
  { name: '0002-usage-reports', statements: usageReports },
  { name: '0003-money', statements: money },
  { name: '0004-instances', statements: instances },
  { name: '0005-attempts', statements: attempts },
  { name: '0006-identities', statements: identities },
  { name: '0007-jobs', statements: jobs },
  { name: '0008-webhooks', statements: webhooks },
  { name: '0009-agents', statements: agents },
  { name: '0010-credit-entries', statements: creditEntries },
  { name: '0011-tariffs', statements: tariffs },
  { name: '0012-ledger-audits', statements: ledgerAudits },
  { name: '0013-bounded-usage', statements: boundedUsage },
  { name: '0014-denied-attempts', statements: deniedAttempts },
  { name: '0015-lineage', statements: lineage },
  { name: '0016-provider-credentials', statements: providerCredentials },
  { name: '0017-stored-responses', statements: storedResponses },
  { name: '0018-request-apis', statements: requestApis },
  { name: '0019-stored-settings', statements: storedSettings },
  { name: '0020-stored-response-bytes', statements: storedResponseBytes },
  { name: '0021-data-policies', statements: dataPolicies },
  { name: '0022-teams', statements: teams },
  { name: '0023-budgets', statements: budgets },
  { name: '0024-attribution', statements: attribution },
  { name: '0025-telemetry-destinations', statements: telemetryDestinations },
  { name: '0026-provisioning', statements: provisioning },
  { name: '0027-guardrails', statements: guardrails },
  { name: '0028-rejections', statements: rejections },
  { name: '0029-webhook-kinds', statements: webhookKinds },
  { name: '0030-payments', statements: payments },
  { name: '0031-provider-hours', statements: providerHours },
  { name: '0032-performance-hours', statements: performanceHours },
  { name: '0033-key-rotation', statements: keyRotation },
  { name: '0034-content-capture', statements: contentCapture },
  { name: '0035-markup', statements: markup },
  { name: '0036-team-tags', statements: teamTags },
  { name: '0037-rejections-of-nobody', statements: rejectionsOfNobody },
  { name: '0038-usage-dimensions', statements: usageDimensions },
  { name: '0039-pull-requests', statements: pullRequests },
  { name: '0040-analytics-exports', statements: analyticsExports },
  { name: '0041-raise-ends', statements: raiseEnds },
  { name: '0042-performance-days', statements: performanceDays },
  { name: '0043-destination-content', statements: destinationContent },
  { name: '0044-completion-months', statements: completionMonths },
]

/** Names of the migrations that `migrate` would apply, in order. Throws for a database of a newer release. */
export async function pendingMigrations(db: Kysely<Database>): Promise<readonly string[]> {
  const applied = await appliedMigrations(db)
  return MIGRATIONS.filter(({ name }) => !applied.has(name)).map(({ name }) => name)
}

/** The statements of pending migrations, by their names, as `migrate` would run them. */
export function planMigrations(
  pending: readonly string[],
  dialect: DialectName,
): readonly { readonly name: string; readonly statements: readonly PlannedStatement[] }[] {
  const planner = createPlanner(dialect)
  return MIGRATIONS.map(({ name, statements }) => ({
    name,
    statements: pending.includes(name) ? planner.plan(statements) : planner.pass(statements),
  })).filter(({ name }) => pending.includes(name))
}

/** How long a process waits for another one that migrates. */
const LOCK_TIMEOUT_S = 60

/**
 * Applies all pending migrations in one transaction; processes that start at the same time wait for one another.
 * @param now Unix milliseconds.
 * @returns The names of the applied migrations; none when the schema was current.
 */
export async function migrate(db: Kysely<Database>, now: () => number): Promise<readonly string[]> {
  const until = performance.now() + LOCK_TIMEOUT_S * 1_000
  for (;;) {
    if ((await pendingMigrations(db)).length === 0) return []
    try {
      return await applyPending(db, now)
    } catch (error) {
      // PostgreSQL waits by itself; SQLite for its busy time-out alone.
      if (!isLocked(error) || performance.now() > until) throw error
    }
  }
}

function applyPending(db: Kysely<Database>, now: () => number): Promise<readonly string[]> {
  return db.transaction().execute(async (transaction) => {
    if (dialectOf(db) === 'postgres') await lockMigrations(transaction)
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
 * Ensures the schema of this release: migrates SQLite, which belongs to one machine, and PostgreSQL only with `mayMigrate`,
 * since processes of another release may be using it. Rejects where the schema is another and may not be changed.
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

/** Locks out other migrations, with time-outs for tables that wait for long statements of a running service. */
async function lockMigrations(transaction: Transaction<Database>): Promise<void> {
  await sql`set local lock_timeout = ${sql.raw(`'${LOCK_TIMEOUT_S}s'`)}`.execute(transaction)
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
  const render = dialectOf(transaction) === 'postgres' ? postgresStatement : sqliteStatement
  for (const statement of statements) {
    const text = render(statement)
    if (text !== undefined) await sql.raw(`${text} ${LONG_RUNNING}`).execute(transaction)
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
