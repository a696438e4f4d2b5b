/**
 * PostgreSQL for those who write its SQL by hand, as the ledger does: statements with `$1`, `$2` …, prepared once for each
 * text on each connection. Rows are as everywhere: columns that end in `_nano_usd` bigint, other integers number, flags 0
 * or 1, `bytea` Uint8Array.
 */
import type { SqlValue } from '../message.ts'

/** A list is an SQL array: give it a type in the text, as in `unnest($1::text[], $2::bigint[])`. */
export type PostgresValue = SqlValue | readonly SqlValue[]

export interface PostgresRows<Row> {
  readonly rows: readonly Row[]
  /** How many rows the statement changed, or returned. */
  readonly changes: number
}

/** One session. */
export interface PostgresClient {
  /**
   * Statements that are asked for without waiting for earlier answers go out together (one round trip for all), and are
   * carried out in order. Then await them all, with `Promise.all`: after one has failed, the rest of the transaction fails.
   * `Row` is what the SQL returns.
   */
  query<Row = never>(sql: string, parameters?: readonly PostgresValue[]): Promise<PostgresRows<Row>>
}

/**
 * Failures are `database_unavailable` for what passes (no connection, no answer in time, deadlock, serialisation, locks,
 * a server that is full or ends) and `DatabaseError` with `sqlState` for everything else.
 */
export interface Postgres {
  /**
   * On a connection of its own, of few that reports cannot use up. `work` must not wait for anything but its statements.
   * Whatever it throws rolls back and is thrown on; so does a failed commit. After `database_unavailable` the commit may have
   * happened all the same, if its answer alone was lost.
   */
  transaction<Result>(work: (client: PostgresClient) => Promise<Result>): Promise<Result>
  /** One statement that is a transaction of its own: one round trip. */
  query<Row = never>(sql: string, parameters?: readonly PostgresValue[]): Promise<PostgresRows<Row>>
}
