/** What goes wrong in a database, in our words. */
import { GatewayError } from '../domain/errors.ts'
import type { SqlFailure } from './message.ts'

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html) that a repeat may mend. */
const PASSING_CODES: ReadonlySet<number> = new Set([
  5, // BUSY
  6, // LOCKED
  10, // IOERR
  13, // FULL
  14, // CANTOPEN
])
/** Extended codes: PRIMARYKEY, UNIQUE, ROWID. */
const UNIQUE_CODES: ReadonlySet<number> = new Set([1555, 2067, 2579])
const UNIQUE_STATE = '23505'
const RETRY_AFTER_MS = 1_000

/** A statement that the database refuses and will always refuse: a broken constraint, wrong SQL. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  /** SQLite's extended result code; undefined when the refusal is not SQLite's. */
  readonly resultCode: number | undefined
  /** PostgreSQL's SQLSTATE; undefined when the refusal is not PostgreSQL's. */
  readonly sqlState: string | undefined

  constructor({ message, resultCode }: SqlFailure, sqlState?: string) {
    super(message)
    this.resultCode = resultCode
    this.sqlState = sqlState
  }
}

/** True when a row with the same key, or the same unique columns, is already there. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false
  if (error.sqlState !== undefined) return error.sqlState === UNIQUE_STATE
  return error.resultCode !== undefined && UNIQUE_CODES.has(error.resultCode)
}

/** SQLite's extended result code of what `node:sqlite` threw; undefined for what is not SQLite's. */
export function resultCodeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) : undefined
}

/** `database_unavailable` for what passes (locked, full, unreadable); `DatabaseError` for everything else. */
export function databaseFailure(failure: SqlFailure): Error {
  const error = new DatabaseError(failure)
  const passing = failure.resultCode !== undefined && PASSING_CODES.has(failure.resultCode & 0xff)
  return passing ? databaseUnavailable(error) : error
}

export function databaseUnavailable(cause: unknown): GatewayError {
  return new GatewayError('database_unavailable', 'The database is not available at the moment.', {
    cause,
    retryAfterMs: RETRY_AFTER_MS,
  })
}
