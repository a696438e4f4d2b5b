/**
 * PostgreSQL for SQL written by hand, as in the ledger: statements with `$1`, `$2` …, prepared once per text and connection.
 * Values are the same as SQLite's: columns ending in `_nano_usd` bigint, other integers number, flags 0 or 1, `bytea`
 * Uint8Array.
 */

import type { CustomTypesConfig, QueryResult } from 'pg'
import type { SqlValue } from '../sqlite/message.ts'

/** A list is an SQL array: give it a type in the text, as in `unnest($1::text[], $2::bigint[])`. */
export type PostgresValue = SqlValue | readonly SqlValue[]

export interface PostgresRows<Row> {
  readonly rows: readonly Row[]
  /** Rows that the statement changed or returned. */
  readonly changes: number
}

/** One session. */
export interface PostgresClient {
  /**
   * Statements sent without awaiting earlier ones are pipelined (one round trip) and executed in order. Await them all with
   * `Promise.all`: after one fails, the rest of the transaction fails. `Row` is what the SQL returns.
   */
  query<Row = never>(sql: string, parameters?: readonly PostgresValue[]): Promise<PostgresRows<Row>>
}

/**
 * Rejects with `database_unavailable` for transient failures (connection, time-out, deadlock, serialization, locks, a server
 * that is full or shuts down), else with a `DatabaseError` that has `sqlState`.
 */
export interface Postgres {
  /**
   * Runs on a connection of a pool that reports do not use. `work` must await nothing but its statements; an error that it
   * throws, or a failed commit, rolls back and rejects. After `database_unavailable` the commit may still have happened, if
   * only its reply was lost.
   */
  transaction<Result>(work: (client: PostgresClient) => Promise<Result>): Promise<Result>
  /** One statement that is a transaction of its own: one round trip. */
  query<Row = never>(sql: string, parameters?: readonly PostgresValue[]): Promise<PostgresRows<Row>>
}

/** Type OIDs (`pg_type.dat`): bool, bytea, float4, float8. */
const BOOL = 16
const BYTEA = 17
const FLOATS: ReadonlySet<number> = new Set([700, 701])
/** int8, int2, int4, and numeric, which is what sums of int8 are. */
const INTEGERS: ReadonlySet<number> = new Set([20, 21, 23, 1700])
const BIGINT_SUFFIX = '_nano_usd'

type Row = Record<string, SqlValue>

/** All other types stay text, integers too: `toRows` converts them by the name of their column. */
export const COLUMN_TYPES: CustomTypesConfig = {
  getTypeParser(oid: number) {
    if (oid === BOOL) return flagOf
    if (oid === BYTEA) return bytesOf
    return FLOATS.has(oid) ? Number : asText
  },
}

function asText(text: string): string {
  return text
}

function flagOf(text: string): 0 | 1 {
  return text === 't' ? 1 : 0
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(2), 'hex')) // `\x` and hexadecimal digits
}

/** Converts columns ending in `_nano_usd` to bigint, all other integers to number. */
export function toRows<Shape>({ rows, fields, rowCount }: QueryResult<Row>): PostgresRows<Shape> {
  if (rows.length > 0) {
    for (const { name, dataTypeID } of fields) if (INTEGERS.has(dataTypeID)) convertColumn(rows, name)
  }
  return { rows: rows as Shape[], changes: rowCount ?? 0 } // whoever wrote the SQL says what a row is
}

function convertColumn(rows: readonly Row[], name: string): void {
  const isAmount = name.endsWith(BIGINT_SUFFIX)
  for (const row of rows) {
    const text = row[name]
    if (typeof text === 'string') row[name] = isAmount ? BigInt(text) : Number(text)
  }
}
