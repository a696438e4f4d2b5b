/**
 * Moves everything from a SQLite file that no other process has open to an empty PostgreSQL database with the current
 * schema. What was broken off goes on where it was. The file is only read.
 */
import type { DatabaseSync } from 'node:sqlite'
import { GatewayError } from '../../domain/errors.ts'
import type { Postgres } from '../postgres/client.ts'
import { type Compared, compareTable } from './compare.ts'
import { beginMove, endMove, noteProgress, readProgress } from './progress.ts'
import { readBatches } from './source.ts'
import { describeTables, type Table } from './tables.ts'

export interface MoveInput {
  /** For this process alone, see `openAlone`. */
  readonly database: DatabaseSync
  readonly postgres: Postgres
  /** Most rows of a transaction. */
  readonly batchRows: number
  /** Told when all rows of a table are there; `before` of them by a move that was broken off. */
  readonly onMoved: (table: string, rows: number, before: number) => void
}

/** Rejects when a row cannot be moved, or when the sides differ in the end. @returns What is on both sides, by table. */
export async function moveDatabase(input: MoveInput): Promise<ReadonlyMap<string, Compared>> {
  const { database, postgres, onMoved } = input
  const tables = describeTables(database)
  await beginMove(postgres, stateOf(database))
  for (const table of tables) {
    const { rows, before } = await moveTable(input, table)
    onMoved(table.name, rows, before)
  }
  const compared = new Map<string, Compared>()
  for (const table of tables) compared.set(table.name, await compareTable(database, postgres, table))
  await endMove(postgres)
  return compared
}

async function moveTable({ database, postgres, batchRows }: MoveInput, table: Table) {
  const { last: after, rows: before } = await readProgress(postgres, table.name)
  const names = table.columns.map(({ name }) => `"${name}"`).join(', ')
  const insert = `insert into "${table.name}" (${names})
    select ${names} from json_populate_recordset(null::"${table.name}", $1::json)`
  let rows = before
  for (const { json, last, rows: count } of readBatches(database, { table, after, maxRows: batchRows })) {
    try {
      await postgres.transaction(async (client) => {
        await Promise.all([client.query(insert, [json]), noteProgress(client, table.name, { last, rows: count })])
      })
    } catch (error) {
      throw brokenOff(table, error)
    }
    rows += count
  }
  return { rows, before }
}

function brokenOff({ name }: Table, error: unknown): Error {
  if (!(error instanceof GatewayError)) return new Error(`A row of ${name} cannot be moved: ${error}`, { cause: error })
  const reason = error.cause instanceof Error ? error.cause.message : error.message
  return new Error(`Moving ${name} was broken off: ${reason}. Run the command again to go on.`, { cause: error })
}

/** Which installation the file is of, and what has happened in it so far: a move of something else must not go on. */
function stateOf(database: DatabaseSync): string {
  const made = database.prepare('select name, applied_at from schema_migration order by name').all()
  const changed = database.prepare(
    `select (select max(changed_at) from account) as accounts, (select max(changed_at) from api_key) as keys,
      (select sum(entries) from credit) as entries, (select max(created_at) from ledger) as latest`,
  )
  return JSON.stringify([made.map((row) => Object.values(row)), Object.values(changed.get() ?? {})])
}
