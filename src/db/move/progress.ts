/** How far a move has come, in the target itself: each batch and this are one transaction. The table is there until the end. */
import type { Postgres, PostgresClient } from '../postgres/client.ts'
import { type Key, MOVED_TABLES } from './tables.ts'

export interface TableProgress {
  readonly last: Key | undefined
  readonly rows: number
}

/**
 * Begins, or goes on with what was broken off.
 * @param source Says which database, in which state, is moved.
 * Throws when the target has data of anything else.
 */
export async function beginMove(postgres: Postgres, source: string): Promise<void> {
  await postgres.transaction(async (client) => {
    await client.query('select pg_advisory_xact_lock(hashtextextended(current_schema() || $1, 0))', [' sqlite_move'])
    if (await hasProgress(client)) return assertSame(client, source)
    await assertEmpty(client, [...MOVED_TABLES, 'instance'])
    await client.query(
      `create table sqlite_move (table_name text primary key, source text not null, last_key text, moved bigint not null)`,
    )
    for (const name of MOVED_TABLES) {
      await client.query('insert into sqlite_move (table_name, source, moved) values ($1, $2, 0)', [name, source])
    }
  })
}

export async function readProgress(postgres: Postgres, table: string): Promise<TableProgress> {
  const { rows } = await postgres.query<{ last_key: string | null; moved: number }>(
    'select last_key, moved from sqlite_move where table_name = $1',
    [table],
  )
  const [found] = rows
  if (found === undefined) throw new Error(`The target does not know how far ${table} was moved.`)
  return { last: found.last_key === null ? undefined : JSON.parse(found.last_key), rows: found.moved }
}

/** In the transaction that inserts the rows. */
export async function noteProgress(
  client: PostgresClient,
  table: string,
  { last, rows }: { readonly last: Key; readonly rows: number },
): Promise<void> {
  await client.query('update sqlite_move set last_key = $1, moved = moved + $2 where table_name = $3', [
    JSON.stringify(last),
    rows,
    table,
  ])
}

export async function endMove(postgres: Postgres): Promise<void> {
  await postgres.query('drop table sqlite_move')
}

async function hasProgress(client: PostgresClient): Promise<boolean> {
  const { rows } = await client.query<{ found: 0 | 1 }>("select to_regclass('sqlite_move') is not null as found")
  return rows[0]?.found === 1
}

async function assertSame(client: PostgresClient, source: string): Promise<void> {
  const { rows } = await client.query<{ source: string }>('select distinct source from sqlite_move')
  if (rows.length === 1 && rows[0]?.source === source) return assertEmpty(client, ['instance'])
  throw new Error(
    'The target has the beginning of another move, or the SQLite database was written to since. Empty the target and begin again.',
  )
}

async function assertEmpty(client: PostgresClient, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const { rows } = await client.query<{ found: 0 | 1 }>(`select exists (select 1 from "${table}") as found`)
    if (rows[0]?.found === 1) {
      throw new Error(`The target is not empty: it has rows in ${table}. Give an empty database that no service uses.`)
    }
  }
}
