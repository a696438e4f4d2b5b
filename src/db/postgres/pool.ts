/**
 * A pool of PostgreSQL sessions, the transactions and batches that run in them, the names of prepared statements, and
 * the Kysely dialect over it. A session that failed or timed out is closed; the next one is opened when it is needed.
 */
import { Socket } from 'node:net'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { createLruCache } from '../../lib/collections.ts'
import { type BatchStatement, CUSTOM_PLAN, LONG_RUNNING } from '../database.ts'
import {
  DatabaseError,
  databaseUnavailable,
  invalidText,
  isConnectionLost,
  isTransactionConflict,
  postgresFailure,
} from '../failure.ts'
import type { SqlValue } from '../sqlite/message.ts'
import {
  COLUMN_TYPES,
  type Postgres,
  type PostgresClient,
  type PostgresRows,
  type PostgresValue,
  toRows,
} from './client.ts'

/** Requests that wait for a session. Beyond it new ones fail at once with `database_unavailable`. */
const MAX_WAITING = 2_000
/** For a free session, or for a new one. */
const CONNECT_TIMEOUT_MS = 2_500
export const STATEMENT_TIMEOUT_MS = 10_000
export const LOCK_TIMEOUT_MS = 2_000
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000
/** The server cancels a statement earlier, unless the connection is lost. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2_000
/** Of statements that are marked: the server alone cancels them. The longest time of a timer. */
const LONG_ANSWER_TIMEOUT_MS = 2 ** 31 - 1
const KEEP_ALIVE_AFTER_MS = 5_000

interface PostgresSession extends PostgresClient {
  /** Rejects unless the transaction was committed: the server replies 'rollback' to the commit of a failed one. */
  commit(): Promise<void>
  /** Returns it to the pool. `isBroken`: closes it and whatever it was doing. */
  end(isBroken?: boolean): void
}

export interface PostgresPool {
  /** Rejects with `database_unavailable` when none is free within 2.5 s. The caller ends it. */
  session(): Promise<PostgresSession>
  /** Closes all connections, also those in use: pending statements fail now. */
  abandon(reason: Error): void
  /** Resolves when everything begun has ended. */
  close(): Promise<void>
}

/** The configuration of each connection, also of those outside pools. */
export function connectionConfig(url: string, sockets: Set<Socket>): PoolConfig {
  return {
    connectionString: url,
    application_name: 'turnpike',
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    types: COLUMN_TYPES,
    stream: () => trackedSocket(sockets),
  }
}

/** Tracked so that it can be destroyed under a client that waits for its server. */
function trackedSocket(sockets: Set<Socket>): Socket {
  const socket = new Socket()
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
  return socket
}

/** @param max Connections at a time. */
export function createPostgresPool({ url, max }: { readonly url: string; readonly max: number }): PostgresPool {
  const sockets = new Set<Socket>()
  const nameOf = createStatementNames()
  // Statements of one session go out without waiting for each other's answers.
  const pool = new Pool({ ...connectionConfig(url, sockets), max, pipeline: true } as PoolConfig) // not in its types yet
  const ignore = () => undefined
  pool.on('error', ignore) // of idle clients, which the pool then drops by itself
  pool.on('connect', (client) => client.on('error', ignore)) // its user gets the error from its statement
  const allEnded = Promise.withResolvers<void>()
  let isClosing = false
  let used = 0
  const leave = () => {
    used--
    if (isClosing && used === 0) allEnded.resolve()
  }
  const giveBack = (client: PoolClient, isBroken: boolean) => {
    client.release(isBroken)
    leave()
  }
  return {
    async session() {
      if (isClosing) throw databaseUnavailable(new Error('The database is closed.'))
      if (pool.waitingCount >= MAX_WAITING) throw databaseUnavailable(new Error('The queue for the database is full.'))
      used++
      try {
        const client = await pool.connect()
        return createSession(client, { nameOf, end: (isBroken) => giveBack(client, isBroken) })
      } catch (error) {
        leave()
        throw postgresFailure(error)
      }
    },
    abandon(reason) {
      for (const socket of sockets) socket.destroy(reason)
    },
    async close() {
      isClosing = true
      if (used === 0) allEnded.resolve()
      await allEnded.promise
      if (!pool.ending) await pool.end()
    },
  }
}

interface SessionParts {
  readonly nameOf: (sql: string) => string | undefined
  readonly end: (isBroken: boolean) => void
}

function createSession(client: PoolClient, { nameOf, end }: SessionParts): PostgresSession {
  return {
    async query<Row>(sql: string, parameters?: readonly PostgresValue[]): Promise<PostgresRows<Row>> {
      const values = parameters === undefined || parameters.length === 0 ? undefined : [...parameters]
      const name = values === undefined ? undefined : nameOf(sql)
      const query_timeout = sql.endsWith(LONG_RUNNING) ? LONG_ANSWER_TIMEOUT_MS : undefined
      const query = { text: sql, values, name, query_timeout }
      try {
        return toRows(await client.query<Record<string, SqlValue>>(query as never)) // `pg` takes undefined for absent
      } catch (error) {
        throw postgresFailure(error)
      }
    },
    async commit() {
      let command: string
      try {
        command = (await client.query('commit')).command
      } catch (error) {
        throw postgresFailure(error)
      }
      if (command !== 'COMMIT') throw new Error('A statement of the transaction failed: nothing was committed.')
    },
    end: (isBroken = false) => end(isBroken),
  }
}

/** Prepared statements of a session; later texts are not prepared. */
const MAX_NAMES = 500
const SEEN_ONCE_SIZE = 1_000
const PREPARABLE = /^\s*(?:select|insert|update|delete|with)\b/i
/** A newer release that shares the database may add columns, which breaks a prepared `select *`. */
const EVERY_COLUMN = /(?:\b(?:select|returning|distinct)\s+|\.)\*/i

/**
 * Names prepared statements. A text is named the second time it is seen: lists of varying length would use up the names.
 * @returns The name of a text, the same in all sessions; undefined: do not prepare it.
 */
export function createStatementNames(): (sql: string) => string | undefined {
  const names = new Map<string, string>()
  const seenOnce = createLruCache<true>(SEEN_ONCE_SIZE)
  return (sql) => {
    const known = names.get(sql)
    if (known !== undefined) return known
    if (names.size >= MAX_NAMES || !PREPARABLE.test(sql) || EVERY_COLUMN.test(sql)) return undefined
    if (sql.includes(CUSTOM_PLAN)) return undefined
    if (seenOnce.get(sql) === undefined) {
      seenOnce.set(sql, true)
      return undefined
    }
    seenOnce.delete(sql)
    const name = `turnpike_${names.size + 1}`
    names.set(sql, name)
    return name
  }
}

/** Attempts of a batch that conflicts with others. */
const BATCH_ATTEMPTS = 4

export function createPostgres(pool: PostgresPool): Postgres {
  return {
    transaction: (work) => inTransaction(pool, work),
    query: <Row>(sql: string, parameters?: readonly PostgresValue[]) =>
      inSession(pool, (session) => session.query<Row>(sql, parameters)),
  }
}

/** Commits all in one transaction and one round trip; retries conflicts with other transactions. */
export async function runBatch(pool: PostgresPool, statements: readonly BatchStatement[]): Promise<void> {
  if (statements.length === 0) return
  for (let attempt = 1; ; attempt++) {
    try {
      return await inSession(pool, (session) => commitAll(session, statements))
    } catch (error) {
      if (attempt >= BATCH_ATTEMPTS || !isTransactionConflict(error)) throw error
    }
  }
}

async function commitAll(session: PostgresSession, statements: readonly BatchStatement[]): Promise<void> {
  const begun = session.query('begin')
  const answers = statements.map(({ sql, parameters }) => session.query(sql, parameters as readonly PostgresValue[])) // as compiled
  // After a failed statement the server answers the commit with a rollback.
  const ends = await Promise.allSettled([begun, ...answers, session.commit()])
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

async function inTransaction<Result>(
  pool: PostgresPool,
  work: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const session = await pool.session()
  let isBroken = false
  try {
    const begun = session.query('begin')
    begun.catch(() => undefined) // the first statement of the work fails too, and reports it
    const result = await work(session)
    await begun
    await session.commit()
    return result
  } catch (error) {
    isBroken = !(await rollBack(session))
    throw error
  } finally {
    session.end(isBroken)
  }
}

async function rollBack(session: PostgresSession): Promise<boolean> {
  try {
    await session.query('rollback')
    return true
  } catch {
    return false
  }
}

async function inSession<Result>(
  pool: PostgresPool,
  work: (session: PostgresSession) => Promise<Result>,
): Promise<Result> {
  const session = await pool.session()
  let isBroken = false
  try {
    return await work(session)
  } catch (error) {
    isBroken = isConnectionLost(error)
    throw error
  } finally {
    session.end(isBroken)
  }
}

/* A Kysely dialect over the sessions of a pool. */

/** SQLSTATE of a text with U+0000, which PostgreSQL cannot store. */
const INVALID_TEXT = '22021'

interface PooledConnection extends DatabaseConnection {
  readonly session: PostgresSession
  isBroken: boolean
}

export function postgresDialect(pool: PostgresPool): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => createDriver(pool),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

function createDriver(pool: PostgresPool): Driver {
  return {
    init: () => Promise.resolve(),
    acquireConnection: async () => createConnection(await pool.session()),
    async beginTransaction(connection) {
      await sessionOf(connection).query('begin')
    },
    commitTransaction: (connection) => sessionOf(connection).commit(),
    async rollbackTransaction(connection) {
      if (!isPooled(connection)) return
      try {
        await connection.session.query('rollback')
      } catch {
        connection.isBroken = true // closing it ends the transaction
      }
    },
    async releaseConnection(connection) {
      if (isPooled(connection)) connection.session.end(connection.isBroken)
    },
    destroy: () => Promise.resolve(),
  }
}

function createConnection(session: PostgresSession): PooledConnection {
  return {
    session,
    isBroken: false,
    async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
      try {
        const { rows, changes } = await session.query<Row>(sql, bindable(parameters))
        const result = [...rows]
        return query.kind === 'SelectQueryNode' ? { rows: result } : { rows: result, numAffectedRows: BigInt(changes) }
      } catch (error) {
        this.isBroken ||= isConnectionLost(error)
        throw error instanceof DatabaseError && error.sqlState === INVALID_TEXT ? invalidText(error) : error
      }
    },
    streamQuery() {
      throw new Error('Results are not streamed: read them in pages.')
    },
  }
}

/** Rejects what SQLite cannot bind, so that what works on one works on both. */
function bindable(parameters: readonly unknown[]): readonly SqlValue[] {
  for (const value of parameters) {
    const type = value instanceof Uint8Array || value === null ? 'plain' : typeof value
    if (type === 'object' || type === 'boolean' || type === 'undefined')
      throw new TypeError(`The database cannot bind ${type}.`)
  }
  return parameters as readonly SqlValue[] // just checked
}

function sessionOf(connection: DatabaseConnection): PostgresSession {
  if (!isPooled(connection)) throw new Error('Not a connection of this driver.')
  return connection.session
}

function isPooled(connection: DatabaseConnection): connection is PooledConnection {
  return 'session' in connection
}
