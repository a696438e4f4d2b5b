/** An open database, SQLite or PostgreSQL, as the rest of the program sees it, and where queries differ on the two. */
import { type CompiledQuery, type Kysely, PostgresAdapter, type RawBuilder, sql, type Transaction } from 'kysely'
import type { Postgres } from './postgres/client.ts'
import type { Database } from './schema/schema.ts'

export interface SqliteOptions {
  /** The SQLite file. It and its folder (mode 0700) are created when they are missing. */
  readonly path: string
  /** Called when a database thread died: nothing works from here on. By default the error is thrown as uncaught. */
  readonly onFatal?: (error: Error) => void
  /** Modules for `run`, by name, see `ProgramModule`. Loaded when the database is open. */
  readonly programs?: Readonly<Record<string, URL>>
}

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; as libpq's URLs. */
  readonly url: string
  /** How long to wait for an unreachable server, which may be starting. */
  readonly startWithinMs?: number
}

export type OpenOptions = SqliteOptions | PostgresOptions

/** A compiled query, or its SQL with other parameters. */
export type BatchStatement = Pick<CompiledQuery, 'sql' | 'parameters'>

export interface OpenedDatabase {
  readonly dialect: DialectName
  readonly db: Kysely<Database>
  /** Commits all in one transaction and one message to the database, or none. */
  batch(statements: readonly BatchStatement[]): Promise<void>
  /**
   * Runs a program in SQLite's writer thread: one message there, one reply back. Rejects on PostgreSQL.
   */
  run(program: string, payload: unknown): Promise<unknown>
  /** Undefined on SQLite. */
  readonly postgres: Postgres | undefined
  /**
   * Calls `listener` when keys or accounts changed or may have, in any process: within about 250 ms on SQLite, at once on
   * PostgreSQL, and after every reconnect.
   * @returns Unsubscribes.
   */
  onChange(listener: () => void): () => void
  /** Calls the listeners at once, after a write of this process. */
  notifyChange(): void
  /** Resolves when the database answers. */
  ping(): Promise<void>
  /** Closes after everything requested before. */
  close(): Promise<void>
}

// Where SQLite and PostgreSQL differ for those who write queries, which are otherwise the same on both.

export type DialectName = 'sqlite' | 'postgres'

export function dialectOf(db: Kysely<Database>): DialectName {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

/**
 * Serializes the transactions that decide by what they read: those that acquire the lock of the same name run one after
 * another, until each commits. To be called first. SQLite serializes transactions anyway.
 */
export async function acquireAdvisoryLock(transaction: Transaction<Database>, name: string): Promise<void> {
  await sql`select turnpike_turn(${name})`.execute(transaction)
}

/**
 * Reads the rows of a raw query on the reader. SQLite would execute it as it is on the writer, and delay writes;
 * PostgreSQL gets it as it is, since it prepares no `select *` of ours.
 */
export async function readRows<Row>(db: Kysely<Database>, query: RawBuilder<Row>): Promise<readonly Row[]> {
  if (dialectOf(db) === 'postgres') return (await query.execute(db)).rows
  return db.selectFrom(sql`(${query})`.as('found')).selectAll().$castTo<Row>().execute()
}

/** Marks a text that PostgreSQL plans for each execution (a custom plan). */
export const CUSTOM_PLAN = '/* custom plan */'

/** Begins a query whose best plan depends on its bounds: a cached generic plan does not know them. */
export const customPlan: RawBuilder<unknown> = sql.raw(CUSTOM_PLAN)

/** Marks a text that may take longer than other statements, in a transaction that sets its own `statement_timeout`. */
export const LONG_RUNNING = '/* long-running */'
