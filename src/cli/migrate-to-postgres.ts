/** `turnpike migrate-to-postgres`: moves an installation from its SQLite file to PostgreSQL. */
import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { appliedMigrations, openAlone } from '../db/alone.ts'
import { databaseFile } from '../db/file.ts'
import { migrate } from '../db/migrate.ts'
import { MIGRATIONS } from '../db/migrations/index.ts'
import type { Compared } from '../db/move/compare.ts'
import { moveDatabase } from '../db/move/move.ts'
import { openDatabase } from '../db/open.ts'
import { spoolDirectories } from '../features/credit/spool-owners.ts'
import { loadCliConfig } from './context.ts'
import { dollars } from './credits.ts'
import type { MoveOptions } from './program.ts'
import { wrongUsage } from './wrong-usage.ts'

const DEFAULT_BATCH_ROWS = 2_000
const MAX_BATCH_ROWS = 100_000

export async function moveToPostgres(url: string, { batch = DEFAULT_BATCH_ROWS }: MoveOptions): Promise<void> {
  if (!/^postgres(ql)?:\/\//.test(url)) throw wrongUsage('The target is a URL that begins with postgres://.')
  if (batch < 1 || batch > MAX_BATCH_ROWS) throw wrongUsage(`--batch is 1 to ${MAX_BATCH_ROWS}.`)
  const { data_dir: dataDirectory } = await loadCliConfig()
  const path = databaseFile(dataDirectory)
  if (!existsSync(path)) throw new Error(`There is no database ${path} to move.`)
  const database = openAlone(path)
  try {
    await assertAtRest(database, dataDirectory)
    await moveInto(url, database, batch)
  } finally {
    database.close()
  }
  print(`\nThe SQLite database ${path} was left as it is.`)
  print('From now on start with DATABASE_URL set to the new database, and with TURNPIKE_SECRET.')
}

/** Everything that happened must be in the tables: then nobody has to settle anything from two places. */
async function assertAtRest(database: DatabaseSync, dataDirectory: string): Promise<void> {
  const newest = appliedMigrations(database)?.at(-1)
  if (newest !== MIGRATIONS.at(-1)?.name) {
    throw new Error(`The schema of the SQLite database is ${newest ?? 'none of ours'}: run 'turnpike migrate' first.`)
  }
  const holds = Number(database.prepare('select count(*) as holds from hold').get()?.['holds'])
  const spools = (await spoolDirectories(dataDirectory)).length
  if (holds === 0 && spools === 0) return
  const what = holds > 0 ? `${holds} requests are not settled` : 'settlements are still in the spool'
  throw new Error(
    `${what}, left by a service that did not end in order. Start it once more on SQLite, wait a minute, and stop it with SIGTERM.`,
  )
}

async function moveInto(url: string, database: DatabaseSync, batchRows: number): Promise<void> {
  const { db, postgres, close } = await openDatabase({ url })
  try {
    if (postgres === undefined) throw new Error('The target is not PostgreSQL.')
    await migrate(db, Date.now)
    const onMoved = (table: string, rows: number, before: number) => {
      print(`moved ${table}: ${rows} rows${before > 0 ? `, ${before} of them before` : ''}`)
    }
    printCompared(await moveDatabase({ database, postgres, batchRows, onMoved }))
  } finally {
    await close()
  }
}

function printCompared(tables: ReadonlyMap<string, Compared>): void {
  const rows = (table: string) => tables.get(table)?.rows ?? 0
  const amount = (table: string, column: string) => dollars(tables.get(table)?.amounts.get(column) ?? 0n)
  print('\nThe same on both sides, for each account, to the nano-dollar:')
  print(`  accounts     ${rows('account')}`)
  print(`  completions  ${rows('completion')}, cost ${amount('completion', 'cost_nano_usd')}`)
  print(
    `  usage        ${amount('usage_rollup', 'cost_nano_usd')} by day, ${amount('usage_hour', 'cost_nano_usd')} by hour`,
  )
  print(`  ledger       ${rows('ledger')} entries that move ${amount('ledger', 'amount_nano_usd')}`)
  print(`  balances     ${amount('credit', 'balance_nano_usd')}, ${amount('credit', 'held_nano_usd')} of it held`)
  print(`  invoices     ${rows('invoice')}, ${amount('invoice', 'total_nano_usd')}`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
