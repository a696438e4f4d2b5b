/** A Kysely dialect over the sessions of a pool. */
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
import { DatabaseError, invalidText, isConnectionLost } from '../failure.ts'
import type { SqlValue } from '../sqlite/message.ts'
import type { PostgresPool, PostgresSession } from './pool.ts'

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
