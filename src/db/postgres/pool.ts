/**
 * Sessions with one PostgreSQL, a few kept open. A session whose connection failed, or that did not answer in time, is
 * never used again; the next one is made when it is needed.
 */
import { Socket } from 'node:net'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { databaseUnavailable } from '../failure.ts'
import type { SqlValue } from '../message.ts'
import type { PostgresClient, PostgresRows, PostgresValue } from './client.ts'
import { postgresFailure } from './failures.ts'
import { createStatementNames } from './statement-names.ts'
import { COLUMN_TYPES, toRows } from './values.ts'

/** Requests that may wait for a session. Beyond it new ones fail at once with `database_unavailable`. */
const MAX_WAITING = 2_000
/** For a free session, or for a new one. */
const CONNECT_TIMEOUT_MS = 2_500
export const STATEMENT_TIMEOUT_MS = 10_000
export const LOCK_TIMEOUT_MS = 2_000
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000
/** The server ends a statement itself before that, unless it does not hear us any more. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2_000
const KEEP_ALIVE_AFTER_MS = 5_000

export interface PostgresSession extends PostgresClient {
  /** Throws unless the transaction was really committed: a server answers 'rollback' to the commit of a broken one. */
  commit(): Promise<void>
  /** Gives it back. `isBroken`: it is closed, with whatever it was doing. */
  end(isBroken?: boolean): void
}

export interface PostgresPool {
  /** Rejects with `database_unavailable` when none is to be had within 2.5 s. It must be ended. */
  session(): Promise<PostgresSession>
  /** Closes all connections, also those in use: what waits for an answer fails now. */
  abandon(reason: Error): void
  /** Resolves when everything begun has ended. */
  close(): Promise<void>
}

/** What each connection is opened with; also used for those that are in no pool. */
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

/** Known, so that it can be torn down under a client that waits for its server. */
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
  pool.on('connect', (client) => client.on('error', ignore)) // whoever uses it sees it at its statement
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
      if (pool.waitingCount >= MAX_WAITING) throw databaseUnavailable(new Error('Too much is waiting.'))
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
      try {
        return toRows(await client.query<Record<string, SqlValue>>({ text: sql, values, name } as never)) // absent is undefined there
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
      if (command !== 'COMMIT') throw new Error('A statement of the transaction had failed: nothing was committed.')
    },
    end: (isBroken = false) => end(isBroken),
  }
}
