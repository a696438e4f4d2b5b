/** What PostgreSQL's failures are in our words. */
import { GatewayError } from '../../domain/errors.ts'
import { DatabaseError, databaseUnavailable } from '../failure.ts'

/** SQLSTATEs (https://www.postgresql.org/docs/current/errcodes-appendix.html), or their classes, that a repeat may mend. */
const PASSING_CLASSES: ReadonlySet<string> = new Set([
  '08', // no connection
  '40', // serialisation, deadlock
  '53', // too many connections, disk full, out of memory
  '57', // the server ends or starts, a statement took too long
  '58', // reading or writing files
])
const PASSING_STATES: ReadonlySet<string> = new Set([
  '25006', // a standby: the primary is elsewhere now
  '25P03', // was idle in a transaction for too long
  '55P03', // a lock was not to be had in time
])

/** SQLSTATE of what the server said; undefined for what is not the server's. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Whether nothing at all is wrong but that two transactions were in each other's way: the same again may pass. */
export function isCollision(error: unknown): boolean {
  const cause = error instanceof GatewayError ? error.cause : error
  return cause instanceof DatabaseError && (cause.sqlState === '40001' || cause.sqlState === '40P01')
}

/** Whether the session it happened in is of no more use. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false
  const { cause } = error
  return !(cause instanceof DatabaseError) || /^(?:08|57P|25P03)/.test(cause.sqlState ?? '')
}

/**
 * `database_unavailable` for what passes, with the `DatabaseError` as its cause if the server said something;
 * `DatabaseError` for everything else. What is already one of ours stays as it is.
 */
export function postgresFailure(error: unknown): Error {
  if (error instanceof GatewayError || error instanceof DatabaseError || error instanceof TypeError) return error
  const sqlState = sqlStateOf(error)
  if (sqlState === undefined) return databaseUnavailable(error) // the connection, or waiting for one
  const message = error instanceof Error ? error.message : String(error)
  const failure = new DatabaseError({ message, resultCode: undefined }, sqlState)
  return isPassing(sqlState) ? databaseUnavailable(failure) : failure
}

function isPassing(sqlState: string): boolean {
  return PASSING_CLASSES.has(sqlState.slice(0, 2)) || PASSING_STATES.has(sqlState)
}
