/**
 * Programs: work that is one transaction with decisions between its statements. They run inside the writer thread, next to
 * the file, so that a decision costs no message. A program is a module of whoever knows the tables; the database only
 * loads it and hands it a connection.
 */
import type { SqlValue } from './message.ts'

/** What a program's module exports. The payload and what is returned cross between threads by structured clone. */
export interface ProgramModule {
  /** A transaction that is still open when it throws or returns is rolled back; to return so is an error. */
  run(connection: ProgramConnection, payload: unknown): unknown
}

export interface ProgramConnection {
  /** Prepared once for each text. `Row` is what the SQL returns: amounts in columns `…_nano_usd` as bigint. */
  prepare<Row = never>(sql: string): ProgramStatement<Row>
  /** Takes the write lock at once, after at most the busy time-out. */
  begin(): void
  commit(): void
  /** Harmless without a transaction. */
  rollback(): void
  /** A part of a transaction that can be taken back alone. One at a time. */
  savepoint(): void
  release(): void
  rollbackToSavepoint(): void
}

export interface ProgramStatement<Row> {
  /** @returns How many rows were changed. */
  run(...parameters: readonly SqlValue[]): number
  get(...parameters: readonly SqlValue[]): Row | undefined
  all(...parameters: readonly SqlValue[]): readonly Row[]
}
