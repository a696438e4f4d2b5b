/**
 * `turnpike migrate` brings the database to the schema of this release; `turnpike migrate-to-postgres` moves an
 * installation from its SQLite file to PostgreSQL.
 */
import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { DialectName, OpenOptions } from '../db/database.ts'
import { migrate as applyMigrations, MIGRATIONS, pendingMigrations, planMigrations } from '../db/migrate.ts'
import { WAITING } from '../db/migrations/statement.ts'
import { type Compared, moveDatabase } from '../db/move/move.ts'
import { databaseFile, databaseLocation, openDatabase } from '../db/open.ts'
import { appliedMigrations, openExclusive } from '../db/sqlite/offline.ts'
import { spoolDirectories } from '../features/credit/spool/directory.ts'
import { loadCliConfig } from './configuration.ts'
import { dollars } from './credits.ts'
import { wrongUsage } from './option-values.ts'
import { grouped, type JsonOption, printResult, progress, steadyProgress } from './output.ts'

export interface MoveOptions extends JsonOption {
  readonly batch?: number
}

interface MigrateOptions extends JsonOption {
  readonly dryRun?: boolean
}

/** Applies pending migrations and prints their names; with `dryRun` only prints them, with their SQL and its locks. */
export async function migrate({ dryRun = false, ...options }: MigrateOptions): Promise<void> {
  const location = databaseLocation(await loadCliConfig())
  const isMissing = 'path' in location && !existsSync(location.path)
  const names = dryRun && isMissing ? MIGRATIONS.map(({ name }) => name) : await migrateAt(location, dryRun)
  const dialect = 'path' in location ? 'sqlite' : 'postgres'
  const plan = dryRun ? planMigrations(names, dialect) : undefined
  const lines = plan === undefined ? names.map((name) => `applied ${name}`) : planLines(plan, dialect)
  const view = plan === undefined ? { applied: names } : { pending: plan }
  printResult(options, view, lines.length === 0 ? 'The schema is current.' : lines.join('\n'))
}

/** A transaction keeps its locks until it ends, so that the sum of all is what others wait for. */
function planLines(plan: ReturnType<typeof planMigrations>, dialect: DialectName): readonly string[] {
  if (plan.length === 0) return []
  const isPostgres = dialect === 'postgres'
  const lines = plan.flatMap(({ name, statements }) => [
    `would apply ${name}`,
    ...statements.flatMap(({ sql, locks }) => {
      const texts = locks.map(({ table, mode }) => `${mode} on ${table} (${WAITING[mode]})`)
      return [`${sql};`, ...(isPostgres ? [`  -- locks: ${texts.join(', ') || 'none'}`] : [])]
    }),
  ])
  const locks = isPostgres ? 'it keeps its locks until it ends' : 'writes of others wait'
  return [...lines, `All of it is one transaction: ${locks}.`]
}

async function migrateAt(location: OpenOptions, dryRun: boolean): Promise<readonly string[]> {
  const { db, close } = await openDatabase(location)
  try {
    if (dryRun) return await pendingMigrations(db)
    const pending = await pendingMigrations(db)
    if (pending.length > 0) progress(`Applying ${pending.join(', ')}…`)
    return await applyMigrations(db, Date.now)
  } finally {
    await close()
  }
}

const DEFAULT_BATCH_ROWS = 2_000
const MAX_BATCH_ROWS = 100_000

export async function moveToPostgres(
  url: string,
  { batch = DEFAULT_BATCH_ROWS, ...options }: MoveOptions,
): Promise<void> {
  if (!/^postgres(ql)?:\/\//.test(url)) throw wrongUsage('the target must be a URL that begins with postgres://.')
  if (batch < 1 || batch > MAX_BATCH_ROWS) throw wrongUsage(`--batch must be 1 to ${grouped(MAX_BATCH_ROWS)}.`)
  const { data_dir: dataDirectory } = await loadCliConfig()
  const path = databaseFile(dataDirectory)
  if (!existsSync(path)) throw new Error(`The database ${path} does not exist.`)
  const database = openExclusive(path)
  try {
    await assertAtRest(database, dataDirectory)
    const { compared, lines } = await moveInto({ url, database, batchRows: batch })
    const text = [...lines, comparedText(compared), '', nextSteps(path)].join('\n')
    printResult(options, movedView(path, compared), text)
  } finally {
    database.close()
  }
}

function nextSteps(path: string): string {
  return `The SQLite database ${path} was not changed.
Start the gateway with DATABASE_URL set to the new database, and with TURNPIKE_SECRET.`
}

/** Throws if requests are unsettled: the move copies tables, not spools. */
async function assertAtRest(database: DatabaseSync, dataDirectory: string): Promise<void> {
  const newest = appliedMigrations(database)?.at(-1)
  if (newest !== MIGRATIONS.at(-1)?.name) {
    throw new Error(`The schema of the SQLite database is ${newest ?? 'unknown'}: run 'turnpike migrate' first.`)
  }
  const holds = Number(database.prepare('select count(*) as holds from hold').get()?.['holds'])
  const spools = (await spoolDirectories(dataDirectory)).length
  if (holds === 0 && spools === 0) return
  const what = holds > 0 ? `${grouped(holds)} requests are unsettled` : 'the spool contains settlements'
  throw new Error(
    `${what}, because the gateway did not shut down cleanly. Start it on SQLite again, wait a minute, and stop it with SIGTERM.`,
  )
}

interface Move {
  readonly url: string
  readonly database: DatabaseSync
  readonly batchRows: number
}

async function moveInto({ url, database, batchRows }: Move): Promise<Moved> {
  const { db, postgres, close } = await openDatabase({ url })
  try {
    if (postgres === undefined) throw new Error('The target is not PostgreSQL.')
    await applyMigrations(db, Date.now)
    const lines: string[] = []
    const onMoved = (table: string, rows: number, before: number) => {
      const earlier = before > 0 ? `, ${grouped(before)} of them in an earlier run` : ''
      lines.push(`moved ${table}: ${grouped(rows)} rows${earlier}`)
    }
    const show = steadyProgress()
    const onBatch = (table: string, rows: number) => show(() => `moving ${table}: ${grouped(rows)} rows so far`)
    return { compared: await moveDatabase({ database, postgres, batchRows, onBatch, onMoved }), lines }
  } finally {
    await close()
  }
}

interface Moved {
  readonly compared: MovedTables
  /** One of each table. */
  readonly lines: readonly string[]
}

type MovedTables = ReadonlyMap<string, Compared>

function movedView(path: string, tables: MovedTables) {
  const rows = [...tables].map(([table, { rows }]) => [table, rows] as const)
  return { database: path, tables: Object.fromEntries(rows) }
}

function comparedText(tables: MovedTables): string {
  const rows = (table: string) => grouped(tables.get(table)?.rows ?? 0)
  const amount = (table: string, column: string) => dollars(tables.get(table)?.amounts.get(column) ?? 0n)
  return `
Verified for each account, equal in both databases to the nano-dollar:
  accounts     ${rows('account')}
  completions  ${rows('completion')}, cost ${amount('completion', 'cost_nano_usd')}
  usage        ${amount('usage_rollup', 'cost_nano_usd')} by day, ${amount('usage_hour', 'cost_nano_usd')} by hour
  ledger       ${rows('ledger')} entries with a total of ${amount('ledger', 'amount_nano_usd')}
  balances     ${amount('credit', 'balance_nano_usd')}, ${amount('credit', 'held_nano_usd')} of it held
  invoices     ${rows('invoice')}, ${amount('invoice', 'total_nano_usd')}`
}
