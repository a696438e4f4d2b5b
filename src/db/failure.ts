/** Converts errors of SQLite and PostgreSQL: transient ones to `database_unavailable`, all others to `DatabaseError`. */
import { GatewayError } from '../domain/errors.ts'
import type { SqlFailure } from './sqlite/message.ts'

/** SQLite's primary result code of a lock that another connection holds. */
export const SQLITE_BUSY = 5

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html) that a retry may clear. */
const TRANSIENT_CODES: ReadonlySet<number> = new Set([
  SQLITE_BUSY,
  6, // LOCKED
  10, // IOERR
  13, // FULL
  14, // CANTOPEN
])
const RETRY_AFTER_MS = 1_000

/** A permanent failure of a statement: a violated constraint, invalid SQL. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  /** SQLite's extended result code; undefined when SQLite is not the source. */
  readonly resultCode: number | undefined
  /** PostgreSQL's SQLSTATE; undefined when PostgreSQL is not the source. */
  readonly sqlState: string | undefined

  constructor({ message, resultCode }: SqlFailure, sqlState?: string) {
    super(message)
    this.resultCode = resultCode
    this.sqlState = sqlState
  }
}

/** SQLite's extended result code of what `node:sqlite` threw; undefined for what is not SQLite's. */
export function resultCodeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) : undefined
}

/** Returns `database_unavailable` for transient failures (locked, full, unreadable); else `DatabaseError`. */
export function databaseFailure(failure: SqlFailure): Error {
  const error = new DatabaseError(failure)
  const isTransientCode = failure.resultCode !== undefined && TRANSIENT_CODES.has(failure.resultCode & 0xff)
  return isTransientCode ? databaseUnavailable(error) : error
}

export function databaseUnavailable(cause: unknown): GatewayError {
  return new GatewayError('database_unavailable', 'The database is not available at the moment.', {
    cause,
    retryAfterMs: RETRY_AFTER_MS,
  })
}

/** PostgreSQL cannot store U+0000 in a text. SQLite could: it is refused there, too, so that what works on one works on both. */
export function invalidText(cause?: unknown): GatewayError {
  return new GatewayError('invalid_value', 'A text has the character U+0000 in it.', { cause })
}

/** SQLSTATEs (https://www.postgresql.org/docs/current/errcodes-appendix.html), or their classes, that a retry may clear. */
const TRANSIENT_CLASSES: ReadonlySet<string> = new Set([
  '08', // no connection
  '40', // serialisation, deadlock
  '53', // too many connections, disk full, out of memory
  '57', // the server ends or starts, a statement took too long
  '58', // reading or writing files
])
const LOCK_TIMEOUT = '55P03'
const TRANSIENT_STATES: ReadonlySet<string> = new Set([
  '25006', // a standby: the primary is elsewhere now
  '25P03', // idle in a transaction for too long
  LOCK_TIMEOUT,
])

/** SQLSTATE of a server error; undefined for any other error. */
function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Whether two transactions conflicted (serialization failure, deadlock): a retry may succeed. */
export function isTransactionConflict(error: unknown): boolean {
  const cause = error instanceof GatewayError ? error.cause : error
  return cause instanceof DatabaseError && (cause.sqlState === '40001' || cause.sqlState === '40P01')
}

/** Whether another process kept SQLite's write lock, or a lock of PostgreSQL, for longer than the time-out. */
export function isLocked(error: unknown): boolean {
  const cause = error instanceof GatewayError ? error.cause : error
  if (!(cause instanceof DatabaseError)) return false
  return cause.sqlState === LOCK_TIMEOUT || (cause.resultCode ?? 0) % 256 === SQLITE_BUSY
}

/** Whether the session is unusable. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false
  const { cause } = error
  return !(cause instanceof DatabaseError) || /^(?:08|57P|25P03)/.test(cause.sqlState ?? '')
}

/**
 * Returns `database_unavailable` for transient failures, caused by a `DatabaseError` if the server reported one; else
 * `DatabaseError`. Our own errors are returned unchanged.
 */
export function postgresFailure(error: unknown): Error {
  if (error instanceof GatewayError || error instanceof DatabaseError || error instanceof TypeError) return error
  const sqlState = sqlStateOf(error)
  if (sqlState === undefined) return databaseUnavailable(error) // the connection, or waiting for one
  const message = error instanceof Error ? error.message : String(error)
  const failure = new DatabaseError({ message, resultCode: undefined }, sqlState)
  return isTransientState(sqlState) ? databaseUnavailable(failure) : failure
}

function isTransientState(sqlState: string): boolean {
  return TRANSIENT_CLASSES.has(sqlState.slice(0, 2)) || TRANSIENT_STATES.has(sqlState)
}

/** True when the database is away or slow: a repeat may succeed. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'database_unavailable'
}
